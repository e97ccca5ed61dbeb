package author

import (
	"strings"

	"github.com/edsctl/edsctl/pkg/document"
)

// pair is one key of a mapping with its value.
type pair struct{ key, val document.Node }

// pairsOf lists the entries of a mapping in the order of the text.
func pairsOf(n document.Node) []pair {
	n = n.Target()
	if n.Kind() != document.Mapping {
		return nil
	}
	var out []pair
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		out = append(out, pair{k, k.Next()})
	}
	return out
}

// itemsOf lists the items of a sequence.
func itemsOf(n document.Node) []document.Node {
	n = n.Target()
	if n.Kind() != document.Sequence {
		return nil
	}
	var out []document.Node
	for c := n.First(); c.IsValid(); c = c.Next() {
		out = append(out, c)
	}
	return out
}

// pairOf finds an entry by any of the names: the last one, as for Envoy, and none under a key tagged !ignore.
func pairOf(n document.Node, names ...string) (pair, bool) {
	var found pair
	for k := n.Target().First(); k.IsValid() && n.Target().Kind() == document.Mapping; k = k.Next().Next() {
		if k.Target().Kind() != document.Scalar || k.ResolvedTag() == "!ignore" {
			continue
		}
		text := k.Target().TextBytes()
		for _, name := range names {
			if string(text) == name {
				found = pair{k, k.Next()}
			}
		}
	}
	return found, found.key.IsValid()
}

// isNull tells whether a node is what Envoy reads as null, which is the same as absent.
func isNull(n document.Node) bool {
	n = n.Target()
	if n.Kind() != document.Scalar || n.Style() != document.Plain {
		return n.Kind() == document.Invalid
	}
	switch n.Text() {
	case "null":
		return true
	case "", "~", "Null", "NULL":
		return n.Document().Format == document.YAML && n.ResolvedTag() == "?"
	}
	return false
}

// camelCase turns snake_case into the lowerCamelCase of proto JSON.
func camelCase(snake string) string {
	words := strings.Split(snake, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// isBlock tells whether a collection is written in block style.
func isBlock(n document.Node) bool { return n.Style() == document.Block }

// isFlow tells whether a node is a collection in flow style.
func isFlow(n document.Node) bool {
	return (n.Kind() == document.Mapping || n.Kind() == document.Sequence) && n.Style() == document.Flow
}
