package validate_test

import (
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// TestFound has inputs on which make conformance found edsctl and a client to differ.
func TestFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, text string
		kind             diag.VerdictKind
		rule, message    string // of Envoy; the beginning of the message
	}{
		{
			name: "a bootstrap in YAML that Envoy reads as JSON", file: "bootstrap.conf",
			text: "node: {id: a, cluster: b}\nstatic_resources: {clusters: [{name: v, type: STATIC, connect_timeout: 1s, load_assignment: {cluster_name: v}}]}\n",
			kind: diag.Rejected, rule: "file-extension-mismatch",
			message: "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap, near <pos>: unexpected character: 'n'; expected '{'",
		},
		{
			name: "a binary EDS file that ends in the length of its resource", file: "eds.pb", text: "\x12\xc8",
			kind: diag.Rejected, rule: "resource-without-body", message: "Unexpected EDS cluster (expecting ",
		},
		{
			name: "drops are read before LEDS is subscribed to", file: "eds.yaml",
			text: "resources:\n- \"@type\": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\n  cluster_name: v\n" +
				"  policy: {drop_overloads: [{category: a}, {category: b}]}\n" +
				"  endpoints: [{leds_cluster_locality_config: {leds_collection_name: \"xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x/*\"}}]\n",
			kind: diag.Rejected, rule: "drop-overloads-multiple",
			message: "Cluster drop_overloads config has 2 categories. Envoy only support one.",
		},
		{
			name: "the number of drops is read before their limit", file: "bootstrap.yaml",
			text: "layered_runtime: {layers: [{name: a, static_layer: {load_balancing_policy: {drop_overload_limit: 101}}}]}\n" +
				"static_resources: {clusters: [{name: v, type: STATIC, connect_timeout: 1s, load_assignment: {cluster_name: v, " +
				"policy: {drop_overloads: [{category: a}, {category: b}]}}}]}\n",
			kind: diag.Rejected, rule: "drop-overloads-multiple",
			message: "Cluster drop_overloads config has 2 categories. Envoy only support one.",
		},
		{
			name: "a crash is no refusal of a cluster by CDS", file: "cds.yaml",
			text: "resources:\n- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: v\n  type: STATIC\n  connect_timeout: 1s\n  load_assignment:\n" +
				"    cluster_name: v\n    endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 80}}, " +
				"health_check_config: {port_value: 81, address: {pipe: {path: /p}}}}}]}]\n",
			kind: diag.Crashes, rule: "health-check-port-over-non-ip-hc-address", message: "Caught Segmentation fault",
		},
		{
			name: "a panic threshold that is no number", file: "bootstrap.yaml", text: found("common_lb_config: {healthy_panic_threshold: {value: NaN}}"),
			kind: diag.Rejected, rule: "cluster-constraint", message: "Value not in the range of 0..100 range.",
		},
		{
			name: "fallback keys of a selector that does not fall back to them", file: "bootstrap.yaml",
			text: found("lb_subset_config: {subset_selectors: [{keys: [a, b], fallback_policy: ANY_ENDPOINT, fallback_keys_subset: [a]}]}"),
			kind: diag.Rejected, rule: "cluster-constraint", message: "fallback_keys_subset can be set only for KEYS_SUBSET fallback_policy",
		},
		{
			name: "no fallback keys", file: "bootstrap.yaml",
			text: found("lb_subset_config: {subset_selectors: [{keys: [a, b], fallback_policy: ANY_ENDPOINT}]}"),
			kind: diag.Accept,
		},
		{
			name: "what keeps a DNS cluster from being made comes before what its resolver finds", file: "bootstrap.yaml",
			text: "static_resources: {clusters: [{name: v, type: STRICT_DNS, connect_timeout: 1s, lb_policy: MAGLEV, maglev_lb_config: {table_size: 4}, load_assignment: {cluster_name: v, " +
				"endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: a.example, port_value: 80}}, health_check_config: {address: {socket_address: {address: foo, port_value: 1}}}}}]}]}}]}\n",
			kind: diag.Rejected, rule: "maglev-table-size-not-prime", message: "The table size of maglev must be prime number",
		},
		{
			name: "a NUL in a quoted string", file: "bootstrap.yaml",
			text: "node: {id: \"a\x00\", cluster: b} # " + strings.Repeat("text ", 50) + "\n" + found("alt_stat_name: a"), kind: diag.Accept,
		},
		{
			name: "two JSON documents in one file", file: "bootstrap.json",
			text: strings.Repeat(`{"static_resources": {"clusters": [{"name": "v", "load_assignment": {"cluster_name": "v"}}]}} `, 2),
			kind: diag.Rejected, rule: "syntax", message: "Unable to parse JSON as proto (INVALID_ARGUMENT: extraneous characters after end of JSON object)",
		},
		{
			name: "the path into nested lists of a Struct", file: "bootstrap.yaml",
			text: found("load_assignment: {cluster_name: v, endpoints: [{metadata: {filter_metadata: {a: {b: " + strings.Repeat("[", 95) + strings.Repeat("]", 95) + "}}}}]}"),
			kind: diag.Rejected, rule: "nesting-too-deep",
			message: "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap @ static_resources.clusters[0].load_assignment.endpoints[0]" +
				".metadata.filter_metadata[0].<struct>[0].list_value.<list>[0].list_value.<list>[0]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			loaded := eds.NewLoader(eds.Options{}).Load(tt.file, []byte(tt.text), true)
			report := validate.Run(loaded.Resources, validate.Options{})
			if len(report.Resources) != 1 {
				t.Fatalf("%d resources, want 1", len(report.Resources))
			}
			got := report.Resources[0].Verdicts[diag.Envoy]
			if got.Kind != tt.kind || got.Rule != tt.rule || !strings.HasPrefix(got.Message, tt.message) {
				t.Errorf("verdict %+v, want %s by %s: %s", got, tt.kind, tt.rule, tt.message)
			}
		})
	}
}

// found is a bootstrap with a cluster that has a field more.
func found(field string) string {
	text := "static_resources: {clusters: [{name: v, type: STATIC, connect_timeout: 1s, " + field
	if !strings.HasPrefix(field, "load_assignment") {
		text += ", load_assignment: {cluster_name: v}"
	}
	return text + "}]}\n"
}
