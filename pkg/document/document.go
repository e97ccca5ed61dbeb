// Package document parses YAML and JSON into one tree whose nodes know where they stand in the file.
//
// YAML is read as yaml-cpp reads it (the reader inside Envoy), JSON as protobuf's JSON lexer in its legacy mode does,
// so that what parses here parses there and fails here where it fails there, with the same text.
package document

import "github.com/edsctl/edsctl/pkg/diag"

// Format is the syntax of a document.
type Format uint8

// The text formats that have a tree.
const (
	YAML Format = iota
	JSON
)

func (f Format) String() string { return [...]string{"yaml", "json"}[f] }

// Kind of a node.
type Kind uint8

// The kinds. An absent value (`key:`) is a Scalar with an empty plain text.
const (
	Invalid Kind = iota
	Scalar
	Mapping
	Sequence
	Alias
)

// Style is how a node is written.
type Style uint8

// The styles. Scalars are Plain to Folded, collections Block or Flow. A JSON string is DoubleQuoted (SingleQuoted in
// the lenient form), other JSON scalars are Plain, JSON collections Flow.
const (
	Plain Style = iota
	SingleQuoted
	DoubleQuoted
	Literal
	Folded
	Block
	Flow
)

// SyntaxError is the first error of a document. Reading stops there.
type SyntaxError struct {
	Span    diag.Span
	Message string // for users, lower case, no position
	Envoy   string // what Envoy prints: "yaml-cpp: error at line 3, column 1: illegal map value", or for JSON the text after "near …: "
	Rule    string // id of the rule when it is a more special one than "syntax": yaml-alias-cycle, nesting-too-deep, limit-exceeded, json-bom
}

func (e *SyntaxError) Error() string { return e.Span.Start.String() + ": " + e.Message }
