package eds

import (
	"sort"
	"sync"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/diag"
)

// textNode is a field of text protobuf, as it is written: a repeated field makes one for each value.
type textNode struct {
	name       string // of the field; the type URL where bracketed
	bracketed  bool   // an expanded Any, or an extension
	at         int    // offset of the name
	colon      bool
	isMessage  bool
	inList     bool // the value stands in a list in brackets
	isEmpty    bool // it is such a list, with nothing in it
	isRoot     bool
	start, end int // of the value with its braces
	fields     []*textNode
	src        *textSource
}

// textSource is a text, and where its lines begin.
type textSource struct {
	text  []byte
	once  sync.Once
	marks []textMark
}

// textMark is the place of an offset: of each line's start, and of some inside long lines, whose characters are not to be
// counted again for each position.
type textMark struct {
	at           int
	line, column int
}

// markDistance is the most bytes, but for a character, between two marks.
const markDistance = 4096

func (s *textSource) mark() {
	last := textMark{0, 1, 1}
	s.marks = []textMark{last}
	for i, c := range s.text {
		switch {
		case c == '\n':
			last = textMark{i + 1, last.line + 1, 1}
		case i-last.at >= markDistance && utf8.RuneStart(c):
			last = textMark{i, last.line, last.column + utf8.RuneCount(s.text[last.at:i])}
		default:
			continue
		}
		s.marks = append(s.marks, last)
	}
}

// position is the place of an offset.
func (s *textSource) position(at int) diag.Position {
	s.once.Do(s.mark)
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].at > at })
	m := s.marks[i-1]
	return diag.Position{Line: m.line, Column: m.column + utf8.RuneCount(s.text[m.at:at])}
}

func (s *textSource) span(start, end int) diag.Span {
	return diag.Span{Start: s.position(start), End: s.position(end)}
}

// source is the value as it is written.
func (n *textNode) source() []byte { return n.src.text[n.start:n.end] }

// inside is the text between the braces of a message.
func (n *textNode) inside() (start, end int) {
	if n.isRoot {
		return 0, n.end
	}
	return n.start + 1, n.end - 1
}

// has tells whether a message has a field of one of the names.
func (n *textNode) has(names ...string) bool {
	for _, name := range names {
		if len(n.all(name)) > 0 {
			return true
		}
	}
	return false
}

// all are the values of a field.
func (n *textNode) all(name string) []*textNode {
	if n == nil {
		return nil
	}
	var out []*textNode
	for _, f := range n.fields {
		if f.name == name && !f.bracketed && !f.isEmpty {
			out = append(out, f)
		}
	}
	return out
}

// field is the value of a field, nil when there is none.
func (n *textNode) field(name string) *textNode {
	all := n.all(name)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// span is where the value stands.
func (n *textNode) span() diag.Span {
	if n == nil {
		return diag.Span{}
	}
	return n.src.span(n.start, n.end)
}

// nameSpan is where the name stands, with its brackets.
func (n *textNode) nameSpan() diag.Span {
	end := n.at + len(n.name)
	if n.bracketed {
		end = min(end+len("[]"), len(n.src.text))
	}
	return n.src.span(n.at, end)
}

// below goes down a path as far as it is written. The content of an expanded Any counts as that of the Any.
// children lists the values of a field, as all does.
func (n *textNode) below(p diag.Path, children func(n *textNode, name string) []*textNode) *textNode {
	for i := 0; n != nil && i < len(p); i++ {
		n = n.content()
		step := p[i]
		all := children(n, step.Name)
		if len(all) == 0 {
			return n
		}
		next := all[len(all)-1]
		if i+1 < len(p) && !p[i+1].IsKey && p[i+1].Name == "" {
			if i++; p[i].Index >= len(all) {
				return n
			}
			next = all[p[i].Index]
		} else if i+1 < len(p) && p[i+1].IsKey {
			i++
			if next = entryOf(all, p[i].Name); next == nil {
				return n
			}
		}
		n = next
	}
	return n
}

// content is the message in an expanded Any, n itself where it is none.
func (n *textNode) content() *textNode {
	for len(n.fields) == 1 && n.fields[0].bracketed {
		n = n.fields[0]
	}
	return n
}

// resourceText is where a resource of a text stands: of a response by its index, and in the wrapper around it.
func (r *reader) resourceText(shape Shape, resp *Response) *textNode {
	n := r.text
	switch {
	case n == nil:
		return nil
	case shape == ShapeResponse || shape == ShapeCDS || shape == ShapeDeltaResponse:
		if resp == nil || resp.Index >= len(r.textResources) {
			return nil
		}
		n = r.textResources[resp.Index]
	}
	for {
		inner := n.content().field("resource")
		if inner == nil {
			return n
		}
		n = inner
	}
}

// entryOf is the value under a key among the entries of a map.
func entryOf(entries []*textNode, key string) *textNode {
	for _, e := range entries {
		k := e.field("key")
		if k == nil {
			continue
		}
		if text, err := textString(k); err == nil && text == key {
			if v := e.field("value"); v != nil {
				return v
			}
			return e
		}
	}
	return nil
}
