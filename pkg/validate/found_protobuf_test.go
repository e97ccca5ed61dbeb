package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// textBootstrap is a bootstrap in text proto, with a listener of a type that edsctl does not link.
const textBootstrap = `node: {
  id: "nod"
  cluster: "c"
  locality: { zone: "a" }
}
static_resources: {
  listeners: {
    name: "l"
    filter_chains: {
      filters: {
        name: "envoy.filters.network.tcp_proxy"
        typed_config: {
          [type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy]: {
            stat_prefix: "a"
            cluster: "one"
          }
        }
      }
    }
  }
  clusters: {
    name: "one"
    type: STATIC
    connect_timeout: { seconds: 1 }
    load_assignment: {
      cluster_name: "one"
      endpoints: {
        lb_endpoints: { endpoint: { address: { socket_address: { address: "192.0.2.1" port_value: 80 } } } }
      }
    }
  }
}
admin: {}
`

// TestFoundText has bootstraps in text proto and what Envoy 1.40 said of them.
func TestFoundText(t *testing.T) {
	t.Parallel()
	instead := func(old, new string) string { return strings.Replace(textBootstrap, old, new, 1) }
	const constraint = "Proto constraint validation failed (BootstrapValidationError.StaticResources: embedded message failed validation | " +
		"caused by StaticResourcesValidationError.Clusters[0]: embedded message failed validation | caused by ClusterValidationError."
	tests := []struct {
		name, text string
		rule, at   string // of what Envoy refuses; both empty: it accepts
		message    string // empty: it cannot parse the file
	}{
		{name: "as it is", text: textBootstrap},
		{name: "a comment first", text: "# hello\n" + textBootstrap},
		{name: "angle brackets", text: strings.NewReplacer("admin: {}", "admin < >").Replace(textBootstrap)},
		{name: "lists", text: strings.NewReplacer("clusters: {", "clusters: [{", "  }\n}\nadmin", "  }]\n}\nadmin").Replace(textBootstrap)},
		{name: "separators", text: instead("type: STATIC", "type: STATIC,")},
		{name: "a string in two parts", text: instead(`id: "nod"`, `id: "n" 'od'`)},
		{name: "the number of an enum", text: instead("type: STATIC", "type: 0")},
		{name: "a reserved name", text: instead("type: STATIC", "type: STATIC hosts {}")},
		{name: "a reserved name in a policy", text: instead("cluster_name:", "policy { disable_overprovisioning: true } cluster_name:")},
		{name: "a reserved name of the bootstrap", text: textBootstrap + "runtime {}\n"},
		{name: "another prefix of a type", text: instead("type.googleapis.com/", "foo.bar/")},
		{name: "deep nesting", text: instead(`id: "nod"`, `id: "nod" metadata { fields { key: "a" value `+
			strings.Repeat("{ list_value { values ", 1100)+"{}"+strings.Repeat(" } }", 1100)+" } }")},
		{name: "slashes in the prefix of a type", text: instead("type.googleapis.com/", "a//b/")},
		{name: "a prefix of a type written as in URLs", text: instead("type.googleapis.com/", "a%2Fb/")},
		{name: "a prefix of a type with all that it may have", text: instead("type.googleapis.com/", "a.-~!$&()*+,;=_/")},
		{name: "a prefix of a type written as in no URL", text: instead("type.googleapis.com/", "a%2/"), rule: "syntax", at: "13:11"},
		{name: "no prefix of a type", text: instead("type.googleapis.com/", "/"), rule: "syntax", at: "13:11"},
		{name: "an empty list of strings without a colon", text: textBootstrap + "node_context_params []\n", rule: "syntax", at: "34:1"},
		{name: "bytes that are no UTF-8", text: instead(`"nod"`, "\"n\xffd\""), rule: "syntax", at: "2:7"},
		{name: "a NUL", text: instead(`"nod"`, "\"n\x00d\""), rule: "syntax", at: "2:7"},
		{name: "an unknown field of the bootstrap", text: textBootstrap + "foo: 1\n", rule: "syntax", at: "34:1"},
		{name: "an unknown field of a cluster", text: instead("type: STATIC", "type: STATIC foo: 1"), rule: "syntax", at: "23:18"},
		{name: "an unknown type", text: instead("v3.TcpProxy", "v3.TcpProxyy"), rule: "any-type-unknown", at: "13:11"},
		{name: "a field twice", text: instead("type: STATIC", "type: STATIC type: STATIC"), rule: "syntax", at: "23:18"},
		{name: "a message twice", text: textBootstrap + "node {}\n", rule: "syntax", at: "34:1"},
		{name: "two members of a oneof", text: instead("type: STATIC", `type: STATIC cluster_type {name: "x"}`), rule: "syntax", at: "23:18"},
		{name: "an unknown name of an enum", text: instead("STATIC", "STATICC"), rule: "syntax", at: "23:11"},
		{name: "an enum in lower case", text: instead("STATIC", "static"), rule: "syntax", at: "23:11"},
		{name: "an enum in quotes", text: instead("STATIC", `"STATIC"`), rule: "syntax", at: "23:11"},
		{name: "camel case", text: instead("connect_timeout", "connectTimeout"), rule: "syntax", at: "24:5"},
		{name: "a number for a name", text: instead("type: STATIC", "2: 0"), rule: "syntax", at: "23:5"},
		{name: "an extension", text: instead("type: STATIC", "type: STATIC [foo.bar]: 1"), rule: "syntax", at: "23:18"},
		{name: "a scalar without a colon", text: instead("type: STATIC", "type STATIC"), rule: "syntax", at: "23:5"},
		{name: "a scalar for a message", text: instead("admin: {}", "admin: 5"), rule: "syntax", at: "33:8"},
		{name: "no end", text: textBootstrap[:len(textBootstrap)-len("}\nadmin: {}\n")], rule: "syntax", at: "32:1"},
		{name: "a string without an end", text: instead(`"nod"`, `"nod`), rule: "syntax", at: "2:7"},
		{name: "a number for an enum that it does not have", text: instead("STATIC", "77"), rule: "cluster-constraint", at: "23:11", message: constraint + "Type: value must be one of the defined enum values)"},
		{name: "a cluster without a name", text: instead("    name: \"one\"\n", ""), rule: "cluster-constraint", at: "21:13", message: constraint + "Name: value length must be at least 1 characters)"},
		{name: "a name for an address", text: instead("192.0.2.1", "web"), rule: "endpoint-not-ip", at: "28:75", message: "malformed IP address: web. Consider setting resolver_name or setting cluster type to 'STRICT_DNS' or 'LOGICAL_DNS'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			loaded := eds.NewLoader(eds.Options{}).Load("b.pb_text", []byte(tt.text), true)
			report := validate.Run(loaded.Resources, validate.Options{})
			got := report.Resources[0].Verdicts[diag.Envoy]
			if tt.rule == "" {
				if got.Kind != diag.Accept {
					t.Errorf("verdict %+v, want accept", got)
				}
				return
			}
			if tt.message == "" {
				tt.message = `Unable to parse file "b.pb_text" as a text protobuf (type envoy.config.bootstrap.v3.Bootstrap)`
			}
			if got.Kind != diag.Rejected || got.Rule != tt.rule || got.Message != tt.message {
				t.Errorf("verdict %+v, want %s: %s", got, tt.rule, tt.message)
			}
			for _, f := range report.Findings {
				if f.Rule == tt.rule && f.Span.Start.String() != tt.at {
					t.Errorf("%s is at %s, want %s: %s", f.Rule, f.Span.Start, tt.at, f.Message)
				}
			}
		})
	}
}

// TestFoundTextVersions: a field that an older Envoy does not have is a name that its reader of text proto does not know.
func TestFoundTextVersions(t *testing.T) {
	t.Parallel()
	const eds39 = `resources { [type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment] { cluster_name: "v" endpoints { lb_endpoints { endpoint { observability_name: "a" } } } } }`
	const says = `Unable to parse file "b.pb_text" as a text protobuf (type envoy.`
	for text, want := range map[string]string{
		textBootstrap + "enable_worker_cpu_affinity: true\n":                                  says + "config.bootstrap.v3.Bootstrap)",
		strings.Replace(textBootstrap, "type: STATIC", "type: STATIC queuing_policies {}", 1): says + "config.bootstrap.v3.Bootstrap)",
		eds39: "in b.pb_text, " + says + "service.discovery.v3.DiscoveryResponse)",
	} {
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 38}).Load("b.pb_text", []byte(text), true)
		got := validate.Run(loaded.Resources, validate.Options{EnvoyVersion: 38}).Resources[0].Verdicts[diag.Envoy]
		if got.Kind != diag.Rejected || got.Message != want {
			t.Errorf("%s\nverdict %+v, want %s", text, got, want)
		}
	}
}

// wire is a field that is a message or a string.
func wire(number protowire.Number, parts ...string) string {
	return string(protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), []byte(strings.Join(parts, ""))))
}

// TestFoundBinary has bootstraps in binary and what Envoy 1.40 said of them.
func TestFoundBinary(t *testing.T) {
	t.Parallel()
	second := "\x22\x02\x08\x01" // connect_timeout
	cluster := func(fields ...string) string { return wire(2, wire(2, fields...)) }
	node := wire(1, wire(1, "nod"), wire(2, "c"))
	base := node + wire(2, wire(1, wire(1, "l")), wire(2, wire(1, "one"), second, wire(33, wire(1, "one"), wire(2))))
	cut := func(field string, n int) string { // a bootstrap that ends so many bytes before the end of a field of its cluster
		whole := node + cluster(wire(1, "one"), second, field)
		return whole[:len(whole)-n]
	}
	const unknown = "Protobuf message (type envoy.config.%s with unknown field set {%s}) has unknown fields"
	const parents = "(envoy.config.bootstrap.v3.Bootstrap::envoy.config.bootstrap.v3.Bootstrap.StaticResources"
	tests := []struct {
		name, file, bytes string
		last              bool // the verdict of the last cluster is meant
		rule, message     string
	}{
		{name: "as it is", bytes: base},
		{name: "an extension in capitals", file: "b.PB", bytes: base},
		{name: "messages in two parts", bytes: base + cluster(wire(1, "two"), second, wire(33, wire(1, "two"), wire(2)), wire(33, wire(2))), last: true},
		{name: "cut off", bytes: base[:len(base)-1]},
		{name: "cut off in an entry of a map", bytes: cut(wire(36, wire(1, "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"), wire(2, wire(1, "a/b"), wire(2, "xyz"))), 2)},
		{
			name: "cut off behind the tag of an assignment", bytes: cut(wire(33, wire(1, "one")), 6), rule: "cla-cluster-name-empty",
			message: "Proto constraint validation failed (BootstrapValidationError.StaticResources: embedded message failed validation | caused by " +
				"StaticResourcesValidationError.Clusters[0]: embedded message failed validation | caused by ClusterValidationError.LoadAssignment: " +
				"embedded message failed validation | caused by ClusterLoadAssignmentValidationError.ClusterName: value length must be at least 1 characters)",
		},
		{name: "bytes that are no UTF-8", bytes: base + cluster(wire(1, "tw\xffo"), second, wire(33, wire(1, "two"))), last: true},
		{name: "an unknown field", bytes: base + wire(99, "x"), rule: "unknown-field", message: fmt.Sprintf(unknown, "bootstrap.v3.Bootstrap(root)", "99")},
		{name: "an unknown field, and cut off", bytes: wire(99, "x") + base[:len(base)-1], rule: "unknown-field", message: fmt.Sprintf(unknown, "bootstrap.v3.Bootstrap(root)", "99")},
		{name: "an unknown field of the static resources", bytes: wire(2, wire(9, "x")) + base, rule: "unknown-field", message: fmt.Sprintf(unknown, "bootstrap.v3.Bootstrap.StaticResources(envoy.config.bootstrap.v3.Bootstrap)", "9")},
		{
			name: "an unknown field of a cluster", bytes: base + cluster(wire(1, "two"), wire(1000, "x")), last: true,
			rule: "unknown-field", message: fmt.Sprintf(unknown, "cluster.v3.Cluster"+parents+")", "1000"),
		},
		{
			name: "an unknown field of an assignment", bytes: base + cluster(wire(1, "two"), second, wire(33, wire(1, "two"), wire(99, "zz"))), last: true,
			rule: "unknown-field", message: fmt.Sprintf(unknown, "endpoint.v3.ClusterLoadAssignment"+parents+"::envoy.config.cluster.v3.Cluster)", "99"),
		},
		{
			name: "disable_overprovisioning", bytes: base + cluster(wire(1, "two"), second, wire(33, wire(1, "two"), wire(4, "\x28\x01"))), last: true,
			rule: "disable-overprovisioning-removed",
			message: fmt.Sprintf(unknown, "endpoint.v3.ClusterLoadAssignment.Policy"+parents+
				"::envoy.config.cluster.v3.Cluster::envoy.config.endpoint.v3.ClusterLoadAssignment)", "5"),
		},
		{
			name: "a cluster without a name", bytes: base + cluster(second), last: true, rule: "cluster-constraint",
			message: "Proto constraint validation failed (BootstrapValidationError.StaticResources: embedded message failed validation | caused by " +
				"StaticResourcesValidationError.Clusters[1]: embedded message failed validation | caused by ClusterValidationError.Name: value length must be at least 1 characters)",
		},
		{name: "a cluster twice", bytes: base + cluster(wire(1, "one"), second), last: true, rule: "cluster-name-duplicate", message: "cluster manager: duplicate cluster 'one'"},
		{
			name: "read as JSON", file: "b.conf", bytes: base, rule: "file-extension-mismatch",
			message: "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap, near <pos>: unexpected character: '\x08'; expected '{')",
		},
		{
			name: "read as text proto", file: "b.pb_text", bytes: base, rule: "file-extension-mismatch",
			message: `Unable to parse file "b.pb_text" as a text protobuf (type envoy.config.bootstrap.v3.Bootstrap)`,
		},
		{
			name: "a response read as JSON", file: "eds.bin", bytes: wire(2, wire(1, "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"), wire(2, wire(1, "v"))),
			rule:    "file-extension-mismatch",
			message: "in eds.bin, Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.service.discovery.v3.DiscoveryResponse, near <pos>: unexpected character: '\x12'; expected '{')",
		},
		{
			name: "text proto read as JSON", file: "b.textpb", bytes: textBootstrap, rule: "file-extension-mismatch",
			message: "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap, near <pos>: unexpected character: 'n'; expected '{')",
		},
		{name: "text proto read as YAML", file: "b.yaml", bytes: textBootstrap, rule: "syntax", message: "yaml-cpp: error at line 3, column 3: end of map flow not found"},
		{name: "text proto read as binary", bytes: textBootstrap},
		{
			name: "text proto read as binary, in which it has fields", bytes: textBootstrap[strings.Index(textBootstrap, "static"):],
			rule: "file-extension-mismatch", message: fmt.Sprintf(unknown, "bootstrap.v3.Bootstrap(root)", "14, 12, 14"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.file == "" {
				tt.file = "b.pb"
			}
			loaded := eds.NewLoader(eds.Options{}).Load(tt.file, []byte(tt.bytes), true)
			all := validate.Run(loaded.Resources, validate.Options{}).Resources
			got := all[0].Verdicts[diag.Envoy]
			if tt.last {
				got = all[len(all)-1].Verdicts[diag.Envoy]
			}
			if tt.rule == "" && got.Kind != diag.Accept || tt.rule != "" && got.Kind != diag.Rejected {
				t.Errorf("verdict %+v", got)
			}
			if got.Rule != tt.rule || got.Message != tt.message {
				t.Errorf("verdict %+v, want %s: %s", got, tt.rule, tt.message)
			}
		})
	}
}
