package eds

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/document"
)

// JSON may have a message twice in one object. Protobuf's reader reads the second copy into the same message, but clears
// each field of it when the copy sets that for the first time (RecordAsSeen of json/internal/parser_traits.h): what the
// second copy has replaces what the first one had, lists and messages as a whole, and the rest stays. A list that is
// twice in one object is continued.

// copies are the values under a key that are read: the one that counts in YAML, in JSON all of them, one after the other.
func copies(n document.Node, key string) []document.Node {
	n = n.Target()
	if !n.IsValid() || n.Document().Format == document.YAML {
		if c := child(n, key); c.IsValid() {
			return []document.Node{c}
		}
		return nil
	}
	var all []document.Node
	for k := n.First(); k.IsValid() && n.Kind() == document.Mapping; k = k.Next().Next() {
		if text, ok := keyText(k); ok && sameField(text, key) && look(k.Next()).kind != jsonNull {
			all = append(all, k.Next())
		}
	}
	return all
}

// reach is the value at a path of fields. Of a message that is there more than once it is in the last copy that sets it.
func reach(n document.Node, path ...string) document.Node {
	all := copies(n, path[0])
	for i := len(all) - 1; i >= 0; i-- {
		found := all[i]
		if len(path) > 1 {
			found = reach(found, path[1:]...)
		}
		if found.IsValid() && !(isSequence(found) && !found.Target().First().IsValid()) {
			return found
		}
	}
	return document.Node{}
}

// copyWith is the copy of a message whose field counts.
func copyWith(n document.Node, message, field string) document.Node {
	all := copies(n, message)
	for i := len(all) - 1; i >= 0; i-- {
		if i == 0 || reach(all[i], field).IsValid() {
			return all[i]
		}
	}
	return document.Node{}
}

// isSingularMessage tells of a field that is one message.
func isSingularMessage(fd protoreflect.FieldDescriptor) bool {
	return fd != nil && fd.Message() != nil && !fd.IsList() && !fd.IsMap()
}

// overlay are the fields of a message, those of the second copy instead of the same ones of the first.
func overlay(first, second []byte) []byte {
	set := map[protowire.Number]bool{}
	eachField(second, func(number protowire.Number, _ protowire.Type, _ []byte) bool {
		set[number] = true
		return true
	})
	var out []byte
	for rest := first; len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		if !set[number] {
			out = append(out, rest[:n]...)
		}
		rest = rest[n:]
	}
	return append(out, second...)
}

// replaced are the fields of an object, with one value of each message that was there more than once.
func (d *decoder) replaced(b []byte, m *messageInfo) []byte {
	values := map[protowire.Number][]byte{}
	isMessage := func(number protowire.Number, kind protowire.Type) bool {
		return kind == protowire.BytesType && isSingularMessage(m.md.Fields().ByNumber(number))
	}
	eachField(b, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		if isMessage(number, kind) {
			v, _ := protowire.ConsumeBytes(value)
			values[number] = overlay(values[number], v)
		}
		return true
	})
	var out []byte
	eachField(b, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		switch v, first := values[number]; {
		case !isMessage(number, kind):
			out = append(protowire.AppendTag(out, number, kind), value...)
		case first:
			out = protowire.AppendBytes(protowire.AppendTag(out, number, kind), v)
			delete(values, number)
		}
		return true
	})
	return out
}
