package document

import "fmt"

// checkTree finds what the text of a document allows but nobody can read: collections as keys, which yaml-cpp cannot
// convert, aliases inside of what they name, on which Envoy crashes, and aliases that multiply too often. It visits
// nodes in the order of Envoy's parseYamlNode and stops at the first.
func checkTree(d *Document, lim Limits) error {
	c := &treeChecker{d: d, lim: lim, sizes: map[uint32]extent{}}
	c.visit(d.Root.i, 1)
	if c.err != nil {
		return c.err
	}
	return nil
}

// extent of a subtree with its aliases followed.
type extent struct {
	nodes int
	depth int
	open  bool
}

type treeChecker struct {
	d        *Document
	lim      Limits
	sizes    map[uint32]extent // of the collections that have an anchor
	expanded int               // nodes that aliases added
	err      *SyntaxError
}

// visit checks a subtree. Its depth cannot exceed that of the file, as aliases are followed once only.
func (c *treeChecker) visit(i uint32, depth int) (e extent) {
	r := c.d.nodes.at(i)
	switch r.kind {
	case Scalar:
		return extent{nodes: 1, depth: 1}
	case Alias:
		return c.follow(i, r, depth)
	}
	_, anchored := c.d.props[i]
	if anchored {
		c.sizes[i] = extent{open: true}
	}
	e = extent{nodes: 1}
	for child := r.child; child != 0 && c.err == nil; child = c.d.nodes.at(child).next {
		if r.kind == Mapping {
			key := child
			child = c.d.nodes.at(key).next
			if !c.key(key) {
				continue
			}
			e.nodes++
		}
		sub := c.visit(child, depth+1)
		e.nodes += sub.nodes
		e.depth = max(e.depth, sub.depth)
	}
	e.depth++
	if anchored {
		c.sizes[i] = e
	}
	return e
}

// key checks a key and tells whether its value is read.
func (c *treeChecker) key(i uint32) bool {
	key := Node{c.d, i}
	if c.d.props != nil && key.ResolvedTag() == "!ignore" {
		return false
	}
	if target := key.Target(); target.record().kind != Scalar {
		start, _ := target.FullOffsets()
		s := scanner{src: c.d.file.src}
		c.err = &SyntaxError{
			Span:    key.Span(),
			Message: fmt.Sprintf("a %s cannot be a key", target.Kind()),
			Envoy:   s.text(&scanError{uint32(start), "bad conversion"}),
		}
		return false
	}
	return true
}

func (c *treeChecker) follow(i uint32, r *record, depth int) extent {
	target := c.d.nodes.at(r.child)
	if target.kind == Scalar {
		c.expanded++
		return extent{nodes: 1, depth: 1}
	}
	e, seen := c.sizes[r.child]
	if !seen {
		// The target stands where nothing was visited, under a key with !ignore.
		e = c.visit(r.child, depth)
	}
	alias := Node{c.d, i}
	if e.open {
		c.err = &SyntaxError{
			Span:    alias.Span(),
			Message: fmt.Sprintf("the alias %q stands inside the node that it names", c.d.file.src[r.start:r.end]),
			Rule:    "yaml-alias-cycle",
		}
		return e
	}
	c.expanded += e.nodes
	switch {
	case c.err != nil:
	case c.expanded > c.lim.MaxAliasExpansion:
		c.limit(alias, fmt.Sprintf("the aliases of the document expand to more than %d nodes", c.lim.MaxAliasExpansion))
	case depth+e.depth > c.lim.MaxDepth:
		c.limit(alias, fmt.Sprintf("with its aliases the document is nested deeper than %d levels", c.lim.MaxDepth))
	}
	return e
}

func (c *treeChecker) limit(n Node, message string) {
	c.err = &SyntaxError{Span: n.Span(), Message: message, Rule: "limit-exceeded"}
}
