package author

import (
	"bytes"
	"strings"

	"github.com/edsctl/edsctl/pkg/document"
)

// flowLine is an element of a flow collection that shares its lines with nothing but its comma and a comment.
type flowLine struct {
	span
	comma int // behind the element, or -1
	next  int // where the line begins that follows
}

// flowText is a new element of a flow collection. Its comments are written only where an element has its own lines.
type flowText struct {
	comments
	text string
}

// flowChange takes elements out of a flow collection and puts others at its end.
type flowChange struct {
	remove func(i int) bool
	stay   func(i int) []string // comment lines that stay when an element with its own lines goes
	around func() []span        // the document's comments, which stay when an element without its own lines goes
	texts  func(f flowStyle, base int) []flowText
}

// flowLines lists the elements of a flow collection, if it has some and each has its own lines.
func (p *patcher) flowLines(n document.Node) ([]flowLine, bool) {
	if lines, known := p.lines[n]; known {
		return lines, lines != nil
	}
	lines := p.findFlowLines(n)
	if p.lines == nil {
		p.lines = map[document.Node][]flowLine{}
	}
	p.lines[n] = lines
	return lines, lines != nil
}

func (p *patcher) findFlowLines(n document.Node) []flowLine {
	elements := elementsOf(n)
	var out []flowLine
	for i, e := range elements {
		if !blank(p.src[p.lineStart(e.start):e.start]) {
			return nil
		}
		l, ok := p.flowLine(e)
		if !ok || l.comma < 0 && i < len(elements)-1 {
			return nil
		}
		out = append(out, l)
	}
	if len(out) == 0 || !p.isLast(out[len(out)-1], n) {
		return nil
	}
	return out
}

// flowLine looks at what stands behind an element on its last line; not ok: more than a comma and a comment.
func (p *patcher) flowLine(e span) (l flowLine, ok bool) {
	l = flowLine{e, -1, p.lineEnd(e.end)}
	rest := bytes.TrimLeft(p.src[e.end:l.next], " \t")
	if bytes.HasPrefix(rest, []byte(",")) {
		l.comma = l.next - len(rest)
		rest = bytes.TrimLeft(rest[1:], " \t")
	}
	return l, blank(rest) || rest[0] == '#'
}

// isLast tells whether only comments stand between the line of the last element and the end: a comma may stand there too.
func (p *patcher) isLast(l flowLine, n document.Node) bool {
	_, end := n.Offsets()
	for at := l.next; at < end-1; at = p.lineEnd(at) {
		if rest := p.src[at:min(p.lineEnd(at), end-1)]; !blank(rest) && bytes.TrimLeft(rest, " \t")[0] != '#' {
			return false
		}
	}
	return true
}

// rangeOf is the range of the lines of an element with its comments.
func (p *patcher) rangeOf(l flowLine) (start, end int) {
	line := p.lineStart(l.start)
	column := l.start - line
	return p.headComments(line, column), p.tailComments(l.next, column)
}

// commentsOf are the comments around an element, as they are written.
func (p *patcher) commentsOf(l flowLine) comments {
	start, end := p.rangeOf(l)
	return comments{
		head:   p.linesOf(start, p.lineStart(l.start)),
		behind: p.commentBehind(max(l.end, l.comma+1), l.next),
		below:  p.linesOf(l.next, end),
	}
}

// changeFlow changes a flow collection.
func (p *patcher) changeFlow(n document.Node, ch flowChange) {
	if p.isBarePair(n) {
		p.changeBarePair(n, ch)
		return
	}
	if lines, ok := p.flowLines(n); ok {
		p.changeFlowLines(n, lines, ch)
		return
	}
	if ch.remove != nil {
		before := len(p.patches)
		p.removeFromFlow(n, ch.remove)
		if ch.around != nil {
			p.keepComments(p.patches[before:], elementsOf(n), ch.around())
		}
	}
	if ch.texts == nil {
		return
	}
	if elements := elementsOf(n); ch.remove == nil && len(elements) > 0 {
		last, ok := p.flowLine(elements[len(elements)-1])
		if ok && p.isLast(last, n) && p.commentBehind(max(last.end, last.comma+1), last.next) != "" {
			if last.comma < 0 {
				p.replace(last.end, last.end, ",")
			}
			p.addFlowLines(n, last, last.start-p.lineStart(last.start), ch)
			return
		}
	}
	p.addToFlow(n, ch.texts)
}

// changeFlowLines changes a flow collection whose elements have their own lines.
func (p *patcher) changeFlowLines(n document.Node, lines []flowLine, ch flowChange) {
	opening, closing := n.Offsets()
	opening, closing = opening+1, closing-1
	last := len(lines) - 1
	kept, at := -1, opening
	var removed []document.Patch
	empty := true // nothing is left but blanks
	for i, l := range lines {
		if ch.remove == nil || !ch.remove(i) {
			kept = i
			continue
		}
		start, end := p.rangeOf(l)
		text := ""
		if ch.stay != nil {
			for _, line := range ch.stay(i) {
				text += line + p.eol
			}
		}
		removed = append(removed, document.Patch{Start: start, End: end, New: text})
		empty = empty && text == "" && blank(p.src[at:start])
		at = end
	}
	switch trailing := lines[last].comma >= 0; {
	case kept < 0 && ch.texts == nil && empty && blank(p.src[at:closing]):
		p.replace(opening, closing, "")
		return
	case kept == last && ch.texts != nil && !trailing:
		p.replace(lines[last].end, lines[last].end, ",")
	case kept >= 0 && kept < last && ch.texts == nil && !trailing:
		p.replace(lines[kept].comma, lines[kept].comma+1, "")
	}
	p.patches = append(p.patches, removed...)
	if ch.texts != nil {
		p.addFlowLines(n, lines[last], p.elementIndent(lines[0].start), ch)
	}
}

// addFlowLines adds elements with the indentation base below the last one and its comments.
func (p *patcher) addFlowLines(n document.Node, last flowLine, base int, ch flowChange) {
	f, _ := p.flowStyleOf(n)
	texts := ch.texts(f, base)
	var out []string
	for i, t := range texts {
		out = append(out, t.head...)
		text := strings.Repeat(" ", base) + t.text
		if i < len(texts)-1 || last.comma >= 0 {
			text += ","
		}
		out = append(out, text+t.behind)
		out = append(out, t.below...)
	}
	_, at := p.rangeOf(last)
	p.insertLines(at, out)
}
