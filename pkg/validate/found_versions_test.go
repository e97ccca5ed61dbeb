package validate_test

import (
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// TestFoundVersions has fields of a STATIC cluster that not every Envoy takes, each tried with Envoy 1.36.4, 1.37.0, 1.38.3,
// 1.39.3 and 1.40.0: since is the first that does, and says how those before refuse it.
func TestFoundVersions(t *testing.T) {
	t.Parallel()
	check := func(body string) string {
		return "{timeout: 1s, interval: 1s, unhealthy_threshold: 1, healthy_threshold: 1, " + body + "}"
	}
	const policies = "type.googleapis.com/envoy.extensions.load_balancing_policies."
	policy := func(name, body string) string {
		return `load_balancing_policy: {policies: [{typed_extension_config: {name: x, typed_config: {"@type": ` + policies + name + body + "}}}]}"
	}
	unknown := func(message, field string) string {
		return "message " + message + ", near <pos>: no such field: '" + field + "') has unknown fields"
	}
	tests := []struct {
		fields string
		since  int
		says   string // somewhere in the message
	}{
		{"http2_protocol_options: {enable_huffman_encoding: true}", 37, unknown("envoy.config.core.v3.Http2ProtocolOptions", "enable_huffman_encoding")},
		{"per_connection_buffer_high_watermark_timeout: 1s", 38, unknown("envoy.config.cluster.v3.Cluster", "per_connection_buffer_high_watermark_timeout")},
		{"outlier_detection: {detect_degraded_hosts: true}", 38, unknown("envoy.config.cluster.v3.OutlierDetection", "detect_degraded_hosts")},
		{policy("override_host.v3.OverrideHost", ", override_host_sources: [{header: x}], selected_host_key: {key: a, path: [{key: b}]}, fallback_policy: {policies: [{typed_extension_config: {name: x, typed_config: "+
			`{"@type": `+policies+"round_robin.v3.RoundRobin}}}]}"), 38, unknown("envoy.extensions.load_balancing_policies.override_host.v3.OverrideHost", "selected_host_key")},
		{"circuit_breakers: {thresholds: [{retry_budget: {budget_interval: 1s}}]}", 39, unknown("envoy.config.cluster.v3.CircuitBreakers.Thresholds.RetryBudget", "budget_interval")},
		{"common_http_protocol_options: {max_connection_duration_jitter: {value: 1}}", 39, unknown("envoy.config.core.v3.HttpProtocolOptions", "max_connection_duration_jitter")},
		{"stats_matcher: {reject_all: true}", 40, unknown("envoy.config.cluster.v3.Cluster", "stats_matcher")},
		{"health_checks: [" + check("name: a, tcp_health_check: {}") + "]", 40, unknown("envoy.config.core.v3.HealthCheck", "name")},
		{"health_checks: [" + check("tcp_health_check: {}") + ", " + check("tcp_health_check: {}") + "]", 41, "Multiple health checks not supported"},
	}
	for _, tt := range tests {
		for version := 36; version <= 40; version++ {
			text := "static_resources: {clusters: [{name: v, type: STATIC, connect_timeout: 1s, " + tt.fields + ", load_assignment: {cluster_name: v, " +
				"endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}}]}]}}]}\n"
			loaded := eds.NewLoader(eds.Options{EnvoyVersion: version}).Load("bootstrap.yaml", []byte(text), true)
			got := validate.Run(loaded.Resources, validate.Options{EnvoyVersion: version}).Resources[0].Verdicts[diag.Envoy]
			says := tt.says
			if tt.since > 40 && version == 40 {
				says = "health check at index 0 is missing a name"
			}
			if version < tt.since && (got.Kind != diag.Rejected || !strings.Contains(got.Message, says)) || version >= tt.since && got.Kind != diag.Accept {
				t.Errorf("%s with Envoy 1.%d: %s: %s, want %q before 1.%d", tt.fields, version, got.Kind, got.Message, says, tt.since)
			}
		}
	}
}

// TestFoundBefore has clusters with a gap in their priorities, as Envoy 1.38.3 took them.
func TestFoundBefore(t *testing.T) {
	t.Parallel()
	const policies = "type.googleapis.com/envoy.extensions.load_balancing_policies."
	for fields, want := range map[string]diag.VerdictKind{
		"type: STATIC, lb_policy: RING_HASH":                                 diag.Crashes,
		"type: STATIC, lb_policy: MAGLEV, maglev_lb_config: {table_size: 4}": diag.Crashes,
		"type: STATIC, lb_policy: ROUND_ROBIN":                               diag.Accept,
		"type: STRICT_DNS, lb_policy: RING_HASH":                             diag.Accept,
		`type: STATIC, load_balancing_policy: {policies: [{typed_extension_config: {name: x, typed_config: {"@type": ` + policies + `client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin, oob_reporting_period: -1s}}}]}`: diag.Accept,
		`type: STATIC, load_balancing_policy: {policies: [{typed_extension_config: {name: x, typed_config: {"@type": ` + policies + `override_host.v3.OverrideHost, override_host_sources: [{header: x}], ` +
			`fallback_policy: {policies: [{typed_extension_config: {name: x, typed_config: {"@type": ` + policies + `maglev.v3.Maglev}}}]}}}}]}`: diag.Accept,
		"type: STRICT_DNS, lb_policy: MAGLEV, maglev_lb_config: {table_size: 4}": diag.Rejected,
	} {
		text := "static_resources: {clusters: [{name: v, connect_timeout: 1s, " + fields + ", load_assignment: {cluster_name: v, " +
			"endpoints: [{priority: 2, lb_endpoints: [{endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}}]}]}}]}\n"
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 38}).Load("bootstrap.yaml", []byte(text), true)
		if got := validate.Run(loaded.Resources, validate.Options{EnvoyVersion: 38}).Resources[0].Verdicts[diag.Envoy]; got.Kind != want {
			t.Errorf("%s: %s by %s, want %s", fields, got.Kind, got.Rule, want)
		}
	}
}
