package validate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// TestFoundBootstrap has what stands beside the static clusters in a bootstrap, with what Envoy 1.40.0 says of it, after
// "invalid JSON in envoy.config.bootstrap.v3.Bootstrap"; nothing where it takes the file. since: the first version that does.
func TestFoundBootstrap(t *testing.T) {
	t.Parallel()
	const clusters = "  clusters: [{name: a, type: STATIC, load_assignment: {cluster_name: a}}]\n"
	const base = "static_resources:\n" + clusters
	at := func(path, message, cause string) string {
		return " @ " + path + ": message envoy.config.bootstrap.v3." + message + ", near <pos>: " + cause
	}
	field := func(path, message, name string) string {
		return at(path, message, "no such field: '"+name+"') has unknown fields")
	}
	tests := []struct {
		text, rule, says string
		since            int
	}{
		{text: base + "  listeners: []\n  secrets: []\nadmin: {}\ndynamic_resources: {}\ncluster_manager: {outlier_detection: {}}\n"},
		{text: base + "admin: ~\nlayered_runtime: {layers: [{name: a, static_layer: {a: 1}}, {name: b, admin_layer: {}}]}\n"},
		{text: base + "  !ignore listenerz: []\n"},
		{text: base + "header_prefix: ~\nbootstrap_extensions: [{name: a, typed_config: {}}]\n"},
		{text: base + "header_prefix: 5\n", rule: "yaml-scalar-type", says: " @ header_prefix: string, near <pos>: unexpected character: '5'; expected '\"')"},
		{text: base + "admin: {profile_path: no}\n", rule: "yaml-scalar-type", says: " @ admin.profile_path: string, near <pos>: unexpected character: 'f'; expected '\"')"},
		{
			text: base + "bootstrap_extensions: [{name: x, foo: 1}]\n", rule: "unknown-field",
			says: " @ bootstrap_extensions[0]: message envoy.config.core.v3.TypedExtensionConfig, near <pos>: no such field: 'foo') has unknown fields",
		},
		{text: "foo: 1\n" + base, rule: "unknown-field", says: ", near <pos>: no such field: 'foo') has unknown fields"},
		{text: base + "<<: {a: 1}\n", rule: "merge-key", says: ", near <pos>: no such field: '<<') has unknown fields"},
		{text: base + "  listenerz: []\n", rule: "unknown-field", says: field("static_resources", "Bootstrap.StaticResources", "listenerz")},
		{text: base + "  <<: {a: 1}\n", rule: "merge-key", says: field("static_resources", "Bootstrap.StaticResources", "<<")},
		{
			text: "staticResources:\n" + clusters + "  endpoints: []\n", rule: "unknown-field",
			says: field("staticResources", "Bootstrap.StaticResources", "endpoints"),
		},
		{text: "static_resources: {clusterz: [{name: a}]}\n", rule: "unknown-field", says: field("static_resources", "Bootstrap.StaticResources", "clusterz")},
		{text: "Static_resources:\n" + clusters, rule: "unknown-field", says: ", near <pos>: no such field: 'Static_resources') has unknown fields"},
		{text: "\ufeff\ufeffstatic_resources:\n" + clusters, rule: "unknown-field", says: ", near <pos>: no such field: '\ufeffstatic_resources') has unknown fields"},
		{text: "stat\xc3ic_resources:\n" + clusters, rule: "unknown-field", says: ", near <pos>: no such field: 'stat c_resources') has unknown fields"},
		{text: "node: {id: a}\nclusters: [{name: a, connect_timeout: 1s}]\n", rule: "unknown-field", says: ", near <pos>: no such field: 'clusters') has unknown fields"},
		{
			text: base + "  \"a\xed\xa0\x80\": 1\n", rule: "value-type",
			says: at("static_resources", "Bootstrap.StaticResources", "Invalid UTF-8 string)"),
		},
		{text: "static_resources: []\n", rule: "value-type", says: at("static_resources", "Bootstrap.StaticResources", "unexpected character: '['; expected '{')")},
		{
			text: base + "dynamic_resources: {cds_config: {path_config_sourc: {path: a}}}\n", rule: "unknown-field",
			says: " @ dynamic_resources.cds_config: message envoy.config.core.v3.ConfigSource, near <pos>: no such field: 'path_config_sourc') has unknown fields",
		},
		{
			text: base + "admin: {address: {socket_address: {address: a, port_value: x}}}\n", rule: "value-type",
			says: " @ admin.address.socket_address.port_value: uint32, near <pos>: ",
		},
		{text: base + "admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}\n"},
		{text: base + "dynamic_resources: {cds: {}}\n", rule: "unknown-field", says: field("dynamic_resources", "Bootstrap.DynamicResources", "cds")},
		{text: base + "cluster_manager: {local_clustername: a}\n", rule: "unknown-field", says: field("cluster_manager", "ClusterManager", "local_clustername")},
		{
			text: base + "cluster_manager: {local_cluster_name: [a]}\n", rule: "value-type",
			says: " @ cluster_manager.local_cluster_name: string, near <pos>: unexpected character: '['; expected '\"')",
		},
		{
			text: base + "clusterManager: {localClusterName: true}\n", rule: "yaml-scalar-type",
			says: " @ clusterManager.localClusterName: string, near <pos>: unexpected character: 't'; expected '\"')",
		},
		{text: base + "cluster_manager: {local_cluster_name: ~}\n"},
		{text: base + "admin: {adress: 1}\n", rule: "unknown-field", says: field("admin", "Admin", "adress")},
		{text: base + "admin: []\n", rule: "value-type", says: at("admin", "Admin", "unexpected character: '['; expected '{')")},
		{text: base + "cluster_manager: x\n", rule: "value-type", says: at("cluster_manager", "ClusterManager", "unexpected character: '\"'; expected '{')")},
		{text: base + "layered_runtime: {layer: []}\n", rule: "unknown-field", says: field("layered_runtime", "LayeredRuntime", "layer")},
		{text: base + "layered_runtime: {layers: {name: a, x: 1}}\n", rule: "unknown-field", says: field("layered_runtime.layers", "RuntimeLayer", "x")},
		{text: base + "layered_runtime: {layers: [{name: a, x: 1}]}\n", rule: "unknown-field", says: field("layered_runtime.layers[0]", "RuntimeLayer", "x")},
		{
			text: base + "layered_runtime: {layers: [{name: a, static_layer: {}, static_layer: {a: 1}, disk_layer: ~}, {name: b, disk_layer: {symlink_root: /a}}]}\n",
		},
		{
			text: base + "layered_runtime: {layers: [{name: a, rtds_layer: {rtds_config: {adz: {}}}}]}\n", rule: "unknown-field",
			says: " @ layered_runtime.layers[0].rtds_layer.rtds_config: message envoy.config.core.v3.ConfigSource, near <pos>: no such field: 'adz') has unknown fields",
		},
		{text: base + "layered_runtime: {layers: 5}\n", rule: "value-type", says: at("layered_runtime.layers", "RuntimeLayer", "unexpected character: '5'; expected '{')")},
		{text: base + "layered_runtime: {layers: [5]}\n", rule: "value-type", says: at("layered_runtime.layers[0]", "RuntimeLayer", "unexpected character: '5'; expected '{')")},
		{
			text: base + "enable_worker_cpu_affinity: true\n", since: 39, rule: "unknown-field",
			says: ", near <pos>: no such field: 'enable_worker_cpu_affinity') has unknown fields",
		},
		{text: base + "admin: {allow_paths: [{exact: /a}]}\n", since: 37, rule: "unknown-field", says: field("admin", "Admin", "allow_paths")},
	}
	for _, tt := range tests {
		for version := 36; version <= 40; version++ {
			loaded := eds.NewLoader(eds.Options{EnvoyVersion: version}).Load("bootstrap.yaml", []byte(tt.text), true)
			got := validate.Run(loaded.Resources, validate.Options{EnvoyVersion: version}).Resources[0].Verdicts[diag.Envoy]
			if tt.rule == "" || tt.since > 0 && version >= tt.since {
				if got.Kind != diag.Accept {
					t.Errorf("%s with Envoy 1.%d: %s by %s: %s, want accept", tt.text, version, got.Kind, got.Rule, got.Message)
				}
				continue
			}
			if got.Kind != diag.Rejected || got.Rule != tt.rule || !strings.Contains(got.Message, "invalid JSON in envoy.config.bootstrap.v3.Bootstrap"+tt.says) {
				t.Errorf("%s with Envoy 1.%d: %s by %s: %s, want reject by %s: %s", tt.text, version, got.Kind, got.Rule, got.Message, tt.rule, tt.says)
			}
		}
	}
}

// TestFoundBootstrapInFolder: a bootstrap whose clusters are lost is no file without an assignment.
func TestFoundBootstrapInFolder(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"static-resources: {clusters: [{name: a}]}\n",
		"clusters: [{name: a, load_assignment: {cluster_name: a}}]\nnode: {id: a}\n",
		"admin: {}\nstatic_resources: {clusterz: [{name: a, load_assignment: {cluster_name: a}}]}\n",
	} {
		f := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("bootstrap.yaml", []byte(text), false)
		if v := validate.Run(f.Resources, validate.Options{}); f.Skipped || len(v.Resources) != 1 || v.Resources[0].Verdicts[diag.Envoy].Kind != diag.Rejected {
			t.Errorf("%s: skipped %t, %v", text, f.Skipped, v.Resources)
		}
	}
}

// TestFoundBootstrapSkipped: a bootstrap without an assignment that was found in a folder says nothing of its other parts.
func TestFoundBootstrapSkipped(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"static_resources: {clusterz: [{name: a}]}\n",
		"static_resources: {listeners: []}\nadmni: {}\n",
		"admin: true\nclusters:\n- name: backend\n  host: backend.svc\n", // values of a chart, not Envoy's
		`{"node":"n1","clusters":[{"name":"x","id":4}]}` + "\n",
	} {
		if f := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("bootstrap.yaml", []byte(text), false); !f.Skipped || len(f.Resources) > 0 {
			t.Errorf("%s: skipped %t with %d resources", text, f.Skipped, len(f.Resources))
		}
	}
}

// TestFoundNodeMissing has what Envoy 1.40.0 misses the node for.
func TestFoundNodeMissing(t *testing.T) {
	t.Parallel()
	const ads, file, cla = "ads: {}", "path_config_source: {path: /dev/null}", "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	tests := []struct{ api, source, user string }{
		{"api_type: GRPC", ads, "ads"},
		{"api_type: GRPC", file, cla},
		{"api_type: DELTA_GRPC", ads, cla},
	}
	for _, tt := range tests {
		text := "dynamic_resources: {ads_config: {" + tt.api + ", transport_api_version: V3, grpc_services: [{envoy_grpc: {cluster_name: x}}]}}\n" +
			"static_resources: {clusters: [{name: x, load_assignment: {cluster_name: x}}, " +
			"{name: e, type: EDS, eds_cluster_config: {eds_config: {resource_api_version: V3, " + tt.source + "}}}]}\n"
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("bootstrap.yaml", []byte(text), true)
		got := validate.Run(loaded.Resources, validate.Options{}).Resources[1].Verdicts[diag.Envoy]
		if want := tt.user + ": node 'id' and 'cluster' are required."; got.Rule != "node-id-missing" || !strings.HasPrefix(got.Message, want) {
			t.Errorf("%s by %s: %s by %s: %s, want %s", tt.source, tt.api, got.Kind, got.Rule, got.Message, want)
		}
	}
}

// TestFoundTypes: no message of the name is in Envoy 1.40.0, wherever it stands.
func TestFoundTypes(t *testing.T) {
	t.Parallel()
	const (
		prefix  = "type.googleapis.com/envoy.extensions."
		cluster = "static_resources: {clusters: [{name: a, type: STATIC, load_assignment: {cluster_name: a}, "
		policy  = "{typed_extension_config: {name: x, typed_config: {\"@type\": " + prefix
	)
	tests := []struct{ text, url, hint string }{
		{
			cluster + "transport_socket: {name: x, typed_config: {\"@type\": " + prefix + "transport_sockets.tls.v3.UpstreamTlsContex}}}]}\n",
			prefix + "transport_sockets.tls.v3.UpstreamTlsContex", prefix + "transport_sockets.tls.v3.UpstreamTlsContext",
		},
		{
			cluster + "load_balancing_policy: {policies: [" + policy + "load_balancing_poliicies.round_robin.v3.RoundRobin}}}, " +
				policy + "load_balancing_policies.random.v3.Random}}}]}}]}\n",
			prefix + "load_balancing_poliicies.round_robin.v3.RoundRobin", prefix + "load_balancing_policies.round_robin.v3.RoundRobin",
		},
		{
			cluster + "}], listeners: [{filter_chains: [{filters: [{typed_config: {\"@type\": " + prefix + "filters.network.tcp.v3.Proxy}}]}]}]}\n",
			prefix + "filters.network.tcp.v3.Proxy", "",
		},
	}
	for _, tt := range tests {
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("bootstrap.yaml", []byte(tt.text), true)
		report := validate.Run(loaded.Resources, validate.Options{})
		got := report.Resources[0].Verdicts[diag.Envoy]
		if want := "(INVALID_ARGUMENT: could not find @type '" + tt.url + "')"; got.Rule != "any-type-unknown" || !strings.HasSuffix(got.Message, want) {
			t.Errorf("%s: %s by %s: %s, want %s", tt.text, got.Kind, got.Rule, got.Message, want)
		}
		hint := ""
		if tt.hint != "" {
			hint = "did you mean `" + tt.hint + "`?"
		}
		if h := report.Findings[0].Hint; h != hint {
			t.Errorf("%s: hint %q, want %q", tt.url, h, hint)
		}
	}
}

// TestFoundKeysTwice: of a key that a bootstrap has twice the last copy counts in YAML, and both do in JSON.
func TestFoundKeysTwice(t *testing.T) {
	t.Parallel()
	const good = `{"clusters": [{"name": "a", "type": "STATIC", "load_assignment": {"cluster_name": "a"}}]}`
	bad := strings.NewReplacer("STATIC", "STATIC\", \"connect_timeout\": \"0s", `"name": "a"`, `"name": "b"`).Replace(good)
	tests := []struct {
		file, text string
		want       []diag.VerdictKind
	}{
		{"bootstrap.yaml", "static_resources: " + bad + "\nstatic_resources: " + good + "\n", []diag.VerdictKind{diag.Accept}},
		{"bootstrap.json", `{"static_resources": ` + strings.TrimSuffix(bad, "}") + ", " + strings.TrimPrefix(good, "{") + "}", []diag.VerdictKind{diag.Rejected, diag.Accept}},
	}
	for _, tt := range tests {
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load(tt.file, []byte(tt.text), true)
		report := validate.Run(loaded.Resources, validate.Options{})
		var got []diag.VerdictKind
		for _, r := range report.Resources {
			got = append(got, r.Verdicts[diag.Envoy].Kind)
		}
		if !slices.Equal(got, tt.want) || !slices.ContainsFunc(report.Findings, func(f diag.Finding) bool { return f.Rule == "duplicate-key" }) {
			t.Errorf("%s: %s, want %s and duplicate-key: %v", tt.text, got, tt.want, report.Findings)
		}
	}
}

// TestFoundFirstInJSON: JSON is read from its beginning to its end, so the first of several errors is the one that is named.
func TestFoundFirstInJSON(t *testing.T) {
	t.Parallel()
	const assignment = `"load_assignment": {"cluster_name": "a", "foo": 5}`
	for fields, want := range map[string]string{
		`"lb_policyy": 1, ` + assignment:           "no such field: 'lb_policyy') has unknown fields",
		assignment + `, "lb_policyy": 1`:           "no such field: 'foo') has unknown fields",
		`"lb_policy": "x", ` + assignment:          "unknown enum value: 'x') has unknown fields",
		assignment + `, "lb_policy": []`:           "expected number or string)", // a wrong type comes before what is not known
		`"lb_policy": [], "alt_stat_name": 5`:      "expected number or string)",
		`"alt_stat_name": 5, "lb_policy": []`:      "unexpected character: '5'; expected '\"')",
		`"lb_policyy": 1}], "listenerz": [{"a": 1`: "no such field: 'lb_policyy') has unknown fields",
	} {
		text := `{"static_resources": {"clusters": [{"name": "a", "type": "STATIC", ` + fields + "}]}}"
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("bootstrap.json", []byte(text), true)
		if got := validate.Run(loaded.Resources, validate.Options{}).Resources[0].Verdicts[diag.Envoy]; got.Kind != diag.Rejected || !strings.HasSuffix(got.Message, want) {
			t.Errorf("%s: %s by %s: %s, want %s", fields, got.Kind, got.Rule, got.Message, want)
		}
	}
}

// TestFoundOneofTwice: in JSON the second member is the one that is named.
func TestFoundOneofTwice(t *testing.T) {
	t.Parallel()
	const name = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
	const before = `{"static_resources": {"clusters": [{"name": "a", "type": "STATIC", "load_assignment": {"cluster_name": "a"}`
	options := func(fields string) string {
		return before + `, "typed_extension_protocol_options": {"` + name + `": {"@type": "type.googleapis.com/` + name + `", ` + fields + "}}}]}}"
	}
	layer := func(fields string) string {
		return before + `}]}, "layered_runtime": {"layers": [{"name": "a", ` + fields + "}]}}"
	}
	const inAny = " @ static_resources.clusters[0].typed_extension_protocol_options[0].<any>."
	for text, want := range map[string]string{
		options(`"auto_config": {}, "explicit_http_config": {"http_protocol_options": {}}`):            inAny + "explicit_http_config: message " + name + ".ExplicitHttpConfig, near <pos>: 'explicit_http_config'",
		options(`"explicit_http_config": {"http_protocol_options": {}}, "explicitHttpConfig": {}`):     inAny + "explicitHttpConfig: message " + name + ".ExplicitHttpConfig, near <pos>: 'explicitHttpConfig'",
		options(`"explicit_http_config": {"http_protocol_options": {}, "http2_protocol_options": {}}`): inAny + "explicit_http_config.http2_protocol_options: message envoy.config.core.v3.Http2ProtocolOptions, near <pos>: 'http2_protocol_options'",
		layer(`"static_layer": {}, "admin_layer": {}`):                                                 " @ layered_runtime.layers[0].admin_layer: message envoy.config.bootstrap.v3.RuntimeLayer.AdminLayer, near <pos>: 'admin_layer'",
		layer(`"admin_layer": {}, "static_layer": {}`):                                                 " @ layered_runtime.layers[0].static_layer: message google.protobuf.Struct, near <pos>: 'static_layer'",
	} {
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("bootstrap.json", []byte(text), true)
		got := validate.Run(loaded.Resources, validate.Options{}).Resources[0].Verdicts[diag.Envoy]
		if got.Rule != "oneof-set-twice" || !strings.HasSuffix(got.Message, want+" has already been set (either directly or as part of a oneof))") {
			t.Errorf("%s: %s by %s: %s, want %s", text, got.Kind, got.Rule, got.Message, want)
		}
	}
}

// TestFoundHTTPOptions: the keys of HttpProtocolOptions, whose package is not linked.
func TestFoundHTTPOptions(t *testing.T) {
	t.Parallel()
	const name, at = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions", " @ static_resources.clusters[0].typed_extension_protocol_options[0].<any>"
	for fields, want := range map[string]string{
		"explicit_http_config: {http2_protocol_options: {}}":         "",
		"explicit_http_confg: {http2_protocol_options: {}}":          at + ": message " + name + ", near <pos>: no such field: 'explicit_http_confg') has unknown fields",
		"explicit_http_config: {http2: {}}":                          at + ".explicit_http_config: message " + name + ".ExplicitHttpConfig, near <pos>: no such field: 'http2') has unknown fields",
		"explicit_http_config: {http2_protocol_options: {foo: bar}}": at + ".explicit_http_config.http2_protocol_options: message envoy.config.core.v3.Http2ProtocolOptions, near <pos>: no such field: 'foo') has unknown fields",
	} {
		text := "static_resources: {clusters: [{name: a, type: STATIC, load_assignment: {cluster_name: a}, typed_extension_protocol_options: " +
			"{" + name + ": {\"@type\": type.googleapis.com/" + name + ", " + fields + "}}}]}\n"
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("bootstrap.yaml", []byte(text), true)
		got := validate.Run(loaded.Resources, validate.Options{}).Resources[0].Verdicts[diag.Envoy]
		if want == "" && got.Kind != diag.Accept || want != "" && (got.Rule != "unknown-field" || !strings.HasSuffix(got.Message, want)) {
			t.Errorf("%s: %s by %s: %s, want %s", fields, got.Kind, got.Rule, got.Message, want)
		}
	}
}

// TestMisplacedKeys: a key that stands a level too far out is told where it belongs.
func TestMisplacedKeys(t *testing.T) {
	t.Parallel()
	const cluster = "static_resources: {clusters: [{name: a, type: STATIC, load_assignment: {cluster_name: a}, "
	for text, hint := range map[string]string{
		cluster + "endpoints: []}]}\n": "`endpoints` belongs into `load_assignment`",
		"node: {id: a}\nclusters: [{name: a, load_assignment: {cluster_name: a}}]\n":      "`clusters` belongs into `static_resources`",
		"cluster_name: a\nlb_endpoints: []\n":                                             "`lb_endpoints` belongs into `endpoints`",
		"cluster_name: a\nendpoints: [{lb_endpoints: [{address: {}}]}]\n":                 "`address` belongs into `endpoint`",
		"cluster_name: a\nendpoints: [{lb_endpoints: [{endpont: {}}]}]\n":                 "did you mean `endpoint`?",
		"cluster_name: a\noverprovisioningFactor: 5\n":                                    "`overprovisioningFactor` belongs into `policy`",
		"cluster_name: a\nendpoints: [{lb_endpoints: [{endpoint: {port_value: 1}}]}]\n":   "",
		"cluster_name: a\nendpoints: [{lb_endpoints: [{endpoint: {addresss: {}}}]}]\n":    "did you mean `address`?",
		"cluster_name: a\nendpoints: [{zone: a, lb_endpoints: [{endpoint: {}}]}]\n":       "`zone` belongs into `locality`",
		"cluster_name: a\nendpoints: [{lb_endpoints: [{endpoint: {}, hostname: a.b}]}]\n": "`hostname` belongs into `endpoint`",
	} {
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("a.yaml", []byte(text), true)
		report := validate.Run(loaded.Resources, validate.Options{})
		i := slices.IndexFunc(report.Findings, func(f diag.Finding) bool { return f.Rule == "unknown-field" })
		if i < 0 || report.Findings[i].Hint != hint {
			t.Errorf("%s: %v, want %s", text, report.Findings, hint)
		}
	}
}
