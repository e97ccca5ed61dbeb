package validate_test

import (
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// TestFoundClusters has fields of clusters with what Envoy 1.40.0 said about them, "" where it took them, by
// envoy --mode validate. Each is in a STATIC cluster v with one endpoint, unless it says its type.
func TestFoundClusters(t *testing.T) {
	t.Parallel()
	check := func(body string) string {
		return "health_checks: [{timeout: 1s, interval: 1s, unhealthy_threshold: 1, healthy_threshold: 1, " + body + "}]"
	}
	http := func(body string) string { return check("http_health_check: {path: /, " + body + "}") }
	two := func(first, second string) string {
		return "health_checks: [{timeout: 1s, interval: 1s, unhealthy_threshold: 1, healthy_threshold: 1, " + first + "}, " +
			"{timeout: 1s, interval: 1s, unhealthy_threshold: 1, healthy_threshold: 1, " + second + "}]"
	}
	const options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
	typed := func(body string) string {
		return "typed_extension_protocol_options: {" + options + `: {"@type": type.googleapis.com/` + options + ", " + body + "}}"
	}
	grpc := check("grpc_health_check: {}")
	const needsHTTP2 = "v cluster must support HTTP/2 for gRPC healthchecking"
	eject := "outlier detector's max_ejection_time cannot be smaller than base_ejection_time"
	bind := "Cluster v's upstream binding config has "
	tests := []struct{ fields, says string }{
		// health checks of gRPC and the protocols of the cluster
		{grpc, needsHTTP2},
		{grpc + ", http2_protocol_options: {}", ""},
		{grpc + ", http_protocol_options: {}", needsHTTP2},
		{grpc + ", " + typed("explicit_http_config: {http_protocol_options: {}}"), needsHTTP2},
		{grpc + ", " + typed("explicitHttpConfig: {http2ProtocolOptions: {}}"), ""},
		{grpc + ", " + typed("use_downstream_protocol_config: {}"), needsHTTP2},
		{grpc + ", " + typed("explicit_http_config: {http_protocol_options: {}}") + ", http2_protocol_options: {}", needsHTTP2},
		{typed("auto_config: {}"), "ALPN configured for cluster v which has a non-ALPN transport socket: "},
		{typed("explicit_http_config: {http3_protocol_options: {}}"), "HTTP3 requires a QuicUpstreamTransport transport socket: v "},
		{typed("explicit_http_config: {}"), `Proto constraint validation failed (HttpProtocolOptionsValidationError.ExplicitHttpConfig: embedded message failed validation | caused by field: "protocol_config", reason: is required)`},
		{typed("common_http_protocol_options: {}"), `Proto constraint validation failed (field: "upstream_protocol_options", reason: is required)`},
		{`typed_extension_protocol_options: {a: {"@type": type.googleapis.com/google.protobuf.Struct}}`, "Didn't find a registered network or http filter or protocol options implementation for name: 'a'"},
		{check(`grpc_health_check: {initial_metadata: [{header: {key: ":path", value: b}}]}`) + ", http2_protocol_options: {}", ":-prefixed or host headers may not be modified"},

		// several health checks
		{two("tcp_health_check: {}", "tcp_health_check: {}"), "health check at index 0 is missing a name; all health checks must have a name when multiple health checks are configured"},
		{two("name: a, tcp_health_check: {}", "tcp_health_check: {}"), "health check at index 1 is missing a name; all health checks must have a name when multiple health checks are configured"},
		{two("name: a, tcp_health_check: {}", "name: a, tcp_health_check: {}"), "duplicate health check name 'a' at index 1; all health check names must be unique within a cluster"},
		{two("name: a, tcp_health_check: {}", "name: b, tcp_health_check: {}"), ""},
		{two("name: a, grpc_health_check: {}", "tcp_health_check: {}"), needsHTTP2},

		// health checks of HTTP and TCP
		{http("expected_statuses: [{start: 100, end: 600}]"), ""},
		{http("expected_statuses: [{start: 200}]"), "Invalid http expected status range: expecting start < end, but found start=200 and end=0"},
		{http("expected_statuses: [{start: -1, end: 200}]"), "Invalid http expected status range: expecting start < end, but found start=18446744073709551615 and end=200"},
		{http("expected_statuses: [{start: 99, end: 200}]"), "Invalid http expected status range: expecting start >= 100, but found start=99"},
		{http("retriable_statuses: [{start: 400, end: 601}]"), "Invalid http retriable status range: expecting end <= 600, but found end=601"},
		{http(`send: {text: "00"}`), "HTTP health check cannot specify a request payload with method 'GET'. Only methods that support a request body (POST, PUT, PATCH, OPTIONS) can be used with payload."},
		{http(`send: {text: "00"}, method: DELETE`), "HTTP health check cannot specify a request payload with method 'DELETE'."},
		{http(`send: {text: "00"}, method: POST`), ""},
		{http("send: {text: zz}, method: POST"), "invalid hex string 'zz'"},
		{http(`receive: [{text: "000"}]`), "invalid hex string '000'"},
		{check(`tcp_health_check: {send: {text: "0G"}}`), "invalid hex string '0G'"},
		{check(`tcp_health_check: {receive: [{text: "00"}, {text: z}]}`), "invalid hex string 'z'"},
		{check(`tcp_health_check: {send: {text: "0aF0"}, receive: [{binary: ""}]}`), ""},
		{http("request_headers_to_add: [{header: {key: Host, value: b}}]"), ":-prefixed or host headers may not be modified"},
		{http("request_headers_to_add: [{header: {key: hosts, value: b}}]"), ""},
		{http("request_headers_to_add: [{header: {key: a, value: b}, append: true, append_action: ADD_IF_ABSENT}]"), "Both append and append_action are set and it's not allowed"},
		{http("request_headers_to_remove: [host]"), ":-prefixed or host headers may not be removed"},
		{http(`service_name_matcher: {safe_regex: {regex: "("}}`), "missing ): ("},
		{http(`service_name_matcher: {safe_regex: {regex: "(?=a)"}}`), "invalid perl operator: (?="},
		{http(`service_name_matcher: {safe_regex: {regex: "a{1001}"}}`), "invalid repetition size: {1001}"},
		{http(`service_name_matcher: {safe_regex: {regex: "[b-a]"}}`), "invalid character class range: b-a"},
		{http(`service_name_matcher: {safe_regex: {regex: "*"}}`), "no argument for repetition operator: *"},
		{http(`service_name_matcher: {safe_regex: {regex: "\\"}}`), `trailing \`},
		{http(`service_name_matcher: {safe_regex: {regex: "a+"}}`), ""},
		{http("service_name_matcher: {safe_regex: {regex: a}, ignore_case: true}"), "ignore_case has no effect for safe_regex."},
		{check("custom_health_check: {name: envoy.health_checkers.redis}"), "Didn't find a registered implementation for 'envoy.health_checkers.redis' with type URL: ''"},
		{check(`custom_health_check: {name: a, typed_config: {"@type": type.googleapis.com/google.protobuf.Struct}}`), "Didn't find a registered implementation for 'a' with type URL: 'google.protobuf.Struct'"},
		{check(`custom_health_check: {name: a, typed_config: {"@type": type.googleapis.com/envoy.extensions.health_checkers.redis.v3.Redis}}`), ""},
		{check(`tcp_health_check: {}, event_logger: [{name: a, typed_config: {"@type": type.googleapis.com/google.protobuf.Struct}}]`), "Didn't find a registered implementation for 'a' with type URL: 'google.protobuf.Struct'"},

		// outlier detection and thresholds
		{"outlier_detection: {max_ejection_time: 29.9999s}", eject},
		{"outlier_detection: {max_ejection_time: 30s}", ""},
		{"outlier_detection: {base_ejection_time: 10s, max_ejection_time: 1s}", eject},
		{"outlier_detection: {base_ejection_time: 400s}", ""},
		{grpc + ", outlier_detection: {max_ejection_time: 1s}", needsHTTP2},
		{"circuit_breakers: {per_host_thresholds: [{max_requests: 0}]}", "Unsupported field in per_host_thresholds"},
		{"circuit_breakers: {per_host_thresholds: [{priority: HIGH, max_retries: 1}]}", "Unsupported field in per_host_thresholds"},
		{"circuit_breakers: {per_host_thresholds: [{max_connections: 1}, {max_retries: 1}]}", ""},

		// the addresses of connections
		{"upstream_bind_config: {source_address: {address: foo, port_value: 0}}", "malformed IP address: foo"},
		{"upstream_bind_config: {source_address: {address: 1.2.3.4, port_value: 0, resolver_name: x}}", "Unknown address resolver: x"},
		{"upstream_bind_config: {source_address: {address: 1.2.3.4, port_value: 0}, extra_source_addresses: [{address: {address: 1.2.3.5, port_value: 0}}]}", bind + "two same IP version source addresses."},
		{`upstream_bind_config: {source_address: {address: 1.2.3.4, port_value: 0}, extra_source_addresses: [{address: {address: "::1", port_value: 0}}]}`, ""},
		{`upstream_bind_config: {source_address: {address: 1.2.3.4, port_value: 0}, additional_source_addresses: [{address: "::1", port_value: 0}, {address: "::2", port_value: 0}]}`, bind + "more than one extra/additional source addresses."},
		{"upstream_bind_config: {additional_source_addresses: [{address: 1.2.3.5, port_value: 0}]}", bind + "extra/additional source addresses but no source_address."},

		// protocols
		{"http_protocol_options: {}, http2_protocol_options: {}", "cluster: Both HTTP1 and HTTP2 options may only be configured with non-default 'protocol_selection' values"},
		{"http_protocol_options: {}, http2_protocol_options: {}, protocol_selection: USE_DOWNSTREAM_PROTOCOL", ""},
		{"http2_protocol_options: {custom_settings_parameters: [{identifier: 2, value: 1}]}", "server push is not supported by Envoy and can not be enabled via a SETTINGS parameter."},
		{"http2_protocol_options: {custom_settings_parameters: [{identifier: 2, value: 0}]}", ""},
		{"http2_protocol_options: {custom_settings_parameters: [{identifier: 8, value: 0}]}", `the "allow_connect" SETTINGS parameter must only be configured through the named field`},
		{"http2_protocol_options: {custom_settings_parameters: [{identifier: 9, value: 0}, {identifier: 9, value: 1}]}", "inconsistent HTTP/2 custom SETTINGS parameter(s) detected; identifiers = {0x09}"},
		{"http2_protocol_options: {custom_settings_parameters: [{identifier: 1, value: 1}], hpack_table_size: 2}", "the {hpack_table_size} HTTP/2 SETTINGS parameter(s) can not be configured through both named and custom parameters"},
		{"common_http_protocol_options: {max_requests_per_connection: 5}, max_requests_per_connection: 6", "Only one of max_requests_per_connection from Cluster or HttpProtocolOptions can be specified"},

		// other extensions
		{"transport_socket: {name: a}", "Didn't find a registered implementation for 'a' with type URL: ''"},
		{"transport_socket_matches: [{name: a, transport_socket: {name: zz}}]", "Didn't find a registered implementation for 'zz' with type URL: ''"},
		{"filters: [{name: a}]", "Didn't find a registered implementation for 'a' with type URL: ''"},

		// DNS
		{"type: STRICT_DNS, dns_failure_refresh_rate: {base_interval: 2s, max_interval: 1s}", "dns_failure_refresh_rate must have max_interval greater than or equal to the base_interval"},
		{"type: STRICT_DNS, dns_failure_refresh_rate: {base_interval: 2s}", ""},
		{"dns_failure_refresh_rate: {base_interval: 2s, max_interval: 1s}", ""},
		{"type: STRICT_DNS, dns_resolvers: [{socket_address: {address: dns.google, port_value: 53}}]", "malformed IP address: dns.google"},
		{"type: STRICT_DNS, dns_resolvers: [{pipe: {path: /tmp/x}}]", "DNS resolver '/tmp/x' is not an IP address"},
		{"type: LOGICAL_DNS, dns_resolution_config: {resolvers: [{socket_address: {address: 1.1.1.1, named_port: dns}}]}", "IP resolver can't handle port specifier type 4"},
		{`type: STRICT_DNS, typed_dns_resolver_config: {name: x, typed_config: {"@type": type.googleapis.com/google.protobuf.Empty}}`, "Didn't find a registered implementation for 'x' with type URL: 'google.protobuf.Empty'"},
		{"type: STRICT_DNS, typed_dns_resolver_config: {name: x, typed_config: {}}", ""},
		{`cluster_type: {name: envoy.clusters.dns, typed_config: {"@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster, typed_dns_resolver_config: {name: x, typed_config: {"@type": type.googleapis.com/google.protobuf.Empty}}}}`,
			"Didn't find a registered implementation for 'x' with type URL: 'google.protobuf.Empty'"},
		{`cluster_type: {name: envoy.clusters.dns, typed_config: {"@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster}}, typed_dns_resolver_config: {name: x, typed_config: {"@type": type.googleapis.com/google.protobuf.Empty}}`, ""},
		{`load_balancing_policy: {policies: [{typed_extension_config: {name: x, typed_config: {"@type": type.googleapis.com/envoy.extensions.load_balancing_policies.dynamic_modules.v3.DynamicModulesLoadBalancerConfig}}}]}`,
			"Either 'name' or 'module' must be specified in dynamic_module_config"},

		// where an EDS cluster gets its assignment
		{`type: EDS, eds_cluster_config: {eds_config: {path: ""}}`, "paths must refer to an existing path in the system: '' does not exist"},
		{"type: EDS, eds_cluster_config: {eds_config: {api_config_source: {cluster_names: [x]}}}", "REST_LEGACY no longer a supported ApiConfigSource. Please specify an explicit supported api_type in the following config: "},
		{"type: EDS, eds_cluster_config: {eds_config: {api_config_source: {api_type: GRPC, grpc_services: [{envoy_grpc: {cluster_name: x}}, {envoy_grpc: {cluster_name: x}}]}}}",
			"envoy.config.core.v3.ApiConfigSource::(AGGREGATED_)(DELTA_)GRPC must have no more than 1 gRPC services specified: "},
		{"type: EDS, eds_cluster_config: {eds_config: {api_config_source: {api_type: GRPC, grpc_services: [{envoy_grpc: {cluster_name: nope}}]}}}", "envoy.config.core.v3.ApiConfigSource must have a statically defined non-EDS cluster: 'nope'"},
		{"type: EDS, eds_cluster_config: {eds_config: {api_config_source: {api_type: DELTA_GRPC, grpc_services: [{envoy_grpc: {cluster_name: nope}}]}}}", ""},
		{`type: EDS, eds_cluster_config: {eds_config: {api_config_source: {api_type: GRPC, rate_limit_settings: {fill_rate: "NaN"}, grpc_services: [{envoy_grpc: {cluster_name: x}}]}}}`, "The value of fill_rate in RateLimitSettings (nan) must not be NaN nor Inf"},
		{"type: EDS, eds_cluster_config: {eds_config: {api_config_source: {api_type: GRPC, grpc_services: [{envoy_grpc: {cluster_name: x, retry_policy: {retry_back_off: {base_interval: 2s, max_interval: 1s}}}}]}}}", "max_interval must be greater than or equal to the base_interval"},
		{`type: EDS, eds_cluster_config: {eds_config: {api_config_source: {api_type: GRPC, grpc_services: [{envoy_grpc: {cluster_name: x}, initial_metadata: [{key: ":path", value: a}]}]}}}`, ":-prefixed or host headers may not be modified"},

		// the load_assignment of an EDS cluster, at whose localities Envoy does not look
		{"type: EDS, eds_cluster_config: {eds_config: {ads: {}}}, load_assignment: {cluster_name: v, endpoints: [{leds_cluster_locality_config: {leds_collection_name: x}, lb_endpoints: [{}]}]}", ""},
		{"cluster_type: {name: envoy.cluster.eds}, eds_cluster_config: {eds_config: {ads: {}}}", "eds_cluster_config set in a non-EDS cluster"},

		{"type: ORIGINAL_DST, lb_policy: CLUSTER_PROVIDED, original_dst_lb_config: {http_header_name: x}", "ORIGINAL_DST cluster: invalid config http_header_name=x and use_http_header is false."},
	}
	const endpoint = "endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}}]}]"
	for _, tt := range tests {
		fields := tt.fields
		if !strings.HasPrefix(fields, "type:") && !strings.HasPrefix(fields, "cluster_type:") {
			fields = "type: STATIC, " + fields
		}
		if !strings.HasPrefix(fields, "type: EDS") && !strings.HasPrefix(fields, "type: ORIGINAL_DST") {
			fields += ", load_assignment: {cluster_name: v, " + endpoint + "}"
		}
		text := "node: {id: a, cluster: b}\nstatic_resources: {clusters: [{name: v, connect_timeout: 1s, " + fields + "},\n" +
			"{name: x, connect_timeout: 1s, type: STATIC, load_assignment: {cluster_name: x, " + endpoint + "}}]}\n"
		loaded := eds.NewLoader(eds.Options{}).Load("bootstrap.yaml", []byte(text), true)
		report := validate.Run(loaded.Resources, validate.Options{})
		if len(report.Resources) == 0 {
			t.Errorf("%s: no resource", tt.fields)
			continue
		}
		got := report.Resources[0].Verdicts[diag.Envoy]
		if tt.says == "" && got.Kind != diag.Accept || tt.says != "" && (got.Kind != diag.Rejected || !strings.HasPrefix(got.Message, tt.says)) {
			t.Errorf("%s: %s by %s: %s, want %q", tt.fields, got.Kind, got.Rule, got.Message, tt.says)
		}
	}
}

// TestFoundClusterTwice: of two clusters of one name in a CDS response Envoy 1.40.0 applies the first, and does not look
// at the second.
func TestFoundClusterTwice(t *testing.T) {
	t.Parallel()
	cluster := func(name, address string) string {
		return "- {\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: " + name + ", connect_timeout: 1s, type: STATIC, load_assignment: {cluster_name: a, " +
			"endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: " + address + ", port_value: 80}}}}]}]}}\n"
	}
	const found = "Error adding/updating cluster(s) a: duplicate cluster a found"
	for second, says := range map[string]string{
		cluster("a", "192.0.2.1"): found,
		cluster("a", "foo"):       found,
		cluster("b", "192.0.2.1"): "",
		"- {\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: a, type: EDS, eds_cluster_config: {eds_config: {path_config_source: {path: /dev/null}}}}\n": found,
	} {
		loaded := eds.NewLoader(eds.Options{}).Load("cds.yaml", []byte("resources:\n"+cluster("a", "192.0.2.1")+second), true)
		report := validate.Run(loaded.Resources, validate.Options{})
		if len(report.Resources) != 2 {
			t.Errorf("%s: %d resources", second, len(report.Resources))
			continue
		}
		if got := report.Resources[0].Verdicts[diag.Envoy]; got.Kind != diag.Accept {
			t.Errorf("the first before %s: %s by %s", second, got.Kind, got.Rule)
		}
		if got := report.Resources[1].Verdicts[diag.Envoy]; got.Message != says {
			t.Errorf("%s: %s by %s: %s, want %q", second, got.Kind, got.Rule, got.Message, says)
		}
	}
}
