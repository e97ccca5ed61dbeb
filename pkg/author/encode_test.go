package author

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	sigsyaml "sigs.k8s.io/yaml"
)

// TestYAMLFromJSON keeps the order of the keys and every value, as another library reads them.
func TestYAMLFromJSON(t *testing.T) {
	t.Parallel()
	const in = `{"b":[],"a":{"z":null,"y":"yes","x":"1"},"list":[{"k":1e-7,"s":"a: b # c"},[true,"two\nlines\n"," \u2028\u0007\u007fé"]],"empty":{}}`
	const want = `b: []
a:
  z: null
  "y": "yes"
  x: "1"
list:
- k: 1e-7
  s: "a: b # c"
- - true
  - "two\nlines\n"
  - " \u2028\u0007\u007fé"
empty: {}
`
	got, err := YAMLFromJSON([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sameInYAML(t.Errorf, []byte(in))
	for _, bad := range []string{"", "{", "a: 1"} {
		if out, err := YAMLFromJSON([]byte(bad)); err == nil {
			t.Errorf("%q gives %q", bad, out)
		}
	}
}

// TestYAMLFromJSONAnyStrings does the same for whatever keys and texts there are.
func TestYAMLFromJSONAnyStrings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, err := json.Marshal(map[string]any{
			"map":  rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "map"),
			"list": rapid.SliceOf(rapid.Float64Range(-1e12, 1e12)).Draw(t, "list"),
		})
		if err != nil {
			t.Fatal(err)
		}
		sameInYAML(t.Errorf, in)
	})
}

func sameInYAML(errorf func(string, ...any), in []byte) {
	text, err := YAMLFromJSON(in)
	if err != nil {
		errorf("%s: %v", in, err)
		return
	}
	var want, got any
	if err := json.Unmarshal(in, &want); err != nil {
		errorf("%v", err)
	}
	if err := sigsyaml.Unmarshal(text, &got); err != nil {
		errorf("%s\nis not YAML: %v", text, err)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		errorf("%s\n(-want +got):\n%s", text, diff)
	}
}
