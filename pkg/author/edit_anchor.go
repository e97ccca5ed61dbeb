package author

import (
	"errors"
	"fmt"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// AnchorError tells that an edit would change text that is used in several places, not all of which are meant.
type AnchorError struct {
	Name string // of the anchor
	Line int    // of the place that was to be edited
}

func (e *AnchorError) Error() string {
	return fmt.Sprintf("line %d: the anchor &%s is used in several places, and the edit is not about all of them: write the value out, or select all places", e.Line, e.Name)
}

// explain says which anchor is the reason for an edit that cannot be made.
func (p *pending) explain(err error) error {
	if !errors.Is(err, errNotExact) {
		return err
	}
	for _, t := range p.changes {
		uses := aliasesOf(t.resource.Node.Document().Root)
		for _, path := range t.changes.paths() {
			if a := anchorOn(t.resource.Node, path, uses); a != nil {
				return a
			}
		}
	}
	return err
}

// paths that a change set touches.
func (c *changeSet) paths() []diag.Path {
	var out []diag.Path
	for _, s := range c.sets {
		out = append(out, s.path)
	}
	for _, l := range c.lists {
		out = append(out, l.path)
		for i := range l.removed {
			out = append(out, l.path.Index(i))
		}
	}
	return out
}

// aliasesOf lists the names of the anchors that are used below a node.
func aliasesOf(n document.Node) map[string]bool {
	out := map[string]bool{}
	var walk func(document.Node)
	walk = func(n document.Node) {
		if n.Kind() == document.Alias {
			start, end := n.Offsets()
			out[string(n.Document().Source()[start+1:end])] = true
			return
		}
		if n.Kind() == document.Scalar {
			return
		}
		for c := n.First(); c.IsValid(); c = c.Next() {
			walk(c)
		}
	}
	walk(n)
	return out
}

// anchorOn finds an anchor that is used elsewhere, or an alias, on the way to what a path names or inside of it.
func anchorOn(root document.Node, path diag.Path, uses map[string]bool) error {
	n := root
	for _, step := range path {
		if err := anchorError(n, uses); err != nil {
			return err
		}
		t := n.Target()
		if step.Name != "" {
			pr, ok := pairOf(t, step.Name, camelCase(step.Name))
			if !ok {
				return nil
			}
			n = pr.val
			continue
		}
		items := itemsOf(t)
		if step.Index >= len(items) {
			return nil
		}
		n = items[step.Index]
	}
	return anchorInside(n, uses)
}

func anchorInside(n document.Node, uses map[string]bool) error {
	if err := anchorError(n, uses); err != nil {
		return err
	}
	if n.Kind() == document.Alias || n.Kind() == document.Scalar {
		return nil
	}
	for c := n.First(); c.IsValid(); c = c.Next() {
		if err := anchorInside(c, uses); err != nil {
			return err
		}
	}
	return nil
}

func anchorError(n document.Node, uses map[string]bool) error {
	if n.Kind() == document.Alias {
		start, end := n.Offsets()
		return &AnchorError{string(n.Document().Source()[start+1 : end]), n.Span().Start.Line}
	}
	if a := n.Anchor(); a != "" && uses[a] {
		return &AnchorError{a, n.Span().Start.Line}
	}
	return nil
}
