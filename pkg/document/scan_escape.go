package document

import (
	"fmt"
	"unicode/utf8"
)

// simpleEscapes are the escape sequences of a double-quoted scalar that stand for one text.
var simpleEscapes = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r", 'e': "\x1b",
	' ': " ", '"': "\"", '\'': "'", '\\': "\\", '/': "/", 'N': "\x85", '_': "\xa0", 'L': "\u2028", 'P': "\u2029", // yaml-cpp writes N and _ in Latin-1 (exp.cpp)
}

// scanEscape scans an escape sequence into the scalar; false after an error.
func (s *scanner) scanEscape() bool {
	start := s.pos
	s.get()
	c := s.get()
	if text, ok := simpleEscapes[c]; ok {
		s.scalar.addFor([]byte(text), start, s.pos)
		return true
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 {
		s.fail(s.pos, "unknown escape character: "+string([]byte{c}))
		return false
	}
	value, ok := uint32(0), true
	for range digits {
		d := s.get()
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			ok = false
		}
		value = value<<4 + uint32(d)
	}
	if !ok {
		s.fail(s.pos, "bad character found while scanning hex number")
		return false
	}
	if value >= 0xD800 && value <= 0xDFFF || value > utf8.MaxRune {
		s.fail(s.pos, fmt.Sprintf("invalid unicode: %d", value))
		return false
	}
	s.scalar.addFor(utf8.AppendRune(nil, rune(value)), start, s.pos)
	return true
}
