package document

import (
	"bytes"
	"fmt"
	"strings"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota // the stream has ended, or an error was found
	tokDirective
	tokDocStart
	tokDocEnd
	tokBlockSeqStart
	tokBlockMapStart
	tokBlockSeqEnd
	tokBlockMapEnd
	tokBlockEntry
	tokFlowSeqStart
	tokFlowMapStart
	tokFlowSeqEnd
	tokFlowMapEnd
	tokFlowEntry
	tokKey
	tokValue
	tokAnchor
	tokAlias
	tokTag
	tokScalar
)

type status uint8

const (
	valid status = iota
	invalid
	unverified // may still turn out to be (the start of) a simple key, or not
)

// token of the scanner. start is where yaml-cpp says it is, in an error text.
type token struct {
	start, end uint32
	aux        uint32 // of a block scalar: blockIndent
	kind       tokenKind
	status     status
	style      Style // of a scalar
	raw        bool  // of a scalar: its text is its bytes
}

// atEnd is the start of tokens that exist because the stream ended: yaml-cpp puts them into column 1 of the last line.
const atEnd = ^uint32(0)

// scanner turns text into tokens as yaml-cpp's Scanner does: token by token, running ahead only until it is known
// whether the first token in the queue is valid. What it accepts depends on that order, and so do the error texts.
type scanner struct {
	src       []byte
	pos       int // may pass the end of src when an escape sequence is cut
	lineStart int // where column 0 of the current line is
	lineBreak byte
	ended     bool
	err       *scanError

	queue []token
	head  int
	base  int // number of tokens that left the queue

	indents []indent
	ids     int
	keys    []simpleKey
	flows   []byte

	simpleKeyAllowed bool
	scalarAllowed    bool // false behind a quoted scalar on the same line of a block context
	jsonFlow         bool // a value's colon needs no blank behind it

	scalar scalarState
}

// scanError is an error at a place of the text, with yaml-cpp's words.
type scanError struct {
	at     uint32
	reason string
}

func newScanner(src []byte, start int) *scanner {
	return &scanner{
		src: src, pos: start, lineStart: start,
		simpleKeyAllowed: true, scalarAllowed: true,
		indents: []indent{{column: -1, kind: indentNone}},
	}
}

// fail records the first error.
func (s *scanner) fail(at int, reason string) {
	if s.err == nil {
		s.err = &scanError{uint32(at), reason}
	}
}

func (s *scanner) eof() bool   { return s.pos >= len(s.src) }
func (s *scanner) column() int { return s.pos - s.lineStart }

// at is the byte at offset i, endOfText behind the end.
func (s *scanner) at(i int) byte {
	if i < len(s.src) {
		return s.src[i]
	}
	return endOfText
}

// breakAt is the length of the line break at offset i; 0: there is none.
func (s *scanner) breakAt(i int) int {
	switch s.at(i) {
	case '\n':
		return 1
	case '\r':
		if s.at(i+1) == '\n' {
			return 2
		}
		return 1
	}
	return 0
}

// blankOrEndAt tells whether a blank, a line break or the end is at offset i.
func (s *scanner) blankOrEndAt(i int) bool {
	c := s.at(i)
	return c == endOfText || is(c, chBlank|chBreak)
}

// eatBreak passes the line break of n bytes at pos. The first break of the stream decides which byte begins a new line:
// in a file with LF, a lone CR separates lines but the columns go on.
func (s *scanner) eatBreak(n int) {
	if s.lineBreak == 0 {
		s.lineBreak = '\n'
		if s.src[s.pos] == '\r' && s.at(s.pos+1) != '\n' {
			s.lineBreak = '\r'
		}
	}
	for range n {
		s.pos++
		if s.src[s.pos-1] == s.lineBreak {
			s.lineStart = s.pos
		}
	}
}

// skipTo passes text without line breaks. Before the first break of a stream, yaml-cpp counts a NUL as one.
func (s *scanner) skipTo(to int) {
	if s.lineBreak == 0 {
		if i := bytes.LastIndexByte(s.src[min(s.pos, len(s.src)):min(to, len(s.src))], 0); i >= 0 {
			s.lineStart = s.pos + i + 1
		}
	}
	s.pos = to
}

// get passes any byte, also behind the end, and returns it.
func (s *scanner) get() byte {
	c := s.at(s.pos)
	if s.pos < len(s.src) && is(c, chBreak) {
		s.eatBreak(1)
		return c
	}
	s.skipTo(s.pos + 1)
	return c
}

// peek returns the next token without taking it; tokEnd behind the last one and after an error.
func (s *scanner) peek() *token {
	for {
		if s.err != nil {
			return &token{start: s.mark()}
		}
		if s.head < len(s.queue) {
			switch t := &s.queue[s.head]; {
			case t.status == valid:
				return t
			case t.status == invalid:
				s.pop()
				continue
			case s.ended:
				return t
			}
		} else if s.ended {
			return &token{start: s.mark()}
		}
		s.next()
	}
}

func (s *scanner) pop() {
	s.head++
	s.base++
	if s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	}
}

func (s *scanner) push(t token) { s.queue = append(s.queue, t) }

func (s *scanner) pushSpan(kind tokenKind, start, end int) {
	s.push(token{kind: kind, start: uint32(start), end: uint32(end)})
}

// token returns the token with a number, nil when it has left the queue.
func (s *scanner) token(number int) *token {
	if i := number - s.base + s.head; i >= s.head && i < len(s.queue) {
		return &s.queue[i]
	}
	return nil
}

// nextNumber is the number that the next pushed token gets.
func (s *scanner) nextNumber() int { return s.base + len(s.queue) - s.head }

// mark is the current place for an error text.
func (s *scanner) mark() uint32 {
	if s.ended {
		return atEnd
	}
	return uint32(s.pos)
}

// location is the line and column, from 1, that yaml-cpp gives for a place. Columns count bytes.
func (s *scanner) location(at uint32) (line, column int) {
	bom := 0
	if bytes.HasPrefix(s.src, utf8BOM) {
		bom = len(utf8BOM)
	}
	t := scanner{src: s.src, pos: bom, lineStart: bom}
	end := min(int(at), len(s.src))
	for line = 1; t.pos < end; {
		before := t.lineStart
		t.get()
		if t.lineStart != before {
			line++
		}
	}
	if at == atEnd {
		return line, 1
	}
	return line, int(at) - t.lineStart + 1
}

// text of an error as Envoy prints it.
func (s *scanner) text(e *scanError) string {
	line, column := s.location(e.at)
	return cString(fmt.Sprintf("yaml-cpp: error at line %d, column %d: %s", line, column, e.reason))
}

// cString is what is left of a text where it is handled as a C string.
func cString(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return text
}
