package validate_test

import (
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// TestFoundReading has texts that Envoy's readers were found to take otherwise than edsctl.
func TestFoundReading(t *testing.T) {
	t.Parallel()
	const (
		invalid = "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap"
		cluster = " @ static_resources.clusters[0]."
	)
	tests := []struct {
		name, file, text string
		kind             diag.VerdictKind
		rule, message    string // of Envoy; the beginning of the message
	}{
		{
			name: "a oneof member twice in JSON", file: "bootstrap.json", text: jsonSocket(`"port_value": 80, "port_value": 81`),
			kind: diag.Rejected, rule: "oneof-set-twice",
			message: invalid + cluster + "load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value: uint32, near <pos>: " +
				"'port_value' has already been set (either directly or as part of a oneof))",
		},
		{
			name: "an enum in a oneof twice in JSON", file: "bootstrap.json", text: jsonCluster(`"type": "EDS"`),
			kind: diag.Rejected, rule: "oneof-set-twice",
			message: invalid + cluster + "type: enum envoy.config.cluster.v3.Cluster.DiscoveryType, near <pos>: 'type' has already been set",
		},
		{
			name: "both spellings of a oneof member in JSON", file: "bootstrap.json", text: jsonSocket(`"port_value": 80, "portValue": 81`),
			kind: diag.Rejected, rule: "oneof-set-twice",
			message: invalid + cluster + "load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.portValue: uint32, near <pos>: 'portValue' has",
		},
		{
			name: "both spellings of a oneof member in YAML", file: "bootstrap.yaml", text: found("ring_hash_lb_config: {}, ringHashLbConfig: {}"),
			kind: diag.Rejected, rule: "oneof-set-twice",
			message: invalid + cluster + "ringHashLbConfig: message envoy.config.cluster.v3.Cluster.RingHashLbConfig, near <pos>: 'ringHashLbConfig' has already been set",
		},
		{
			name: "null after a oneof member in its other spelling", file: "bootstrap.json", text: jsonSocket(`"port_value": 80, "portValue": null`), kind: diag.Accept,
		},
		{
			name: "null before a oneof member in its other spelling", file: "bootstrap.yaml",
			text: found("ringHashLbConfig: ~, ring_hash_lb_config: {}, lb_policy: RING_HASH"), kind: diag.Accept,
		},
		{
			name: "null in the other spelling of a string", file: "bootstrap.json", text: jsonCluster(`"altStatName": null, "alt_stat_name": "a", "altStatName": null`), kind: diag.Accept,
		},
		{
			name: "null in the other spelling of the assignment", file: "bootstrap.json", text: jsonCluster(`"loadAssignment": null`), kind: diag.Accept,
		},
		{
			name: "blanks around a quoted double", file: "bootstrap.yaml", text: found(`common_lb_config: {healthy_panic_threshold: {value: "\t5\f"}}`), kind: diag.Accept,
		},
		{
			name: "a signed quoted NaN", file: "bootstrap.yaml", text: found(`common_lb_config: {healthy_panic_threshold: {value: "-nan"}}`),
			kind: diag.Rejected, rule: "cluster-constraint", message: "Value not in the range of 0..100 range.",
		},
		{
			name: "a quoted NaN with a payload", file: "bootstrap.json", text: jsonCluster(`"common_lb_config": {"healthy_panic_threshold": {"value": "nan(1)"}}`),
			kind: diag.Rejected, rule: "cluster-constraint", message: "Value not in the range of 0..100 range.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			loaded := eds.NewLoader(eds.Options{}).Load(tt.file, []byte(tt.text), true)
			report := validate.Run(loaded.Resources, validate.Options{})
			if len(report.Resources) == 0 {
				t.Fatal("no resources")
			}
			got := report.Resources[0].Verdicts[diag.Envoy]
			if got.Kind != tt.kind || got.Rule != tt.rule || !strings.HasPrefix(got.Message, tt.message) {
				t.Errorf("verdict %+v, want %s by %s: %s", got, tt.kind, tt.rule, tt.message)
			}
		})
	}
}

// jsonCluster is a bootstrap in JSON with a cluster that has fields more.
func jsonCluster(fields string) string {
	return `{"static_resources": {"clusters": [{"name": "v", "type": "STATIC", "load_assignment": {"cluster_name": "v"}, ` + fields + "}]}}\n"
}

// jsonEndpoint is a bootstrap in JSON with an endpoint that has these fields.
func jsonEndpoint(fields string) string {
	return `{"static_resources": {"clusters": [{"name": "v", "type": "STATIC", "load_assignment": {"cluster_name": "v", "endpoints": ` +
		`[{"lb_endpoints": [{"endpoint": {` + fields + "}}]}]}}]}}\n"
}

// jsonSocket is a bootstrap in JSON with a socket address that has these fields beside its address.
func jsonSocket(fields string) string {
	return jsonEndpoint(`"address": {"socket_address": {"address": "192.0.2.1", ` + fields + "}}")
}
