package document

type indentKind uint8

const (
	indentNone indentKind = iota
	indentMap
	indentSeq
)

// indent is a level of the block context.
type indent struct {
	column int
	id     int // tells it from others that stood at the same place of the stack
	kind   indentKind
	status status
}

// simpleKey is a place where a key without `?` may have begun. At most one is open for each level of flow collections.
type simpleKey struct {
	pos       int
	lineStart int
	flowLevel int
	indent    int // index into the scanner's indents of the level that it opened; 0: none
	indentID  int
	mapStart  int // number of the token; -1: none
	key       int
}

// pushIndent opens a block collection at a column if that is a new level, and returns the level's index, 0 if not.
func (s *scanner) pushIndent(column int, kind indentKind, st status) int {
	if s.inFlow() {
		return 0
	}
	last := s.topIndent()
	if column < last.column || column == last.column && !(kind == indentSeq && last.kind == indentMap) {
		return 0
	}
	start := tokBlockMapStart
	if kind == indentSeq {
		start = tokBlockSeqStart
	}
	s.push(token{kind: start, status: st, start: uint32(s.pos), end: uint32(s.pos)})
	s.ids++
	s.indents = append(s.indents, indent{column: column, kind: kind, status: st, id: s.ids})
	return len(s.indents) - 1
}

// topIndent is the innermost level.
func (s *scanner) topIndent() indent {
	if len(s.indents) == 0 {
		return indent{}
	}
	return s.indents[len(s.indents)-1]
}

// popIndents closes the levels that the current column ends.
func (s *scanner) popIndents() {
	if s.inFlow() {
		return
	}
	column := s.column()
	for len(s.indents) > 0 {
		top := s.topIndent()
		if top.column < column {
			break
		}
		if top.column == column && !(top.kind == indentSeq && !s.atBlockEntry()) {
			break
		}
		s.popIndent()
	}
	for len(s.indents) > 0 && s.topIndent().status == invalid {
		s.popIndent()
	}
}

func (s *scanner) atBlockEntry() bool { return s.at(s.pos) == '-' && s.blankOrEndAt(s.pos+1) }

func (s *scanner) popAllIndents() {
	if s.inFlow() {
		return
	}
	for len(s.indents) > 0 && s.topIndent().kind != indentNone {
		s.popIndent()
	}
}

func (s *scanner) popIndent() {
	top := s.topIndent()
	s.indents = s.indents[:len(s.indents)-1]
	if top.status != valid {
		s.invalidateSimpleKey()
		return
	}
	switch top.kind {
	case indentSeq:
		s.push(token{kind: tokBlockSeqEnd, start: s.mark()})
	case indentMap:
		s.push(token{kind: tokBlockMapEnd, start: s.mark()})
	}
}

// insertSimpleKey notes that a key may begin here.
func (s *scanner) insertSimpleKey() {
	if !s.simpleKeyAllowed {
		return
	}
	level := len(s.flows)
	if n := len(s.keys); n > 0 && s.keys[n-1].flowLevel == level {
		return
	}
	k := simpleKey{pos: s.pos, lineStart: s.lineStart, flowLevel: level, mapStart: -1}
	if level == 0 {
		number := s.nextNumber()
		if i := s.pushIndent(s.column(), indentMap, unverified); i > 0 {
			k.indent, k.indentID, k.mapStart = i, s.indents[i].id, number
		}
	}
	k.key = s.nextNumber()
	s.push(token{kind: tokKey, status: unverified, start: uint32(s.pos), end: uint32(s.pos)})
	s.keys = append(s.keys, k)
}

// settle makes a simple key's tokens and level valid or invalid.
func (s *scanner) settle(k simpleKey, st status) {
	if k.indent > 0 && k.indent < len(s.indents) && s.indents[k.indent].id == k.indentID {
		s.indents[k.indent].status = st
	}
	if k.mapStart >= 0 {
		if t := s.token(k.mapStart); t != nil {
			t.status = st
		}
	}
	if t := s.token(k.key); t != nil {
		t.status = st
	}
}

// popSimpleKey takes the open key of the current flow level.
func (s *scanner) popSimpleKey() (simpleKey, bool) {
	n := len(s.keys)
	if n == 0 || s.keys[n-1].flowLevel != len(s.flows) {
		return simpleKey{}, false
	}
	k := s.keys[n-1]
	s.keys = s.keys[:n-1]
	return k, true
}

func (s *scanner) invalidateSimpleKey() {
	if k, ok := s.popSimpleKey(); ok {
		s.settle(k, invalid)
	}
}

// maxSimpleKey is how far behind the begin of a simple key its colon may stand, in bytes.
const maxSimpleKey = 1024

// verifySimpleKey tells whether the colon (or the end of the entry) here makes the open key one.
func (s *scanner) verifySimpleKey() bool {
	k, ok := s.popSimpleKey()
	if !ok {
		return false
	}
	if s.lineStart != k.lineStart || s.pos-k.pos > maxSimpleKey {
		s.settle(k, invalid)
		return false
	}
	s.settle(k, valid)
	return true
}

// popAllSimpleKeys forgets the open keys without a decision: their tokens stay unverified, so the scanner runs to the
// end of the stream, where they count as keys without a value.
func (s *scanner) popAllSimpleKeys() { s.keys = s.keys[:0] }
