package eds

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/document"
)

// grpcMessage is a message whose package is not linked: as it is written in a document, or as bytes.
type grpcMessage struct {
	node document.Node // invalid: bytes
	wire []byte
}

// grpcField is a field of such a message.
type grpcField struct {
	name   string
	number protowire.Number
}

// all are the values of a field on the wire, in their order; only those of bytes.
func (m grpcMessage) all(f grpcField) [][]byte {
	var out [][]byte
	for b := m.wire; len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			break
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if size < 0 {
			break
		}
		if number == f.number && kind == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b[n:])
			out = append(out, v)
		}
		b = b[n+size:]
	}
	return out
}

// message is the value of a field; false when it is absent.
func (m grpcMessage) message(f grpcField) (grpcMessage, bool) {
	if m.node.IsValid() {
		n := child(m.node, f.name)
		return grpcMessage{node: n}, n.IsValid()
	}
	var merged []byte
	all := m.all(f)
	for _, v := range all {
		merged = append(merged, v...)
	}
	return grpcMessage{wire: merged}, len(all) > 0
}

// list are the values of a repeated field.
func (m grpcMessage) list(f grpcField) []grpcMessage {
	var out []grpcMessage
	if m.node.IsValid() {
		for _, n := range items(child(m.node, f.name)) {
			out = append(out, grpcMessage{node: n})
		}
		return out
	}
	for _, v := range m.all(f) {
		out = append(out, grpcMessage{wire: v})
	}
	return out
}

func (m grpcMessage) text(f grpcField) string {
	if m.node.IsValid() {
		return textOf(m.node, f.name)
	}
	all := m.all(f)
	if len(all) == 0 {
		return ""
	}
	return string(all[len(all)-1])
}

// boolean is the value of a wrapper of a bool.
func (m grpcMessage) boolean(f grpcField) bool {
	w, ok := m.message(f)
	if !ok {
		return false
	}
	if w.node.IsValid() {
		n := w.node
		if look(n).kind == jsonObject {
			n = child(n, "value")
		}
		return n.IsValid() && look(n).text == "true"
	}
	value := false
	for b := w.wire; len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return value
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if size < 0 {
			return value
		}
		if number == 1 && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(b[n:])
			value = v != 0
		}
		b = b[n+size:]
	}
	return value
}

// oneof is the field of a oneof that is set: on the wire the last of them, whose earlier values count only when no other
// field of the oneof came between.
func (m grpcMessage) oneof(fields ...grpcField) (f grpcField, value grpcMessage, ok bool) {
	if m.node.IsValid() {
		for _, f := range fields {
			if v, ok := m.message(f); ok {
				return f, v, true
			}
		}
		return grpcField{}, grpcMessage{}, false
	}
	for b := m.wire; len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			break
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if size < 0 {
			break
		}
		for _, other := range fields {
			if other.number != number || kind != protowire.BytesType {
				continue
			}
			v, _ := protowire.ConsumeBytes(b[n:])
			if f != other {
				value.wire = nil
			}
			f, value.wire, ok = other, append(value.wire[:len(value.wire):len(value.wire)], v...), true
		}
		b = b[n+size:]
	}
	return f, value, ok
}

// grpcAny is the type URL and the message of an Any in a field.
func (m grpcMessage) any(f grpcField) (url string, value grpcMessage) {
	a, ok := m.message(f)
	if !ok {
		return "", grpcMessage{}
	}
	if a.node.IsValid() {
		url, _, _ = typeURL(a.node)
		return url, a
	}
	return a.text(grpcField{number: 1}), grpcMessage{wire: []byte(a.text(grpcField{number: 2}))}
}

// messageOf is the message in an Any that stands at a node, where there is one.
func messageOf(a *anypb.Any, n document.Node) grpcMessage {
	if n.IsValid() {
		return grpcMessage{node: n}
	}
	return grpcMessage{wire: a.GetValue()}
}

// grpcShape are the fields of a message whose content protobuf looks at: a message, or nil for a string.
type grpcShape map[protowire.Number]grpcShape

// damage is what protobuf says against bytes that are no message of this shape; empty when it reads them.
func (s grpcShape) damage(b []byte) string {
	const garbage, notUTF8 = "proto: cannot parse invalid wire-format data", "string field contains invalid UTF-8"
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return garbage
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if size < 0 {
			return garbage
		}
		if inner, known := s[number]; known && kind == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b[n:])
			if inner != nil {
				if text := inner.damage(v); text != "" {
					return text
				}
			} else if !utf8.Valid(v) {
				return notUTF8
			}
		}
		b = b[n+size:]
	}
	return ""
}

// goName is the name of a field in the generated code of Go.
func (f grpcField) goName() string {
	name := camel(f.name)
	return strings.ToUpper(name[:1]) + name[1:]
}
