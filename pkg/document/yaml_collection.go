package document

// The functions here read the children of collections up to the token that ends them (SingleDocParser's Handle...).

func (p *yamlParser) blockSeqItems(list *children) bool {
	for {
		t := p.scan.peek()
		if p.failed() {
			return false
		}
		if t.kind != tokBlockEntry && t.kind != tokBlockSeqEnd {
			return p.fail(t.start, "end of sequence not found")
		}
		last, end := t.kind == tokBlockSeqEnd, t.end
		p.scan.pop()
		if last {
			return true
		}
		p.end = end
		next := p.scan.peek()
		if p.failed() {
			return false
		}
		if next.kind == tokBlockEntry || next.kind == tokBlockSeqEnd {
			list.add(p.null())
			continue
		}
		if !p.read(list) {
			return false
		}
	}
}

func (p *yamlParser) flowSeqItems(list *children) bool {
	for {
		t := p.scan.peek()
		if p.failed() {
			return false
		}
		switch t.kind {
		case tokEnd:
			return p.fail(t.start, "end of sequence flow not found")
		case tokFlowSeqEnd:
			p.end = t.end
			p.scan.pop()
			return true
		}
		if !p.read(list) || !p.separator(tokFlowSeqEnd, "end of sequence flow not found") {
			return false
		}
	}
}

// separator passes the comma behind an entry of a flow collection, if the collection does not end.
func (p *yamlParser) separator(end tokenKind, reason string) bool {
	t := p.scan.peek()
	if p.failed() {
		return false
	}
	if t.kind == tokFlowEntry {
		p.scan.pop()
		return true
	}
	return t.kind == end || p.fail(t.start, reason)
}

func (p *yamlParser) blockMapEntries(list *children) bool {
	for {
		t := p.scan.peek()
		if p.failed() {
			return false
		}
		switch t.kind {
		case tokBlockMapEnd:
			p.scan.pop()
			return true
		case tokKey, tokValue:
		default:
			return p.fail(t.start, "end of map not found")
		}
		if !p.entry(*t, list) {
			return false
		}
	}
}

func (p *yamlParser) flowMapEntries(list *children) bool {
	for {
		t := p.scan.peek()
		if p.failed() {
			return false
		}
		switch t.kind {
		case tokEnd:
			return p.fail(t.start, "end of map flow not found")
		case tokFlowMapEnd:
			p.end = t.end
			p.scan.pop()
			return true
		}
		if !p.entry(*t, list) || !p.separator(tokFlowMapEnd, "end of map flow not found") {
			return false
		}
	}
}

// entry reads a key and its value, each of which may be absent.
func (p *yamlParser) entry(t token, list *children) bool {
	if t.kind == tokKey {
		p.end = max(p.end, t.end) // behind a `?`
		p.scan.pop()
		if !p.read(list) {
			return false
		}
		p.suspect = p.suspect || p.doc.nodes.at(list.last).kind != Scalar
	} else {
		at := min(t.start, uint32(len(p.file.src)))
		p.end = max(p.end, at)
		list.add(p.doc.nodes.add(record{start: at, end: at, kind: Scalar, style: Plain, raw: true}))
	}
	return p.value(list)
}

// value reads the value behind a key.
func (p *yamlParser) value(list *children) bool {
	t := p.scan.peek()
	if p.failed() {
		return false
	}
	if t.kind != tokValue {
		list.add(p.null())
		return true
	}
	if t.end > t.start {
		p.end = t.end
	}
	p.scan.pop()
	return p.read(list)
}

// compactMap reads a mapping that is one `key: value` of a flow sequence, or one `: value` anywhere.
func (p *yamlParser) compactMap(start uint32, props *properties) (uint32, bool) {
	style := Block
	for i := len(p.context) - 1; i >= 0; i-- {
		if c := p.context[i]; c == flowSeq || c == flowMap {
			style = Flow
			break
		}
	}
	id := p.open(start, Mapping, style, props)
	return id, p.inside(compactMap, id)
}

func (p *yamlParser) compactMapEntry(list *children) bool {
	t := *p.scan.peek()
	return p.entry(t, list)
}
