package validate_test

import (
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// TestFoundCopies has JSON with keys that occur twice, and what Envoy 1.40.0 said of it, "" where it took it: it goes on
// with the message or the list that it has, but what an object sets replaces what a copy of that object set before.
func TestFoundCopies(t *testing.T) {
	t.Parallel()
	const (
		multiple  = "Cluster drop_overloads config has 2 categories. Envoy only support one."
		malformed = "malformed IP address: x. "
		local     = "local cluster 'nope' must be defined"
		invalid   = "Proto constraint validation failed (ClusterLoadAssignmentValidationError."
		socket    = `{"address": {"socket_address": {"address": "x", "port_value": 80}}}`
		bad       = `{"name": "x", "type": "STATIC", "load_assignment": {"cluster_name": "a", "endpoints": [{"lb_endpoints": [{"endpoint": ` + socket + `}]}]}}`
		good      = `{"name": "a", "type": "STATIC", "load_assignment": {"cluster_name": "a"}}`
		static    = `, "static_resources": {"clusters": [` + good + `]}}`
		eds1      = `, "static_resources": {"clusters": [{"name": "a", "type": "EDS", "eds_cluster_config": {"eds_config": {"path_config_source": {"path": "/dev/null"}}}}]}}`
	)
	resource := func(name, fields string) string {
		return `{"@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment", "cluster_name": "` + name + `"` + fields + `}`
	}
	assignment := func(fields string) string { return `{"resources": [` + resource("v", ", "+fields) + `]}` }
	tests := []struct{ file, text, says string }{
		{"eds.json", assignment(`"policy": {"drop_overloads": [{"category": "a"}]}, "policy": {"drop_overloads": [{"category": "b"}]}`), ""},
		{"eds.json", assignment(`"policy": {"drop_overloads": [{"category": "a"}, {"category": "b"}]}, "policy": {"drop_overloads": []}`), multiple},
		{"eds.json", assignment(`"policy": {"drop_overloads": [{"category": "a"}], "drop_overloads": [{"category": "b"}]}`), multiple},
		{"eds.json", assignment(`"policy": {"overprovisioning_factor": 0}, "policy": {"drop_overloads": [{"category": "b"}]}`), invalid + "Policy"},
		{"eds.json", assignment(`"policy": {"overprovisioning_factor": 0}, "policy": {"overprovisioning_factor": 5}`), ""},
		{"eds.json", assignment(`"endpoints": [{"metadata": {"filter_metadata": {"": {"a": 1}}}, "metadata": {"filter_metadata": {"x": {}}}}]`), ""},
		{"eds.json", assignment(`"endpoints": [{"metadata": {"filter_metadata": {"": {"a": 1}}, "filter_metadata": {"x": {}}}}]`), invalid + "Endpoints[0]"},
		{"eds.json", assignment(`"endpoints": [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": {"address": "x", "port_value": 80}}, "address": {"socket_address": {"address": "192.0.2.1"}}}}]}]`), invalid + "Endpoints[0]"},
		{"eds.json", `{"resources": [` + resource("v", "") + `], "resources": [` + resource("v", "") + `]}`, "Unexpected EDS resource length: 2"},
		{"eds.json", `{"resources": [` + resource("", "") + `], "resources": [` + resource("v", "") + `]}`, invalid + "ClusterName"},
		{"eds.json", `{"resources": ` + resource("v", "") + `, "resources": []}`, ""},

		{"bootstrap.json", `{"static_resources": {"clusters": [` + bad + `]}, "static_resources": {"clusters": [` + good + `]}}`, ""},
		{"bootstrap.json", `{"static_resources": {"clusters": [` + good + `]}, "static_resources": {"clusters": [` + bad + `]}}`, malformed},
		{"bootstrap.json", `{"static_resources": {"clusters": [` + bad + `]}, "static_resources": {"listeners": []}}`, malformed},
		{"bootstrap.json", `{"static_resources": {"clusters": [{"name": "a", "type": "STATIC", "load_assignment": {"endpoints": [{"lb_endpoints": [{"endpoint": ` + socket + `}]}]}, "load_assignment": {"cluster_name": "b"}}]}}`, malformed},
		{"bootstrap.json", `{"static_resources": {"clusters": [{"name": "a", "type": "STATIC", "load_assignment": {"endpoints": []}, "load_assignment": {"cluster_name": "b"}}]}}`, ""},
		{"bootstrap.json", `{"cluster_manager": {"local_cluster_name": "nope"}, "cluster_manager": {}` + static, local},
		{"bootstrap.json", `{"cluster_manager": {"local_cluster_name": "nope"}, "cluster_manager": {"local_cluster_name": "a"}` + static, ""},
		{"bootstrap.json", `{"node": {"id": "i"}, "node": {"cluster": "c"}` + eds1, ""},
		{"bootstrap.json", `{"node": {"id": "i", "cluster": "c"}, "node": {}` + eds1, ""},
		{"bootstrap.json", `{"node": {"id": "i"}, "node": {"cluster": ""}` + eds1, "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment: node 'id' and 'cluster' are required. "},
	}
	for _, tt := range tests {
		loaded := eds.NewLoader(eds.Options{}).Load(tt.file, []byte(tt.text), true)
		report := validate.Run(loaded.Resources, validate.Options{})
		if len(report.Resources) == 0 {
			t.Errorf("%s: no resource", tt.text)
			continue
		}
		got := report.Resources[0].Verdicts[diag.Envoy]
		if tt.says == "" && got.Kind != diag.Accept || tt.says != "" && (got.Kind != diag.Rejected || !strings.HasPrefix(got.Message, tt.says)) {
			t.Errorf("%s: %s by %s: %s, want %q", tt.text, got.Kind, got.Rule, got.Message, tt.says)
		}
	}
}

// TestFoundOtherTypes has types of resources with the keys of an assignment, and what Envoy 1.40.0 said of the EDS file.
func TestFoundOtherTypes(t *testing.T) {
	t.Parallel()
	const unpack = "Unable to unpack as envoy.config.endpoint.v3.ClusterLoadAssignment: "
	for name, says := range map[string]string{
		"google.protobuf.Empty":                          unpack,
		"envoy.config.endpoint.v3.LbEndpoint":            unpack,
		"envoy.config.bootstrap.v3.Bootstrap":            unpack,
		"envoy.service.discovery.v3.DiscoveryResponse":   unpack,
		"envoy.config.endpoint.v3.ClusterLoadAssignment": "",
		"google.protobuf.Struct": "in eds.yaml, Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.service.discovery.v3.DiscoveryResponse @ resources[0].<any>: " +
			"message google.protobuf.Struct, near <pos>: fields in a well-known-typed Any must be @type or value)",
		"envoy.config.endpoint.v3.ClusterLoadAssignments": "in eds.yaml, Unable to parse JSON as proto (INVALID_ARGUMENT: could not find @type 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignments')",
	} {
		text := "resources:\n- \"@type\": type.googleapis.com/" + name + "\n  cluster_name: v\n"
		loaded := eds.NewLoader(eds.Options{}).Load("eds.yaml", []byte(text), true)
		report := validate.Run(loaded.Resources, validate.Options{})
		if len(report.Resources) != 1 {
			t.Errorf("%s: %d resources", name, len(report.Resources))
			continue
		}
		got := report.Resources[0].Verdicts[diag.Envoy]
		if says == "" && got.Kind != diag.Accept || !strings.HasPrefix(got.Message, says) {
			t.Errorf("%s: %s by %s: %s, want %q", name, got.Kind, got.Rule, got.Message, says)
		}
	}
}
