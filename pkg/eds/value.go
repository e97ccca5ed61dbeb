package eds

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/edsctl/edsctl/pkg/document"
)

// jsonKind is what a node becomes when Envoy turns the text into JSON.
type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonObject
	jsonArray
	jsonNothing // where no value begins, in JSON that is broken
)

// value is a node as Envoy's proto JSON reader sees it.
type value struct {
	node   document.Node // target of an alias
	kind   jsonKind
	text   string // of a bool "true" or "false", of a number its JSON text, of a string its value
	plain  bool   // an unquoted YAML scalar
	broken bool   // JSON that cannot be read; kind is that of its first character, and text that character
	raw    string // a plain YAML scalar as written
}

// first is the character with which the value begins in JSON: protobuf's reader names it in its complaints.
func (v value) first() string {
	switch v.kind {
	case jsonNull:
		return "n"
	case jsonString:
		if v.node.Target().Style() == document.SingleQuoted && v.node.Document().Format == document.JSON || v.text == "'" && v.broken {
			return "'"
		}
		return `"`
	case jsonObject:
		return "{"
	case jsonArray:
		return "["
	case jsonNothing:
		return v.text
	default:
		return v.text[:1]
	}
}

// look interprets a node as Envoy does: YAML through yaml-cpp's conversions (source/common/protobuf/yaml_utility.cc,
// parseYamlNode), JSON as it stands.
func look(n document.Node) value {
	n = n.Target()
	switch n.Kind() {
	case document.Mapping:
		return value{node: n, kind: jsonObject}
	case document.Sequence:
		return value{node: n, kind: jsonArray}
	case document.Scalar:
	case document.Broken:
		return lookBroken(n)
	default:
		return value{node: n, kind: jsonNull}
	}
	b := n.TextBytes()
	text := unsafe.String(unsafe.SliceData(b), len(b)) // the source outlives the decoder and is never changed
	if n.Document().Format == document.JSON {
		return lookJSON(n, text)
	}
	return lookYAML(n, text)
}

func lookJSON(n document.Node, text string) value {
	if n.Style() != document.Plain {
		return value{node: n, kind: jsonString, text: text}
	}
	switch text {
	case "null":
		return value{node: n, kind: jsonNull}
	case "true", "false":
		return value{node: n, kind: jsonBool, text: text}
	}
	return value{node: n, kind: jsonNumber, text: text}
}

// lookYAML follows yaml-cpp: a scalar that is not plain has the tag "!" unless another is written, and stays a string;
// any other tag changes nothing, so that `!!str 1` is a number.
func lookYAML(n document.Node, text string) value {
	plain := n.Style() == document.Plain
	tag := n.ResolvedTag()
	if tag == "!" {
		return value{node: n, kind: jsonString, text: text}
	}
	if plain && tag == "?" && isYAMLNull(text) {
		return value{node: n, kind: jsonNull, plain: true, raw: text}
	}
	v := value{node: n, kind: jsonString, text: text, plain: plain, raw: text}
	if text == "" {
		return v
	}
	switch text[0] {
	case '+', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if i, ok := yamlInt(text); ok {
			v.text = strconv.FormatInt(i, 10)
			if int64(int32(i)) == i { // larger ones are passed on as strings
				v.kind = jsonNumber
			}
		}
	case 'y', 'Y', 'n', 'N', 't', 'T', 'f', 'F', 'o', 'O':
		if b, ok := yamlBool(text); ok {
			v.kind, v.text = jsonBool, strconv.FormatBool(b)
		}
	}
	return v
}

func isYAMLNull(s string) bool {
	return s == "" || s == "~" || s == "null" || s == "Null" || s == "NULL"
}

// yamlBool is yaml-cpp's conversion to bool: the words in lower, UPPER or Capitalised case.
func yamlBool(s string) (val, ok bool) {
	lower := strings.ToLower(s)
	switch lower {
	case "y", "yes", "true", "on":
		val = true
	case "n", "no", "false", "off":
	default:
		return false, false
	}
	rest := s[1:]
	ok = s == lower || s == strings.ToUpper(s) || (s[:1] == strings.ToUpper(s[:1]) && rest == lower[1:])
	return val, ok
}

// yamlInt is yaml-cpp's conversion to int64: a C++ stream with the base taken from the prefix, which must be used up.
func yamlInt(s string) (int64, bool) {
	digits, neg := s, false
	if digits[0] == '+' || digits[0] == '-' {
		neg, digits = digits[0] == '-', digits[1:]
	}
	base := 10
	switch {
	case len(digits) > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'):
		base, digits = 16, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base, digits = 8, digits[1:]
	}
	if digits == "" || digits[0] == '+' || digits[0] == '-' {
		return 0, false
	}
	u, err := strconv.ParseUint(digits, base, 64)
	if err != nil || !neg && u > 1<<63-1 || neg && u > 1<<63 {
		return 0, false
	}
	if neg {
		return -int64(u), true //nolint:gosec // 1<<63 wraps to the smallest int64, as it should
	}
	return int64(u), true
}

// keyText is the text of a mapping's key as yaml-cpp converts it to a string; ok is false for a collection.
func keyText(k document.Node) (text string, ok bool) {
	b, ok := keyBytes(k)
	return string(b), ok
}

// keyBytes is keyText without a copy; the bytes must not be changed.
func keyBytes(k document.Node) (text []byte, ok bool) {
	k = k.Target()
	if k.Kind() != document.Scalar {
		return nil, k.Kind() == document.Invalid
	}
	text = k.TextBytes()
	if len(text) <= 1 || len(text) == 4 {
		if k.Document().Format == document.YAML && k.Style() == document.Plain && isYAMLNull(string(text)) && k.ResolvedTag() == "?" {
			return nullKey, true
		}
	}
	return text, true
}

// nullKey is what yaml-cpp makes of a null as a key.
var nullKey = []byte("null")
