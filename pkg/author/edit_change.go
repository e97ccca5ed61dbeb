package author

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// changeSet says what an edit does to the text of one assignment. Paths are those before the edit.
type changeSet struct {
	sets   []fieldSet
	lists  []*listChange
	listAt map[string]*listChange // by path
}

// fieldSet gives a field a value, or takes it out when there is none. Messages on the way to it are made.
type fieldSet struct {
	path  diag.Path
	value *literal
	// collapse takes out the message too when nothing else is written in it.
	collapse bool
}

// listChange takes elements out of a list and puts others at its end.
type listChange struct {
	path    diag.Path
	removed map[int]bool
	added   []addition
}

// addition is an element that is added: a new one, or one that was elsewhere in the assignment before.
type addition struct {
	message proto.Message
	text    *literal  // how it is written; nil: as the message is
	from    diag.Path // nil: it is new
	like    diag.Path // an element of the list whose style it takes; nil: the last one
}

// literal is the addition in proto JSON form.
func (a addition) literal() (*literal, error) {
	if a.text != nil {
		return a.text, nil
	}
	return messageOf(a.message)
}

func (c *changeSet) set(path diag.Path, value *literal) {
	c.sets = append(c.sets, fieldSet{path: path, value: value})
}

// collapse takes a field out, and the message that holds it when nothing else is written in that.
func (c *changeSet) collapse(path diag.Path) {
	c.sets = append(c.sets, fieldSet{path: path, collapse: true})
}

// list returns the change of a list, which it makes when there is none yet.
func (c *changeSet) list(path diag.Path) *listChange {
	key := path.String()
	if l := c.listAt[key]; l != nil {
		return l
	}
	if c.listAt == nil {
		c.listAt = map[string]*listChange{}
	}
	l := &listChange{path: path, removed: map[int]bool{}}
	c.lists, c.listAt[key] = append(c.lists, l), l
	return l
}

func (c *changeSet) isEmpty() bool { return len(c.sets) == 0 && len(c.lists) == 0 }

// changer turns the changes of one assignment into patches of its document.
type changer struct {
	*patcher
	root     document.Node
	items    map[document.Node][]document.Node
	mappings []*mappingChange
	byNode   map[document.Node]*mappingChange
	likes    map[likeKey]document.Node
	moves    map[string]diag.Path // elements that move, with the list they move to
	comments []span               // of the document, when they were looked for
}

// mappingChange collects what happens to the keys of one mapping.
type mappingChange struct {
	node, like document.Node
	removed    []pair
	added      *literal
	filled     map[document.Node]*literal // keys whose value is null so far
	pairs      []pair
	collapse   bool
	outer      *mappingChange // the mapping around this one, and the entry in it
	entry      pair
}

func newChanger(root document.Node) *changer {
	return &changer{
		patcher: &patcher{style: styleOf(root.Target())}, root: root,
		items: map[document.Node][]document.Node{}, byNode: map[document.Node]*mappingChange{}, likes: map[likeKey]document.Node{},
	}
}

// patchesOf computes the patches of a change set.
func patchesOf(root document.Node, c *changeSet) ([]document.Patch, error) {
	ch := newChanger(root)
	ch.moves = movesOf(c.lists)
	for _, l := range c.lists {
		if err := ch.list(l); err != nil {
			return nil, err
		}
	}
	for _, s := range c.sets {
		if err := ch.set(s); err != nil {
			return nil, err
		}
	}
	for i := 0; i < len(ch.mappings); i++ { // by index: a mapping that collapses changes the one around it
		if err := ch.flush(ch.mappings[i]); err != nil {
			return nil, err
		}
	}
	return distinct(ch.patches), nil
}

// distinct drops patches that occur twice: two uses of one anchor that are to change in the same way.
func distinct(patches []document.Patch) []document.Patch {
	seen := map[document.Patch]bool{}
	return slices.DeleteFunc(patches, func(p document.Patch) bool {
		before := seen[p]
		seen[p] = true
		return before
	})
}

// itemsAt lists the items of a list as the API counts them.
func (c *changer) itemsAt(n document.Node) ([]document.Node, error) {
	n = n.Target()
	if items, ok := c.items[n]; ok {
		return items, nil
	}
	if n.Kind() != document.Sequence {
		return nil, layoutError(n, "a list belongs here, but it is written as a single value")
	}
	items := itemsOf(n)
	for _, item := range items {
		if item.Target().Kind() == document.Sequence {
			return nil, layoutError(item, "a list inside a list cannot be edited")
		}
	}
	c.items[n] = items
	return items, nil
}

// set makes the text of a field say value.
func (c *changer) set(s fieldSet) error {
	path, value := s.path, s.value
	n := c.root.Target()
	var like, outer document.Node
	var entry pair
	for i, step := range path {
		if step.Name == "" {
			items, err := c.itemsAt(n)
			if err != nil {
				return err
			}
			n, like = items[step.Index].Target(), c.sibling(n, items, path[i+1:])
			outer = document.Node{}
			continue
		}
		if n.Kind() != document.Mapping {
			return layoutError(n, "a mapping belongs here")
		}
		pr, ok := pairOf(n, step.Name, camelCase(step.Name))
		last := i == len(path)-1
		switch {
		case !ok && value == nil, ok && value == nil && isNull(pr.val) && !last:
			return nil
		case !ok:
			c.mapping(n, like).add(step.Name, nest(path[i+1:], value))
			return nil
		case isNull(pr.val) && value != nil:
			c.mapping(n, like).fill(pr, nest(path[i+1:], value))
			return nil
		case last && value == nil:
			m := c.mapping(n, like)
			m.remove(pr)
			if s.collapse && outer.IsValid() {
				m.collapse, m.outer, m.entry = true, c.mapping(outer, document.Node{}), entry
			}
			return nil
		case last:
			c.replaceValue(n, pr, value, like, step.Name)
			return nil
		}
		outer, entry = n, pr
		n, like = pr.val.Target(), likeOf(like, step.Name)
	}
	return nil
}

// siblingsToAsk is how many items of a list are looked at for one that has a field.
const siblingsToAsk = 50

// likeKey is a field of the items of a list.
type likeKey struct {
	list  document.Node
	field string
}

// sibling is an item of a list that has a field, to show how the field is written.
func (c *changer) sibling(list document.Node, items []document.Node, rest diag.Path) document.Node {
	if len(rest) == 0 {
		return document.Node{}
	}
	key := likeKey{list, rest[0].Name}
	found, known := c.likes[key]
	if known {
		return found
	}
	for _, item := range items[:min(len(items), siblingsToAsk)] {
		if _, ok := pairOf(item, key.field, camelCase(key.field)); ok {
			found = item.Target()
			break
		}
	}
	c.likes[key] = found
	return found
}

// nest wraps a value in mappings for the fields of a path.
func nest(path diag.Path, value *literal) *literal {
	for i := len(path) - 1; i >= 0; i-- {
		outer := &literal{kind: mapLiteral}
		outer.put(path[i].Name, value)
		value = outer
	}
	return value
}

func (c *changer) mapping(n, like document.Node) *mappingChange {
	m := c.byNode[n]
	if m == nil {
		m = &mappingChange{node: n, like: like, added: &literal{kind: mapLiteral}, filled: map[document.Node]*literal{}}
		c.byNode[n] = m
		c.mappings = append(c.mappings, m)
	}
	return m
}

func (m *mappingChange) add(key string, v *literal) {
	if i := slices.Index(m.added.keys, key); i >= 0 {
		m.added.vals[i].merge(v)
		return
	}
	m.added.put(key, v)
}

func (m *mappingChange) fill(pr pair, v *literal) {
	if before := m.filled[pr.key]; before != nil {
		before.merge(v)
		return
	}
	m.filled[pr.key] = v
	m.pairs = append(m.pairs, pr)
}

func (m *mappingChange) remove(pr pair) {
	if !slices.Contains(m.removed, pr) {
		m.removed = append(m.removed, pr)
	}
}

// merge adds the entries of another mapping.
func (l *literal) merge(o *literal) {
	for i, k := range o.keys {
		if at := slices.Index(l.keys, k); at >= 0 {
			l.vals[at].merge(o.vals[i])
		} else {
			l.put(k, o.vals[i])
		}
	}
}

// flush writes what was collected for a mapping.
func (c *changer) flush(m *mappingChange) error {
	if m.collapse && len(m.removed) == len(pairsOf(m.node)) && len(m.added.keys) == 0 {
		o := m.outer
		removed := o.removed
		*o = mappingChange{node: o.node, removed: append(removed, m.entry), added: &literal{kind: mapLiteral}}
		c.mappings = append(c.mappings, o)
		return nil
	}
	for _, pr := range m.pairs {
		c.replaceValue(m.node, pr, m.filled[pr.key], m.like, pr.key.Target().Text())
	}
	if isFlow(m.node) {
		var ch flowChange
		if len(m.removed) > 0 {
			pairs := pairsOf(m.node)
			ch.remove = func(i int) bool { return slices.Contains(m.removed, pairs[i]) }
			ch.stay = func(i int) []string { return c.commentsAround(m.node, i) }
		}
		if len(m.added.keys) > 0 {
			ch.texts = func(f flowStyle, base int) (texts []flowText) {
				for i, key := range m.added.keys {
					like := c.keyStyle(m.node, m.like, key)
					texts = append(texts, flowText{text: c.beside(m.node).flowEntry(m.added, i, like, f, base)})
				}
				return texts
			}
		}
		if ch.remove != nil || ch.texts != nil {
			c.changeFlow(m.node, ch)
		}
		return nil
	}
	for _, pr := range m.removed {
		if err := c.removeFromBlock(m.node, pr); err != nil {
			return err
		}
	}
	if len(m.added.keys) == 0 {
		return nil
	}
	return c.addToBlock(m.node, m.added, m.like)
}

// replaceValue gives an entry of a mapping another value. A wrapper or a duration that is written as a message becomes a scalar.
func (c *changer) replaceValue(n document.Node, pr pair, v *literal, like document.Node, name string) {
	val := pr.val
	if inner, ok := pairOf(val, "value"); ok && v.isScalar() && val.Kind() == document.Mapping && inner.val.Kind() == document.Scalar && len(pairsOf(val)) == 1 {
		val = inner.val
	}
	start, end := val.Offsets()
	if end > start && isBreak(c.src[end-1]) {
		end = c.beforeBreak(end) // of a block scalar
	}
	s := c.beside(n)
	inFlow := isFlow(n) || isFlow(val) || c.wantsFlow(v, likeOf(like, name))
	switch {
	case inFlow && start == end:
		c.replace(end, end, " "+s.inFlow(v, val, c.flow, c.indentAt(start)))
	case inFlow && isBlock(val):
		c.replace(c.colonEnd(pr.key), end, " "+s.inFlow(v, likeOf(like, name), c.flow, c.indentAt(start)))
	case inFlow:
		c.replace(start, end, s.inFlow(v, val, c.flow, c.indentAt(start)))
	default:
		_, column, _ := c.keyPlace(pr.key)
		indent := column + c.step
		if v.kind == listLiteral {
			indent = column + c.dash
		}
		lines := s.inBlock(v, likeOf(like, name), indent)
		if isNull(val) && blank(c.src[c.colonEnd(pr.key):start]) { // a comment behind it stays behind the key
			c.replace(c.colonEnd(pr.key), end, "")
			c.insertLines(c.lineEnd(end), lines)
			return
		}
		c.replace(c.colonEnd(pr.key), end, c.eol+strings.Join(lines, c.eol))
	}
}
