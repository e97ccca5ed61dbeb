package author

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
)

// assignment is the patch that formats one assignment.
func (f formatter) assignment(res *eds.Resource) (document.Patch, error) {
	n := res.Node
	if _, ok := f.comments[n.Document()]; !ok {
		f.comments[n.Document()] = commentsIn(n.Document())
	}
	r := newLayoutReader(n, f.comments[n.Document()])
	root, err := r.node(n, res.Original.ProtoReflect().Descriptor(), 0)
	if err != nil {
		return document.Patch{}, err
	}
	if r.next < len(r.comments) && r.comments[r.next].start < r.end {
		return document.Patch{}, errLayout
	}
	w := layoutWriter{eol: eolOf(r.src), formatter: f, json: n.Document().Format == document.JSON || isFlow(n.Document().Root) || f.inFlow(n)}
	root.prepare(&w)
	start, _ := n.Offsets()
	line := lineStart(r.src, start)
	column := start - line
	prefix := string(r.src[line:start])
	var lines []string
	switch {
	case !isFlow(n):
		lines = w.mapping(root, column)
		lines[0] = strings.TrimLeft(lines[0], " ")
	case w.json:
		lines = w.flowLines(root, (&style{src: r.src}).indentAt(start), column)
	case root.oneLine && column+utf8.RuneCountInString(root.inline()) <= FormatWidth:
		lines = []string{root.inline()}
	case strings.Trim(prefix, " -") == "": // an item of a list
		lines = w.mapping(root, column)
		lines[0] = strings.TrimLeft(lines[0], " ")
	default: // the value of a key
		key := len(prefix) - len(strings.TrimLeft(prefix, " -"))
		lines = append([]string{""}, w.mapping(root, key+2)...)
		start = line + len(strings.TrimRight(prefix, " "))
	}
	if isBreak(r.src[r.end-1]) { // it ends with a block scalar, whose last line break is part of it
		lines = append(lines, "")
	}
	return document.Patch{Start: start, End: r.end, New: strings.Join(lines, w.eol)}, nil
}

// inFlow tells whether a node stands inside of a flow collection.
func (f formatter) inFlow(n document.Node) bool {
	d := n.Document()
	if _, ok := f.flows[d]; !ok {
		f.flows[d] = outerFlows(d.Root.Target(), nil)
	}
	at, _ := n.Offsets()
	after, _ := slices.BinarySearchFunc(f.flows[d], at, func(s span, at int) int { return s.start - at })
	return after > 0 && at < f.flows[d][after-1].end
}

// outerFlows adds the flow collections below a node that are in no other one, in the order of the text.
func outerFlows(n document.Node, out []span) []span {
	if isFlow(n) {
		start, end := n.Offsets()
		return append(out, span{start, end})
	}
	if n.Kind() == document.Alias { // what it stands for is elsewhere
		return out
	}
	for c := n.First(); c.IsValid(); c = c.Next() {
		out = outerFlows(c, out)
	}
	return out
}

// layoutWriter writes layouts.
type layoutWriter struct {
	formatter
	eol  string
	json bool
}

// prepare puts elements in order and finds out what can be written on one line.
func (l *layout) prepare(w *layoutWriter) {
	if l.kind != document.Mapping && l.kind != document.Sequence {
		l.width = utf8.RuneCountInString(l.inline())
		return
	}
	l.oneLine = l.flow || len(l.elements) == 0
	for _, e := range l.elements {
		e.value.prepare(w)
		l.oneLine = l.oneLine && e.value.oneLine && len(e.head)+len(e.foot) == 0 && e.trail == ""
	}
	if w.json && !l.wasOneLine && !w.formatter.oneLine && len(l.elements) > 0 {
		l.oneLine = false
	}
	l.width = len("{}") + utf8.RuneCountInString(l.props) + len(", ")*len(l.elements)
	for _, e := range l.elements {
		l.width += utf8.RuneCountInString(e.key) + len(": ") + e.value.width
	}
	if l.kind == document.Mapping && w.reorder {
		slices.SortStableFunc(l.elements, func(a, b *element) int { return a.order - b.order })
	}
	if l.kind == document.Sequence && !w.json {
		for _, e := range l.elements {
			e.raiseComments()
		}
	}
	if len(l.elements) > 0 && !l.oneLine { // no blank line at the top
		first := l.elements[0]
		for len(first.head) > 0 && first.head[0] == "" {
			first.head = first.head[1:]
		}
	}
}

// raiseComments puts the comments above the first field of an item above the item, where they are read again.
func (e *element) raiseComments() {
	if e.value.kind != document.Mapping || len(e.value.elements) == 0 {
		return
	}
	first := e.value.elements[0]
	e.head = append(e.head, first.head...)
	first.head = nil
}

// inline writes a layout on one line.
func (l *layout) inline() string {
	text := l.text
	switch l.kind {
	case document.Mapping:
		parts := make([]string, len(l.elements))
		for i, e := range l.elements {
			value := e.value.inline()
			if value == "" {
				value = "null"
			}
			parts[i] = e.key + ": " + value
		}
		text = "{" + strings.Join(parts, ", ") + "}"
	case document.Sequence:
		parts := make([]string, len(l.elements))
		for i, e := range l.elements {
			parts[i] = e.value.inline()
		}
		text = "[" + strings.Join(parts, ", ") + "]"
	}
	if l.props != "" && text != "" {
		return l.props + " " + text
	}
	return l.props + text
}

// fits tells whether a layout is written on the line on which so many characters stand already.
func (w *layoutWriter) fits(l *layout, used int) bool {
	if !l.oneLine {
		return false
	}
	collection := l.kind == document.Mapping || l.kind == document.Sequence
	return w.formatter.oneLine || !collection || len(l.elements) == 0 || used+l.exactWidth() <= FormatWidth
}

// exactWidth is the number of characters of a layout on one line; what is far too wide is not written to count it.
func (l *layout) exactWidth() int {
	if l.width > 2*FormatWidth+len("null")*len(l.elements) {
		return l.width
	}
	return utf8.RuneCountInString(l.inline())
}

func commentLines(pad string, comments []string) []string {
	var out []string
	for _, c := range comments {
		if c != "" {
			c = pad + c
		} else if n := len(out); n > 0 && out[n-1] == "" {
			continue
		}
		out = append(out, c)
	}
	return out
}

func withTrail(line, trail string) string {
	if trail == "" {
		return line
	}
	return line + " " + trail
}

// mapping writes a block mapping whose keys stand at a column.
func (w *layoutWriter) mapping(l *layout, column int) []string {
	pad := strings.Repeat(" ", column)
	var out []string
	for _, e := range l.elements {
		out = append(out, commentLines(pad, e.head)...)
		head := pad + e.key + ":"
		out = append(out, w.value(head, e, column, column)...)
		out = append(out, commentLines(pad, e.foot)...)
	}
	return out
}

// value writes what follows the head of a line: a key with its colon, or a dash. column is that of the element, list
// that of the dashes when the value is a block list.
func (w *layoutWriter) value(head string, e *element, column, list int) []string {
	v := e.value
	pad := strings.Repeat(" ", column)
	switch {
	case w.fits(v, utf8.RuneCountInString(head)+1):
		if text := v.inline(); text != "" {
			head += " " + text
		}
		return []string{withTrail(head, e.trail)}
	case len(v.lines) > 0:
		return v.multiLine(head, e.trail, pad)
	}
	if v.props != "" {
		head += " " + v.props
	}
	head = withTrail(head, e.trail)
	if v.kind == document.Sequence {
		return append([]string{head}, w.sequence(v, list)...)
	}
	return append([]string{head}, w.mapping(v, column+2)...)
}

// multiLine writes a scalar of several lines, which keep their indentation relative to the element.
func (l *layout) multiLine(head, trail, pad string) []string {
	first := l.lines[0]
	if l.props != "" {
		first = l.props + " " + first
	}
	out := []string{head + " " + first}
	for _, line := range l.lines[1:] {
		if line != "" {
			line = pad + line
		}
		out = append(out, line)
	}
	if trail != "" {
		out[len(out)-1] = withTrail(out[len(out)-1], trail)
	}
	return out
}

// sequence writes a block list whose dashes stand at a column.
func (w *layoutWriter) sequence(l *layout, column int) []string {
	pad := strings.Repeat(" ", column)
	var out []string
	for _, e := range l.elements {
		if e.trail != "" && len(e.value.lines) == 0 && !w.fits(e.value, column+2) { // behind a dash it would be read as above
			e.head, e.trail = append(e.head, e.trail), ""
		}
		out = append(out, commentLines(pad, e.head)...)
		lines := w.value(pad+"-", e, column, column+2)
		if e.value.kind == document.Mapping && lines[0] == pad+"-" && len(lines) > 1 && strings.HasPrefix(lines[1], pad+"  ") && !strings.HasPrefix(lines[1], pad+"  #") {
			lines = append([]string{pad + "- " + lines[1][column+2:]}, lines[2:]...)
		}
		out = append(out, lines...)
		out = append(out, commentLines(pad, e.foot)...)
	}
	return out
}

// flowLines writes a flow collection as JSON is usually laid out. base is the indentation of the line on which it begins,
// used what stands before it on that line.
func (w *layoutWriter) flowLines(l *layout, base, used int) []string {
	if w.fits(l, used) {
		return []string{l.inline()}
	}
	if len(l.lines) > 0 {
		return l.multiLine("", "", strings.Repeat(" ", base))
	}
	open, end := "{", "}"
	if l.kind == document.Sequence {
		open, end = "[", "]"
	}
	if l.props != "" {
		open = l.props + " " + open
	}
	out := []string{open}
	pad := strings.Repeat(" ", base+2)
	for i, e := range l.elements {
		out = append(out, commentLines(pad, e.head)...)
		head := pad
		if e.key != "" {
			head += e.key + ": "
		}
		lines := w.flowLines(e.value, base+2, utf8.RuneCountInString(head)+1)
		if e.value.inlineEmpty() {
			lines = []string{"null"}
		}
		lines[0] = head + strings.TrimLeft(lines[0], " ")
		last := len(lines) - 1
		if i < len(l.elements)-1 {
			lines[last] += ","
		}
		lines[last] = withTrail(lines[last], e.trail)
		out = append(append(out, lines...), commentLines(pad, e.foot)...)
	}
	return append(out, strings.Repeat(" ", base)+end)
}

func (l *layout) inlineEmpty() bool {
	return l.kind == document.Scalar && len(l.lines) == 0 && l.text == "" && l.props == ""
}
