package validate_test

import (
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// TestFoundTwice has JSON with messages that are there twice, and what Envoy 1.40 said of it.
func TestFoundTwice(t *testing.T) {
	t.Parallel()
	const (
		claURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
		good   = `{"lb_endpoints": [{"endpoint": {"address": {"socket_address": {"address": "192.0.2.1", "port_value": 80}}}}]}`
		bad    = `{"lb_endpoints": [{"load_balancing_weight": 0}]}`
		field  = "ClusterLoadAssignmentValidationError.Endpoints[0]: "
		factor = `"policy": {"overprovisioning_factor": 0}`
	)
	cluster := func(fields string) string {
		return `{"static_resources": {"clusters": [{"name": "v", ` + fields + "}]}}"
	}
	static := func(fields string) string {
		return `{"static_resources": {"clusters": [{"name": "v"}]}, ` + fields + "}"
	}
	resource := func(fields string) string {
		return `{"resources": [{"@type": "` + claURL + `", "cluster_name": "v", ` + fields + "}]}"
	}
	tests := []struct {
		name, text, rule, part string // part of the message; without a rule Envoy accepts
	}{
		{name: "a list replaces the one of the first copy", text: cluster(`"load_assignment": {"cluster_name": "v", "endpoints": [` + bad + `]}, "load_assignment": {"endpoints": [` + good + "]}")},
		{name: "and has its own indices", text: cluster(`"load_assignment": {"cluster_name": "v", "endpoints": [` + good + `]}, "load_assignment": {"endpoints": [` + bad + "]}"), rule: "endpoint-weight-zero", part: field},
		{name: "the other spelling is the same field", text: cluster(`"load_assignment": {"cluster_name": "v", "endpoints": [` + good + `]}, "loadAssignment": {"endpoints": [` + bad + "]}"), rule: "endpoint-weight-zero", part: field},
		{name: "the rest stays", text: cluster(`"load_assignment": {"endpoints": [` + bad + `]}, "load_assignment": {"cluster_name": "v"}`), rule: "endpoint-weight-zero", part: field},
		{name: "an empty list sets nothing", text: cluster(`"load_assignment": {"cluster_name": "v", "endpoints": [` + bad + `]}, "load_assignment": {"endpoints": []}`), rule: "endpoint-weight-zero", part: field},
		{name: "null sets nothing", text: cluster(`"load_assignment": {"cluster_name": "v", "endpoints": [` + bad + `]}, "load_assignment": null`), rule: "endpoint-weight-zero", part: field},
		{name: "an empty string is set", text: cluster(`"load_assignment": {"cluster_name": "v"}, "load_assignment": {"cluster_name": ""}`), rule: "cla-cluster-name-empty", part: "ClusterLoadAssignmentValidationError.ClusterName: "},
		{name: "a message replaces that of the first copy", text: cluster(`"load_assignment": {"cluster_name": "v", ` + factor + `}, "load_assignment": {"policy": {}}`)},
		{name: "three copies", text: cluster(`"load_assignment": {"cluster_name": "v", ` + factor + `}, "load_assignment": {"policy": {"overprovisioning_factor": 5}}, "load_assignment": {"policy": {}}`)},
		{name: "a message twice in one copy", text: cluster(`"load_assignment": {"cluster_name": "v", ` + factor + `, "policy": {"weighted_priority_health": true}}`), rule: "overprovisioning-factor-zero", part: "PolicyValidationError.OverprovisioningFactor: "},
		{name: "a list twice in one copy", text: cluster(`"load_assignment": {"cluster_name": "v", "endpoints": [` + good + `], "endpoints": [` + bad + "]}"), rule: "endpoint-weight-zero", part: "ClusterLoadAssignmentValidationError.Endpoints[1]: "},
		{name: "a duration", text: cluster(`"connect_timeout": "1.5s", "connect_timeout": "0s"`), rule: "cluster-constraint", part: "ClusterValidationError.ConnectTimeout: value must be greater than 0s"},
		{name: "a message in another", text: cluster(`"common_lb_config": {"healthy_panic_threshold": {"value": 500}}, "common_lb_config": {"healthy_panic_threshold": {}}`)},
		{name: "static resources", text: `{"static_resources": {"clusters": [{"name": "v"}]}, "static_resources": {"clusters": [{"name": "v"}]}}`},
		{name: "static resources without clusters", text: `{"static_resources": {"clusters": [{"name": ""}]}, "staticResources": {"clusters": []}}`, rule: "cluster-constraint", part: "ClusterValidationError.Name: "},
		{name: "clusters", text: `{"static_resources": {"clusters": [{"name": "v"}], "clusters": [{"name": "v"}]}}`, rule: "cluster-name-duplicate", part: "cluster manager: duplicate cluster 'v'"},
		{name: "the local cluster stays", text: static(`"cluster_manager": {"local_cluster_name": "x"}, "cluster_manager": {}`), rule: "local-cluster-unknown", part: "local cluster 'x' must be defined"},
		{name: "the local cluster is emptied", text: static(`"cluster_manager": {"local_cluster_name": "x"}, "cluster_manager": {"local_cluster_name": ""}`)},
		{
			name: "the node in two parts",
			text: `{"static_resources": {"clusters": [{"name": "v", "type": "EDS", "eds_cluster_config": {"eds_config": {"path_config_source": {"path": "/dev/null"}}}}]}, "node": {"id": "a"}, "node": {"cluster": "b"}}`,
		},
		{name: "a policy in an EDS file", text: resource(`"policy": {"drop_overloads": [{"category": "a"}]}, "policy": {"drop_overloads": [{"category": "b"}]}`)},
		{name: "drops in an EDS file", text: resource(`"policy": {"drop_overloads": [{"category": "a"}], "drop_overloads": [{"category": "b"}]}`), rule: "drop-overloads-multiple", part: "Cluster drop_overloads config has 2 categories."},
		{name: "resources", text: `{"resources": [{"@type": "` + claURL + `", "cluster_name": "v"}], "resources": [{"@type": "` + claURL + `", "cluster_name": "v"}]}`, rule: "resource-duplicate-name", part: "Unexpected EDS resource length: 2"},
		{name: "no more resources", text: `{"resources": [{"@type": "` + claURL + `", "cluster_name": "v", ` + factor + `}], "resources": []}`, rule: "overprovisioning-factor-zero", part: "PolicyValidationError.OverprovisioningFactor: "},
		{
			name: "the type of an Any of which the outline is known",
			text: cluster(`"typed_extension_protocol_options": {"h": {"@type": "a/envoy.extensions.upstreams.http.v3.HttpProtocolOptions", "@type": "a/envoy.extensions.upstreams.http.v3.HttpProtocolOptions"}}`), rule: "value-type",
			part: "static_resources.clusters[0].typed_extension_protocol_options[0]: message envoy.config.cluster.v3.Cluster.TypedExtensionProtocolOptionsEntry, near <pos>: repeated @type in Any)",
		},
		{
			name: "the type of an Any of which nothing is known",
			text: cluster(`"metadata": {"typed_filter_metadata": {"a": {"@type": "a/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", "@type": "a/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"}}}`), rule: "value-type",
			part: "repeated @type in Any)",
		},
		{name: "the type of an Any", text: resource(`"@type": "` + claURL + `"`), rule: "value-type", part: "DiscoveryResponse @ resources[0]: message google.protobuf.Any, near <pos>: repeated @type in Any)"},
		{
			name: "the type of an Any in another", text: resource(`"endpoints": {"metadata": {"typed_filter_metadata": {"a": {"@type": "type.googleapis.com/google.protobuf.Struct", "@type": "type.googleapis.com/google.protobuf.Struct"}}}}`),
			rule: "value-type", part: "metadata.typed_filter_metadata[0]: message envoy.config.core.v3.Metadata.TypedFilterMetadataEntry, near <pos>: repeated @type in Any)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			loaded := eds.NewLoader(eds.Options{}).Load("a.json", []byte(tt.text), true)
			all := validate.Run(loaded.Resources, validate.Options{}).Resources
			got := all[len(all)-1].Verdicts[diag.Envoy]
			if tt.rule == "" && got.Kind != diag.Accept || tt.rule != "" && got.Kind != diag.Rejected || got.Rule != tt.rule || !strings.Contains(got.Message, tt.part) {
				t.Errorf("verdict %+v, want %s: %s", got, tt.rule, tt.part)
			}
		})
	}
}
