package eds

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// textDepthLimit bounds the nesting of text protobuf, as Go's reader does. Protobuf's reader in C++ has no limit for it.
const textDepthLimit = 10000

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

// bracketName is what stands in brackets: the name of an extension, or a type URL, whose prefix is not empty and may have
// characters that are written as in other URLs.
var bracketName = pattern(`^[^/%]([^%]|%[0-9A-Fa-f]{2})*$`)

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
		case isWordByte(c), c != 0 && strings.IndexByte("./-%~!$&()*+,;=", c) >= 0:
			name.WriteByte(c)
			s.at++
		case c == ']' && name.Len() > 0:
			s.at++
			if f.name = name.String(); !bracketName().MatchString(f.name) {
				return textErrorf(f.at, "%q is no name of a type", f.name)
			}
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
		return s.text(f)
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
