package author

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/document"
)

// layout is a node to be written, with the comments that belong to it.
type layout struct {
	props   string // anchor and tag, as written
	text    string // of a scalar or an alias, as written
	lines   []string
	kind    document.Kind
	flow    bool // written in flow style
	oneLine bool // written on one line
	// wasOneLine: the text was on one line before.
	wasOneLine bool
	width      int // in characters, of what is on one line
	elements   []*element
}

// element is an entry of a mapping or an item of a list.
type element struct {
	key   string // as written; empty for an item
	order int    // of the field in its message
	value *layout
	head  []string // comments above; "" is a blank line
	trail string   // comment at the end of its first line
	foot  []string // comments below that belong to it
	at    int      // column of the element in the text as it was
}

// layoutReader reads the layout of a part of a document. It goes through the text once and takes the comments as it
// meets them.
type layoutReader struct {
	src      []byte
	comments []span
	next     int // the first comment that is not taken
	end      int // behind the last thing that was read
	line     int // where the line of the element that was read last begins
	seen     int // the offset of that element
}

// lineOf is where the line of an offset begins. Elements come in the order of the text, which may be one line of many
// megabytes.
func (r *layoutReader) lineOf(at int) int {
	if at < r.seen {
		return lineStart(r.src, at)
	}
	if bytes.ContainsAny(r.src[r.seen:at], "\r\n") {
		r.line = lineStart(r.src, at)
	}
	r.seen = at
	return r.line
}

// errLayout tells that a text has a form that is not formatted.
var errLayout = errors.New("the text has a form that cannot be formatted: a key that is a collection, or not on one line")

// newLayoutReader prepares to read a node, given the comments of its document.
func newLayoutReader(n document.Node, comments []span) *layoutReader {
	r := &layoutReader{src: n.Document().Source()}
	start, end := n.FullOffsets()
	r.end, r.seen, r.line = start, start, lineStart(r.src, start)
	first, _ := slices.BinarySearchFunc(comments, start, func(c span, at int) int { return c.start - at })
	last, _ := slices.BinarySearchFunc(comments, lineEnd(r.src, end), func(c span, at int) int { return c.start - at })
	r.comments = comments[first:last]
	return r
}

// commentsIn lists the comments of a document.
func commentsIn(d *document.Document) []span {
	var out []span
	for start, end := range d.Comments() {
		out = append(out, span{start, end})
	}
	return out
}

// node reads the layout of a value whose element stands at a column. md is nil where fields have no order.
func (r *layoutReader) node(n document.Node, md protoreflect.MessageDescriptor, column int) (*layout, error) {
	start, end := n.Offsets()
	full, _ := n.FullOffsets()
	out := &layout{kind: n.Kind(), props: strings.TrimSpace(string(r.src[full:start])), flow: isFlow(n)}
	if strings.ContainsAny(out.props, "\r\n#") {
		return nil, errLayout
	}
	out.wasOneLine = !bytes.ContainsAny(r.src[start:end], "\r\n")
	switch n.Kind() {
	case document.Mapping:
		return out, r.mapping(n, out, md)
	case document.Sequence:
		return out, r.sequence(n, out, md)
	}
	r.end = end
	text := strings.TrimRight(string(r.src[start:end]), "\r\n")
	out.oneLine = !strings.ContainsAny(text, "\r\n")
	if out.oneLine {
		out.text = text
		return out, nil
	}
	if isBlockScalar(n) { // blank lines at its end may count
		text = strings.TrimSuffix(strings.TrimSuffix(string(r.src[start:end]), "\n"), "\r")
		for r.next < len(r.comments) && r.comments[r.next].start < end {
			r.next++ // the comment in its header goes with it
		}
	}
	lines := splitLines(strings.ReplaceAll(text, "\r\n", "\n"))
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		if i > 0 {
			line = relative(line, column)
		}
		out.lines = append(out.lines, line)
	}
	return out, nil
}

// relative is a line without the blanks that it has in common with the element around it.
func relative(line string, column int) string {
	blanks := len(line) - len(strings.TrimLeft(line, " "))
	return line[min(blanks, column):]
}

func (r *layoutReader) mapping(n document.Node, out *layout, md protoreflect.MessageDescriptor) error {
	start, end := n.Offsets()
	if out.flow && r.src[start] == '{' {
		r.end = start + 1
	}
	for _, pr := range pairsOf(n) {
		from, _ := pr.key.FullOffsets()
		keyStart, keyEnd := pr.key.Offsets()
		key := string(r.src[from:keyEnd])
		if pr.key.Kind() != document.Scalar || strings.ContainsAny(key, "\r\n") || isBlockScalar(pr.key) || keyStart == keyEnd || r.isExplicit(from) {
			return errLayout
		}
		e := &element{key: key, at: from - r.lineOf(from)}
		e.head = r.above(from, e.at, out)
		r.end = keyEnd
		inner := e.place(r, md, pr.key)
		from, _ = pr.val.FullOffsets()
		e.trail = r.within(from)
		var err error
		if e.value, err = r.node(pr.val, inner, e.at); err != nil {
			return err
		}
		r.after(e)
		out.elements = append(out.elements, e)
	}
	if r.end = max(r.end, end); r.pendingBefore(end) {
		return errLayout // a comment behind the last element of a flow collection
	}
	return nil
}

// isExplicit tells whether a key is written as "? key".
func (r *layoutReader) isExplicit(at int) bool {
	before := bytes.TrimRight(r.src[:at], " ")
	return bytes.HasSuffix(before, []byte("?")) && (len(before) == 1 || bytes.ContainsAny(before[len(before)-2:len(before)-1], " \n\r{,-"))
}

// place finds the order of a field and the message of its value.
func (e *element) place(r *layoutReader, md protoreflect.MessageDescriptor, key document.Node) protoreflect.MessageDescriptor {
	e.order = unknownOrder
	if md == nil || key.ResolvedTag() == "!ignore" {
		return nil
	}
	name := key.Target().Text()
	fd := md.Fields().ByName(protoreflect.Name(name))
	if fd == nil {
		fd = md.Fields().ByJSONName(name)
	}
	switch {
	case name == "@type":
		e.order = -1
	case fd == nil:
	case fd.IsMap():
		e.order = fd.Index()
	default:
		e.order = fd.Index()
		if m := fd.Message(); m != nil && m.FullName().Parent() != "google.protobuf" {
			return m
		}
	}
	return nil
}

// unknownOrder puts keys that are no fields behind those that are.
const unknownOrder = 1 << 20

func (r *layoutReader) sequence(n document.Node, out *layout, md protoreflect.MessageDescriptor) error {
	start, end := n.Offsets()
	if out.flow {
		r.end = start + 1
	}
	for _, item := range itemsOf(n) {
		from, _ := item.FullOffsets()
		e := &element{}
		line := r.lineOf(from)
		for line+e.at < from && r.src[line+e.at] == ' ' {
			e.at++
		}
		e.head = r.above(from, e.at, out)
		if r.end < from {
			r.end = from
		}
		var err error
		if e.value, err = r.node(item, md, e.at); err != nil {
			return err
		}
		r.after(e)
		out.elements = append(out.elements, e)
	}
	if r.end = max(r.end, end); r.pendingBefore(end) {
		return errLayout
	}
	return nil
}

func (r *layoutReader) pendingBefore(at int) bool {
	return r.next < len(r.comments) && r.comments[r.next].start < at
}

// above takes the comments before an element, with blank lines. Those that are indented more than the element belong to
// the one before it.
func (r *layoutReader) above(at, column int, parent *layout) []string {
	var head []string
	from := r.end
	for r.pendingBefore(at) {
		c := r.comments[r.next]
		r.next++
		text := string(r.src[c.start:c.end])
		line := lineStart(r.src, c.start)
		ownLine := blank(r.src[line:c.start])
		if ownLine && hasBlankLine(r.src[from:c.start]) {
			head = append(head, "")
		}
		from = c.end
		if n := len(parent.elements); n > 0 && ownLine && !parent.flow && c.start-line > column {
			parent.elements[n-1].below(c.start-line, append(head, text))
			head = nil
			continue
		}
		head = append(head, text)
	}
	if hasBlankLine(r.src[from:at]) {
		head = append(head, "")
	}
	return head
}

// below adds comments that stand below an element, to the deepest of its last elements at whose column they stand.
func (e *element) below(column int, comments []string) {
	if n := len(e.value.elements); n > 0 && !e.value.flow && column >= e.value.elements[n-1].at {
		e.value.elements[n-1].below(column, comments)
		return
	}
	e.foot = append(e.foot, comments...)
}

// hasBlankLine tells whether there is a line without anything in a text between two things.
func hasBlankLine(b []byte) bool {
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines)-1; i++ {
		if strings.TrimSpace(lines[i]) == "" {
			return true
		}
	}
	return false
}

// within takes the comments between a key and its value: the first is that of the key's line.
func (r *layoutReader) within(at int) string {
	if !r.pendingBefore(at) {
		return ""
	}
	c := r.comments[r.next]
	line := lineStart(r.src, c.start)
	if blank(r.src[line:c.start]) {
		return ""
	}
	r.next++
	return string(r.src[c.start:c.end])
}

// after takes the comment that ends the line on which an element ends.
func (r *layoutReader) after(e *element) {
	if r.next >= len(r.comments) {
		return
	}
	c := r.comments[r.next]
	if c.start < r.end || strings.Trim(string(r.src[r.end:c.start]), " \t,") != "" || r.end > 0 && isBreak(r.src[r.end-1]) {
		return
	}
	r.next++
	text := string(r.src[c.start:c.end])
	if e.trail != "" {
		e.head = append(e.head, e.trail)
	}
	e.trail = text
	r.end = c.end
}
