package eds_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/eds"
)

// TestUntyped reads what Go's YAML libraries read otherwise: as Envoy does.
func TestUntyped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want any
		err  string
	}{
		{in: "{\"a\": [1, \"1\", true, null], \"b\": {}}", want: map[string]any{"a": []any{json.Number("1"), "1", true, nil}, "b": map[string]any{}}},
		{in: "a: &x {b: on, c: 012, d: ~}\ne: *x\n", want: map[string]any{
			"a": map[string]any{"b": true, "c": json.Number("10"), "d": nil},
			"e": map[string]any{"b": true, "c": json.Number("10"), "d": nil},
		}},
		{in: "a: 1\na: 2\nb: !ignore 3\n!ignore c: 4\n", want: map[string]any{"a": json.Number("2"), "b": json.Number("3")}},
		{in: "<<: {a: 1}\n", want: map[string]any{"<<": map[string]any{"a": json.Number("1")}}},
		{in: "a: 1\n---\nb: [\n", want: map[string]any{"a": json.Number("1")}},
		{in: "", want: nil},
		{in: "a: [1\n", err: "1:"},
	}
	for _, tt := range tests {
		got, err := eds.Untyped([]byte(tt.in))
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.in, err, tt.err)
			}
		case err != nil:
			t.Errorf("%q: %v", tt.in, err)
		default:
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.in, diff)
			}
		}
	}
}
