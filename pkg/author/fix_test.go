package author

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/diag"
)

func fixText(name, src string) *Fixed {
	load := loadText(name)
	return Fix([]byte(src), load([]byte(src)), load, func(diag.Problem) bool { return true })
}

// TestFix shows what each rule's fix does, as lines that went and came, and where it leaves a text alone.
func TestFix(t *testing.T) {
	t.Parallel()
	const ep = "endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}"
	for _, tt := range []struct{ name, file, src, want string }{
		{"enum-case", "a.yaml", "cluster_name: a\nendpoints:\n- lb_endpoints:\n  - " + ep + "\n    health_status: 'draining' # now\n", "-     health_status: 'draining' # now\n+     health_status: 'DRAINING' # now\n"},
		{"enum-case of a cluster", "a.yaml", "static_resources:\n  clusters:\n  - name: a\n    type: static\n    load_assignment: {cluster_name: a}\n", "-     type: static\n+     type: STATIC\n"},
		{"yaml-boolean", "a.yaml", "cluster_name: a\npolicy:\n  weighted_priority_health: yes\n", "-   weighted_priority_health: yes\n+   weighted_priority_health: true\n"},
		{"yaml-scalar-type", "a.yaml", "cluster_name: a\nendpoints:\n- locality: {zone: 1}\n", "- - locality: {zone: 1}\n+ - locality: {zone: \"1\"}\n"},
		{"wrapper", "a.yaml", "cluster_name: a\npolicy:\n  overprovisioning_factor:\n    value: 140\n", "-   overprovisioning_factor:\n-     value: 140\n+   overprovisioning_factor: 140\n"},
		{"wrapper in JSON", "a.json", `{"cluster_name":"a","policy":{"overprovisioning_factor":{"value":140},"endpoint_stale_after":{"seconds":5,"nanos":500000000}}}`, "- {\"cluster_name\":\"a\",\"policy\":{\"overprovisioning_factor\":{\"value\":140},\"endpoint_stale_after\":{\"seconds\":5,\"nanos\":500000000}}}\n+ {\"cluster_name\":\"a\",\"policy\":{\"overprovisioning_factor\":140,\"endpoint_stale_after\":\"5.5s\"}}\n"},
		{"wrapper with a comment", "a.yaml", "cluster_name: a\npolicy:\n  overprovisioning_factor:\n    value: 140 # why\n    # more\n", "-   overprovisioning_factor:\n-     value: 140 # why\n+   overprovisioning_factor: 140 # why\n"},
		{"octal", "a.yaml", "cluster_name: a\npolicy: {overprovisioning_factor: 0214}\n", "- policy: {overprovisioning_factor: 0214}\n+ policy: {overprovisioning_factor: 140}\n"},
		{"boolean in quotes", "a.yaml", "cluster_name: a\npolicy: {weighted_priority_health: \"yes\"}\n", "- policy: {weighted_priority_health: \"yes\"}\n+ policy: {weighted_priority_health: true}\n"},
		{"a single value is not made a list", "a.yaml", "cluster_name: a\nendpoints: {lb_endpoints: [{" + ep + "}]}\n", ""},
		{"unknown-field: usual mistake", "a.yaml", "cluster_name: a\nendpoints:\n- lb_endpoints:\n  - endpoint: {address: {socket_address: {address: 192.0.2.1, \"port\": 80}}}\n    weight: 3\n", "-   - endpoint: {address: {socket_address: {address: 192.0.2.1, \"port\": 80}}}\n-     weight: 3\n+   - endpoint: {address: {socket_address: {address: 192.0.2.1, \"port_value\": 80}}}\n+     load_balancing_weight: 3\n"},
		{"unknown-field: spelling", "a.yaml", "cluster_name: a\nendpoints:\n- lb-endpoints: []\n", "- - lb-endpoints: []\n+ - lb_endpoints: []\n"},
		{"unknown-field: a guess is none", "a.yaml", "cluster_name: a\nendpoints:\n- lb_endpoint: []\n", ""},
		{"unknown-field: the field is there", "a.yaml", "cluster_name: a\nendpoints:\n- lb_endpoints:\n  - " + ep + "\n    weight: 3\n    load_balancing_weight: 2\n", ""},
		{"unknown-field: the value does not fit", "a.yaml", "cluster_name: a\nendpoints:\n- lb_endpoints:\n  - " + ep + "\n    weight: heavy\n", ""},
		{"disable-overprovisioning-removed", "a.yaml", "cluster_name: a\npolicy:\n  disable_overprovisioning: true\n# end\n", "- policy:\n-   disable_overprovisioning: true\n"},
		{"duplicate-key", "a.yaml", "cluster_name: a\nendpoints:\n- priority: 1\n  lb_endpoints: []\n  priority: 1\n", "-   priority: 1\n"},
		{"duplicate-key: not the same", "a.yaml", "cluster_name: a\nendpoints:\n- priority: 1\n  lb_endpoints: []\n  priority: 2\n", ""},
		{"field-both-spellings", "a.yaml", "cluster_name: a\nclusterName: a\n", "- clusterName: a\n"},
		{"v2-type", "a.yaml", "resources:\n- \"@type\": type.googleapis.com/envoy.api.v2.ClusterLoadAssignment\n  cluster_name: a\n", "- - \"@type\": type.googleapis.com/envoy.api.v2.ClusterLoadAssignment\n+ - \"@type\": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\n"},
		{"value-type: a duration", "a.yaml", "cluster_name: a\npolicy: {endpoint_stale_after: 30}\n", "- policy: {endpoint_stale_after: 30}\n+ policy: {endpoint_stale_after: 30s}\n"},
		{"json-bom", "a.json", "\ufeff{\"cluster_name\": \"a\"}", "- \ufeff{\"cluster_name\": \"a\"}\n+ {\"cluster_name\": \"a\"}\n"},
		{"in a ConfigMap", "a.yaml", "kind: ConfigMap\napiVersion: v1\ndata:\n  a.yaml: |\n    cluster_name: a\n    policy:\n      weighted_priority_health: on\n      endpoint_stale_after:\n        seconds: 3\n", "-       weighted_priority_health: on\n-       endpoint_stale_after:\n-         seconds: 3\n+       weighted_priority_health: true\n+       endpoint_stale_after: 3s\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := fixText(tt.file, tt.src)
			diff := lineDiff(tt.src, string(got.Data))
			if strings.HasSuffix(tt.file, ".json") {
				diff = strings.ReplaceAll(diff, "+ ", "\n+ ") + "\n"
			}
			if d := cmp.Diff(tt.want, diff); d != "" {
				t.Errorf("(-want +got):\n%s\n%v", d, got.Fixes)
			}
		})
	}
}

// TestFixCorpus: a fixed file needs no fix, and every change of a text is named.
func TestFixCorpus(t *testing.T) {
	t.Parallel()
	fixed := map[string]int{}
	for _, original := range corpus(t) {
		for _, f := range variants(original) {
			once := fixText(f.fileName(), f.data)
			if (len(once.Fixes) == 0) != (string(once.Data) == f.data) {
				t.Errorf("%s: %d fixes, and the text is the same: %t", f.name, len(once.Fixes), string(once.Data) == f.data)
			}
			if twice := fixText(f.fileName(), string(once.Data)); len(twice.Fixes) > 0 {
				t.Errorf("%s: fixed again: %v", f.name, twice.Fixes)
			}
			for _, fix := range once.Fixes {
				fixed[fix.Rule]++
			}
		}
	}
	t.Log(fixed)
}
