package eds

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// messageType is what is known of a message: its outline, its descriptor, or nothing.
type messageType struct {
	outline    *outline
	descriptor protoreflect.MessageDescriptor
}

func outlineType(o *outline) messageType { return messageType{outline: o} }

// field is what a field holds: a message, a string or something else.
func (t messageType) field(number protowire.Number) (inner messageType, isMessage, isString bool) {
	if t.outline != nil {
		f, ok := t.outline.numbered(number, protowire.BytesType)
		if !ok {
			return messageType{}, false, false
		}
		mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(t.outline.linked[f.name]))
		if err == nil {
			return messageType{descriptor: mt.Descriptor()}, true, false
		}
		innerOutline := t.outline.inner[f.name]
		return outlineType(innerOutline), innerOutline != nil, f.is&isText != 0
	}
	fd := t.descriptor.Fields().ByNumber(number)
	switch {
	case fd == nil:
	case fd.Message() != nil:
		return messageType{descriptor: fd.Message()}, true, false
	}
	return messageType{}, false, fd != nil && fd.Kind() == protoreflect.StringKind
}

// isEntry tells whether the message is an entry of a map.
func (t messageType) isEntry() bool { return t.descriptor != nil && t.descriptor.IsMapEntry() }

// salvage are the bytes of a message that protobuf has read when it meets damage, and whether there is none. A message
// that was begun counts, with its fields up to there, and so does a string.
func salvage(b []byte, t messageType, depth int) (out []byte, whole bool) {
	if depth > wireDepthLimit {
		return nil, false
	}
	sound := 0 // bytes of b that are taken as they are
	for rest := b; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 || number > protowire.MaxValidNumber || kind == protowire.EndGroupType {
			return b[:sound:sound], false
		}
		size := protowire.ConsumeFieldValue(number, kind, rest[n:])
		if kind != protowire.BytesType {
			if size < 0 && kind == protowire.StartGroupType { // it is there, with what was read of it
				out = protowire.AppendTag(b[:sound:sound], number, kind)
				return protowire.AppendTag(out, number, protowire.EndGroupType), false
			}
			if size < 0 {
				return b[:sound:sound], false
			}
		} else if value, ok := salvageValue(rest[n:], size, t, number, depth); !ok {
			out = b[:sound:sound]
			if value != nil {
				out = protowire.AppendBytes(protowire.AppendTag(out, number, kind), value)
			}
			return out, false
		}
		sound += n + size
		rest = rest[n+size:]
	}
	return b, true
}

// salvageValue is what is left of the value of a length-delimited field, nil where nothing is: a message is there as soon
// as its tag is, an entry of a map only when it is whole.
func salvageValue(b []byte, size int, t messageType, number protowire.Number, depth int) (value []byte, whole bool) {
	inner, isMessage, isString := t.field(number)
	_, n := protowire.ConsumeVarint(b)
	switch {
	case n < 0 && isMessage && !inner.isEntry():
		return []byte{}, false
	case n < 0:
		return nil, false
	}
	value = b[n:]
	if size >= 0 {
		value = b[n:size]
	}
	whole = size >= 0
	switch {
	case isMessage:
		var sound bool
		value, sound = salvage(value, inner, depth+1)
		whole = whole && sound
		if !whole && inner.isEntry() {
			return nil, false
		}
	case isString && !utf8.Valid(value):
		return []byte(strings.ToValidUTF8(string(value), string(utf8.RuneError))), false
	}
	if value == nil {
		value = []byte{}
	}
	return value, whole
}
