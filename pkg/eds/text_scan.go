package eds

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/diag"
)

// textDepthLimit bounds the nesting of text protobuf. Protobuf's own reader has no limit for it.
const textDepthLimit = 1000

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
	lines []int
}

// position is the place of an offset.
func (s *textSource) position(at int) diag.Position {
	s.once.Do(func() {
		s.lines = []int{0}
		for i, c := range s.text {
			if c == '\n' {
				s.lines = append(s.lines, i+1)
			}
		}
	})
	line := sort.SearchInts(s.lines, at+1)
	return diag.Position{Line: line, Column: 1 + utf8.RuneCount(s.text[s.lines[line-1]:at])}
}

func (s *textSource) span(start, end int) diag.Span {
	return diag.Span{Start: s.position(start), End: s.position(end)}
}

// textError is text that is no text protobuf.
type textError struct {
	at      int
	message string
}

func (e *textError) Error() string { return e.message }

func textErrorf(at int, format string, args ...any) error {
	return &textError{at, fmt.Sprintf(format, args...)}
}

// scanText reads the fields of a text, whatever the message is: the grammar of text protobuf without its names and types.
func scanText(src []byte) (*textNode, error) {
	s := &textScanner{src: src, source: &textSource{text: src}}
	root := &textNode{isMessage: true, isRoot: true, end: len(src), src: s.source}
	s.blank()
	root.start = s.at
	err := s.fields(root, 0)
	return root, err
}

type textScanner struct {
	src    []byte
	source *textSource
	at     int
	depth  int
}

// blank passes over blanks and comments.
func (s *textScanner) blank() {
	for s.at < len(s.src) {
		switch s.src[s.at] {
		case ' ', '\t', '\r', '\n', '\f', '\v':
			s.at++
		case '#':
			for s.at < len(s.src) && s.src[s.at] != '\n' {
				s.at++
			}
		default:
			return
		}
	}
}

// next is the next byte behind blanks, 0 at the end.
func (s *textScanner) next() byte {
	if s.blank(); s.at < len(s.src) {
		return s.src[s.at]
	}
	return 0
}

func (s *textScanner) unexpected() error {
	if s.at >= len(s.src) {
		return textErrorf(len(s.src), "unexpected EOF")
	}
	c, _ := utf8.DecodeRune(s.src[s.at:])
	return textErrorf(s.at, "unexpected character %q", c)
}

// fields reads fields up to what closes the message; 0: the end of the text.
func (s *textScanner) fields(m *textNode, closing byte) error {
	if s.depth++; s.depth > textDepthLimit {
		return textErrorf(s.at, "messages are nested more than %d levels deep", textDepthLimit)
	}
	defer func() { s.depth-- }()
	for {
		c := s.next()
		if c == closing && (closing != 0 || s.at == len(s.src)) {
			return nil
		}
		f := &textNode{at: s.at, src: s.source}
		if err := s.name(f); err != nil {
			return err
		}
		if s.next() == ':' {
			f.colon = true
			s.at++
		}
		if err := s.values(m, f); err != nil {
			return err
		}
		if c := s.next(); c == ',' || c == ';' {
			s.at++
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (s *textScanner) name(f *textNode) error {
	start := s.at
	if s.next() != '[' {
		for s.at < len(s.src) && isWordByte(s.src[s.at]) {
			s.at++
		}
		if f.name = string(s.src[start:s.at]); f.name == "" {
			return s.unexpected()
		}
		return nil
	}
	f.bracketed = true
	s.at++
	var name strings.Builder
	for {
		switch c := s.next(); {
		case isWordByte(c), c == '.', c == '/', c == '-', c == '%', c == '~':
			name.WriteByte(c)
			s.at++
		case c == ']' && name.Len() > 0:
			s.at++
			f.name = name.String()
			return nil
		default:
			return s.unexpected()
		}
	}
}

// values reads the value of a field, or the list of them, into the message around it.
func (s *textScanner) values(m, f *textNode) error {
	if s.next() != '[' {
		m.fields = append(m.fields, f)
		return s.value(f)
	}
	open := s.at
	s.at++
	if s.next() == ']' {
		s.at++
		f.isEmpty, f.start, f.end = true, open, s.at
		m.fields = append(m.fields, f)
		return nil
	}
	for {
		item := *f
		item.inList = true
		m.fields = append(m.fields, &item)
		if err := s.value(&item); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.at++
		case ']':
			s.at++
			return nil
		default:
			return s.unexpected()
		}
	}
}

func (s *textScanner) value(f *textNode) error {
	c := s.next()
	f.start = s.at
	var err error
	switch c {
	case '{', '<':
		f.isMessage = true
		s.at++
		closing := byte('}')
		if c == '<' {
			closing = '>'
		}
		if err = s.fields(f, closing); err == nil {
			s.at++
		}
	case '"', '\'':
		err = s.text(f)
		return err
	default:
		err = s.word()
	}
	f.end = s.at
	return err
}

// text reads strings that stand one after the other and are one value.
func (s *textScanner) text(f *textNode) error {
	for {
		quote := s.next()
		if quote != '"' && quote != '\'' {
			return nil
		}
		start := s.at
		for s.at++; ; s.at++ {
			if s.at >= len(s.src) || s.src[s.at] == '\n' {
				return textErrorf(start, "the string has no end")
			}
			if s.src[s.at] == '\\' {
				s.at++
				continue
			}
			if s.src[s.at] == quote {
				break
			}
		}
		s.at++
		f.end = s.at
	}
}

// word reads a number or an identifier, which may have a minus before it.
func (s *textScanner) word() error {
	if s.next() == '-' {
		s.at++
		s.next()
	}
	start := s.at
	for s.at < len(s.src) && (isWordByte(s.src[s.at]) || strings.IndexByte(".+-", s.src[s.at]) >= 0) {
		s.at++
	}
	if s.at == start {
		return s.unexpected()
	}
	return nil
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
