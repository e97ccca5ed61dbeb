package eds

import (
	"fmt"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/edsctl/edsctl/pkg/diag"
)

// load reads one input that is expected to hold one resource.
func load(t *testing.T, o Options, name, text string) *Resource {
	t.Helper()
	f := NewLoader(o).Load(name, []byte(text), true)
	if len(f.Resources) != 1 {
		t.Fatalf("%d resources, want 1", len(f.Resources))
	}
	return f.Resources[0]
}

// brief writes problems as "line:column rule path".
func brief(ps []diag.Problem) []string {
	out := []string{}
	for _, p := range ps {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Span.Start, p.Rule, p.Path)))
	}
	return out
}

// TestDecodeLeniently reads values as Envoy does that strict readers refuse; each is one vector of its own somewhere in
// testdata/vectors, here what becomes of them.
func TestDecodeLeniently(t *testing.T) {
	t.Parallel()
	const endpoint = "endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}"
	tests := []struct {
		name, text string
		want       string // text proto
		problems   []string
		hard       bool
	}{
		{
			name: "octal and hexadecimal", text: "cluster_name: c\nendpoints: [{priority: 010, load_balancing_weight: 0x10}]",
			want:     `cluster_name: "c" endpoints {priority: 8 load_balancing_weight {value: 16}}`,
			problems: []string{"2:24 json-lenient endpoints[0].priority"},
		},
		{
			name: "numbers in strings", text: `{cluster_name: c, endpoints: [{priority: "1e0", load_balancing_weight: "0x10"}]}`,
			want:     `cluster_name: "c" endpoints {priority: 1 load_balancing_weight {value: 16}}`,
			problems: []string{"1:72 json-lenient endpoints[0].load_balancing_weight"},
		},
		{
			name: "a wrapper as a message", text: "cluster_name: c\nendpoints:\n- load_balancing_weight: {value: 30}",
			want:     `cluster_name: "c" endpoints {load_balancing_weight {value: 30}}`,
			problems: []string{"3:26 json-lenient endpoints[0].load_balancing_weight"},
		},
		{
			name: "one element without its list", text: "cluster_name: c\nendpoints: {priority: 1}",
			want:     `cluster_name: "c" endpoints {priority: 1}`,
			problems: []string{"2:12 json-lenient endpoints"},
		},
		{
			name: "lists in lists and null", text: "cluster_name: c\nendpoints: [[{priority: 1}, [{priority: 2}]], ~, {priority: 3}]",
			want:     `cluster_name: "c" endpoints {priority: 1} endpoints {priority: 2} endpoints {} endpoints {priority: 3}`,
			problems: []string{"2:13 json-lenient endpoints[0]", "2:29 json-lenient endpoints[1]", "2:47 json-lenient endpoints[2]"},
		},
		{
			name: "enums in any case and by number", text: "cluster_name: c\nendpoints: [{lb_endpoints: [{health_status: draining}, {health_status: \"2\"}, {health_status: 99}]}]",
			want:     `cluster_name: "c" endpoints {lb_endpoints {health_status: DRAINING} lb_endpoints {health_status: UNHEALTHY} lb_endpoints {health_status: 99}}`,
			problems: []string{"2:45 enum-case endpoints[0].lb_endpoints[0].health_status"},
		},
		{
			name: "an unknown enum name is lost", text: "cluster_name: c\nendpoints: [{lb_endpoints: [{health_status: BOGUS}]}]",
			want:     `cluster_name: "c" endpoints {lb_endpoints {}}`,
			problems: []string{"2:45 enum-name-unknown endpoints[0].lb_endpoints[0].health_status"},
		},
		{
			name: "booleans of yaml-cpp", text: "cluster_name: c\nendpoints: [{lb_endpoints: [{endpoint: {health_check_config: {disable_active_health_check: on}}}]}]",
			want:     `cluster_name: "c" endpoints {lb_endpoints {endpoint {health_check_config {disable_active_health_check: true}}}}`,
			problems: []string{"2:92 yaml-boolean endpoints[0].lb_endpoints[0].endpoint.health_check_config.disable_active_health_check"},
		},
		{
			name: "the last of equal keys counts", text: "cluster_name: a\nendpoints: []\ncluster_name: c",
			want: `cluster_name: "c"`, problems: []string{"3:1 duplicate-key"},
		},
		{
			name: "JSON merges equal keys", text: `{"cluster_name": "c", "policy": {"overprovisioning_factor": 1}, "policy": {"weighted_priority_health": true}}`,
			want: `cluster_name: "c" policy {overprovisioning_factor {value: 1} weighted_priority_health: true}`, problems: []string{"1:65 duplicate-key"},
		},
		{
			name: "three equal keys of JSON", text: `{"cluster_name": "a", "cluster_name": "b", "cluster_name": "c"}`,
			want: `cluster_name: "c"`, problems: []string{"1:23 duplicate-key", "1:44 duplicate-key"},
		},
		{
			name: "an ignored entry", text: "!ignore endpoints: &e [{priority: 3}]\ncluster_name: c\nendpoints: *e",
			want: `cluster_name: "c" endpoints {priority: 3}`,
		},
		{
			name: "!ignore on a value does nothing", text: "cluster_name: !ignore c",
			want: `cluster_name: "c"`, problems: []string{"1:23 ignore-tag-misplaced"},
		},
		{
			name: "no merge keys", text: "cluster_name: c\nendpoints:\n- &a {priority: 1}\n- {<<: *a}",
			want: `cluster_name: "c" endpoints {priority: 1} endpoints {}`, problems: []string{"4:4 merge-key endpoints[1].<<"},
		},
		{
			name: "scalars of the wrong type", text: "cluster_name: on\nendpoints: [{locality: {zone: 007}, priority: x}]",
			want: `endpoints {locality {}}`, hard: true,
			problems: []string{"1:15 yaml-scalar-type cluster_name", "2:31 yaml-scalar-type endpoints[0].locality.zone", "2:47 value-type endpoints[0].priority"},
		},
		{
			name: "large numbers and fractions are strings", text: "cluster_name: 3000000000\nendpoints: [{locality: {zone: 1.5, region: 0xFFFFFFFF}}]",
			want:     `cluster_name: "3000000000" endpoints {locality {zone: "1.5" region: "4294967295"}}`,
			problems: []string{"2:44 json-lenient endpoints[0].locality.region"},
		},
		{
			name: "unknown fields with the field that was meant", text: "cluster_name: c\nendpoints:\n- lb_endpoints:\n  - {" + endpoint + ", load_balancing_wieght: 3}",
			want:     `cluster_name: "c" endpoints {lb_endpoints {endpoint {address {socket_address {address: "192.0.2.1" port_value: 80}}}}}`,
			problems: []string{"4:83 unknown-field endpoints[0].lb_endpoints[0].load_balancing_wieght"},
		},
		{
			name: "both members of a oneof", text: "cluster_name: c\nendpoints: [{lb_endpoints: [{endpoint_name: x, endpoint: {hostname: h}}]}]",
			want: `cluster_name: "c" endpoints {lb_endpoints {endpoint {hostname: "h"}}}`, hard: true,
			problems: []string{"2:48 oneof-set-twice endpoints[0].lb_endpoints[0].endpoint"},
		},
		{
			name: "durations", text: "cluster_name: c\npolicy: {endpoint_stale_after: -0.5s}",
			want: `cluster_name: "c" policy {endpoint_stale_after {nanos: -500000000}}`,
		},
		{
			name: "no duration", text: "cluster_name: c\npolicy: {endpoint_stale_after: 1m}",
			want: `cluster_name: "c" policy {endpoint_stale_after {}}`, hard: true,
			problems: []string{"2:32 value-type policy.endpoint_stale_after"},
		},
		{
			name: "a Struct of all kinds", text: "cluster_name: c\nendpoints: [{metadata: {filter_metadata: {a: {s: x, n: 1, f: 1.5, b: yes, z: ~, l: [1, a], o: {k: v}}}}}]",
			want: `cluster_name: "c" endpoints {metadata {filter_metadata {key: "a" value {
				fields {key: "s" value {string_value: "x"}} fields {key: "n" value {number_value: 1}} fields {key: "f" value {string_value: "1.5"}}
				fields {key: "b" value {bool_value: true}} fields {key: "z" value {null_value: NULL_VALUE}}
				fields {key: "l" value {list_value {values {number_value: 1} values {string_value: "a"}}}}
				fields {key: "o" value {struct_value {fields {key: "k" value {string_value: "v"}}}}}}}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := load(t, Options{Shape: ShapeAssignment}, "a.yaml", tt.text)
			if strings.HasPrefix(tt.text, `{"`) {
				res = load(t, Options{Shape: ShapeAssignment}, "a.json", tt.text)
			}
			var want endpointv3.ClusterLoadAssignment
			if err := prototext.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, res.Assignment, protocmp.Transform()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if tt.problems == nil {
				tt.problems = []string{}
			}
			if diff := cmp.Diff(tt.problems, brief(res.Problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if res.Unreadable != tt.hard {
				t.Errorf("unreadable %t, want %t", res.Unreadable, tt.hard)
			}
		})
	}
}

// TestEnvoyTexts pins the texts of the JSON reader with the path of the document that Envoy gets.
func TestEnvoyTexts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		source Source
		shape  Shape
		text   string
		want   string
	}{
		{
			name: "file", source: FromFile, shape: ShapeAssignment, text: "clusterName: [c]",
			want: `in a.yaml, Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.service.discovery.v3.DiscoveryResponse @ resources[0].<any>.clusterName: string, near <pos>: unexpected character: '['; expected '"')`,
		},
		{
			name: "REST", source: FromREST, shape: ShapeAssignment, text: "cluster_name: c\nendpoints: [{}, {priority: true}]",
			want: `Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.service.discovery.v3.DiscoveryResponse @ resources[0].<any>.endpoints[1].priority: uint32, near <pos>: expected number or string)`,
		},
		{
			name: "bare in a bootstrap", source: FromBootstrap, shape: ShapeAssignment, text: "cluster_name: c\npolicy: []",
			want: `Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap @ static_resources.clusters[0].load_assignment.policy: message envoy.config.endpoint.v3.ClusterLoadAssignment.Policy, near <pos>: unexpected character: '['; expected '{')`,
		},
		{
			name: "bootstrap", shape: ShapeBootstrap, text: "staticResources: {clusters: [{}, {name: c, load_assignment: {cluster_name: 1}}]}",
			want: `Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap @ staticResources.clusters[1].load_assignment.cluster_name: string, near <pos>: unexpected character: '1'; expected '"')`,
		},
		{
			name: "a Struct", source: FromREST, shape: ShapeAssignment, text: "cluster_name: c\nendpoints: [{metadata: {filter_metadata: {envoy.lb: 1}}}]",
			want: `Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.service.discovery.v3.DiscoveryResponse @ resources[0].<any>.endpoints[0].metadata.filter_metadata[0].<struct>: message google.protobuf.Struct.FieldsEntry, near <pos>: unexpected character: '1'; expected '{')`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := NewLoader(Options{Source: tt.source, Shape: tt.shape}).Load("a.yaml", []byte(tt.text), true)
			res := f.Resources[len(f.Resources)-1]
			if len(res.Problems) != 1 {
				t.Fatalf("problems: %v", brief(res.Problems))
			}
			if diff := cmp.Diff(tt.want, res.Problems[0].Envoy.Message); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestManyKeys finds equal keys and both spellings of a field in mappings so large that keys are looked up, as in small
// ones.
func TestManyKeys(t *testing.T) {
	for _, n := range []int{1, manyKeys - 2, manyKeys - 1, manyKeys, 3 * manyKeys} {
		var many strings.Builder
		for i := range n {
			fmt.Fprintf(&many, "key%d: 1\n", i)
		}
		for _, tt := range []struct {
			before, after string
			want          []string // the rule of the problem with each line of after
		}{
			{"cluster_name: a", "key0: 2\nkey0: 3", []string{"duplicate-key", "duplicate-key"}},
			{"cluster_name: a", "cluster_name: b", []string{"duplicate-key"}},
			{"cluster_name: a", "clusterName: b", []string{"field-both-spellings"}},
		} {
			var got []string
			for _, p := range load(t, Options{}, "a.yaml", tt.before+"\n"+many.String()+tt.after).Problems {
				if p.Rule != "unknown-field" {
					got = append(got, fmt.Sprintf("%d %s", p.Span.Start.Line-n-1, p.Rule))
				}
			}
			var want []string
			for i, rule := range tt.want {
				want = append(want, fmt.Sprintf("%d %s", i+1, rule))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q among %d keys (-want +got):\n%s", tt.after, n, diff)
			}
		}
	}
}
