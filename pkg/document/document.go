// Package document parses YAML and JSON into one tree whose nodes know where they stand in the file.
//
// YAML is read as yaml-cpp reads it (the reader inside Envoy), JSON as protobuf's JSON lexer in its legacy mode does,
// so that what parses here parses there and fails here where it fails there, with the same text.
//
// The tree is an arena of small nodes over the bytes of the file. Texts are decoded and positions are computed when
// they are asked for.
package document

import (
	"bytes"
	"fmt"

	"github.com/edsctl/edsctl/pkg/diag"
)

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
	Broken // what could not be read; only in SyntaxError.Read
)

func (k Kind) String() string {
	return [...]string{"invalid", "scalar", "mapping", "sequence", "alias", "broken"}[k]
}

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

// Limits bound what is read. A zero field means the default.
type Limits struct {
	MaxBytes          int // size of a file, default 256 MiB, at most 2 GiB
	MaxDepth          int // levels of nesting with aliases followed, default 10,000; the readers of Envoy stop earlier without aliases
	MaxAliasExpansion int // nodes that a walk of the tree visits when it follows aliases, beyond those of the file; default 1,000,000
}

// The defaults of Limits.
const (
	DefaultMaxBytes          = 256 << 20
	DefaultMaxDepth          = 10_000
	DefaultMaxAliasExpansion = 1_000_000
)

func (l Limits) withDefaults() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	l.MaxBytes = min(l.MaxBytes, 1<<31-1)
	if l.MaxDepth <= 0 {
		l.MaxDepth = DefaultMaxDepth
	}
	if l.MaxAliasExpansion <= 0 {
		l.MaxAliasExpansion = DefaultMaxAliasExpansion
	}
	return l
}

// checkSize returns an error when src is larger than the limit.
func (l Limits) checkSize(src []byte) error {
	if len(src) <= l.MaxBytes {
		return nil
	}
	return &SyntaxError{
		Rule:    "limit-exceeded",
		Message: fmt.Sprintf("the document has %d bytes, more than the limit of %d", len(src), l.MaxBytes),
	}
}

// SyntaxError is the first error of a document. Reading stops there.
type SyntaxError struct {
	Span    diag.Span
	Message string // for users, lower case, no position
	Envoy   string // what Envoy prints: "yaml-cpp: error at line 3, column 1: illegal map value", or for JSON the text after "near …: "
	Rule    string // id of the rule when it is a more special one than "syntax": yaml-alias-cycle, nesting-too-deep, limit-exceeded, json-bom

	// Path leads to the value that cannot be read, in JSON: the keys as written and indices. The text in Envoy is that
	// for a place where any value may stand (as in an Any); where Envoy expects a type it may say more.
	Path diag.Path

	// Read is the document up to the error, in JSON: its last node, and the last in each collection around that, is of the
	// kind Broken and begins where the value or the key begins that cannot be read. In the Block style it is neither:
	// the list or the mapping itself goes on wrongly there.
	Read *Document
}

func (e *SyntaxError) Error() string {
	if !e.Span.IsKnown() {
		return e.Message
	}
	return e.Span.Start.String() + ": " + e.Message
}

// Document is one parsed document of a file: a tree of nodes over the bytes of the file.
type Document struct {
	Format Format
	Root   Node // invalid when the document is empty

	file       *file
	start, end uint32
	begin      uint32 // where the text before it, with comments, begins
	next       uint32 // where the next document of the file begins; 0: there is none
	nodes      arena
	props      map[uint32]properties
	leniences  []Lenience
}

// Source is the text that the offsets of the document's nodes count in: the file, as UTF-8 (a file in UTF-16 or
// UTF-32 is converted), or the decoded scalar when the document is embedded in another one. It must not be changed.
func (d *Document) Source() []byte { return d.file.src }

// Offsets is the range of bytes of the document in its file, from its `---`, directive or first token.
func (d *Document) Offsets() (start, end int) { return int(d.start), int(d.end) }

// Span is the range of the document in the outermost file.
func (d *Document) Span() diag.Span { return d.file.span(int(d.start), int(d.end)) }

// Position of a byte of Source in the outermost file.
func (d *Document) Position(offset int) diag.Position { return d.file.position(offset) }

// Parse reads a text that is JSON when it looks like it and can be read as it, and YAML otherwise, of which JSON is a part.
func Parse(src []byte, lim Limits) ([]*Document, error) {
	if bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
		if doc, err := ParseJSON(src, lim); err == nil {
			return []*Document{doc}, nil
		}
	}
	return ParseYAML(src, lim)
}
