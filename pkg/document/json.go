package document

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/diag"
)

// maxJSONDepth is the number of levels of nesting that protobuf's reader accepts.
const maxJSONDepth = 100

// ParseJSON reads one JSON value as protobuf's C++ reader does in the legacy mode that Envoy uses: trailing commas,
// single quotes, keys without quotes and control characters in strings are fine, comments, a byte order mark, NaN and
// a second value are not. The error is a *SyntaxError.
func ParseJSON(src []byte, lim Limits) (*Document, error) {
	lim = lim.withDefaults()
	if err := lim.checkSize(src); err != nil {
		return nil, err
	}
	return parseJSON(&file{src: src})
}

func parseJSON(f *file) (*Document, error) {
	p := &jsonParser{src: f.src, file: f, doc: &Document{Format: JSON, file: f, nodes: newArena(len(f.src) / jsonBytesPerNode)}}
	root, ok := p.document()
	if !ok {
		if root != 0 {
			p.doc.Root = Node{p.doc, root}
			p.err.Read = p.doc
		}
		return nil, p.err
	}
	r := p.doc.nodes.at(root)
	p.doc.Root, p.doc.start, p.doc.end = Node{p.doc, root}, r.start, r.end
	return p.doc, nil
}

// ParseJSONLines reads a file of one JSON value a line, or of several values in a row. A value that is broken ends
// the reading: the documents before it are returned with the *SyntaxError.
func ParseJSONLines(src []byte, lim Limits) ([]*Document, error) {
	lim = lim.withDefaults()
	if err := lim.checkSize(src); err != nil {
		return nil, err
	}
	f := &file{src: src}
	var docs []*Document
	for pos := 0; ; {
		p := &jsonParser{src: src, file: f, pos: pos}
		if !p.skip() {
			return docs, nil
		}
		// The first chunk of the arena must not be sized for all that follows.
		rest := src[p.pos:]
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			rest = rest[:n]
		}
		p.doc = &Document{Format: JSON, file: f, nodes: newArena(len(rest) / jsonBytesPerNode), start: uint32(p.pos)}
		root, ok := p.value()
		if !ok {
			return docs, p.err
		}
		p.doc.Root, p.doc.end = Node{p.doc, root}, uint32(p.pos)
		docs = append(docs, p.doc)
		pos = p.pos
	}
}

// jsonParser reads a value and builds its tree.
type jsonParser struct {
	src   []byte
	file  *file
	doc   *Document
	pos   int
	depth int
	err   *SyntaxError
}

// fail records the first error at an offset, in protobuf's words; false, for the caller to return.
func (p *jsonParser) fail(at int, reason string) bool {
	if p.err != nil {
		return false
	}
	end := at
	if at < len(p.src) {
		_, size := utf8.DecodeRune(p.src[at:])
		end += size
	}
	e := &SyntaxError{Span: p.file.span(at, end), Message: strings.ToLower(reason[:1]) + reason[1:], Envoy: reason}
	if reason == "JSON content was too deeply nested" {
		e.Rule, e.Message = "nesting-too-deep", fmt.Sprintf("JSON is nested deeper than %d levels", maxJSONDepth)
	}
	p.err = e
	return false
}

// inside adds the step that leads to the value with the error; false, for the caller to return.
func (p *jsonParser) inside(step diag.Step) bool {
	p.err.Path = append(diag.Path{step}, p.err.Path...)
	return false
}

func (p *jsonParser) failEOF() bool { return p.fail(len(p.src), "unexpected EOF") }

// char is the byte at pos as protobuf shows it in an error text.
func (p *jsonParser) char() string {
	if c := p.src[p.pos]; c < utf8.RuneSelf {
		return string(rune(c))
	}
	return string(utf8.RuneError)
}

// skip passes white space; false at the end.
func (p *jsonParser) skip() bool {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\n', '\t', '\r':
			p.pos++
		default:
			return true
		}
	}
	return false
}

// accept passes a byte behind white space if it is c.
func (p *jsonParser) accept(c byte) bool {
	if p.skip() && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// expect passes a literal behind white space or fails.
func (p *jsonParser) expect(literal string) bool {
	if !p.skip() || len(p.src)-p.pos < len(literal) {
		return p.failEOF()
	}
	if string(p.src[p.pos:p.pos+len(literal)]) != literal {
		return p.fail(p.pos, fmt.Sprintf("unexpected character: '%s'; expected '%s'", p.char(), literal))
	}
	p.pos += len(literal)
	return true
}

// document reads the only value of a file. Envoy expects a message, so it misses a brace where no value begins.
func (p *jsonParser) document() (uint32, bool) {
	if !p.skip() {
		return 0, p.failEOF()
	}
	if !isJSONValue(p.src[p.pos]) {
		isBOM := bytes.HasPrefix(p.src[p.pos:], utf8BOM)
		p.expect("{")
		if isBOM {
			p.err.Rule, p.err.Message = "json-bom", "a byte order mark stands before the JSON value"
		}
		return 0, false
	}
	root, ok := p.value()
	if ok && p.skip() {
		return root, p.fail(p.pos, "extraneous characters after end of JSON object")
	}
	return root, ok
}

// isJSONValue tells whether a value can begin with c.
func isJSONValue(c byte) bool {
	return c == '{' || c == '[' || c == '"' || c == '\'' || c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f' || c == 'n'
}

func (p *jsonParser) value() (uint32, bool) {
	if !p.skip() {
		return 0, p.failEOF()
	}
	start := p.pos
	switch c := p.src[p.pos]; c {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"', '\'':
		if c == '\'' {
			p.lenient(singleQuotes, p.pos, p.pos+1)
		}
		return p.str(c)
	case 't':
		return p.literal("true")
	case 'f':
		return p.literal("false")
	case 'n':
		return p.literal("null")
	default:
		if c != '-' && (c < '0' || c > '9') {
			return 0, p.fail(p.pos, fmt.Sprintf("unexpected character: '%s'", p.char()))
		}
		n, simple := p.numberLen(start)
		if !p.number(n, simple) {
			return 0, false
		}
		return p.doc.nodes.add(record{start: uint32(start), end: uint32(start + n), kind: Scalar, style: Plain, raw: true}), true
	}
}

func (p *jsonParser) literal(word string) (uint32, bool) {
	start := uint32(p.pos)
	if !p.expect(word) {
		return 0, false
	}
	return p.doc.nodes.add(record{start: start, end: uint32(p.pos), kind: Scalar, style: Plain, raw: true}), true
}

// enter passes the bracket that opens a collection and adds its node.
func (p *jsonParser) enter(kind Kind) (uint32, bool) {
	start := uint32(p.pos)
	p.pos++
	if p.depth == maxJSONDepth {
		return 0, p.fail(p.pos, "JSON content was too deeply nested")
	}
	p.depth++
	return p.doc.nodes.add(record{start: start, kind: kind, style: Flow}), true
}

func (p *jsonParser) leave(id uint32) (uint32, bool) {
	p.depth--
	p.doc.nodes.at(id).end = uint32(p.pos)
	return id, true
}

// broken ends a collection with what cannot be read, which begins behind an offset: a collection that was begun, or
// anything else as a node of the kind Broken. It returns the collection, and false.
func (p *jsonParser) broken(list *children, id uint32, at int, style Style) (uint32, bool) {
	if id == 0 {
		p.pos = at
		p.skip()
		id = p.doc.nodes.add(record{start: uint32(p.pos), end: uint32(p.pos), kind: Broken, style: style})
	}
	list.add(id)
	p.doc.nodes.at(list.parent).end = uint32(p.pos)
	return list.parent, false
}

func (p *jsonParser) array() (uint32, bool) {
	id, ok := p.enter(Sequence)
	if !ok {
		return 0, false
	}
	list := children{arena: &p.doc.nodes, parent: id}
	n, comma := 0, true
	for ; !p.accept(']'); comma = p.accept(',') {
		if !comma {
			p.fail(p.pos, "expected ','")
			return p.broken(&list, 0, p.pos, Block)
		}
		at := p.pos
		item, ok := p.value()
		if !ok {
			p.inside(diag.Step{Index: n})
			return p.broken(&list, item, at, Plain)
		}
		list.add(item)
		n++
	}
	if comma && n > 0 {
		p.lenient(trailingComma, p.pos-1, p.pos)
	}
	return p.leave(id)
}

func (p *jsonParser) object() (uint32, bool) {
	id, ok := p.enter(Mapping)
	if !ok {
		return 0, false
	}
	list := children{arena: &p.doc.nodes, parent: id}
	some, comma := false, true
	for ; !p.accept('}'); comma = p.accept(',') {
		if !comma {
			p.fail(p.pos, "expected ','")
			return p.broken(&list, 0, p.pos, Block)
		}
		if !p.skip() {
			p.failEOF()
			return p.broken(&list, 0, p.pos, Block)
		}
		key, ok := p.key()
		if !ok || !p.expect(":") {
			return p.broken(&list, 0, p.pos, Block)
		}
		list.add(key)
		at := p.pos
		value, ok := p.value()
		if !ok {
			p.inside(diag.Step{Name: Node{p.doc, key}.Text()})
			return p.broken(&list, value, at, Plain)
		}
		list.add(value)
		some = true
	}
	if comma && some {
		p.lenient(trailingComma, p.pos-1, p.pos)
	}
	return p.leave(id)
}

// key reads the name of a member: a string or a bare word.
func (p *jsonParser) key() (uint32, bool) {
	if c := p.src[p.pos]; c == '"' || c == '\'' {
		if c == '\'' {
			p.lenient(singleQuotes, p.pos, p.pos+1)
		}
		return p.str(c)
	}
	start := p.pos
	for p.pos < len(p.src) && (p.src[p.pos] == '_' || is(p.src[p.pos], chWord) && p.src[p.pos] != '-') {
		p.pos++
	}
	word := string(p.src[start:p.pos])
	if word == "" || word[0] <= '9' || word == "null" || word == "true" || word == "false" {
		return 0, p.fail(start, "expected bare word")
	}
	p.lenient(bareKey, start, p.pos)
	return p.doc.nodes.add(record{start: uint32(start), end: uint32(p.pos), kind: Scalar, style: Plain, raw: true}), true
}

// numberLen is the length of what protobuf takes for a number at offset i, and whether it consists of digits only.
func (p *jsonParser) numberLen(i int) (n int, simple bool) {
	const (
		integer = iota
		fraction
		exponent
	)
	state, prev := integer, byte(0)
	simple = true
	for ; i+n < len(p.src); n++ {
		c := p.src[i+n]
		digitBefore := prev >= '0' && prev <= '9'
		switch {
		case c >= '0' && c <= '9':
			prev = c
			continue
		case state == integer && c == '-' && !digitBefore:
		case state == integer && c == '.' && digitBefore:
			state = fraction
		case state != exponent && (c == 'e' || c == 'E') && digitBefore:
			state = exponent
		case (prev == 'e' || prev == 'E') && (c == '-' || c == '+'):
		default:
			return n, simple
		}
		prev, simple = c, false
	}
	return n, simple
}

// number passes a number of n bytes and checks it and what follows.
func (p *jsonParser) number(n int, simple bool) bool {
	start := p.pos
	p.pos += n
	text := p.src[start:p.pos]
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	switch {
	case len(digits) == 0:
		return p.fail(start, "expected a number")
	case len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9':
		return p.fail(start, "number cannot have extraneous leading zero")
	case digits[len(digits)-1] == '.':
		return p.fail(start, "number cannot have trailing period")
	}
	const maxDigits = 308 // of an integer that a float64 can surely hold
	if simple && n <= maxDigits {
		return p.numberEnd()
	}
	if _, err := strconv.ParseFloat(string(text), 64); err != nil {
		return p.fail(start, fmt.Sprintf("invalid number: '%s'", text))
	}
	return p.numberEnd()
}

// numberEnd checks what follows a number.
func (p *jsonParser) numberEnd() bool {
	if p.pos == len(p.src) {
		return true
	}
	if !p.skip() {
		return p.failEOF()
	}
	if c := p.src[p.pos]; c != ',' && c != ']' && c != '}' {
		return p.fail(p.pos, fmt.Sprintf("unexpected character: '%s'", p.char()))
	}
	return true
}
