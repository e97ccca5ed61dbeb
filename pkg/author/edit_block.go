package author

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/edsctl/edsctl/pkg/document"
)

// patcher collects the patches of one document.
type patcher struct {
	*style
	patches []document.Patch
	lines   map[document.Node][]flowLine // of flow collections
}

func (p *patcher) replace(start, end int, text string) {
	p.patches = append(p.patches, document.Patch{Start: start, End: end, New: text})
}

// layoutError tells that a text is laid out in a way that an edit does not handle.
func layoutError(n document.Node, why string) error {
	return fmt.Errorf("line %d: %s", n.Span().Start.Line, why)
}

// insertLines puts lines behind the line that ends at an offset.
func (p *patcher) insertLines(at int, lines []string) {
	text := strings.Join(lines, p.eol)
	if at > 0 && !isBreak(p.src[at-1]) { // the last line of a text that does not end with a line break
		p.replace(at, at, p.eol+text)
		return
	}
	p.replace(at, at, text+p.eol)
}

func isBreak(c byte) bool { return c == '\n' || c == '\r' }

// removeLines takes out whole lines. With the last line of a text that has no line break, that of the line before goes.
func (p *patcher) removeLines(start, end int) {
	if end == len(p.src) && end > start && !isBreak(p.src[end-1]) {
		for k := len(p.patches) - 1; k >= 0 && p.patches[k].End == start && p.patches[k].New == ""; k-- { // lines above go too
			start = p.patches[k].Start
			p.patches = p.patches[:k]
		}
		start = p.beforeBreak(start)
	}
	p.replace(start, end, "")
}

// beforeBreak is the offset before the line break that ends at an offset.
func (p *patcher) beforeBreak(at int) int {
	switch {
	case at >= 2 && p.src[at-1] == '\n' && p.src[at-2] == '\r':
		return at - 2
	case at >= 1 && isBreak(p.src[at-1]):
		return at - 1
	}
	return at
}

// endOfLines is the offset behind the last line of a node in block context, with the comment on it.
func (p *patcher) endOfLines(n document.Node) int {
	start, end := n.Offsets()
	if end > start && isBreak(p.src[end-1]) { // a block scalar
		return end
	}
	return p.lineEnd(end)
}

// headComments is where the comment lines begin that stand directly above a line, at the column of its text.
func (p *patcher) headComments(line, column int) int {
	for line > 0 {
		above := p.lineStart(p.beforeBreak(line))
		if above >= line {
			return line
		}
		text := p.src[above:line]
		rest := bytes.TrimLeft(text, " ")
		if len(rest) == 0 || rest[0] != '#' || len(text)-len(rest) != column {
			return line
		}
		line = above
	}
	return line
}

// keyPlace is where the line of a key begins and its column; first tells that something other than blanks stands before
// it, such as the dash of a list item.
func (p *patcher) keyPlace(k document.Node) (line, column int, first bool) {
	start, _ := k.FullOffsets()
	line = p.lineStart(start)
	return line, start - line, len(bytes.TrimLeft(p.src[line:start], " ")) > 0
}

// keyColumn is the column of the keys of a block mapping.
func (p *patcher) keyColumn(pairs []pair) (int, error) {
	at := pairs[0].key
	for _, pr := range pairs {
		if _, _, first := p.keyPlace(pr.key); !first {
			at = pr.key
			break
		}
	}
	line, column, _ := p.keyPlace(at)
	if strings.Trim(string(p.src[line:line+column]), " -") != "" {
		return 0, layoutError(at, "the key is written in a way that cannot be edited: put it on a line of its own")
	}
	return column, nil
}

// addToBlock adds entries to a block mapping: scalars before a long list that ends it, everything else at its end.
func (p *patcher) addToBlock(n document.Node, entries *literal, like document.Node) error {
	pairs := pairsOf(n)
	column, err := p.keyColumn(pairs)
	if err != nil {
		return err
	}
	after := len(pairs) - 1
	for after >= 0 && isLong(pairs[after].val) && entries.vals[0].isScalar() {
		after--
	}
	pad := strings.Repeat(" ", column)
	var lines []string
	for i, key := range entries.keys {
		lines = append(lines, p.entry(pad, key, entries.data, entries.vals[i], p.keyStyle(n, like, key))...)
	}
	if after >= 0 {
		p.insertLines(p.endOfLines(pairs[after].val), lines)
		return nil
	}
	line, _, first := p.keyPlace(pairs[0].key)
	if !first {
		p.insertLines(p.headComments(line, column), lines)
		return nil
	}
	start, _ := pairs[0].key.FullOffsets()
	p.replace(start, start, strings.TrimLeft(strings.Join(lines, p.eol), " ")+p.eol+pad)
	return nil
}

// keyStyle is the mapping that shows how a key is written: a sibling that has it, else the mapping itself.
func (p *patcher) keyStyle(n, like document.Node, key string) document.Node {
	if _, ok := pairOf(like, key, camelCase(key)); ok {
		return like
	}
	return n
}

// isLong tells whether a value is a list of several lines.
func isLong(n document.Node) bool {
	return n.Target().Kind() == document.Sequence && n.Kind() != document.Alias && isBlock(n)
}

// removeFromBlock takes an entry out of a block mapping. The only one leaves {}. Comments above it
// stay: they may be about more.
func (p *patcher) removeFromBlock(n document.Node, at pair) error {
	pairs := pairsOf(n)
	start, _ := at.key.FullOffsets()
	_, end := at.val.Offsets()
	if len(pairs) == 1 {
		if end > start && isBreak(p.src[end-1]) {
			end = p.beforeBreak(end)
		}
		p.replace(start, end, "{}")
		return nil
	}
	line, column, first := p.keyPlace(at.key)
	if !first {
		p.removeLines(line, p.endOfLines(at.val))
		return nil
	}
	if strings.Trim(string(p.src[line:line+column]), " -") != "" || pairs[0].key != at.key {
		return layoutError(at.key, "the key is written in a way that cannot be edited: put it on a line of its own")
	}
	next, _ := pairs[1].key.FullOffsets()
	nextLine, nextColumn, _ := p.keyPlace(pairs[1].key)
	if head := p.headComments(nextLine, nextColumn); head < nextLine {
		next = head + nextColumn
	}
	p.replace(start, next, "")
	return nil
}

// colonEnd is the offset behind the colon of an entry.
func (p *patcher) colonEnd(k document.Node) int {
	_, end := k.Offsets()
	i := bytes.IndexByte(p.src[end:], ':')
	return end + i + 1
}

// dashOf is the offset of the dash of an item of a block sequence.
func (p *patcher) dashOf(items []document.Node, i int) int {
	start, _ := items[i].FullOffsets()
	if items[i].Kind() == document.Sequence && isBlock(items[i]) {
		start = max(start-1, 0) // its own offset is that of its first dash
	}
	for at := start - 1; at >= 0 && (p.src[at] == ' ' || p.src[at] == '-'); at-- {
		if p.src[at] == '-' {
			return at
		}
	}
	from := 0
	if i > 0 {
		_, from = items[i-1].Offsets()
	} else if from = p.lineStart(max(start-1, 0)); from > 0 {
		from = p.lineStart(p.beforeBreak(from))
	}
	for from < start { // the dash is on a line above: between it and the item are blanks and comments only
		line := bytes.TrimLeft(p.src[from:], " ")
		if len(line) > 0 && line[0] == '-' {
			return len(p.src) - len(line)
		}
		from = p.lineEnd(from)
	}
	return start
}

// itemRange is the range of the lines of an item with the comments above it, and those below it that are further indented.
func (p *patcher) itemRange(items []document.Node, i int) (start, end, column int, err error) {
	dash := p.dashOf(items, i)
	line := p.lineStart(dash)
	column = dash - line
	if strings.Trim(string(p.src[line:dash]), " ") != "" || p.src[dash] != '-' {
		return 0, 0, 0, layoutError(items[i], "the list item is written in a way that cannot be edited: put it on a line of its own")
	}
	return p.headComments(line, column), p.tailComments(p.endOfLines(items[i]), column), column, nil
}
