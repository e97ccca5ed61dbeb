package eds

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// isMessage tells whether a field holds one message.
func isMessage(f *fieldInfo) bool { return f != nil && isSingleMessage(f.fd) }

func isSingleMessage(fd protoreflect.FieldDescriptor) bool {
	return fd != nil && fd.Cardinality() != protoreflect.Repeated && fd.Message() != nil
}

// wireField is one field of a message on the wire.
type wireField struct {
	number  protowire.Number
	typ     protowire.Type
	whole   []byte // with its tag
	content []byte // of a field with a length
}

// wireFields splits a message into its fields; false when it is not whole.
func wireFields(b []byte) (all []wireField, ok bool) {
	for len(b) > 0 {
		number, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return nil, false
		}
		value := protowire.ConsumeFieldValue(number, typ, b[tag:])
		if value < 0 {
			return nil, false
		}
		f := wireField{number: number, typ: typ, whole: b[:tag+value]}
		if typ == protowire.BytesType {
			f.content, _ = protowire.ConsumeBytes(b[tag:])
		}
		all = append(all, f)
		b = b[tag+value:]
	}
	return all, true
}

// mergeCopies joins two copies of a message that stand one after the other in JSON. The reader goes on with the message
// that it has, but clears each field when it first meets it in the object at hand: what the later copy sets replaces
// what the earlier one has, also lists and messages (ParseProto2Descriptor::RecordAsSeen of json/internal/parser_traits.h).
func mergeCopies(earlier, later []byte) []byte {
	fields, ok := wireFields(later)
	old, okOld := wireFields(earlier)
	if !ok || !okOld {
		return later
	}
	seen := make(map[protowire.Number]bool, len(fields))
	for _, f := range fields {
		seen[f.number] = true
	}
	var out []byte
	for _, f := range old {
		if !seen[f.number] {
			out = append(out, f.whole...)
		}
	}
	return append(out, later...)
}

// foldCopies makes one of the copies of each message that a message has more than once.
func foldCopies(b []byte, md protoreflect.MessageDescriptor) []byte {
	fields, ok := wireFields(b)
	if !ok {
		return b
	}
	last := map[protowire.Number]int{} // of a message so far
	for i := range fields {
		f := &fields[i]
		if f.typ != protowire.BytesType || !isSingleMessage(md.Fields().ByNumber(f.number)) {
			continue
		}
		if j, twice := last[f.number]; twice {
			f.content = mergeCopies(fields[j].content, f.content)
			f.whole = protowire.AppendBytes(protowire.AppendTag(nil, f.number, f.typ), f.content)
			fields[j].whole = nil
		}
		last[f.number] = i
	}
	var out []byte
	for _, f := range fields {
		out = append(out, f.whole...)
	}
	return out
}
