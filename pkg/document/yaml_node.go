package document

// node reads one node with its properties; 0 and false after an error. Its children are linked, itself not yet.
func (p *yamlParser) node() (uint32, bool) {
	if p.depth++; p.depth >= maxYAMLDepth {
		if !p.failed() {
			p.setError(p.scan.mark(), "bad file", "nesting-too-deep")
		}
		return 0, false
	}
	id, ok := p.nodeInside()
	p.depth--
	return id, ok
}

func (p *yamlParser) nodeInside() (uint32, bool) {
	t := p.scan.peek()
	switch {
	case p.failed():
		return 0, false
	case t.kind == tokEnd:
		return p.null(), true
	case t.kind == tokValue: // a value without a key makes a mapping of its own
		return p.compactMap(t.start, &properties{})
	case t.kind == tokAlias:
		return p.alias(*t)
	}
	var props properties
	if t.kind == tokTag || t.kind == tokAnchor {
		var ok bool
		if props, ok = p.properties(); !ok {
			return 0, false
		}
		t = p.scan.peek()
	}
	var id uint32
	switch t.kind {
	case tokScalar:
		id = p.doc.nodes.add(record{start: t.start, end: t.end, child: t.aux, kind: Scalar, style: t.style, raw: t.raw})
		p.end = t.end
		p.scan.pop()
		p.keep(id, &props)
		return id, true
	case tokFlowSeqStart, tokBlockSeqStart, tokFlowMapStart, tokBlockMapStart:
		return p.collection(*t, &props)
	case tokKey:
		if len(p.context) > 0 && p.context[len(p.context)-1] == flowSeq {
			return p.compactMap(t.start, &props)
		}
	}
	id = p.null()
	p.keep(id, &props)
	return id, true
}

// null adds an absent value behind the last token.
func (p *yamlParser) null() uint32 {
	return p.doc.nodes.add(record{start: p.end, end: p.end, kind: Scalar, style: Plain, raw: true})
}

// keep stores the properties of a node.
func (p *yamlParser) keep(id uint32, props *properties) {
	if props.tagEnd == 0 && props.anchorEnd == 0 {
		return
	}
	if p.doc.props == nil {
		p.doc.props = map[uint32]properties{}
	}
	p.doc.props[id] = *props
	if props.anchorEnd != 0 {
		if p.anchors == nil {
			p.anchors = map[string]uint32{}
		}
		p.anchors[string(p.file.src[props.anchor:props.anchorEnd])] = id
	}
}

// open adds a collection, before its children so that they can name it.
func (p *yamlParser) open(start uint32, kind Kind, style Style, props *properties) uint32 {
	id := p.doc.nodes.add(record{start: start, end: start, kind: kind, style: style})
	p.keep(id, props)
	return id
}

// properties reads the tags and anchors before a node.
func (p *yamlParser) properties() (props properties, ok bool) {
	for {
		t := p.scan.peek()
		if p.failed() {
			return props, false
		}
		if t.kind != tokTag && t.kind != tokAnchor {
			return props, true
		}
		if props.tagEnd == 0 && props.anchorEnd == 0 {
			props.start = t.start
		}
		if t.kind == tokTag {
			if props.resolved != "" {
				return props, p.fail(t.start, "cannot assign multiple tags to the same node")
			}
			props.tag, props.tagEnd = t.start, t.end
			props.resolved = p.dirs.resolveTag(string(p.file.src[t.start:t.end]), int(t.end) == len(p.file.src))
		} else {
			if props.anchorEnd != 0 {
				return props, p.fail(t.start, "cannot assign multiple anchors to the same node")
			}
			props.anchor, props.anchorEnd = t.start+1, t.end
		}
		p.end = t.end
		p.scan.pop()
	}
}

func (p *yamlParser) alias(t token) (uint32, bool) {
	name := string(p.file.src[t.start+1 : t.end])
	target, ok := p.anchors[name]
	if !ok {
		return 0, p.fail(t.start, "the referenced anchor is not defined: "+name)
	}
	p.suspect = true
	p.end = t.end
	p.scan.pop()
	id := p.doc.nodes.add(record{start: t.start, end: t.end, child: target, kind: Alias})
	if r := p.doc.nodes.at(target); r.kind != Scalar && r.end == r.start { // it has no end yet
		p.cycles = append(p.cycles, id)
	}
	return id, true
}

// collection reads a sequence or mapping from its first token.
func (p *yamlParser) collection(t token, props *properties) (id uint32, ok bool) {
	p.scan.pop()
	if t.kind == tokFlowSeqStart || t.kind == tokFlowMapStart {
		p.end = t.end
	}
	switch t.kind {
	case tokFlowSeqStart:
		id = p.open(t.start, Sequence, Flow, props)
		ok = p.inside(flowSeq, id)
	case tokBlockSeqStart:
		id = p.open(t.start, Sequence, Block, props)
		ok = p.inside(blockSeq, id)
	case tokFlowMapStart:
		id = p.open(t.start, Mapping, Flow, props)
		ok = p.inside(flowMap, id)
	default:
		id = p.open(t.start, Mapping, Block, props)
		ok = p.inside(blockMap, id)
	}
	return id, ok
}

// inside reads the children of a collection, which ends with the last of them or its bracket.
func (p *yamlParser) inside(c collection, id uint32) (ok bool) {
	p.context = append(p.context, c)
	list := children{arena: &p.doc.nodes, parent: id}
	switch c {
	case blockSeq:
		ok = p.blockSeqItems(&list)
	case blockMap:
		ok = p.blockMapEntries(&list)
	case flowSeq:
		ok = p.flowSeqItems(&list)
	case flowMap:
		ok = p.flowMapEntries(&list)
	default:
		ok = p.compactMapEntry(&list)
	}
	p.context = p.context[:len(p.context)-1]
	p.doc.nodes.at(id).end = p.end
	return ok
}

// children links the children of a node in order.
type children struct {
	arena        *arena
	parent, last uint32
}

func (l *children) add(id uint32) {
	if l.last == 0 {
		l.arena.at(l.parent).child = id
	} else {
		l.arena.at(l.last).next = id
	}
	l.last = id
}

// read reads a node as the next child.
func (p *yamlParser) read(list *children) bool {
	id, ok := p.node()
	if ok {
		list.add(id)
	}
	return ok
}
