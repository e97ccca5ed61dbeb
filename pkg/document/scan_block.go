package document

// blockIndent packs how the lines of a block scalar are indented: the least column of its lines, and whether the first
// line that is not empty may raise it.
func blockIndent(column int, detect bool) uint32 {
	b := uint32(column) << 1
	if detect {
		b |= 1
	}
	return b
}

type chomping uint8

const (
	clip chomping = iota
	strip
	keep
)

// scanBlockHeader scans the line of the indicator of a block scalar. indent is what the lines are indented by relative
// to the collection around, from the header or 1.
func (s *scanner) scanBlockHeader() (chomp chomping, indent int, detect, ok bool) {
	s.pos++
	indent, detect = 1, true
	hasChomp, hasDigit := false, false
	for {
		c := s.at(s.pos)
		if (c == '+' || c == '-') && !hasChomp {
			hasChomp, chomp = true, keep
			if c == '-' {
				chomp = strip
			}
		} else if c >= '0' && c <= '9' && !hasDigit {
			if c == '0' {
				s.fail(s.pos+1, "cannot set zero indentation for a block scalar")
				return 0, 0, false, false
			}
			hasDigit, indent, detect = true, int(c-'0'), false
		} else {
			break
		}
		s.pos++
	}
	for is(s.at(s.pos), chBlank) {
		s.pos++
	}
	if s.at(s.pos) == '#' {
		i := s.pos
		for i < len(s.src) && !is(s.src[i], chBreak) {
			i++
		}
		s.skipTo(i)
	}
	if !s.eof() && s.breakAt(s.pos) == 0 {
		s.fail(s.pos, "unexpected character in block scalar")
		return 0, 0, false, false
	}
	return chomp, indent, detect, true
}

func (s *scanner) scanBlockScalar() {
	start := s.pos
	style := Literal
	if s.src[s.pos] == '>' {
		style = Folded
	}
	chomp, indent, detect, ok := s.scanBlockHeader()
	if !ok {
		return
	}
	if top := s.topIndent().column; top >= 0 {
		indent += top
	}
	end := s.scanBlockText(style, chomp, indent, detect)
	s.simpleKeyAllowed, s.jsonFlow = true, false
	s.push(token{kind: tokScalar, style: style, start: uint32(start), end: uint32(end), aux: blockIndent(indent, detect)})
}

// scanBlockText scans the lines below the header into s.scalar and returns the end of the scalar.
func (s *scanner) scanBlockText(style Style, chomp chomping, indent int, detect bool) int {
	st := &s.scalar
	st.reset()
	f := folder{st: st, folded: style == Folded}
	headerEnd := s.pos
	contentEnd, firstBreak, lastBreak := headerEnd, headerEnd, headerEnd
	found := false
	for !s.eof() {
		lineStart := s.pos
		ok := s.scanBlockLine()
		if s.pos > lineStart {
			found, contentEnd = true, s.pos
		}
		if !ok || s.at(s.pos) == endOfText {
			break
		}
		foldStart := s.pos
		s.eatBreak(s.breakAt(s.pos))
		if contentEnd == foldStart {
			firstBreak = s.pos
		}
		lastBreak = s.pos
		for s.at(s.pos) == ' ' && (s.column() < indent || detect && !found) {
			s.pos++
		}
		if detect && !found {
			indent = max(indent, s.column())
		}
		if s.at(s.pos) == '\t' && s.column() < indent {
			s.fail(s.pos, "illegal tab when looking for indentation")
			return s.pos
		}
		nextEmpty := s.breakAt(s.pos) > 0
		f.lineBreak(foldStart, s.pos, nextEmpty, is(s.at(s.pos), chBlank), s.column() >= indent, found)
		if !nextEmpty && s.column() < indent {
			break
		}
	}
	if f.folded && s.eof() && s.pos > lastBreak {
		contentEnd = s.pos // the blanks count: yaml-cpp folds the break before them into a blank
	}
	switch chomp {
	case strip:
		st.trimTail("\n", 0)
		return contentEnd
	case clip:
		st.trimTail("\n", 1)
		if !found {
			return headerEnd
		}
		return max(contentEnd, firstBreak)
	default:
		return max(contentEnd, lastBreak)
	}
}

// scanBlockLine scans the rest of a line; false after an error.
func (s *scanner) scanBlockLine() bool {
	i := s.pos
	for i < len(s.src) && !is(s.src[i], chBreak) && s.src[i] != 0 && s.src[i] != endOfText {
		i++
	}
	s.scalar.add(s.src, s.pos, i)
	s.skipTo(i)
	if s.at(i) == 0 {
		// A NUL is yaml-cpp's sign for "no escape character", so it takes one for an escape sequence.
		if !s.scanEscape() {
			return false
		}
		s.scalar.lastEscaped = len(s.scalar.out)
		return s.scanBlockLine()
	}
	return true
}

// folder joins the lines of a block scalar.
type folder struct {
	st                  *scalarState
	folded              bool
	pastOpening         bool // the break behind the header is no text
	emptyLine           bool
	moreIndented        bool
	pending             int // breaks of empty lines that wait for the line behind them
	startedMoreIndented bool
}

// lineBreak adds what the line break between from and to stands for. What follows it: an empty line, a line that is
// indented further, a line of the scalar at all; found: a line that is not empty was seen.
func (f *folder) lineBreak(from, to int, nextEmpty, nextMore, inside, found bool) {
	if f.folded && f.pending == 0 && nextEmpty {
		f.startedMoreIndented = f.moreIndented
	}
	if f.pastOpening {
		f.addBreak(from, to, nextEmpty, nextMore, inside, found)
	}
	f.emptyLine, f.moreIndented, f.pastOpening = nextEmpty, nextMore, true
}

func (f *folder) addBreak(from, to int, nextEmpty, nextMore, inside, found bool) {
	newline := []byte{'\n'}
	if !f.folded {
		f.st.addFor(newline, from, to)
		return
	}
	switch {
	case !f.emptyLine && !nextEmpty && !f.moreIndented && !nextMore && inside:
		f.st.addFor([]byte{' '}, from, to)
	case nextEmpty:
		f.pending++
	default:
		f.st.addFor(newline, from, to)
	}
	if nextEmpty || f.pending == 0 {
		return
	}
	for range f.pending - 1 {
		f.st.addFor(newline, from, to)
	}
	if f.startedMoreIndented || nextMore || !found {
		f.st.addFor(newline, from, to)
	}
	f.pending = 0
}
