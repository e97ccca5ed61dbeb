package eds

import (
	"strings"
	"testing"
)

// TestHintsOfUnread has files without an assignment, or that cannot be parsed, and how the hint begins.
func TestHintsOfUnread(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, text, hint string }{
		{"a.json", `{"cluster_statuses": [{"name": "a", "host_statuses": []}]}`, "this is the state of hosts"},
		{"a.json", `[{"name": "a", "hostStatuses": []}]`, "this is the state of hosts"},
		{"a.json", `{"xds_servers": [], "node": {"id": "a"}}`, "this is the bootstrap of a gRPC client"},
		{"a.json", `{"configs": [{"dynamic_active_clusters": [{"cluster": {"name": "a", "type": "EDS", "eds_cluster_config": {"eds_config": {"ads": {}}}}}]}]}`,
			"a dump has the assignments of EDS if it is asked for them"},
		{"a.yaml", "kind: EndpointSlice\napiVersion: discovery.k8s.io/v1\n", "make an assignment of it"},
		{"a.yaml", "name: a\n", ""},
		{"a.yaml", "resources:\n- @type: a\n  cluster_name: b\n", "put it in quotes: no plain text of YAML begins with @"},
		{"a.yaml", "cluster_name: %a\n", "put it in quotes: no plain text of YAML begins with %"},
		{"a.yaml", "resources:\r- @type: a\r  cluster_name: b\r", ""}, // lines that end otherwise
		{"a.yaml", "cluster_name: a: b\n", ""},
		{"a.json", "// a\n{\"cluster_name\": \"a\"}", "JSON has no comments"},
	} {
		f := NewLoader(Options{}).Load(tt.file, []byte(tt.text), true)
		got := ""
		for _, r := range f.Resources {
			for _, p := range append(r.Around, r.Problems...) {
				got += p.Hint
			}
		}
		if !strings.HasPrefix(got, tt.hint) || tt.hint == "" && got != "" {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.hint)
		}
	}
}
