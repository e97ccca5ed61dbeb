package eds

import (
	"math"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"
)

func drawValue(t *rapid.T, depth int) *structpb.Value {
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return structpb.NewStringValue(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "text"))
	case 1:
		return structpb.NewNumberValue(rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Copysign(0, -1)}).Draw(t, "number"))
	case 2:
		return structpb.NewBoolValue(rapid.Bool().Draw(t, "bool"))
	case 3:
		return structpb.NewNullValue()
	case 4:
		return &structpb.Value{}
	case 5:
		if depth == 0 {
			return structpb.NewNullValue()
		}
		list := &structpb.ListValue{}
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			list.Values = append(list.Values, drawValue(t, depth-1))
		}
		return structpb.NewListValue(list)
	default:
		if depth == 0 {
			return structpb.NewNullValue()
		}
		return structpb.NewStructValue(drawStruct(t, depth-1))
	}
}

func drawStruct(t *rapid.T, depth int) *structpb.Struct {
	s := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for range rapid.IntRange(0, 2).Draw(t, "fields") {
		s.Fields[rapid.SampledFrom([]string{"x", "y"}).Draw(t, "field")] = drawValue(t, depth)
	}
	return s
}

func drawMetadata(t *rapid.T) *corev3.Metadata {
	if rapid.IntRange(0, 9).Draw(t, "nil") == 0 {
		return nil
	}
	m := &corev3.Metadata{}
	if rapid.Bool().Draw(t, "filter") {
		m.FilterMetadata = map[string]*structpb.Struct{rapid.SampledFrom([]string{"envoy.lb", "other"}).Draw(t, "namespace"): drawStruct(t, 2)}
	}
	if rapid.IntRange(0, 3).Draw(t, "typed") == 0 {
		m.TypedFilterMetadata = map[string]*anypb.Any{"k": {TypeUrl: rapid.SampledFrom([]string{"t", "u"}).Draw(t, "url")}}
	}
	return m
}

func TestSameMetadata(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawMetadata(t), drawMetadata(t)
		if got, want := SameMetadata(a, b), proto.Equal(a, b); got != want {
			t.Fatalf("SameMetadata is %v, proto.Equal %v for %v and %v", got, want, a, b)
		}
		if !SameMetadata(a, proto.CloneOf(a)) {
			t.Fatalf("%v differs from its copy", a)
		}
	})
}
