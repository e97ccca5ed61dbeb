package author

import (
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// list makes the changes of one list.
func (c *changer) list(l *listChange) error {
	pr, err := c.entryAt(l.path)
	if err != nil {
		return err
	}
	n := pr.val.Target()
	if !pr.key.IsValid() || isNull(pr.val) {
		return c.newList(l)
	}
	items, err := c.itemsAt(n)
	if err != nil {
		return err
	}
	like := c.likeItem(items, l)
	if isFlow(n) {
		return c.flowList(l, pr, items, like)
	}
	at, column := 0, 0
	for i := range items {
		if !l.removed[i] && i < len(items)-1 {
			continue
		}
		start, end, col, err := c.itemRange(items, i)
		if err != nil {
			return err
		}
		at, column = end, col
		if l.removed[i] {
			c.removeItem(l.path.Index(i), items[i], start, end)
		}
	}
	if len(l.removed) == len(items) && len(l.added) == 0 {
		if pr.val.Kind() == document.Alias || pr.val.Anchor() != "" || pr.val.Tag() != "" {
			return layoutError(pr.val, "a list with an anchor or a tag cannot be emptied")
		}
		at := c.colonEnd(pr.key)
		c.replace(at, at, " []")
	}
	return c.appendItems(l, pr.key, like, at, column)
}

// removeItem takes out the lines of an item of a block list. What stands below an item that ends with a list may be about
// that list, and stays.
func (c *changer) removeItem(path diag.Path, item document.Node, start, end int) {
	if pairs := pairsOf(item); len(pairs) > 0 && pairs[len(pairs)-1].val.Target().Kind() == document.Sequence {
		end = c.endOfLines(item)
	}
	if stay := c.leftBehind(path); len(stay) > 0 {
		text := strings.Join(stay, c.eol)
		if isBreak(c.src[end-1]) {
			text += c.eol
		}
		c.replace(start, end, text)
		return
	}
	c.removeLines(start, end)
}

// appendItems adds the new items of a block list, which is under a key, behind the line that ends at an offset.
func (c *changer) appendItems(l *listChange, key, like document.Node, at, column int) error {
	if len(l.added) == 0 {
		return nil
	}
	var lines []string
	for _, a := range l.added {
		text, err := c.addedItem(a, like, c.quotedLike(key), column)
		if err != nil {
			return err
		}
		lines = append(lines, text...)
	}
	c.insertLines(at, lines)
	return nil
}

// addedItem is the text of one new item of a block list: that of the moved element, or a new one in the style of like.
func (c *changer) addedItem(a addition, like document.Node, s *style, column int) ([]string, error) {
	if items, i, ok := c.blockItem(a.from); ok {
		start, end, from, err := c.itemRange(items, i)
		if err != nil {
			return nil, err
		}
		return shifted(string(c.src[start:end]), c.eol, column-from), nil
	}
	if text, ok := c.movedFlow(a, column+2); ok {
		found, from := c.commentsAt(a.from)
		found = found.shifted(column - from)
		lines := append(found.head, strings.Split(strings.Repeat(" ", column)+"- "+text+found.behind, c.eol)...)
		return append(lines, found.below...), nil
	}
	v, err := a.literal()
	if err != nil {
		return nil, err
	}
	return s.item(v, c.likeFor(a, like), column), nil
}

// movedFlow is the text of a moved element that is written in flow style, for a line with the indentation base.
func (c *changer) movedFlow(a addition, base int) (string, bool) {
	if a.from == nil {
		return "", false
	}
	n, ok := c.nodeAt(a.from)
	if !ok || !isFlow(n) {
		return "", false
	}
	start, end := n.FullOffsets()
	return strings.Join(shiftedAfter(string(c.src[start:end]), c.eol, base-c.indentAt(start)), c.eol), true
}

// likeFor is the element that shows how an addition is written: its own choice, or that of the list.
func (c *changer) likeFor(a addition, like document.Node) document.Node {
	if a.like != nil {
		if n, ok := c.nodeAt(a.like); ok {
			return n.Target()
		}
	}
	return like
}

// blockItem finds an element that is an item of a block list.
func (c *changer) blockItem(path diag.Path) (items []document.Node, i int, ok bool) {
	if path == nil {
		return nil, 0, false
	}
	pr, err := c.entryAt(path[:len(path)-1])
	if err != nil || !pr.key.IsValid() || !isBlock(pr.val.Target()) {
		return nil, 0, false
	}
	items, err = c.itemsAt(pr.val)
	return items, path[len(path)-1].Index, err == nil
}

// shifted splits lines and moves them by some columns.
func shifted(text, eol string, by int) []string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), eol)
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
		case by > 0:
			lines[i] = strings.Repeat(" ", by) + line
		default:
			blanks := len(line) - len(strings.TrimLeft(line, " "))
			lines[i] = line[min(-by, blanks):]
		}
	}
	return lines
}

// flowList changes a list in flow style. An empty one under a key of a block mapping becomes a block list.
func (c *changer) flowList(l *listChange, pr pair, items []document.Node, like document.Node) error {
	n := pr.val.Target()
	var ch flowChange
	if len(l.removed) > 0 {
		ch.remove = func(i int) bool { return l.removed[i] }
		ch.stay = func(i int) []string { return c.leftBehind(l.path.Index(i)) }
		for i := range l.removed {
			if _, moves := c.moves[l.path.Index(i).String()]; moves {
				ch.around = c.allComments
			}
		}
	}
	if len(l.added) == 0 {
		c.changeFlow(n, ch)
		return nil
	}
	if c.becomesBlock(l.path, pr) {
		_, end := n.Offsets()
		_, column, _ := c.keyPlace(pr.key)
		c.replace(c.colonEnd(pr.key), end, "")
		return c.appendItems(l, pr.key, like, c.lineEnd(end), column+c.dash)
	}
	var failed error
	ch.texts = func(f flowStyle, base int) (texts []flowText) {
		for _, a := range l.added {
			text, err := c.addedElement(a, like, c.quotedLike(pr.key), f, base)
			if err != nil {
				failed = err
			}
			texts = append(texts, text)
		}
		return texts
	}
	c.changeFlow(n, ch)
	return failed
}

// becomesBlock tells whether a list in flow style is written in block style when it is given elements.
func (c *changer) becomesBlock(path diag.Path, pr pair) bool {
	if pr.val.Target().First().IsValid() || c.json || pr.val.Kind() == document.Alias || c.inFlowContext(path) {
		return false
	}
	line, column, inDash := c.keyPlace(pr.key)
	before := strings.TrimRight(string(c.src[line:line+column]), " ")
	return strings.Trim(before, " -") == "" && (!inDash || strings.HasSuffix(before, "-"))
}

// inFlowContext tells whether the mapping that holds a list is in flow style.
func (c *changer) inFlowContext(path diag.Path) bool {
	n := c.root.Target()
	for _, step := range path[:len(path)-1] {
		if step.Name == "" {
			items, err := c.itemsAt(n)
			if err != nil {
				return true
			}
			n = items[step.Index].Target()
			continue
		}
		pr, _ := pairOf(n, step.Name, camelCase(step.Name))
		n = pr.val.Target()
	}
	return isFlow(n)
}

// addedElement is the text of one new element of a flow list.
func (c *changer) addedElement(a addition, like document.Node, s *style, f flowStyle, base int) (flowText, error) {
	var out flowText
	if a.from != nil {
		found, from := c.commentsAt(a.from)
		out.comments = found.shifted(base - from)
	}
	var ok bool
	if out.text, ok = c.movedFlow(a, base); ok {
		return out, nil
	}
	v, err := a.literal()
	if err != nil {
		return out, err
	}
	out.text = s.inFlow(v, c.likeFor(a, like), f, base)
	return out, nil
}

// shiftedAfter is shifted for all lines but the first.
func shiftedAfter(text, eol string, by int) []string {
	first, rest, found := strings.Cut(text, eol)
	if !found {
		return []string{text}
	}
	return append([]string{first}, shifted(rest, eol, by)...)
}

// newList writes a list that is not there yet.
func (c *changer) newList(l *listChange) error {
	if len(l.added) == 0 {
		return nil
	}
	v := &literal{kind: listLiteral}
	for _, a := range l.added {
		item, err := a.literal()
		if err != nil {
			return err
		}
		v.vals = append(v.vals, item)
	}
	return c.set(fieldSet{path: l.path, value: v})
}

// likeItem is an item that shows how new ones are written: the last of the list, or one of a sibling list.
func (c *changer) likeItem(items []document.Node, l *listChange) document.Node {
	if len(items) > 0 {
		return items[len(items)-1].Target()
	}
	if len(l.path) < 3 || l.path[len(l.path)-2].Name != "" {
		return document.Node{}
	}
	groups, err := c.entryAt(l.path[:len(l.path)-2])
	if err != nil {
		return document.Node{}
	}
	name := l.path[len(l.path)-1].Name
	for _, group := range itemsOf(groups.val) {
		if pr, ok := pairOf(group, name, camelCase(name)); ok && pr.val.Target().Kind() == document.Sequence && pr.val.First().IsValid() {
			return pr.val.First().Target()
		}
	}
	return document.Node{}
}

// entryAt finds the entry of a field; without a key when the field, or a message on the way, is not written.
func (c *changer) entryAt(path diag.Path) (pair, error) {
	n := c.root.Target()
	var pr pair
	for _, step := range path {
		if step.Name == "" {
			items, err := c.itemsAt(n)
			if err != nil {
				return pair{}, err
			}
			n = items[step.Index].Target()
			continue
		}
		var ok bool
		if pr, ok = pairOf(n, step.Name, camelCase(step.Name)); !ok {
			return pair{}, nil
		}
		n = pr.val.Target()
	}
	return pr, nil
}

// nodeAt is the node of an element of a list, not following an alias.
func (c *changer) nodeAt(path diag.Path) (document.Node, bool) {
	pr, err := c.entryAt(path[:len(path)-1])
	if err != nil {
		return document.Node{}, false
	}
	items, err := c.itemsAt(pr.val)
	if err != nil || path[len(path)-1].Index >= len(items) {
		return document.Node{}, false
	}
	return items[path[len(path)-1].Index], true
}
