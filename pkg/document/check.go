package document

import "fmt"

// checkTree finds what the text of a document allows but nobody can read: collections as keys, which yaml-cpp cannot
// convert, aliases inside of what they name, on which Envoy crashes, and aliases that multiply too often. It visits
// nodes in the order of Envoy's parseYamlNode and stops at the first. What stands under a key with the tag !ignore
// Envoy does not look at, so only the limits count there.
func checkTree(d *Document, lim Limits) *SyntaxError {
	c := &treeChecker{d: d, lim: lim, seen: map[uint32]extent{}}
	c.visit(d.Root.i, 1)
	return c.err
}

// extent of a subtree with its aliases followed.
type extent struct {
	nodes     int
	depth     int
	open      bool // it is being visited
	unchecked bool // it was visited for the limits only
}

type treeChecker struct {
	d        *Document
	lim      Limits
	seen     map[uint32]extent // of the collections that have properties
	expanded int               // nodes that aliases added
	ignored  int               // how many keys with !ignore lead here
	err      *SyntaxError
}

func (c *treeChecker) visit(i uint32, depth int) (e extent) {
	r := c.d.nodes.at(i)
	switch {
	case r.kind == Scalar:
		return extent{nodes: 1, depth: 1}
	case depth > c.lim.MaxDepth:
		c.limit(Node{c.d, i}, fmt.Sprintf("the document is nested deeper than %d levels", c.lim.MaxDepth))
		return extent{}
	case r.kind == Alias:
		return c.follow(i, r, depth)
	}
	_, anchored := c.d.props[i]
	if anchored {
		c.seen[i] = extent{open: true}
	}
	e = extent{nodes: 1, unchecked: c.ignored > 0}
	for child := r.child; child != 0 && c.err == nil; child = c.d.nodes.at(child).next {
		ignored := 0
		if r.kind == Mapping {
			if !c.key(child) {
				ignored = 1
			}
			child = c.d.nodes.at(child).next
			e.nodes++
		}
		c.ignored += ignored
		sub := c.visit(child, depth+1)
		c.ignored -= ignored
		e.nodes += sub.nodes
		e.depth = max(e.depth, sub.depth)
	}
	e.depth++
	if anchored {
		c.seen[i] = e
	}
	return e
}

// key checks a key and tells whether its value is read.
func (c *treeChecker) key(i uint32) bool {
	key := Node{c.d, i}
	if c.d.props != nil && key.ResolvedTag() == "!ignore" {
		return false
	}
	if target := key.Target(); target.record().kind != Scalar && c.ignored == 0 {
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
	alias := Node{c.d, i}
	if c.d.nodes.at(r.child).kind == Scalar {
		c.expanded++
		return extent{nodes: 1, depth: 1}
	}
	e, seen := c.seen[r.child]
	switch {
	case e.open && c.ignored > 0:
		return extent{nodes: 1, depth: 1}
	case e.open:
		c.err = &SyntaxError{
			Span:    alias.Span(),
			Message: fmt.Sprintf("the alias %q stands inside the node that it names", c.d.file.src[r.start:r.end]),
			Rule:    "yaml-alias-cycle",
		}
		return e
	case !seen, e.unchecked && c.ignored == 0:
		// The target stands where nothing was checked, in a key or under one with !ignore.
		e = c.visit(r.child, depth)
	}
	c.expanded += e.nodes
	if c.expanded > c.lim.MaxAliasExpansion {
		c.limit(alias, fmt.Sprintf("the aliases of the document expand to more than %d nodes", c.lim.MaxAliasExpansion))
	} else if depth+e.depth > c.lim.MaxDepth {
		c.limit(alias, fmt.Sprintf("with its aliases the document is nested deeper than %d levels", c.lim.MaxDepth))
	}
	return e
}

func (c *treeChecker) limit(n Node, message string) {
	if c.err == nil {
		c.err = &SyntaxError{Span: n.Span(), Message: message, Rule: "limit-exceeded"}
	}
}
