package document

import "bytes"

// next scans one token (or none, when only indentation changes).
func (s *scanner) next() {
	s.skipToToken()
	s.popIndents()
	if s.eof() {
		s.endStream()
		return
	}
	c := s.src[s.pos]
	if s.column() == 0 {
		switch {
		case c == '%':
			s.scanDirective()
			return
		case s.docMarkerAt(s.pos, '-'):
			s.scanDocMarker(tokDocStart)
			return
		case s.docMarkerAt(s.pos, '.'):
			s.scanDocMarker(tokDocEnd)
			return
		}
	}
	if classes[c]&(chStop|chFlowStop) == 0 && c != '-' && c != ':' {
		s.scanUnquoted()
		return
	}
	switch c {
	case '[', '{':
		s.scanFlowStart(c)
	case ']', '}':
		s.scanFlowEnd(c)
	case ',':
		s.scanFlowEntry()
	case '-':
		if s.blankOrEndAt(s.pos + 1) {
			s.scanBlockEntry()
			return
		}
		s.scanUnquoted()
	case '?':
		if next := s.at(s.pos + 1); s.pos+1 < len(s.src) && is(next, chBlank|chBreak) {
			s.scanKey()
			return
		}
		s.scanUnquoted()
	case ':':
		if s.isValue() {
			s.scanValue()
			return
		}
		s.scanUnquoted()
	case '*':
		s.scanAnchor(tokAlias)
	case '&':
		s.scanAnchor(tokAnchor)
	case '!':
		s.scanTag()
	case '|', '>':
		if s.inFlow() {
			s.scanUnquoted()
			return
		}
		s.scanBlockScalar()
	case '\'', '"':
		if s.checkScalarAllowed() {
			s.scanQuoted(c)
		}
	default:
		s.scanUnquoted()
	}
}

// scanUnquoted scans what can only be a plain scalar.
func (s *scanner) scanUnquoted() {
	if !s.checkScalarAllowed() {
		return
	}
	if !s.plainAt(s.pos) {
		s.fail(s.pos, "unknown token")
		return
	}
	s.scanPlain()
}

// checkScalarAllowed refuses a second scalar behind a quoted one on a line.
func (s *scanner) checkScalarAllowed() bool {
	if !s.scalarAllowed {
		s.fail(s.pos, "unexpected scalar")
	}
	return s.scalarAllowed
}

// plainAt tells whether a plain scalar can begin at offset i.
func (s *scanner) plainAt(i int) bool {
	c, next := s.at(i), s.at(i+1)
	if s.inFlow() {
		return !is(c, chFlowStop) && !((c == '-' || c == ':') && (next == endOfText || is(next, chBlank)))
	}
	return !is(c, chStop) && !((c == '-' || c == '?' || c == ':') && s.blankOrEndAt(i+1))
}

// isValue tells whether the colon at pos separates key and value.
func (s *scanner) isValue() bool {
	next := s.at(s.pos + 1)
	switch {
	case !s.inFlow():
		return s.blankOrEndAt(s.pos + 1)
	case s.jsonFlow:
		return true
	default:
		return s.pos+1 < len(s.src) && (is(next, chBlank|chBreak) || next == ',' || next == ']' || next == '}')
	}
}

// docMarkerAt tells whether the marker of three times c stands at offset i.
func (s *scanner) docMarkerAt(i int, c byte) bool {
	return s.at(i) == c && s.at(i+1) == c && s.at(i+2) == c && s.blankOrEndAt(i+3)
}

// skipToToken passes blanks, comments and line breaks.
func (s *scanner) skipToToken() {
	for {
		i := s.pos
		for i < len(s.src) && is(s.src[i], chBlank) {
			if s.src[i] == '\t' && !s.inFlow() {
				s.simpleKeyAllowed = false
			}
			i++
		}
		s.pos = i
		if s.at(i) == '#' {
			n := bytes.IndexAny(s.src[i:], "\r\n")
			if n < 0 {
				n = len(s.src) - i
			}
			s.skipTo(i + n)
		}
		n := s.breakAt(s.pos)
		if n == 0 {
			return
		}
		s.eatBreak(n)
		s.invalidateSimpleKey()
		s.scalarAllowed = true
		if !s.inFlow() {
			s.simpleKeyAllowed = true
		}
	}
}

func (s *scanner) inFlow() bool { return len(s.flows) > 0 }

func (s *scanner) endStream() {
	s.ended = true
	s.popAllIndents()
	s.popAllSimpleKeys()
	s.simpleKeyAllowed = false
}

func (s *scanner) scanDirective() {
	s.popAllIndents()
	s.popAllSimpleKeys()
	s.simpleKeyAllowed, s.jsonFlow = false, false
	start := s.pos
	i := s.pos + 1
	for {
		for i < len(s.src) && !is(s.src[i], chBlank|chBreak) {
			i++
		}
		end := i
		for i < len(s.src) && is(s.src[i], chBlank) {
			i++
		}
		if i >= len(s.src) || is(s.src[i], chBreak) || s.src[i] == '#' {
			s.skipTo(i)
			s.pushSpan(tokDirective, start, end)
			return
		}
	}
}

func (s *scanner) scanDocMarker(kind tokenKind) {
	s.popAllIndents()
	s.popAllSimpleKeys()
	s.simpleKeyAllowed, s.jsonFlow = false, false
	s.pushSpan(kind, s.pos, s.pos+3)
	s.pos += 3
}

func (s *scanner) scanBlockEntry() {
	if s.inFlow() || !s.simpleKeyAllowed {
		s.fail(s.pos, "illegal block entry")
		return
	}
	s.pushIndent(s.column(), indentSeq, valid)
	s.simpleKeyAllowed, s.jsonFlow = true, false
	s.pushSpan(tokBlockEntry, s.pos, s.pos+1)
	s.pos++
}

func (s *scanner) scanKey() {
	if !s.inFlow() {
		if !s.simpleKeyAllowed {
			s.fail(s.pos, "illegal map key")
			return
		}
		s.pushIndent(s.column(), indentMap, valid)
	}
	s.simpleKeyAllowed = !s.inFlow()
	s.pushSpan(tokKey, s.pos, s.pos+1)
	s.pos++
}

func (s *scanner) scanValue() {
	simple := s.verifySimpleKey()
	s.jsonFlow = false
	if simple {
		s.simpleKeyAllowed = false
	} else {
		if !s.inFlow() {
			if !s.simpleKeyAllowed {
				s.fail(s.pos, "illegal map value")
				return
			}
			s.pushIndent(s.column(), indentMap, valid)
		}
		s.simpleKeyAllowed = !s.inFlow()
	}
	s.scalarAllowed = true
	s.pushSpan(tokValue, s.pos, s.pos+1)
	s.pos++
}
