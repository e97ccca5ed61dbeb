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
			name: "a crash is no refusal of a cluster by CDS", file: "cds.yaml",
			text: "resources:\n- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: v\n  type: STATIC\n  connect_timeout: 1s\n  load_assignment:\n" +
				"    cluster_name: v\n    endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 80}}, " +
				"health_check_config: {port_value: 81, address: {pipe: {path: /p}}}}}]}]\n",
			kind: diag.Crashes, rule: "health-check-port-over-non-ip-hc-address", message: "Caught Segmentation fault",
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
