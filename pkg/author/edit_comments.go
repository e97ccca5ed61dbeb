package author

import (
	"bytes"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// comments are those of an element of a list.
type comments struct {
	head   []string // lines directly above it, at its column
	behind string   // on its last line, with the blanks before it
	below  []string // lines directly below it, further indented
}

// shifted moves the lines by some columns.
func (c comments) shifted(by int) comments {
	move := func(lines []string) (out []string) {
		for _, line := range lines {
			out = append(out, shifted(line, "\n", by)...)
		}
		return out
	}
	return comments{move(c.head), c.behind, move(c.below)}
}

// lines are the comments without the element, each on a line of its own.
func (c comments) lines(column int) []string {
	out := slices.Clone(c.head)
	if c.behind != "" {
		out = append(out, strings.Repeat(" ", column)+strings.TrimLeft(c.behind, " \t"))
	}
	return append(out, c.below...)
}

// tailComments is where the comment lines end that stand directly below an element, further indented than its column.
func (p *patcher) tailComments(at, column int) int {
	for at > 0 && at < len(p.src) && isBreak(p.src[at-1]) {
		text := p.src[at:p.lineEnd(at)]
		rest := bytes.TrimLeft(text, " ")
		if len(rest) == 0 || rest[0] != '#' || len(text)-len(rest) <= column {
			break
		}
		at += len(text)
	}
	return at
}

// commentBehind is the comment in the rest of a line, with the blanks before it.
func (p *patcher) commentBehind(from, to int) string {
	rest := strings.TrimRight(string(p.src[from:max(from, to)]), " \t\r\n")
	switch text := strings.TrimLeft(rest, " \t"); {
	case !strings.HasPrefix(text, "#"):
		return ""
	case len(text) == len(rest):
		return " " + rest
	}
	return rest
}

// linesOf splits a range of whole lines.
func (p *patcher) linesOf(from, to int) []string {
	if from >= to {
		return nil
	}
	return strings.Split(strings.TrimRight(string(p.src[from:to]), "\r\n"), p.eol)
}

// keepComments lets patches that take out elements keep the comments between them. Those inside go with the elements.
func (p *patcher) keepComments(patches []document.Patch, elements, all []span) {
	for i := range patches {
		cut := &patches[i]
		pad := strings.Repeat(" ", elements[len(elements)-1].start-p.lineStart(elements[len(elements)-1].start))
		var kept []string
		k, _ := slices.BinarySearchFunc(all, cut.Start, func(s span, at int) int { return s.start - at })
		for ; k < len(all) && all[k].end <= cut.End; k++ {
			e, _ := slices.BinarySearchFunc(elements, all[k].start, func(s span, at int) int { return s.end - at })
			if e == len(elements) || all[k].start < elements[e].start {
				kept = append(kept, string(p.src[all[k].start:all[k].end]))
			}
		}
		switch text := strings.Join(kept, p.eol+pad); {
		case text == "":
		case cut.Start > 0 && isBreak(p.src[cut.Start-1]) && isBreak(p.src[cut.End-1]): // whole lines
			cut.New = pad + text + p.eol
		case isBreak(p.src[cut.End]):
			cut.New = " " + text
		default:
			cut.New = " " + text + p.eol + pad
		}
	}
}

// commentsAt finds the comments of an element of a list that its text does not hold when it moves, and its column.
func (c *changer) commentsAt(path diag.Path) (found comments, column int) {
	if items, i, ok := c.blockItem(path); ok {
		return c.commentsOfItem(items, i)
	}
	pr, err := c.entryAt(path[:len(path)-1])
	if err != nil || !pr.key.IsValid() {
		return comments{}, 0
	}
	lines, ok := c.flowLines(pr.val.Target())
	if i := path[len(path)-1].Index; ok && i < len(lines) {
		return c.commentsOf(lines[i]), lines[i].start - c.lineStart(lines[i].start)
	}
	return comments{}, 0
}

// commentsOfItem finds the comments of an item of a block list. Those inside of it go above it when it is in block style,
// which is written anew.
func (c *changer) commentsOfItem(items []document.Node, i int) (found comments, column int) {
	start, end, column, err := c.itemRange(items, i)
	if err != nil {
		return comments{}, 0
	}
	line, behind := c.lineStart(c.dashOf(items, i)), c.endOfLines(items[i])
	from, to := items[i].FullOffsets()
	found.head = c.linesOf(start, line)
	found.behind = c.commentBehind(to, behind)
	found.below = c.linesOf(behind, end)
	if !isFlow(items[i]) {
		from = to
	}
	all := c.allComments()
	k, _ := slices.BinarySearchFunc(all, line, func(s span, at int) int { return s.start - at })
	for ; k < len(all) && all[k].start < from; k++ {
		found.head = append(found.head, strings.Repeat(" ", column)+string(c.src[all[k].start:all[k].end]))
	}
	return found, column
}

// commentsAround are the lines of comments above and below an element of a flow collection.
func (c *changer) commentsAround(n document.Node, i int) []string {
	lines, ok := c.flowLines(n)
	if !ok {
		return nil
	}
	found := c.commentsOf(lines[i])
	return append(found.head, found.below...)
}

// allComments lists the comments of the document.
func (c *changer) allComments() []span {
	if c.comments == nil {
		c.comments = []span{}
		for start, end := range c.root.Document().Comments() {
			c.comments = append(c.comments, span{start, end})
		}
	}
	return c.comments
}

// leftBehind are the comment lines that stay when an element goes: those of one that moves to where they cannot be.
func (c *changer) leftBehind(path diag.Path) []string {
	if to, moves := c.moves[path.String()]; !moves || c.takesComments(to) {
		return nil
	}
	found, column := c.commentsAt(path)
	return found.lines(column)
}

// takesComments tells whether the elements that a list is given can have comments.
func (c *changer) takesComments(list diag.Path) bool {
	pr, err := c.entryAt(list)
	if err != nil || !pr.key.IsValid() || isNull(pr.val) {
		return false
	}
	n := pr.val.Target()
	if !isFlow(n) || c.becomesBlock(list, pr) {
		return true
	}
	_, ok := c.flowLines(n)
	return ok
}

// movesOf says to which lists elements move.
func movesOf(lists []*listChange) map[string]diag.Path {
	out := map[string]diag.Path{}
	for _, l := range lists {
		for _, a := range l.added {
			if a.from != nil {
				out[a.from.String()] = l.path
			}
		}
	}
	return out
}
