package eds

import (
	"math"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
)

// Observed on 1.40 with upstream.healthy_panic_threshold and a cluster that panics above 60 %.
func TestRuntimeInteger(t *testing.T) {
	for _, c := range []struct {
		value any
		want  uint64
		ok    bool
	}{
		{70.0, 70, true},
		{70.9, 70, true},
		{"70", 70, true},
		{" 70 ", 70, true},
		{"\t70\n", 70, true},
		{"+70", 70, true},
		{"7e1", 70, true},
		{"70.", 70, true},
		{"0106", 106, true},
		{"0x46", 70, true},
		{"0X46", 70, true},
		{"0x46.8", 70, true},
		{"0x46p0", 70, true},
		{18446744073709551616.0, math.MaxUint64, true},
		{"18446744073709551615", math.MaxUint64, true},
		{"-0", 0, true},
		{"7_0", 0, false},
		{"0x4_6", 0, false},
		{"0b1000110", 0, false},
		{"+ 70", 0, false},
		{"70%", 0, false},
		{"1e400", 0, false},
		{"nan", 0, false},
		{"", 0, false},
		{-5.0, 0, false},
		{true, 0, false},
	} {
		v, err := structpb.NewValue(c.value)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := RuntimeInteger(v); got != c.want || ok != c.ok {
			t.Errorf("%#v: got %d, %v, want %d, %v", c.value, got, ok, c.want, c.ok)
		}
	}
	if _, ok := RuntimeInteger(nil); ok {
		t.Error("no entry is no number")
	}
}

// Observed on 1.40 with envoy.reloadable_features.enable_batch_aware_update.
func TestRuntimeFlag(t *testing.T) {
	for _, c := range []struct {
		value  any
		on, ok bool
	}{
		{false, false, true},
		{true, true, true},
		{0.0, false, true},
		{"0", false, true},
		{"0.0", false, true},
		{math.Copysign(0, -1), false, true},
		{2.0, true, true},
		{0.5, true, false},
		{"false", false, false},
		{"FALSE", false, false},
	} {
		v, err := structpb.NewValue(c.value)
		if err != nil {
			t.Fatal(err)
		}
		if on, ok := RuntimeFlag(v); ok != c.ok || ok && on != c.on {
			t.Errorf("%#v: got %v, %v, want %v, %v", c.value, on, ok, c.on, c.ok)
		}
	}
}

func TestRuntimeLayers(t *testing.T) {
	layer := func(fields map[string]any) *structpb.Struct {
		s, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	b := &Bootstrap{StaticLayers: []*structpb.Struct{
		layer(map[string]any{"a": map[string]any{"b": 1, "c": map[string]any{"d": 2}}, "f": 3, "g": 4}),
		layer(map[string]any{"a.b": 5, "a": map[string]any{"b": 6}, "f": map[string]any{"numerator": 7}, "g": "text"}),
	}}
	values := b.Runtime()
	for key, want := range map[string]uint64{"a.b": 5, "a.c.d": 2} {
		if got, ok := RuntimeInteger(values[key]); !ok || got != want {
			t.Errorf("%s: got %d, %v, want %d", key, got, ok, want)
		}
	}
	for _, key := range []string{"f", "f.numerator", "g"} { // what is no number hides the number of the layer before
		if got, ok := RuntimeInteger(values[key]); ok {
			t.Errorf("%s: got %d, want none", key, got)
		}
	}
}
