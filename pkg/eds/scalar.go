package eds

import "github.com/edsctl/edsctl/pkg/document"

// ScalarValue is a scalar of a document as Envoy's proto JSON reader gets it.
type ScalarValue struct {
	// Text is the value of a string, else JSON: a number, true, false or null.
	Text     string
	IsString bool
}

// ReadScalar reads a scalar as Envoy does; see look. Anything but a scalar is null.
func ReadScalar(n document.Node) ScalarValue {
	switch v := look(n); v.kind {
	case jsonString:
		return ScalarValue{v.text, true}
	case jsonNumber, jsonBool:
		return ScalarValue{v.text, false}
	}
	return ScalarValue{"null", false}
}

// ReadKey is the text of a mapping's key as Envoy reads it; false for a collection, and for an entry that is dropped
// because its key has the tag !ignore.
func ReadKey(k document.Node) (string, bool) {
	if k.ResolvedTag() == ignoreTag {
		return "", false
	}
	return keyText(k)
}
