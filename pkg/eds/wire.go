package eds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// Wire decodes an assignment that a management server sent: the bytes in an Any, of the API version that its type URL
// tells. The shape says which variant of response it came in, and resp what else was in that. Source and origin are those
// of the loader. Bytes that are no assignment give an absent resource with the problem, as with Load.
func (l *Loader) Wire(body []byte, v APIVersion, s Shape, resp *Response) *Resource {
	r := &reader{Loader: l, file: &File{}}
	r.addBytes(body, placement{shape: s, version: v, response: resp})
	return r.file.Resources[0]
}

// WireWithout is the resource of a response that holds no assignment, for what there is to report of it: a body of another
// type, or none (nil).
func (l *Loader) WireWithout(body *anypb.Any, s Shape, resp *Response) *Resource {
	r := &reader{Loader: l, file: &File{}}
	r.foreign(body, s, resp)
	return r.file.Resources[0]
}

// isPlain tells that a message is an assignment, or a part of one, with nothing but localities, socket addresses, weights and
// health, all of whose fields every version of Envoy knows: there is nothing to report of it. Most are, and a walk over their fields would
// cost more than their decoding.
func isPlain(m protoreflect.Message) bool {
	switch m := m.Interface().(type) {
	case *endpointv3.ClusterLoadAssignment:
		if hasUnknown(m) || m.GetPolicy() != nil || len(m.GetNamedEndpoints()) > 0 {
			return false
		}
		for _, group := range m.GetEndpoints() {
			if !isPlainGroup(group) {
				return false
			}
		}
		return true
	case *endpointv3.LbEndpoint:
		return isPlainEndpoint(m)
	}
	return false
}

func isPlainGroup(g *endpointv3.LocalityLbEndpoints) bool {
	if hasUnknown(g) || g.GetMetadata() != nil || g.GetLbConfig() != nil || g.GetProximity() != nil ||
		g.GetLocality() != nil && hasUnknown(g.GetLocality()) || g.GetLoadBalancingWeight() != nil && hasUnknown(g.GetLoadBalancingWeight()) {
		return false
	}
	for _, ep := range g.GetLbEndpoints() {
		if !isPlainEndpoint(ep) {
			return false
		}
	}
	return true
}

func isPlainEndpoint(ep *endpointv3.LbEndpoint) bool {
	if hasUnknown(ep) || ep.GetMetadata() != nil || ep.GetLoadBalancingWeight() != nil && hasUnknown(ep.GetLoadBalancingWeight()) {
		return false
	}
	e := ep.GetEndpoint()
	if e == nil || hasUnknown(e) || e.GetObservabilityName() != "" || e.GetHealthCheckConfig() != nil || len(e.GetAdditionalAddresses()) > 0 || e.GetAddress() == nil || hasUnknown(e.GetAddress()) {
		return false
	}
	socket, ok := e.GetAddress().GetAddress().(*corev3.Address_SocketAddress)
	return ok && !hasUnknown(socket.SocketAddress) && socket.SocketAddress.GetNetworkNamespaceFilepath() == "" && socket.SocketAddress.GetResolverName() == ""
}

func hasUnknown(m proto.Message) bool { return len(m.ProtoReflect().GetUnknown()) > 0 }
