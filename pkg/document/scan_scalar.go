package document

import "bytes"

// scalarState is the text of a scalar while it is scanned.
type scalarState struct {
	out         []byte
	pieces      *[]piece // where to note which text came from where; nil: nowhere
	lastEscaped int      // length of out behind the last escape sequence, -1: none
	contentEnd  int      // offset behind the last character that is no blank
}

func (st *scalarState) reset() {
	st.out, st.lastEscaped, st.contentEnd = st.out[:0], -1, 0
}

// add appends text that stands in the source as it is.
func (st *scalarState) add(src []byte, from, to int) {
	if st.pieces != nil && to > from {
		*st.pieces = appendPiece(*st.pieces, piece{len(st.out), to - from, from, to - from})
	}
	st.out = append(st.out, src[from:to]...)
}

// addFor appends text that stands for source bytes which differ from it: an escape sequence or a folded line break.
func (st *scalarState) addFor(text []byte, from, to int) {
	if st.pieces != nil && len(text) > 0 {
		*st.pieces = appendPiece(*st.pieces, piece{len(st.out), len(text), from, to - from})
	}
	st.out = append(st.out, text...)
}

// trimTail removes characters of a set from the end, but keeps `keep` of them and nothing that was escaped. The
// arithmetic is that of yaml-cpp: behind an escape sequence one character more stays than one would expect.
func (st *scalarState) trimTail(set string, keep int) {
	last := len(bytes.TrimRight(st.out, set)) - 1
	last = max(last, st.lastEscaped)
	if last < 0 {
		if set == "\n" {
			st.truncate(0)
		}
		return
	}
	st.truncate(min(len(st.out), last+1+keep))
}

// truncate cuts the text to n bytes.
func (st *scalarState) truncate(n int) {
	st.out = st.out[:n]
	if st.pieces != nil {
		*st.pieces = truncatePieces(*st.pieces, n)
	}
}

func (s *scanner) scanPlain() {
	indent := 0
	if !s.inFlow() {
		indent = s.topIndent().column + 1
	}
	s.insertSimpleKey() // may open a level that does not count for the scalar itself
	start := s.pos
	end, raw := s.plainLineEnd(start), true
	switch {
	case end >= 0 && !is(s.at(end), chBreak):
		s.skipTo(end)
		s.simpleKeyAllowed = false
	case end >= 0 && s.endsByIndent(end, indent):
		s.simpleKeyAllowed = true
	default:
		s.simpleKeyAllowed = s.scanFlowScalar(0, indent, len(s.src))
		if s.err != nil {
			return
		}
		end = s.scalar.contentEnd
		raw = bytes.Equal(s.scalar.out, s.src[start:end])
	}
	for raw && end > start && is(s.src[end-1], chBlank) {
		end--
	}
	s.jsonFlow = false
	s.push(token{kind: tokScalar, style: Plain, raw: raw, start: uint32(start), end: uint32(end)})
}

// plainLineEnd finds where a plain scalar ends on its line, or the line break that ends the line; -1 if that needs a
// closer look.
func (s *scanner) plainLineEnd(i int) int {
	test := chPlainTest
	if s.inFlow() {
		test = chFlowTest
	}
	for src := s.src; i < len(src); i++ {
		c := src[i]
		switch {
		case classes[c]&test == 0:
		case s.plainEndsAt(i):
			if is(c, chBreak) {
				return -1
			}
			return i
		case is(c, chBreak):
			return i
		case c == 0:
			return -1
		}
	}
	return -1
}

// endsByIndent passes the line break at offset i and the blanks behind it if the line there is indented less than a
// plain scalar needs to go on. It passes nothing when that needs a closer look.
func (s *scanner) endsByIndent(i, indent int) bool {
	if s.lineBreak != '\n' || s.src[i] == '\r' && s.at(i+1) != '\n' {
		return false
	}
	lineStart := i + s.breakAt(i)
	to := lineStart
	for s.at(to) == ' ' {
		to++
	}
	if to-lineStart >= indent || to >= len(s.src) || is(s.src[to], chBreak|chBlank) || s.src[to] == '#' {
		return false
	}
	s.pos, s.lineStart = to, lineStart
	return true
}

// plainEndsAt tells whether a plain scalar ends at offset i for another reason than a line break.
func (s *scanner) plainEndsAt(i int) bool {
	switch c := s.at(i); {
	case c == ':':
		next := s.at(i + 1)
		return s.blankOrEndAt(i+1) || s.inFlow() && (next == ',' || next == ']' || next == '}')
	case is(c, chBlank):
		return s.at(i+1) == '#'
	case is(c, chBreak):
		return s.at(i+s.breakAt(i)) == '#'
	default:
		return s.inFlow() && is(c, chFlowEnd)
	}
}

func (s *scanner) scanQuoted(quote byte) {
	s.insertSimpleKey()
	start := s.pos
	style := DoubleQuoted
	if quote == '\'' {
		style = SingleQuoted
	}
	raw := false
	if end := s.quotedLineEnd(start+1, quote); end >= 0 {
		raw = true
		s.skipTo(end + 1)
	} else {
		s.skipTo(start + 1)
		s.scanFlowScalar(quote, 0, len(s.src))
	}
	s.simpleKeyAllowed = false
	s.scalarAllowed = s.inFlow()
	s.jsonFlow = true
	s.push(token{kind: tokScalar, style: style, raw: raw, start: uint32(start), end: uint32(s.pos)})
}

// quotedLineEnd finds the closing quote of a scalar that is written as it is read, -1 if there is an escape sequence
// or a line break before.
func (s *scanner) quotedLineEnd(i int, quote byte) int {
	for src := s.src; i < len(src); i++ {
		switch c := src[i]; {
		case c == quote:
			if quote == '\'' && s.at(i+1) == '\'' {
				return -1
			}
			return i
		case c == '\\' && quote == '"', c == '\n', c == '\r':
			return -1
		}
	}
	return -1
}

// scanFlowScalar scans a plain scalar (quote 0) or the rest of a quoted one up to limit into s.scalar. Lines are folded.
// It tells whether a plain scalar ended because a line is indented less than it.
func (s *scanner) scanFlowScalar(quote byte, indent, limit int) bool {
	st := &s.scalar
	st.reset()
	emptyLine := false
	for s.pos < limit {
		kept := len(st.out)
		escapedBreak, ended := s.scanFlowLine(quote, limit, &kept)
		if ended || s.err != nil {
			break
		}
		if s.pos >= limit {
			if quote != 0 {
				s.fail(s.pos, "illegal EOF in scalar")
			}
			break
		}
		st.truncate(kept)
		foldStart := s.pos
		s.eatBreak(s.breakAt(s.pos))
		if !s.eatIndent(quote, indent) {
			break
		}
		nextEmpty := s.breakAt(s.pos) > 0
		switch {
		case nextEmpty:
			st.addFor([]byte{'\n'}, foldStart, s.pos)
		case !emptyLine && !escapedBreak:
			st.addFor([]byte{' '}, foldStart, s.pos)
		}
		emptyLine = nextEmpty
		if !emptyLine && s.column() < indent {
			st.trimFlow(quote)
			return true
		}
	}
	st.trimFlow(quote)
	return false
}

func (st *scalarState) trimFlow(quote byte) {
	if quote != 0 {
		st.trimTail("\n", 1)
		return
	}
	st.trimTail(" \t", 0)
	st.trimTail("\n", 0)
}

// scanFlowLine scans to the end of the line or of the scalar. kept is the length of the text without blanks at its end.
func (s *scanner) scanFlowLine(quote byte, limit int, kept *int) (escapedBreak, ended bool) {
	st := &s.scalar
	for s.pos < limit {
		c := s.src[s.pos]
		switch {
		case quote == 0 && is(c, chPlainTest|chFlowTest) && s.plainEndsAt(s.pos):
			return false, true
		case quote == '"' && c == '"', quote == '\'' && c == '\'' && s.at(s.pos+1) != '\'':
			s.pos++
			return false, true
		case is(c, chBreak):
			return false, false
		case s.column() == 0 && (s.docMarkerAt(s.pos, '-') || s.docMarkerAt(s.pos, '.')):
			if quote != 0 {
				s.fail(s.pos, "illegal document indicator in scalar")
			}
			return false, true
		case quote == '"' && c == '\\' && s.breakAt(s.pos+1) > 0:
			s.pos++
			*kept, st.lastEscaped = len(st.out), len(st.out)
			return true, false
		case quote == '"' && c == '\\', c == quote: // also a NUL in a plain scalar
			if !s.scanEscape() {
				return false, true
			}
			*kept, st.lastEscaped = len(st.out), len(st.out)
			st.contentEnd = s.pos
			continue
		}
		to := s.pos + 1
		if !is(c, chBlank) {
			for to < limit && !is(s.src[to], chPlainTest|chFlowTest|chQuotedTest) {
				to++
			}
			st.contentEnd = to
		}
		st.add(s.src, s.pos, to)
		s.skipTo(to)
		if !is(c, chBlank) {
			*kept = len(st.out)
		}
	}
	return false, false
}

// eatIndent passes the blanks that begin a line of a flow scalar.
func (s *scanner) eatIndent(quote byte, indent int) bool {
	for is(s.at(s.pos), chBlank) {
		if quote == 0 && s.src[s.pos] == '\t' && s.column() < indent {
			s.fail(s.pos, "illegal tab when looking for indentation")
			return false
		}
		if quote == 0 && s.plainEndsAt(s.pos) {
			return true
		}
		s.pos++
	}
	return true
}
