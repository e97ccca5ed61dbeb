package author

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/eds"
)

// sameAssignment compares assignments; a policy without a field is no policy. The usual endpoints are compared without
// reflection: with 100,000 of them an edit must not take much longer than reading the file before and after it.
func sameAssignment(a, b *endpointv3.ClusterLoadAssignment) bool {
	if len(a.GetEndpoints()) != len(b.GetEndpoints()) {
		return false
	}
	for i, group := range a.GetEndpoints() {
		if !sameGroup(group, b.GetEndpoints()[i]) {
			return false
		}
	}
	return proto.Equal(withoutEndpoints(a), withoutEndpoints(b))
}

func withoutEndpoints(cla *endpointv3.ClusterLoadAssignment) *endpointv3.ClusterLoadAssignment {
	out := shallow(cla)
	out.Endpoints = nil
	if proto.Size(out.GetPolicy()) == 0 {
		out.Policy = nil
	}
	return out
}

func sameGroup(a, b *endpointv3.LocalityLbEndpoints) bool {
	if a == b {
		return true
	}
	if len(a.GetLbEndpoints()) != len(b.GetLbEndpoints()) {
		return false
	}
	for i, e := range a.GetLbEndpoints() {
		if !sameEndpoint(e, b.GetLbEndpoints()[i]) {
			return false
		}
	}
	x, y := shallow(a), shallow(b)
	x.LbEndpoints, y.LbEndpoints = nil, nil
	return proto.Equal(x, y)
}

func sameEndpoint(a, b *endpointv3.LbEndpoint) bool {
	if a == b {
		return true
	}
	x, y := a.GetEndpoint(), b.GetEndpoint()
	if x == nil || y == nil || !isUsual(x) || !isUsual(y) {
		return proto.Equal(a, b)
	}
	s, t := x.GetAddress().GetSocketAddress(), y.GetAddress().GetSocketAddress()
	if s == nil || t == nil || !isUsualAddress(s) || !isUsualAddress(t) {
		return proto.Equal(a, b)
	}
	return a.GetHealthStatus() == b.GetHealthStatus() && sameWeight(a.GetLoadBalancingWeight(), b.GetLoadBalancingWeight()) &&
		x.GetHostname() == y.GetHostname() && s.GetAddress() == t.GetAddress() && s.GetPortValue() == t.GetPortValue() &&
		eds.SameMetadata(a.GetMetadata(), b.GetMetadata())
}

// isUsual tells whether an endpoint has no fields but address and hostname.
func isUsual(e *endpointv3.Endpoint) bool {
	return e.GetHealthCheckConfig() == nil && len(e.GetAdditionalAddresses()) == 0 && e.GetObservabilityName() == ""
}

// isUsualAddress tells whether a socket address has no fields but address and port_value.
func isUsualAddress(s *corev3.SocketAddress) bool {
	_, hasPort := s.GetPortSpecifier().(*corev3.SocketAddress_PortValue)
	return hasPort && s.GetProtocol() == 0 && s.GetResolverName() == "" && !s.GetIpv4Compat() && s.GetNetworkNamespaceFilepath() == ""
}

func sameWeight(a, b *wrapperspb.UInt32Value) bool {
	return (a == nil) == (b == nil) && a.GetValue() == b.GetValue()
}
