package eds

import (
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// Runtime is the entries of the static layers by key, the last layer first. A key may be written with dots or as nested
// objects (runtime_impl.cc, ProtoLayer::walkProtoValue). Where a layer has it in both forms, Envoy uses the one that its
// map happens to hold first; here it is the one with dots. The map must not be changed.
func (b *Bootstrap) Runtime() map[string]*structpb.Value {
	switch {
	case b == nil:
		return nil
	case b.entries != nil:
		return b.entries
	}
	values := map[string]*structpb.Value{}
	for _, layer := range b.StaticLayers {
		entries := map[string]*structpb.Value{}
		flattenRuntime(layer, "", entries)
		maps.Copy(values, entries)
	}
	return values
}

// flattenRuntime adds the entries of an object. A fraction is an entry of its own, though an object.
func flattenRuntime(object *structpb.Struct, prefix string, entries map[string]*structpb.Value) {
	fields := object.GetFields()
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(fields))) { // "a.b" is before "a"
		v := fields[key]
		inner := v.GetStructValue()
		_, numerator := inner.GetFields()["numerator"]
		_, denominator := inner.GetFields()["denominator"]
		if inner != nil && len(inner.Fields) > 0 && !numerator && !denominator {
			flattenRuntime(inner, prefix+key+".", entries)
			continue
		}
		if _, ok := entries[prefix+key]; !ok {
			entries[prefix+key] = v
		}
	}
}

// RuntimeInteger is an entry as Envoy reads an integer: a number, also as text, cut off. ok is false when it is no
// number, negative or too large (setNumberValue); the entry is then as good as absent, and hides those of earlier layers.
func RuntimeInteger(v *structpb.Value) (n uint64, ok bool) {
	f, ok := runtimeNumber(v)
	if !ok || math.IsNaN(f) || f < 0 || f > math.MaxUint64 {
		return 0, false
	}
	if f >= math.MaxUint64 { // 2^64 is not above the largest integer as a double
		return math.MaxUint64, true
	}
	return uint64(f), true
}

// RuntimeFlag is an entry as Envoy reads a feature flag: true or false, or a whole number, also as text. "true" as text
// is none (observed on 1.40).
func RuntimeFlag(v *structpb.Value) (on, ok bool) {
	if b, ok := v.GetKind().(*structpb.Value_BoolValue); ok {
		return b.BoolValue, true
	}
	f, ok := runtimeNumber(v)
	return f != 0, ok && f == math.Trunc(f) && f >= math.MinInt32 && f < math.MaxInt32
}

// RuntimeText is the entry that a value on the command line stands for: what YAML would make of it.
func RuntimeText(s string) *structpb.Value {
	switch {
	case strings.EqualFold(s, "true"):
		return structpb.NewBoolValue(true)
	case strings.EqualFold(s, "false"):
		return structpb.NewBoolValue(false)
	}
	return structpb.NewStringValue(s)
}

func runtimeNumber(v *structpb.Value) (float64, bool) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return kind.NumberValue, true
	case *structpb.Value_StringValue:
		return atod(kind.StringValue)
	}
	return 0, false
}
