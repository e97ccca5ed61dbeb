package lint

import (
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

func TestEveryConstraintRowHasARule(t *testing.T) {
	produced := map[string]bool{"cluster-constraint": true}
	for key, id := range constraintRules {
		produced[id] = true
		message, field, _ := strings.Cut(key, ".")
		if !hasField((&endpointv3.ClusterLoadAssignment{}).ProtoReflect().Descriptor(), message, field, map[protoreflect.FullName]bool{}) {
			t.Errorf("%s is no field or oneof below ClusterLoadAssignment", key)
		}
	}
	for _, id := range subtreeRules {
		produced[id] = true
	}
	for _, r := range Rules() {
		if (r.Producer == ByPGV) != produced[r.ID] {
			t.Errorf("%s: producer is %s, has a row: %t", r.ID, r.Producer, produced[r.ID])
		}
	}
}

// hasField searches the messages reachable from d.
func hasField(d protoreflect.MessageDescriptor, message, field string, seen map[protoreflect.FullName]bool) bool {
	if seen[d.FullName()] {
		return false
	}
	seen[d.FullName()] = true
	name := protoreflect.Name(field)
	if string(d.Name()) == message && (d.Fields().ByName(name) != nil || d.Oneofs().ByName(name) != nil) {
		return true
	}
	for i := range d.Fields().Len() {
		if m := d.Fields().Get(i).Message(); m != nil && hasField(m, message, field, seen) {
			return true
		}
	}
	return false
}

func TestConstraints(t *testing.T) {
	const socket = `{"endpoint": {"address": {"socket_address": {"address": "192.0.2.1", "port_value": 80}}}`
	tests := []struct {
		name, input string
		want        []string // rule, path and message
	}{
		{"good", `{"cluster_name": "c", "endpoints": [{"lb_endpoints": [` + socket + `}]}]}`, nil},
		{
			"all, not the first only", `{"endpoints": [{"priority": 129, "load_balancing_weight": 0}]}`,
			[]string{
				"cla-cluster-name-empty at cluster_name: cluster_name must not be empty",
				"locality-weight-zero at endpoints[0].load_balancing_weight: load_balancing_weight is 0, but its value must be greater than or equal to 1",
				"locality-priority-too-large at endpoints[0].priority: priority is 129, but its value must be less than or equal to 128",
			},
		},
		{
			"required oneof", `{"cluster_name": "c", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {}}}]}]}`,
			[]string{"address-oneof-unset at endpoints[0].lb_endpoints[0].endpoint.address: one of socket_address, pipe, envoy_internal_address must be set"},
		},
		{
			"key of a map", `{"cluster_name": "c", "endpoints": [{"metadata": {"filter_metadata": {"": {}}}}]}`,
			[]string{"metadata-empty-key at endpoints[0].metadata.filter_metadata[]: filter_metadata must not be empty"},
		},
		{
			"value of a map", `{"cluster_name": "c", "named_endpoints": {"b": {"address": {"pipe": {}}}}}`,
			[]string{"named-endpoints-invalid at named_endpoints[b].address.pipe.path: path must not be empty"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := &endpointv3.ClusterLoadAssignment{}
			if err := protojson.Unmarshal([]byte(tt.input), a); err != nil {
				t.Fatal(err)
			}
			c := &Context{Resource: &eds.Resource{Assignment: a, Original: a}, Source: eds.FromFile, EnvoyVersion: 40, Getenv: func(string) string { return "" }}
			var got []string
			Constraints(c, func(p diag.Problem) { got = append(got, p.Rule+" at "+p.Path.String()+": "+p.Message) })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConstraintsOfCluster: Envoy checks the fields of a cluster as they are declared, with load_assignment in their midst.
func TestConstraintsOfCluster(t *testing.T) {
	t.Parallel()
	a := &endpointv3.ClusterLoadAssignment{ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{{Priority: 129}}}
	cluster := &clusterv3.Cluster{HealthChecks: []*corev3.HealthCheck{{}}}
	c := &Context{
		Resource: &eds.Resource{Assignment: a, Original: a, Shape: eds.ShapeBootstrap}, Cluster: &eds.Cluster{Message: cluster, Index: 2},
		Source: eds.FromBootstrap, EnvoyVersion: 40, Getenv: func(string) string { return "" },
	}
	var got []string
	Constraints(c, func(p diag.Problem) {
		if frame := "StaticResourcesValidationError.Clusters[2]: "; !strings.Contains(p.Envoy.Message, frame) {
			t.Errorf("%s: %q lacks %q", p.Path, p.Envoy.Message, frame)
		}
		if len(got) == 0 || got[len(got)-1] != p.Path[:2].String() {
			got = append(got, p.Path[:2].String())
		}
	})
	want := []string{"cluster.name", "endpoints[0]", "cluster.health_checks"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

// TestWeightInDump: a config dump writes 0 for a weight that is not set.
func TestWeightInDump(t *testing.T) {
	t.Parallel()
	for shape, want := range map[eds.Shape]int{eds.ShapeConfigDump: 0, eds.ShapeAssignment: 1} {
		a := &endpointv3.ClusterLoadAssignment{ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{{LoadBalancingWeight: wrapperspb.UInt32(0)}}}
		c := &Context{Resource: &eds.Resource{Assignment: a, Original: a, Shape: shape}, Source: eds.FromFile, EnvoyVersion: 40, Getenv: func(string) string { return "" }}
		found := 0
		Constraints(c, func(diag.Problem) { found++ })
		if found != want {
			t.Errorf("%s: %d violations, want %d", shape, found, want)
		}
	}
}

func TestDurationError(t *testing.T) {
	tests := []struct {
		name string
		d    *durationpb.Duration
		want string
	}{
		{"absent", nil, ""},
		{"good", &durationpb.Duration{Seconds: 1}, ""},
		{"negative nanoseconds", &durationpb.Duration{Nanos: -1}, "Expected positive duration"},
		{"the most that Envoy takes", &durationpb.Duration{Seconds: 9223372035, Nanos: 999999999}, ""},
		{"one more", &durationpb.Duration{Seconds: 9223372036}, "Duration out-of-range: "},
		{"too many nanoseconds", &durationpb.Duration{Nanos: 1000000000}, "Duration out-of-range according to Protobuf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := DurationError(tt.d)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
}

func TestParseIP(t *testing.T) {
	// Seen with Envoy 1.40 in --mode validate.
	good := []string{"192.0.2.1", "::1", "2001:DB8::A", "::ffff:192.0.2.1", "fe80::1%1", "fe80::1%lo", "fe80::1%01", "ff02::1%lo", "ff01::1%lo", "2001:db8::1%1", "::ffff:1.2.3.4%1", "192.0.2.1\x00x"}
	bad := []string{"", "1.2.3", "192.0.02.1", "0xC0.0.2.1", " 192.0.2.1", "192.0.2.0/24", "web.example", "[2001:db8::1]", "fe80::1%nosuchif", "fe80::1%", "2001:db8::1%lo", "ff05::1%lo", "1.2.3.4%1", "fe80::1%4294967296", "fe80::1%+1", "2001:db8::00001"}
	for _, text := range slices.Concat(good, bad) {
		if _, ok := parseIP(text); ok != slices.Contains(good, text) {
			t.Errorf("parseIP(%q) is %t", text, ok)
		}
	}
}

func TestCollectionNameError(t *testing.T) {
	tests := map[string]string{
		"xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x/*":                       "",
		"xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x#entry=b,alt=xdstp://b/c": "",
		"":          " does not have a xdstp:, http: or file: scheme",
		"xdstp":     "xdstp does not have a xdstp:, http: or file: scheme",
		"https://a": "https://a does not have a xdstp:, http: or file: scheme",
		"http://a":  "Unsupported code path",
		"xdstp://a": "Resource type missing from /",
		"xdstp://a/envoy.config.cluster.v3.Cluster/x":           "xdstp:// type does not match envoy.config.endpoint.v3.LbEndpoint in xdstp://a/envoy.config.cluster.v3.Cluster/x",
		"xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x#foo=1": "Unknown fragment component foo=1",
		"file:///nonexistent/x":                                 "paths must refer to an existing path in the system: '/nonexistent/x' does not exist",
	}
	for name, want := range tests {
		if got := collectionNameError(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestFloatText(t *testing.T) {
	tests := map[float32]string{2: "2", 1.01: "1.01", 1.000001: "1.000001", 4294967295.0 / 1e6: "4294.9673", 42949672.95: "4.294967e+07", 1e6: "1000000"}
	for f, want := range tests {
		if got := floatText(f); got != want {
			t.Errorf("floatText(%v) is %q, want %q", f, got, want)
		}
	}
}
