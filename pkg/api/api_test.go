package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/edsctl/edsctl/pkg/api/apitest"
	apiv2 "github.com/edsctl/edsctl/pkg/api/envoy/api/v2"
	apiv3alpha "github.com/edsctl/edsctl/pkg/api/envoy/api/v3alpha"
	discoveryv3alpha "github.com/edsctl/edsctl/pkg/api/envoy/service/discovery/v3alpha"
)

// roots are the messages from which all others of the API are reached.
var roots = []struct{ v3alpha, v2 proto.Message }{
	{&apiv3alpha.ClusterLoadAssignment{}, &apiv2.ClusterLoadAssignment{}},
	{&apiv3alpha.DiscoveryRequest{}, &apiv2.DiscoveryRequest{}},
	{&apiv3alpha.DiscoveryResponse{}, &apiv2.DiscoveryResponse{}},
	{&apiv3alpha.DeltaDiscoveryRequest{}, &apiv2.DeltaDiscoveryRequest{}},
	{&apiv3alpha.DeltaDiscoveryResponse{}, &apiv2.DeltaDiscoveryResponse{}},
}

// TestTables compares all that there is with the columns of api-versions.md, as transcribed in testdata. That the v2
// table is also what go-control-plane has is tested in apitest, where ours is not linked.
func TestTables(t *testing.T) {
	t.Parallel()
	var v3alpha, v2 []proto.Message
	for _, r := range roots {
		v3alpha, v2 = append(v3alpha, r.v3alpha), append(v2, r.v2)
	}
	for file, messages := range map[string][]proto.Message{"testdata/v3alpha.txt": v3alpha, "testdata/v2.txt": v2} {
		want, err := apitest.ReadTable(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, apitest.Describe(messages...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// TestSubsetOfV2 compares every message with its namesake in v2, mechanically: what both have is the same, and v2 has
// more only in the places that api-versions.md lists.
func TestSubsetOfV2(t *testing.T) {
	t.Parallel()
	c := comparison{seen: map[protoreflect.FullName]bool{}}
	for _, r := range roots {
		c.compare(r.v3alpha.ProtoReflect().Descriptor(), r.v2.ProtoReflect().Descriptor())
	}
	if len(c.differences) > 0 {
		t.Errorf("v3alpha differs from v2:\n%s", strings.Join(c.differences, "\n"))
	}
	slices.Sort(c.onlyV2)
	want := []string{
		"envoy.api.v2.core.Node.client_features",
		"envoy.api.v2.core.Node.extensions",
		"envoy.api.v2.core.Node.listening_addresses",
		"envoy.api.v2.core.Node.user_agent_build_version",
		"envoy.api.v2.core.Node.user_agent_name",
		"envoy.api.v2.core.Node.user_agent_version",
		"envoy.api.v2.core.Pipe.mode",
		"envoy.api.v2.endpoint.Endpoint.HealthCheckConfig.hostname",
		"envoy.api.v2.endpoint.Endpoint.hostname",
	}
	if diff := cmp.Diff(want, c.onlyV2); diff != "" {
		t.Errorf("only in v2 (-want +got):\n%s", diff)
	}
	if len(c.seen) != 26 {
		t.Errorf("compared %d messages and enums, want 26", len(c.seen))
	}
}

type comparison struct {
	seen                map[protoreflect.FullName]bool
	differences, onlyV2 []string
}

func (c *comparison) compare(a, v2 protoreflect.MessageDescriptor) {
	if c.seen[a.FullName()] || a.FullName() == v2.FullName() {
		return
	}
	c.seen[a.FullName()] = true
	for i := range a.Fields().Len() {
		fa := a.Fields().Get(i)
		fb := v2.Fields().ByNumber(fa.Number())
		if fb == nil {
			c.differ(fa, "not in v2")
			continue
		}
		for what, pair := range map[string][2]string{
			"name":      {string(fa.Name()), string(fb.Name())},
			"JSON name": {fa.JSONName(), fb.JSONName()},
			"kind":      {fa.Kind().String() + fa.Cardinality().String(), fb.Kind().String() + fb.Cardinality().String()},
			"oneof":     {apitest.OneofOf(fa), apitest.OneofOf(fb)},
			"rule":      {apitest.RuleOf(fa), apitest.RuleOf(fb)},
			"map":       {fmt.Sprint(fa.IsMap()), fmt.Sprint(fb.IsMap())},
		} {
			if pair[0] != pair[1] {
				c.differ(fa, fmt.Sprintf("%s %q, in v2 %q", what, pair[0], pair[1]))
			}
		}
		switch {
		case fa.Message() != nil && fb.Message() != nil:
			c.compare(fa.Message(), fb.Message())
		case fa.Enum() != nil && fb.Enum() != nil:
			c.seen[fa.Enum().FullName()] = true
			ea := strings.SplitN(apitest.EnumOf(fa.Enum()), " ", 3)[2]
			if eb := strings.SplitN(apitest.EnumOf(fb.Enum()), " ", 3)[2]; ea != eb {
				c.differ(fa, fmt.Sprintf("values %q, in v2 %q", ea, eb))
			}
		}
	}
	for i := range v2.Fields().Len() {
		if fb := v2.Fields().Get(i); a.Fields().ByNumber(fb.Number()) == nil {
			c.onlyV2 = append(c.onlyV2, string(fb.FullName()))
		}
	}
}

func (c *comparison) differ(fd protoreflect.FieldDescriptor, what string) {
	c.differences = append(c.differences, string(fd.FullName())+": "+what)
}

func TestServices(t *testing.T) {
	t.Parallel()
	const api = "envoy.api.v3alpha."
	tests := []struct {
		method, in, out string
		streams         bool
		post            string
	}{
		{method: api + "EndpointDiscoveryService.StreamEndpoints", in: "DiscoveryRequest", out: "DiscoveryResponse", streams: true},
		{method: api + "EndpointDiscoveryService.DeltaEndpoints", in: "DeltaDiscoveryRequest", out: "DeltaDiscoveryResponse", streams: true},
		{method: api + "EndpointDiscoveryService.FetchEndpoints", in: "DiscoveryRequest", out: "DiscoveryResponse", post: "/v3alpha/discovery:endpoints"},
		{method: "envoy.service.discovery.v3alpha.AggregatedDiscoveryService.StreamAggregatedResources", in: "DiscoveryRequest", out: "DiscoveryResponse", streams: true},
		{method: "envoy.service.discovery.v3alpha.AggregatedDiscoveryService.DeltaAggregatedResources", in: "DeltaDiscoveryRequest", out: "DeltaDiscoveryResponse", streams: true},
	}
	for _, tt := range tests {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(tt.method))
		if err != nil {
			t.Fatal(err)
		}
		m := d.(protoreflect.MethodDescriptor)
		if got := string(m.Input().FullName()); got != api+tt.in {
			t.Errorf("%s takes %s", tt.method, got)
		}
		if got := string(m.Output().FullName()); got != api+tt.out {
			t.Errorf("%s returns %s", tt.method, got)
		}
		if m.IsStreamingClient() != tt.streams || m.IsStreamingServer() != tt.streams {
			t.Errorf("%s streams: %t, %t, want %t", tt.method, m.IsStreamingClient(), m.IsStreamingServer(), tt.streams)
		}
		rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
		if rule.GetPost() != tt.post || (tt.post != "" && rule.GetBody() != "*") {
			t.Errorf("%s has the HTTP rule %v, want POST %q", tt.method, rule, tt.post)
		}
	}
	if got := len(apiv3alpha.EndpointDiscoveryService_ServiceDesc.Methods) + len(apiv3alpha.EndpointDiscoveryService_ServiceDesc.Streams); got != 3 {
		t.Errorf("EndpointDiscoveryService has %d methods, want 3", got)
	}
	if got := discoveryv3alpha.AggregatedDiscoveryService_StreamAggregatedResources_FullMethodName; got != "/envoy.service.discovery.v3alpha.AggregatedDiscoveryService/StreamAggregatedResources" {
		t.Errorf("full method name %q", got)
	}
}
