package eds

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// plainMessage has every field that a plain assignment may have.
func plainMessage() *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{
		{
			Locality: &corev3.Locality{Region: "r", Zone: "z", SubZone: "s"}, LoadBalancingWeight: wrapperspb.UInt32(3), Priority: 2,
			LbEndpoints: []*endpointv3.LbEndpoint{
				{
					HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Hostname: "h", Address: socketAddress(&corev3.SocketAddress{
						Protocol: corev3.SocketAddress_UDP, Address: "192.0.2.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 80}, Ipv4Compat: true,
					})}},
					HealthStatus: corev3.HealthStatus_DRAINING, LoadBalancingWeight: wrapperspb.UInt32(1 << 31),
				},
				{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: socketAddress(&corev3.SocketAddress{
					Address: "é", PortSpecifier: &corev3.SocketAddress_NamedPort{NamedPort: "http"},
				})}}},
			},
		},
		{},
	}}
}

func socketAddress(s *corev3.SocketAddress) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: s}}
}

func marshalled(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPlainAssignment(t *testing.T) {
	first := func(m *endpointv3.ClusterLoadAssignment) *endpointv3.LbEndpoint {
		return m.GetEndpoints()[0].GetLbEndpoints()[0]
	}
	tests := []struct {
		name  string
		bytes func() []byte
		want  bool
	}{
		{"every plain field", func() []byte { return marshalled(t, plainMessage()) }, true},
		{"nothing", func() []byte { return nil }, true},
		{"a policy", func() []byte {
			m := plainMessage()
			m.Policy = &endpointv3.ClusterLoadAssignment_Policy{}
			return marshalled(t, m)
		}, false},
		{"metadata", func() []byte {
			m := plainMessage()
			first(m).Metadata = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"a": {}}}
			return marshalled(t, m)
		}, false},
		{"an endpoint without an address", func() []byte {
			m := plainMessage()
			first(m).GetEndpoint().Address = nil
			return marshalled(t, m)
		}, false},
		{"a pipe", func() []byte {
			m := plainMessage()
			first(m).GetEndpoint().Address.Address = &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: "/p"}}
			return marshalled(t, m)
		}, false},
		{"a number out of the range of its type", func() []byte { // a varint of 64 bits, of which 32 count
			b := protowire.AppendTag(nil, 5, protowire.VarintType)
			group := protowire.AppendVarint(b, 1<<40|7)
			return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), group)
		}, true},
		{"a field that comes twice", func() []byte {
			return append(marshalled(t, plainMessage()), protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "d")...)
		}, false},
		{"a field of another wire type", func() []byte { return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1) }, false},
		{"an unknown field", func() []byte { return protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1) }, false},
		{"text that is not UTF-8", func() []byte { return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "\xff") }, false},
		{"a cut message", func() []byte { b := marshalled(t, plainMessage()); return b[:len(b)-1] }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := checkPlain(t, tt.bytes()); got != tt.want {
				t.Errorf("plainAssignment = %t, want %t", got, tt.want)
			}
		})
	}
}

// checkPlain compares what plainAssignment reads with what protobuf reads.
func checkPlain(t testing.TB, b []byte) bool {
	t.Helper()
	got, want := &endpointv3.ClusterLoadAssignment{}, &endpointv3.ClusterLoadAssignment{}
	if !plainAssignment(b, got) {
		return false
	}
	if err := proto.Unmarshal(b, want); err != nil {
		t.Fatalf("protobuf refuses it: %v", err)
	}
	if !proto.Equal(got, want) {
		t.Errorf("plainAssignment reads %v, protobuf %v", got, want)
	}
	if !isPlain(want.ProtoReflect()) {
		t.Errorf("%v is not plain", want)
	}
	return true
}

func FuzzPlainAssignment(f *testing.F) {
	f.Add(marshalled(f, plainMessage()))
	f.Add([]byte{0x12, 0x00, 0x0a, 0x01, 'c'})
	f.Fuzz(func(t *testing.T, b []byte) { checkPlain(t, b) })
}
