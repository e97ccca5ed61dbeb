package eds

import (
	"iter"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// Span of the value at a canonical path; that of the nearest ancestor that is written when the value itself is not, and
// the zero Span for binary. Paths that start with the field "cluster" or "bootstrap" lead into the
// Cluster or the Bootstrap around the assignment.
func (r *Resource) Span(p diag.Path) diag.Span {
	if _, text, p := r.rootOf(p); text != nil {
		return text.below(p, (*textNode).all).span()
	}
	return r.Lookup(p).Span()
}

// Start is where the assignment, or the cluster that stands for it, begins; the zero Position for binary.
func (r *Resource) Start() diag.Position {
	if r.text != nil {
		return r.text.span().Start
	}
	return r.Node.Span().Start
}

// written is the value at a path of the cluster in text proto, nil where it is not there.
func (c *Cluster) written(path ...string) *textNode {
	n := c.text
	for _, name := range path {
		if n == nil {
			return nil
		}
		n = n.content().field(name)
	}
	return n
}

// span is where the value at a path of the cluster stands.
func (c *Cluster) span(p diag.Path) diag.Span {
	if c.text != nil {
		return c.text.below(p, (*textNode).all).span()
	}
	return spanBelow(c.Node, p)
}

// Lookup is the node of the value at a canonical path, or of its nearest ancestor that is written.
func (r *Resource) Lookup(p diag.Path) document.Node {
	root, _, p := r.rootOf(p)
	return below(root, p)
}

// Finder looks up many paths of one resource. It remembers the elements of the lists and maps that it passes, so that the
// time for each path does not depend on their length. It must not be used by several goroutines.
type Finder struct {
	resource *Resource
	lists    map[document.Node][]document.Node
	maps     map[document.Node]map[string]document.Node
	texts    map[textField][]*textNode
}

// textField is a field of a message in text proto.
type textField struct {
	message *textNode
	name    string
}

func (f *Finder) textChildren(n *textNode, name string) []*textNode {
	key := textField{n, name}
	all, ok := f.texts[key]
	if !ok {
		all = n.all(name)
		f.texts[key] = all
	}
	return all
}

// NewFinder makes a Finder for a resource.
func NewFinder(r *Resource) *Finder {
	return &Finder{r, map[document.Node][]document.Node{}, map[document.Node]map[string]document.Node{}, map[textField][]*textNode{}}
}

// Span is Resource.Span.
func (f *Finder) Span(p diag.Path) diag.Span {
	n, text, p := f.resource.rootOf(p)
	if text != nil {
		return text.below(p, f.textChildren).span()
	}
	for _, s := range p {
		next := f.step(n, s)
		if !next.IsValid() {
			break
		}
		n = next
	}
	return n.Span()
}

func (f *Finder) step(n document.Node, s diag.Step) document.Node {
	switch {
	case s.IsKey:
		children, ok := f.maps[n]
		if !ok {
			children = map[string]document.Node{}
			for key, value := range keyed(n) {
				children[key] = value
			}
			f.maps[n] = children
		}
		return children[s.Name]
	case s.Name != "":
		return step(n, s)
	}
	list, ok := f.lists[n]
	if !ok {
		list = flatten(n, nil)
		f.lists[n] = list
	}
	if s.Index < len(list) {
		return list[s.Index]
	}
	return document.Node{}
}

// rootOf is what a path starts from, as a node or in text proto, and the rest of the path.
func (r *Resource) rootOf(p diag.Path) (document.Node, *textNode, diag.Path) {
	node, text := r.Node, r.text
	if len(p) > 0 {
		switch p[0].Name {
		case "cluster":
			if p = p[1:]; r.Cluster != nil {
				node, text = r.Cluster.Node, r.Cluster.text
			}
		case "bootstrap":
			if p = p[1:]; r.Bootstrap != nil {
				node, text = r.Bootstrap.Node, r.Bootstrap.text
			}
		}
	}
	return node, text, p
}

// spanBelow is the span of what a path leads to from a node, or of the nearest ancestor.
func spanBelow(n document.Node, p diag.Path) diag.Span { return below(n, p).Span() }

func below(n document.Node, p diag.Path) document.Node {
	for _, s := range p {
		next := step(n, s)
		if !next.IsValid() {
			return n
		}
		n = next
	}
	return n
}

// step goes down one step of a path.
func step(n document.Node, s diag.Step) document.Node {
	switch {
	case s.IsKey:
		return childKey(n, s.Name)
	case s.Name != "":
		if c := child(n, s.Name); c.IsValid() {
			return c
		}
		return unknownKey(n, s.Name)
	}
	flat := flatten(n, nil)
	if s.Index < len(flat) {
		return flat[s.Index]
	}
	return document.Node{}
}

// childKey is the value under an exact key: the last one counts.
func childKey(n document.Node, key string) document.Node {
	var found document.Node
	for text, value := range keyed(n) {
		if text == key {
			found = value
		}
	}
	return found
}

// keyed yields the keys that are text, with their values, in order.
func keyed(n document.Node) iter.Seq2[string, document.Node] {
	return func(yield func(string, document.Node) bool) {
		for k := n.Target().First(); k.IsValid(); k = k.Next().Next() {
			if text, ok := keyText(k); ok && !yield(text, k.Next()) {
				return
			}
		}
	}
}

// unknownKey is the key itself of a field that the message does not have.
func unknownKey(n document.Node, key string) document.Node {
	for k := n.Target().First(); k.IsValid() && n.Target().Kind() == document.Mapping; k = k.Next().Next() {
		if text, ok := keyText(k); ok && text == key {
			return k
		}
	}
	return document.Node{}
}

// flatten lists the elements of a list as protobuf's lenient reader counts them: lists inside are spread out.
func flatten(n document.Node, out []document.Node) []document.Node {
	if !isSequence(n) {
		return append(out, n)
	}
	for c := n.Target().First(); c.IsValid(); c = c.Next() {
		if isSequence(c) {
			out = flatten(c, out)
		} else {
			out = append(out, c)
		}
	}
	return out
}
