package eds

import (
	"strings"

	"github.com/edsctl/edsctl/pkg/document"
)

// child is the value of a key of a mapping, given in snake_case and found in either spelling; as for Envoy the last of
// several copies counts, and those tagged !ignore do not. Null is the same as absent: it hides a value before it only
// where a key of YAML replaces its copy.
func child(n document.Node, key string) document.Node {
	n = n.Target()
	if n.Kind() != document.Mapping {
		return document.Node{}
	}
	isYAML := n.Document().Format == document.YAML
	var found document.Node
	var spelling string // of found
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		text, ok := keyText(k)
		if !ok || !sameField(text, key) || k.ResolvedTag() == ignoreTag {
			continue
		}
		switch {
		case look(k.Next()).kind != jsonNull:
			found, spelling = k.Next(), text
		case isYAML && text == spelling:
			found = document.Node{}
		}
	}
	return found
}

// has tells whether a mapping has any of the keys, in either spelling.
func has(n document.Node, keys ...string) bool {
	n = n.Target()
	if n.Kind() != document.Mapping {
		return false
	}
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		text, ok := keyText(k)
		if !ok || k.ResolvedTag() == ignoreTag {
			continue
		}
		for _, key := range keys {
			if sameField(text, key) {
				return true
			}
		}
	}
	return false
}

// sameField compares a key with a field name in snake_case, in either spelling.
func sameField(text, snake string) bool {
	return text == snake || len(text) < len(snake) && strings.Contains(snake, "_") && text == camel(snake)
}

// camel turns snake_case into the lowerCamelCase of proto JSON.
func camel(snake string) string {
	var b strings.Builder
	up := false
	for _, c := range []byte(snake) {
		switch {
		case c == '_':
			up = true
		case up && c >= 'a' && c <= 'z':
			b.WriteByte(c - 'a' + 'A')
			up = false
		default:
			b.WriteByte(c)
			up = false
		}
	}
	return b.String()
}

// text of a scalar child; "" when absent or no scalar.
func textOf(n document.Node, key string) string {
	c := child(n, key)
	if !c.IsValid() {
		return ""
	}
	v := look(c)
	if v.kind == jsonObject || v.kind == jsonArray {
		return ""
	}
	return v.text
}

// items are the elements of a list of messages as protobuf's lenient reader takes them: a single value counts as a list of
// one, lists inside are spread out.
func items(n document.Node) []document.Node {
	if !n.Target().IsValid() {
		return nil
	}
	return flatten(n, nil)
}

// isMapping and isSequence look through aliases.
func isMapping(n document.Node) bool  { return n.Target().Kind() == document.Mapping }
func isSequence(n document.Node) bool { return n.Target().Kind() == document.Sequence }
