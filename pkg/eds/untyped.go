package eds

import (
	"encoding/json"

	"github.com/edsctl/edsctl/pkg/document"
)

// Untyped reads the first document of a text, YAML or JSON, as Envoy does, without knowing its type: a map[string]any,
// []any, string, json.Number, bool or nil. Of repeated keys the last counts. Nothing at all is nil. Errors: the text
// cannot be parsed.
func Untyped(src []byte) (any, error) {
	docs, err := document.Parse(src, document.Limits{})
	if len(docs) == 0 {
		return nil, err
	}
	return untyped(docs[0].Root), nil
}

func untyped(n document.Node) any {
	switch n = n.Target(); n.Kind() {
	case document.Mapping:
		out := map[string]any{}
		for k := n.First(); k.IsValid(); k = k.Next().Next() {
			if text, ok := ReadKey(k); ok {
				out[text] = untyped(k.Next())
			}
		}
		return out
	case document.Sequence:
		out := []any{}
		for c := n.First(); c.IsValid(); c = c.Next() {
			out = append(out, untyped(c))
		}
		return out
	}
	switch v := look(n); v.kind {
	case jsonString:
		return v.text
	case jsonNumber:
		return json.Number(v.text)
	case jsonBool:
		return v.text == "true"
	}
	return nil
}
