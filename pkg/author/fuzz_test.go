package author

import (
	"bytes"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/diag"
)

// FuzzFormat formats, fixes and edits any text: nothing panics, format and fix are idempotent, and what is edited and
// formatted can be read.
func FuzzFormat(f *testing.F) {
	for _, t := range generated()[:40] {
		f.Add([]byte(t.data))
	}
	for _, t := range []string{
		blockText, "? a\n: b\n", "cluster_name: a\n0: [{!0}]\n", "cluster_name: |\n  a\n\nendpoints: []\n", "- cluster_name: a\n- {cluster_name: b}\n", "--- {cluster_name: a} # c\n...\n",
		"cluster_name: &a b # c\nendpoints: [ # d\n  {locality: {zone: *a}}, # e\n]\n", "kind: ConfigMap\napiVersion: v1\ndata: {a: \"cluster_name: a\\nendpoints: []\\n\"}\n",
	} {
		f.Add([]byte(t))
	}
	for _, t := range barePairs() {
		f.Add([]byte(t))
	}
	spec, err := ParseEndpoint("192.0.2.254:4321,priority=97,zone=nowhere,hostname=h")
	if err != nil {
		f.Fatal(err)
	}
	draining := corev3.HealthStatus_DRAINING
	f.Fuzz(func(t *testing.T, src []byte) {
		load := loadText("a.yaml")
		once, err := Format(src, load(src), load)
		if err == nil {
			if twice, err := Format(once, load(once), load); err != nil || !bytes.Equal(once, twice) {
				t.Errorf("format again: %v\n%q\n%q", err, once, twice)
			}
		}
		fixed := Fix(src, load(src), load, func(diag.Problem) bool { return true })
		if again := Fix(fixed.Data, fixed.File, load, func(diag.Problem) bool { return true }); len(again.Fixes) > 0 && len(fixed.Fixes) < maxRounds {
			t.Errorf("fix again: %v\n%q", again.Fixes, fixed.Data)
		}
		all := mustSelect(t, "all")
		for _, verb := range []Verb{
			SetHealth(all, &draining), Remove(all, true), Rename("x y"), SetWeight(all, nil, true), SetWeight(all, uint32p(5), true),
			Add([]*EndpointSpec{spec}), Move(all, spec.Place, true), SetDrop(dropOf(t, "lb=5")), SetPolicy(policyOf(t, "overprovisioning_factor=none")),
		} {
			_, _ = Edit(src, load(src), load, editable, verb) // that it is exact or refused is checked inside
		}
	})
}

// TestFormatGenerated formats texts in many layouts.
func TestFormatGenerated(t *testing.T) {
	t.Parallel()
	for _, f := range generated() {
		once, err := formatText(f.name, f.data)
		if err != nil {
			t.Errorf("%s: %v\n%s", f.name, err, f.data)
			continue
		}
		if twice, err := formatText(f.name, once); err != nil || twice != once {
			t.Errorf("%s: again: %v\n%s", f.name, err, lineDiff(once, twice))
		}
		if diff := cmp.Diff(commentsOf(f.data), commentsOf(once)); diff != "" {
			t.Errorf("%s: comments (-before +after):\n%s", f.name, diff)
		}
	}
}
