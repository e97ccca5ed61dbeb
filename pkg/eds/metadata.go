package eds

import (
	"math"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// SameMetadata is proto.Equal for metadata without its reflection, which costs more than reading the endpoint did: two
// versions of an assignment are compared endpoint by endpoint.
func SameMetadata(a, b *corev3.Metadata) bool {
	if a == nil || b == nil {
		return (a == nil) == (b == nil)
	}
	if len(a.ProtoReflect().GetUnknown()) > 0 || len(b.ProtoReflect().GetUnknown()) > 0 {
		return proto.Equal(a, b)
	}
	if len(a.FilterMetadata) != len(b.FilterMetadata) || len(a.TypedFilterMetadata) != len(b.TypedFilterMetadata) {
		return false
	}
	for key, x := range a.FilterMetadata {
		if y, ok := b.FilterMetadata[key]; !ok || !sameStruct(x, y) {
			return false
		}
	}
	for key, x := range a.TypedFilterMetadata {
		if y, ok := b.TypedFilterMetadata[key]; !ok || !proto.Equal(x, y) {
			return false
		}
	}
	return true
}

func sameStruct(a, b *structpb.Struct) bool {
	if len(a.GetFields()) != len(b.GetFields()) {
		return false
	}
	for key, x := range a.GetFields() {
		if y, ok := b.GetFields()[key]; !ok || !sameValue(x, y) {
			return false
		}
	}
	return true
}

// sameValue compares values of one kind; NaN is equal to itself, as it is for proto.Equal.
func sameValue(a, b *structpb.Value) bool {
	switch x := a.GetKind().(type) {
	case *structpb.Value_StringValue:
		y, ok := b.GetKind().(*structpb.Value_StringValue)
		return ok && x.StringValue == y.StringValue
	case *structpb.Value_NumberValue:
		y, ok := b.GetKind().(*structpb.Value_NumberValue)
		return ok && (x.NumberValue == y.NumberValue || math.IsNaN(x.NumberValue) && math.IsNaN(y.NumberValue))
	case *structpb.Value_BoolValue:
		y, ok := b.GetKind().(*structpb.Value_BoolValue)
		return ok && x.BoolValue == y.BoolValue
	case *structpb.Value_StructValue:
		y, ok := b.GetKind().(*structpb.Value_StructValue)
		return ok && sameStruct(x.StructValue, y.StructValue)
	case *structpb.Value_ListValue:
		y, ok := b.GetKind().(*structpb.Value_ListValue)
		return ok && slices.EqualFunc(x.ListValue.GetValues(), y.ListValue.GetValues(), sameValue)
	default: // null, or nothing
		return proto.Equal(a, b)
	}
}
