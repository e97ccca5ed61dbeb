package document

import "github.com/edsctl/edsctl/pkg/diag"

// Document is one parsed document of a file: a tree of nodes over the bytes of the file.
type Document struct {
	Format Format
	Root   Node // invalid when the document is empty
}

// Node is a handle on one node of a document's tree. The zero Node is invalid; all methods may be called on it.
type Node struct {
	d *Document
	i uint32
}

// IsValid tells whether the node exists.
func (n Node) IsValid() bool { return n.i != 0 }

// Kind of the node.
func (n Node) Kind() Kind { panic("not yet") }

// Style in which the node is written.
func (n Node) Style() Style { panic("not yet") }

// Tag as written ("!ignore", "!!str", "!<x>"), empty when there is none.
func (n Node) Tag() string { panic("not yet") }

// Anchor name without the &, empty when there is none.
func (n Node) Anchor() string { panic("not yet") }

// Target follows an alias to the node it names; any other node is its own target.
func (n Node) Target() Node { panic("not yet") }

// Text is the decoded value of a scalar: escapes resolved, lines folded, quotes removed. JSON strings are decoded,
// JSON numbers and literals are as written.
func (n Node) Text() string { panic("not yet") }

// First is the first child: the first item of a sequence or the first key of a mapping (of the target of an alias).
func (n Node) First() Node { panic("not yet") }

// Next is the next sibling. The children of a mapping alternate key, value, key, value.
func (n Node) Next() Node { panic("not yet") }

// Offsets is the range of bytes of the node's value in the file, quotes and brackets included, properties (tag, anchor)
// not included; of an alias it is the *name. For embedded text see Span.
func (n Node) Offsets() (start, end int) { panic("not yet") }

// Span is the node's range in the outermost file, also when the document is embedded as text in another one.
func (n Node) Span() diag.Span { panic("not yet") }

// Document that the node belongs to.
func (n Node) Document() *Document { return n.d }
