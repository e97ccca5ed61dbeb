package author

import (
	"bytes"
	"strings"

	"github.com/edsctl/edsctl/pkg/document"
)

// span is a range of bytes.
type span struct{ start, end int }

// elementsOf lists the elements of a flow collection: its entries or its items.
func elementsOf(n document.Node) []span {
	var out []span
	if n.Kind() == document.Mapping {
		for _, pr := range pairsOf(n) {
			start, _ := pr.key.FullOffsets()
			_, end := pr.val.Offsets()
			out = append(out, span{start, end})
		}
		return out
	}
	for _, item := range itemsOf(n) {
		start, _ := item.FullOffsets()
		_, end := item.Offsets()
		out = append(out, span{start, end})
	}
	return out
}

// isBarePair tells whether a mapping is one entry of a flow list without braces, as in [a: b].
func (s *style) isBarePair(n document.Node) bool {
	start, _ := n.Offsets()
	return n.Kind() == document.Mapping && isFlow(n) && s.src[start] != '{'
}

// changeBarePair changes a mapping that has no braces, and gives it some when it is no longer one entry.
func (p *patcher) changeBarePair(n document.Node, ch flowChange) {
	start, end := n.Offsets()
	removed := ch.remove != nil && ch.remove(0)
	var texts []string
	if ch.texts != nil {
		f := p.flow
		f.multi = false
		for _, t := range ch.texts(f, p.indentAt(start)) {
			texts = append(texts, t.text)
		}
	}
	if removed {
		p.replace(start, end, "{"+strings.Join(texts, p.flow.between)+"}")
		return
	}
	p.replace(start, start, "{")
	p.replace(end, end, p.flow.between+strings.Join(texts, p.flow.between)+"}")
}

// addToFlow adds elements at the end of a flow collection.
func (p *patcher) addToFlow(n document.Node, texts func(f flowStyle, base int) []flowText) {
	start, _ := n.Offsets()
	base := p.indentAt(start)
	elements := elementsOf(n)
	f, known := p.flowStyleOf(n)
	if !known { // empty: one line
		_, end := n.Offsets()
		f = p.flow
		f.multi = false
		if end > start+2 { // there are blanks or comments already
			f.pad = ""
		}
		p.replace(start+1, start+1, f.pad+joinTexts(texts(f, base), f.between)+f.pad)
		return
	}
	last := elements[len(elements)-1]
	between := f.between
	if f.multi {
		base = p.elementIndent(elements[0].start)
		between = "," + p.eol + strings.Repeat(" ", base)
	}
	p.replace(last.end, last.end, between+joinTexts(texts(f, base), between))
}

// elementIndent is the indentation of new elements: that of the first, unless something stands before it on its line.
func (p *patcher) elementIndent(first int) int {
	return min(first-p.lineStart(first), p.indentAt(first))
}

func joinTexts(texts []flowText, between string) string {
	var parts []string
	for _, t := range texts {
		parts = append(parts, t.text)
	}
	return strings.Join(parts, between)
}

// removeFromFlow takes elements out of a flow collection.
func (p *patcher) removeFromFlow(n document.Node, remove func(i int) bool) {
	elements := elementsOf(n)
	start, end := n.Offsets()
	kept := -1 // the last element that stays
	for i := range elements {
		if !remove(i) {
			kept = i
		}
	}
	if kept < 0 {
		p.emptyFlow(elements, start+1, end-1)
		return
	}
	for i, e := range elements {
		if !remove(i) {
			continue
		}
		if i < kept {
			from, to := p.elementLines(e, elements[i+1].start)
			p.replace(from, to, "")
		}
	}
	if last := len(elements) - 1; kept < last {
		p.removeTail(elements[kept].end, elements[last].end, end-1)
	}
}

// emptyFlow takes out all elements between two offsets; comments stay.
func (p *patcher) emptyFlow(elements []span, from, to int) {
	last := elements[len(elements)-1]
	before, after := p.src[from:elements[0].start], p.src[last.end:to]
	tail := bytes.TrimLeft(after, " \t")
	if bytes.HasPrefix(tail, []byte(",")) {
		last.end += len(after) - len(tail) + 1
		after = p.src[last.end:to]
	}
	if blank(before) && blank(after) && bytes.ContainsAny(before, "\r\n") {
		p.replace(from, to, "")
		return
	}
	if blank(before) && string(before) == string(after) {
		p.replace(from, to, "")
		return
	}
	p.replace(elements[0].start, last.end, "")
}

func blank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

// elementLines is what goes with an element that another follows at next: its comma, and its whole lines where it has
// them for itself, with the comment at the end.
func (p *patcher) elementLines(e span, next int) (from, to int) {
	line := p.lineStart(e.start)
	comma := e.end + bytes.IndexByte(p.src[e.end:next], ',') + 1
	if blank(p.src[line:e.start]) && p.lineEnd(comma) <= next {
		rest := bytes.TrimLeft(p.src[comma:p.lineEnd(comma)], " \t")
		if blank(rest) || rest[0] == '#' {
			return line, p.lineEnd(comma)
		}
	}
	return e.start, next
}

// removeTail takes out what stands behind the last element that stays, up to the end of the last element. A comma behind
// that one stays in its place.
func (p *patcher) removeTail(from, to, closing int) {
	trailing := bytes.HasPrefix(bytes.TrimLeft(p.src[to:closing], " \t\r\n"), []byte(","))
	if trailing {
		// The comma of the kept element stays and serves as the trailing one.
		comma := from + bytes.IndexByte(p.src[from:to], ',') + 1
		end := to + bytes.IndexByte(p.src[to:closing], ',') + 1
		p.cutTail(comma, end)
		return
	}
	comma := bytes.IndexByte(p.src[from:to], ',')
	if rest := p.src[from+comma+1 : p.lineEnd(from+comma)]; comma >= 0 && bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte("#")) {
		p.replace(from+comma, from+comma+1, "") // the comment behind it is about what stays
		p.cutTail(p.lineEnd(from+comma), to)
		return
	}
	p.replace(from, to, "")
}

// cutTail removes a range; from a line's end on it takes whole lines.
func (p *patcher) cutTail(from, to int) {
	if from > 0 && isBreak(p.src[from-1]) {
		rest := bytes.TrimLeft(p.src[to:p.lineEnd(to)], " \t")
		if blank(rest) || rest[0] == '#' {
			to = p.lineEnd(to)
		} else {
			from = p.beforeBreak(from)
		}
	}
	p.replace(from, to, "")
}
