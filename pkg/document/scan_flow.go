package document

func (s *scanner) scanFlowStart(c byte) {
	s.insertSimpleKey()
	s.simpleKeyAllowed, s.jsonFlow = true, false
	s.flows = append(s.flows, c)
	kind := tokFlowSeqStart
	if c == '{' {
		kind = tokFlowMapStart
	}
	s.pushSpan(kind, s.pos, s.pos+1)
	s.pos++
}

func (s *scanner) scanFlowEnd(c byte) {
	if !s.inFlow() {
		s.fail(s.pos, "illegal flow end")
		return
	}
	s.soloEntry()
	s.simpleKeyAllowed, s.jsonFlow = false, true
	start := s.pos
	s.pos++
	top := s.flows[len(s.flows)-1]
	if (top == '[') != (c == ']') {
		s.fail(start, "illegal flow end")
		return
	}
	s.flows = s.flows[:len(s.flows)-1]
	kind := tokFlowSeqEnd
	if c == '}' {
		kind = tokFlowMapEnd
	}
	s.pushSpan(kind, start, s.pos)
}

func (s *scanner) scanFlowEntry() {
	if s.column() == 0 {
		s.fail(s.pos, "plain value cannot start with flow indicator character")
		return
	}
	if !s.checkScalarAllowed() {
		return
	}
	s.soloEntry()
	s.simpleKeyAllowed, s.jsonFlow = true, false
	s.pushSpan(tokFlowEntry, s.pos, s.pos+1)
	s.pos++
}

// soloEntry ends an entry of a flow collection: in a mapping a key without a value, in a sequence just an item.
func (s *scanner) soloEntry() {
	if !s.inFlow() {
		return
	}
	if s.flows[len(s.flows)-1] == '[' {
		s.invalidateSimpleKey()
	} else if s.verifySimpleKey() {
		s.pushSpan(tokValue, s.pos, s.pos)
	}
}
