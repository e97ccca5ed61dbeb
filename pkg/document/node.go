package document

import "github.com/edsctl/edsctl/pkg/diag"

// Node is a handle on one node of a document's tree. The zero Node is invalid; all methods may be called on it.
type Node struct {
	d *Document
	i uint32
}

// IsValid tells whether the node exists.
func (n Node) IsValid() bool { return n.i != 0 }

// record of the node; only of a valid one.
func (n Node) record() *record { return n.d.nodes.at(n.i) }

// Kind of the node.
func (n Node) Kind() Kind {
	if n.i == 0 {
		return Invalid
	}
	return n.record().kind
}

// Style in which the node is written.
func (n Node) Style() Style {
	if n.i == 0 {
		return Plain
	}
	return n.record().style
}

// properties of the node; zero when it has none.
func (n Node) properties() properties {
	if n.i == 0 || n.d.props == nil {
		return properties{}
	}
	return n.d.props[n.i]
}

// Tag as written ("!ignore", "!!str", "!<x>"), empty when there is none.
func (n Node) Tag() string {
	p := n.properties()
	if p.tagEnd == 0 {
		return ""
	}
	return string(n.d.file.src[p.tag:p.tagEnd])
}

// ResolvedTag is the tag as yaml-cpp resolves it, following an alias: the handle replaced (also by a %TAG directive,
// so "!<!ignore>" is "!ignore", and "!!str" is "tag:yaml.org,2002:str"); without a tag "!" for a scalar that is quoted
// or in block style and "?" for everything else. It decides what Envoy ignores and what is a string.
func (n Node) ResolvedTag() string {
	n = n.Target()
	if n.i == 0 {
		return ""
	}
	if p := n.properties(); p.resolved != "" {
		return p.resolved
	}
	if r := n.record(); r.kind == Scalar && r.style != Plain {
		return "!"
	}
	return "?"
}

// Anchor name without the &, empty when there is none.
func (n Node) Anchor() string {
	p := n.properties()
	return string(n.src()[p.anchor:p.anchorEnd])
}

func (n Node) src() []byte {
	if n.d == nil {
		return nil
	}
	return n.d.file.src
}

// Target follows an alias to the node it names; any other node is its own target. It is invalid for an alias inside
// of the node that it names, which there is only under a key with the tag !ignore.
func (n Node) Target() Node {
	if n.i == 0 {
		return n
	}
	if r := n.record(); r.kind == Alias {
		if r.child == 0 {
			return Node{}
		}
		return Node{n.d, r.child}
	}
	return n
}

// First is the first child: the first item of a sequence or the first key of a mapping (of the target of an alias).
func (n Node) First() Node {
	n = n.Target()
	if n.i == 0 {
		return n
	}
	r := n.record()
	if r.kind == Scalar || r.child == 0 {
		return Node{}
	}
	return Node{n.d, r.child}
}

// Next is the next sibling. The children of a mapping alternate key, value, key, value.
func (n Node) Next() Node {
	if n.i == 0 {
		return n
	}
	if next := n.record().next; next != 0 {
		return Node{n.d, next}
	}
	return Node{}
}

// Offsets is the range of bytes of the node's value in the file, quotes and brackets included, properties (tag, anchor)
// not included; of an alias it is the *name. A block collection ends with its last value, a block scalar after the
// line break that belongs to its text. An absent value is an empty range behind its key or indicator. For embedded
// text see Span.
func (n Node) Offsets() (start, end int) {
	if n.i == 0 {
		return 0, 0
	}
	r := n.record()
	return int(r.start), int(r.end)
}

// FullOffsets is the range of bytes of the node with its properties (tag, anchor).
func (n Node) FullOffsets() (start, end int) {
	start, end = n.Offsets()
	if p := n.properties(); p.tagEnd != 0 || p.anchorEnd != 0 {
		start = int(p.start)
	}
	return start, end
}

// Span is the node's range in the outermost file, also when the document is embedded as text in another one.
func (n Node) Span() diag.Span {
	if n.i == 0 {
		return diag.Span{}
	}
	return n.d.file.span(n.Offsets())
}

// Document that the node belongs to.
func (n Node) Document() *Document { return n.d }
