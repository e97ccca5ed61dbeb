package eds

import (
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// wellKnown are the messages that proto JSON writes in a form of their own.
type wellKnown uint8

const (
	notWellKnown wellKnown = iota
	wktAny
	wktStruct
	wktValue
	wktList
	wktDuration
	wktTimestamp
	wktWrapper
	wktOther // Timestamp's siblings that have no special form here (Empty, FieldMask)
)

func classify(name protoreflect.FullName) wellKnown {
	if name.Parent() != "google.protobuf" {
		return notWellKnown
	}
	switch name.Name() {
	case "Any":
		return wktAny
	case "Struct":
		return wktStruct
	case "Value":
		return wktValue
	case "ListValue":
		return wktList
	case "Duration":
		return wktDuration
	case "Timestamp":
		return wktTimestamp
	case "DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue":
		return wktWrapper
	}
	return wktOther
}

// fieldInfo is what the decoder needs to know of a field, looked up once.
type fieldInfo struct {
	fd         protoreflect.FieldDescriptor
	deprecated bool
	wkt        wellKnown
}

// schema finds the fields of messages by either spelling. It is filled as messages are met and may be shared.
type schema struct{ messages sync.Map } // protoreflect.FullName -> map[string]*fieldInfo

func (s *schema) fields(md protoreflect.MessageDescriptor) map[string]*fieldInfo {
	if m, ok := s.messages.Load(md.FullName()); ok {
		return m.(map[string]*fieldInfo)
	}
	fds := md.Fields()
	m := make(map[string]*fieldInfo, 2*fds.Len())
	for i := range fds.Len() {
		fd := fds.Get(i)
		info := &fieldInfo{fd: fd}
		if o, ok := fd.Options().(*descriptorpb.FieldOptions); ok {
			info.deprecated = o.GetDeprecated()
		}
		if fd.Message() != nil && !fd.IsMap() {
			info.wkt = classify(fd.Message().FullName())
		}
		m[string(fd.Name())], m[fd.JSONName()] = info, info
	}
	s.messages.Store(md.FullName(), m)
	return m
}
