package document

import (
	"strconv"
	"strings"
)

// maxYAMLDepth is the level of nested nodes at which yaml-cpp gives up (DepthGuard in SingleDocParser::HandleNode).
const maxYAMLDepth = 500

// ParseYAML reads all documents of a stream. When one of them is broken it returns those before it and the
// *SyntaxError; Envoy itself reads only the first document, so an error behind it does not concern Envoy. An empty
// stream has no document.
func ParseYAML(src []byte, lim Limits) ([]*Document, error) {
	lim = lim.withDefaults()
	if err := lim.checkSize(src); err != nil {
		return nil, err
	}
	return parseYAML(newFile(src), lim)
}

func parseYAML(f *file, lim Limits) ([]*Document, error) {
	p := &yamlParser{file: f, lim: lim, scan: newScanner(f.src, f.bom)}
	var docs []*Document
	for {
		d := p.document()
		f.lineBreak = p.scan.lineBreak
		if p.err == nil && d != nil && p.suspect {
			p.err = checkTree(d, lim)
			for _, alias := range p.cycles {
				d.nodes.at(alias).child = 0 // ignored by Envoy; nobody shall follow it for ever
			}
		}
		switch {
		case p.err != nil:
			return docs, p.err
		case d == nil:
			return docs, nil
		}
		if len(docs) > 0 {
			docs[len(docs)-1].next = d.start
			d.begin = d.start
		}
		docs = append(docs, d)
	}
}

// yamlParser builds documents from the scanner's tokens.
type yamlParser struct {
	file *file
	lim  Limits
	scan *scanner
	err  *SyntaxError

	dirs    directives
	doc     *Document
	anchors map[string]uint32
	cycles  []uint32 // aliases inside of what they name
	suspect bool     // the document has an alias or a collection as a key
	context []collection
	depth   int
	end     uint32 // where the last token that belongs to a value ended
}

// collection is the kind of a collection that is being read.
type collection uint8

const (
	blockSeq collection = iota
	blockMap
	flowSeq
	flowMap
	compactMap
)

// document reads the next document; nil at the end of the stream or after an error.
func (p *yamlParser) document() *Document {
	first := p.scan.peek()
	start := first.start
	if !p.directives() {
		return nil
	}
	t := p.scan.peek()
	if p.failed() || t.kind == tokEnd {
		return nil
	}
	if start == atEnd {
		start = uint32(len(p.file.src))
	}
	count := len(p.file.src) / yamlBytesPerNode
	if start > 0 {
		count = 0 // not that of all documents that follow
	}
	p.doc = &Document{Format: YAML, file: p.file, start: start, nodes: newArena(count)}
	p.anchors, p.cycles, p.suspect, p.depth, p.end = nil, nil, false, 0, start
	if t.kind == tokDocStart {
		p.end = t.end
		p.scan.pop()
	}
	taken := p.scan.base
	root, ok := p.node()
	if !ok {
		return nil
	}
	p.doc.Root = Node{p.doc, root}
	p.doc.end = p.end
	for t = p.scan.peek(); t.kind == tokDocEnd; t = p.scan.peek() {
		p.doc.end = t.end
		p.scan.pop()
	}
	if p.failed() {
		return nil
	}
	if p.scan.base == taken && t.kind != tokEnd && t.kind != tokDocStart {
		p.scan.pop() // a token that begins no node would be read for ever
	}
	return p.doc
}

// failed tells whether there is an error, and makes one of the scanner's the parser's.
func (p *yamlParser) failed() bool {
	if p.err == nil && p.scan.err != nil {
		p.setError(p.scan.err.at, p.scan.err.reason, "")
	}
	return p.err != nil
}

// fail records an error at a place; false, for the caller to return.
func (p *yamlParser) fail(at uint32, reason string) bool {
	if !p.failed() {
		p.setError(at, reason, "")
	}
	return false
}

func (p *yamlParser) setError(at uint32, reason, rule string) {
	start := min(int(at), len(p.file.src))
	end := start
	if end < len(p.file.src) && p.file.src[end] != '\n' && p.file.src[end] != '\r' {
		end++
	}
	p.err = &SyntaxError{
		Span:    p.file.span(start, end),
		Message: strings.ToLower(reason[:1]) + reason[1:],
		Envoy:   p.scan.text(&scanError{at, reason}),
		Rule:    rule,
	}
}

// directives reads the directives before a document. Those of the document before stay in force if there are none.
func (p *yamlParser) directives() bool {
	read := false
	for {
		t := *p.scan.peek()
		if p.failed() {
			return false
		}
		if t.kind != tokDirective {
			return true
		}
		if !read {
			read, p.dirs = true, directives{}
		}
		words := strings.FieldsFunc(string(p.file.src[t.start+1:t.end]), func(r rune) bool { return r == ' ' || r == '\t' })
		name := ""
		if len(words) > 0 && !is(p.file.src[t.start+1], chBlank) {
			name, words = words[0], words[1:]
		}
		reason := ""
		switch name {
		case "YAML":
			reason = p.dirs.setVersion(words)
		case "TAG":
			reason = p.dirs.setHandle(words)
		}
		if reason != "" {
			return p.fail(t.start, reason)
		}
		p.scan.pop()
	}
}

// setVersion takes a %YAML directive; it returns yaml-cpp's reason to refuse it.
func (d *directives) setVersion(words []string) string {
	if len(words) != 1 {
		return "YAML directives must have exactly one argument"
	}
	if d.hasVersion {
		return "repeated YAML directive"
	}
	major, minor, ok := strings.Cut(words[0], ".")
	if _, err := strconv.ParseInt(minor, 10, 32); err != nil {
		ok = false
	}
	n, err := strconv.ParseInt(major, 10, 32)
	if err != nil || !ok {
		return "bad YAML version: " + words[0]
	}
	if n > 1 {
		return "YAML major version too large"
	}
	d.hasVersion = true
	return ""
}

// setHandle takes a %TAG directive; it returns yaml-cpp's reason to refuse it.
func (d *directives) setHandle(words []string) string {
	if len(words) != 2 {
		return "TAG directives must have exactly two arguments"
	}
	if _, ok := d.handles[words[0]]; ok {
		return "repeated TAG directive"
	}
	if d.handles == nil {
		d.handles = map[string]string{}
	}
	d.handles[words[0]] = words[1]
	return ""
}
