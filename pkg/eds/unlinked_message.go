package eds

import (
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/document"
)

// unlinkedMessage is a message whose package is not linked: as it is written in a document or in text proto, or as bytes.
type unlinkedMessage struct {
	node    document.Node
	written *textNode
	wire    []byte // where it is neither
}

// unlinkedField is a field of such a message.
type unlinkedField struct {
	name   string
	number protowire.Number
}

// eachField calls f for every field on the wire, with what follows its tag, until f returns false. It is false when the bytes
// are damaged.
func eachField(b []byte, f func(number protowire.Number, kind protowire.Type, value []byte) bool) bool {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if size < 0 {
			return false
		}
		if !f(number, kind, b[n:n+size]) {
			break
		}
		b = b[n+size:]
	}
	return true
}

// all are the values of a field on the wire, in their order; only those of bytes.
func (m unlinkedMessage) all(f unlinkedField) [][]byte {
	var out [][]byte
	eachField(m.wire, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		if number == f.number && kind == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(value)
			out = append(out, v)
		}
		return true
	})
	return out
}

// message is the value of a field; false when it is absent.
func (m unlinkedMessage) message(f unlinkedField) (unlinkedMessage, bool) {
	if m.node.IsValid() {
		n := child(m.node, f.name)
		return unlinkedMessage{node: n}, n.IsValid()
	}
	if m.written != nil {
		inner := m.written.content().field(f.name)
		return unlinkedMessage{written: inner}, inner != nil
	}
	var merged []byte
	all := m.all(f)
	for _, v := range all {
		merged = append(merged, v...)
	}
	return unlinkedMessage{wire: merged}, len(all) > 0
}

// list are the values of a repeated field.
func (m unlinkedMessage) list(f unlinkedField) []unlinkedMessage {
	var out []unlinkedMessage
	if m.node.IsValid() {
		for _, n := range items(child(m.node, f.name)) {
			out = append(out, unlinkedMessage{node: n})
		}
		return out
	}
	if m.written != nil {
		for _, inner := range m.written.content().all(f.name) {
			out = append(out, unlinkedMessage{written: inner})
		}
		return out
	}
	for _, v := range m.all(f) {
		out = append(out, unlinkedMessage{wire: v})
	}
	return out
}

func (m unlinkedMessage) text(f unlinkedField) string {
	if m.node.IsValid() {
		return textOf(m.node, f.name)
	}
	if inner, ok := m.message(f); m.written != nil {
		text := ""
		if ok && !inner.written.isMessage {
			text, _ = textString(inner.written)
		}
		return text
	}
	all := m.all(f)
	if len(all) == 0 {
		return ""
	}
	return string(all[len(all)-1])
}

// boolean is the value of a wrapper of a bool.
func (m unlinkedMessage) boolean(f unlinkedField) bool {
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
	if w.written != nil {
		inner := w.written.field("value")
		return inner != nil && slices.Contains([]string{"true", "True", "t", "1"}, string(inner.source()))
	}
	eachField(w.wire, func(number protowire.Number, kind protowire.Type, b []byte) bool {
		if number == 1 && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(b)
			value = v != 0
		}
		return true
	})
	return value
}

// oneof is the field of a oneof that is set: on the wire the last of them, whose earlier values count only when no other
// field of the oneof came between.
func (m unlinkedMessage) oneof(fields ...unlinkedField) (f unlinkedField, value unlinkedMessage, ok bool) {
	if m.node.IsValid() || m.written != nil {
		for _, f := range fields {
			if v, ok := m.message(f); ok {
				return f, v, true
			}
		}
		return unlinkedField{}, unlinkedMessage{}, false
	}
	eachField(m.wire, func(number protowire.Number, kind protowire.Type, b []byte) bool {
		for _, other := range fields {
			if other.number != number || kind != protowire.BytesType {
				continue
			}
			v, _ := protowire.ConsumeBytes(b)
			if f != other {
				value.wire = nil
			}
			f, value.wire, ok = other, append(value.wire[:len(value.wire):len(value.wire)], v...), true
		}
		return true
	})
	return f, value, ok
}

// any is the type URL and the message of an Any in a field.
func (m unlinkedMessage) any(f unlinkedField) (url string, value unlinkedMessage) {
	a, ok := m.message(f)
	if !ok {
		return "", unlinkedMessage{}
	}
	if a.node.IsValid() {
		url, _, _ = typeURL(a.node)
		return url, a
	}
	if a.written != nil {
		if inner := a.written.content(); inner.bracketed {
			url = inner.name
		}
		return url, a
	}
	return a.text(unlinkedField{number: 1}), unlinkedMessage{wire: []byte(a.text(unlinkedField{number: 2}))}
}

// messageOf is the message in an Any that stands at a node or in a text, where there is one.
func messageOf(a *anypb.Any, n document.Node, text *textNode) unlinkedMessage {
	switch {
	case n.IsValid():
		return unlinkedMessage{node: n}
	case text != nil && text.content() != text: // it is expanded
		return unlinkedMessage{written: text}
	}
	return unlinkedMessage{wire: a.GetValue()}
}

// wireShape are the fields of a message whose content protobuf looks at: a message, or nil for a string.
type wireShape map[protowire.Number]wireShape

// damage is what protobuf says against bytes that are no message of this shape; empty when it reads them.
func (s wireShape) damage(b []byte) string {
	const garbage, notUTF8 = "proto: cannot parse invalid wire-format data", "string field contains invalid UTF-8"
	says := ""
	whole := eachField(b, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		inner, known := s[number]
		if !known || kind != protowire.BytesType {
			return true
		}
		v, _ := protowire.ConsumeBytes(value)
		switch {
		case inner != nil:
			says = inner.damage(v)
		case !utf8.Valid(v):
			says = notUTF8
		}
		return says == ""
	})
	if !whole {
		return garbage
	}
	return says
}

// goName is the name of a field in the generated code of Go.
func (f unlinkedField) goName() string {
	name := camel(f.name)
	return strings.ToUpper(name[:1]) + name[1:]
}
