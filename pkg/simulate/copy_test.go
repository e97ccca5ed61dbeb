package simulate

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/selector"
)

// filled sets every field of a message (of a oneof the first), also one that a later API adds.
func filled[M proto.Message](m M) M {
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.ContainingOneof() != nil && r.WhichOneof(f.ContainingOneof()) != nil:
		case f.IsMap():
			value := r.NewField(f)
			value.Map().Mutable(protoreflect.ValueOfString("key").MapKey())
			r.Set(f, value)
		case f.IsList():
			r.Mutable(f).List().AppendMutable()
		case f.Kind() == protoreflect.MessageKind:
			r.Mutable(f)
		case f.Kind() == protoreflect.EnumKind:
			r.Set(f, protoreflect.ValueOfEnum(1))
		case f.Kind() == protoreflect.StringKind:
			r.Set(f, protoreflect.ValueOfString("text"))
		default:
			r.Set(f, protoreflect.ValueOfUint32(1))
		}
	}
	r.SetUnknown([]byte{0xa2, 0x1f, 0x00})
	return m
}

// TestEditable has a message with every field set, and sees that nothing is lost and the original does not change.
func TestEditable(t *testing.T) {
	t.Parallel()
	cla := filled(&endpointv3.ClusterLoadAssignment{})
	group := filled(cla.Endpoints[0])
	filled(group.LbEndpoints[0])
	before := proto.CloneOf(cla)
	got := editable(cla)
	if diff := cmp.Diff(before, got, protocmp.Transform()); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	e := editableEndpoint(got, 0, 0)
	if diff := cmp.Diff(before, got, protocmp.Transform()); diff != "" {
		t.Errorf("copy of the endpoint (-want +got):\n%s", diff)
	}
	e.HealthStatus, e.LoadBalancingWeight = corev3.HealthStatus_DRAINING, wrapperspb.UInt32(7)
	got.Policy.OverprovisioningFactor = wrapperspb.UInt32(7)
	if diff := cmp.Diff(before, cla, protocmp.Transform()); diff != "" {
		t.Errorf("the original changed (-want +got):\n%s", diff)
	}
}

// TestChangesLeaveTheResource applies each kind of change.
func TestChangesLeaveTheResource(t *testing.T) {
	t.Parallel()
	cla := filled(&endpointv3.ClusterLoadAssignment{})
	filled(filled(cla.Endpoints[0]).LbEndpoints[0])
	before := proto.CloneOf(cla)
	all, err := selector.Parse("all")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := applyChanges(&eds.Resource{Assignment: cla, Original: cla}, &Options{
		OverprovisioningFactor: new(uint32(7)),
		Changes: []Change{{Kind: SetHealth, Selector: all, Health: corev3.HealthStatus_DEGRADED}, {Kind: SetWeight, Selector: all, Weight: 9},
			{Kind: Fail, Selector: all}, {Kind: Unreachable, Selector: all}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, cla, protocmp.Transform()); diff != "" {
		t.Errorf("the original changed (-want +got):\n%s", diff)
	}
	e := changed.Assignment.Endpoints[0].LbEndpoints[0]
	if e.HealthStatus != corev3.HealthStatus_UNHEALTHY || e.GetLoadBalancingWeight().GetValue() != 9 || changed.Assignment.GetPolicy().GetOverprovisioningFactor().GetValue() != 7 {
		t.Errorf("changed: %v", changed.Assignment)
	}
	if changed.Original != proto.Message(changed.Assignment) || len(changed.unreachable) != 1 {
		t.Errorf("original %p, assignment %p, %d unreachable", changed.Original, changed.Assignment, len(changed.unreachable))
	}
}
