package lint

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// place of an endpoint in an assignment.
type place struct{ group, index int32 }

func (p place) String() string {
	return fmt.Sprintf("endpoints[%d].lb_endpoints[%d]", p.group, p.index)
}

// textAddress is an address as grpc-go compares it: host and port as text.
type textAddress struct {
	host string
	port uint32
}

func (t textAddress) String() string { return net.JoinHostPort(t.host, strconv.Itoa(int(t.port))) }

// seenAddresses are those that came before, by client: Envoy compares primary addresses in canonical form, grpc-go the
// text of all addresses of localities with a weight.
type seenAddresses struct {
	ips       map[netip.AddrPort]place
	names     map[string]place // pipes and internal addresses
	texts     map[textAddress]place
	grpcTakes bool // grpc-go reads the locality that is looked at
}

func (s *seenAddresses) init(a *endpointv3.ClusterLoadAssignment) {
	n, weighted := 0, 0
	for _, g := range a.GetEndpoints() {
		n += len(g.GetLbEndpoints())
		if g.GetLoadBalancingWeight().GetValue() != 0 {
			weighted += len(g.GetLbEndpoints())
		}
	}
	s.ips, s.names, s.texts = make(map[netip.AddrPort]place, n), map[string]place{}, make(map[textAddress]place, weighted)
}

// envoy tells where Envoy has seen the address before.
func (s *seenAddresses) envoy(a address, at place) (first place, found bool) {
	switch a.kind {
	case ipAddress:
		if first, found = s.ips[a.ip]; !found {
			s.ips[a.ip] = at
		}
	case pipeAddress, internalAddress:
		if first, found = s.names[a.name]; !found {
			s.names[a.name] = at
		}
	}
	return first, found
}

// grpc tells where grpc-go has seen the text of an address before (unmarshal_eds.go, parseEndpoints).
func (s *seenAddresses) grpc(a *corev3.Address, at place) (text textAddress, first place, found bool) {
	if !s.grpcTakes {
		return text, first, false
	}
	// Whatever is no socket address has an empty host and port 0.
	text = textAddress{a.GetSocketAddress().GetAddress(), a.GetSocketAddress().GetPortValue()}
	if first, found = s.texts[text]; !found {
		s.texts[text] = at
	}
	return text, first, found
}

// duplicates reports addresses that occurred before and tells whether Envoy takes the endpoint for a copy.
func (w *walk) duplicates(main address) bool {
	at := place{int32(w.group), int32(w.index)}
	first, copied := w.seen.envoy(main, at)
	e := w.end.GetEndpoint()
	text, firstText, copiedText := w.seen.grpc(e.GetAddress(), at)
	if copied || copiedText {
		if !copied {
			first = firstText
		}
		w.duplicate(w.at("endpoint.address"), main, first, copied, text, copiedText)
	}
	for k, additional := range e.GetAdditionalAddresses() {
		if text, first, found := w.seen.grpc(additional.GetAddress(), at); found {
			w.duplicate(w.at("endpoint.additional_addresses").Index(k).Field("address"), address{}, first, false, text, true)
		}
	}
	return copied
}

func (w *walk) duplicate(path diag.Path, a address, first place, envoy bool, text textAddress, grpc bool) {
	none := diag.None
	p := diag.Problem{Rule: "duplicate-endpoint", Path: path}
	name := text.String()
	if envoy {
		name = a.name
		if a.kind == ipAddress {
			name = a.ip.String()
		}
	} else {
		p.Envoy.Effect = &none
	}
	p.Message = fmt.Sprintf("address %q occurs already at %s", name, first)
	switch {
	case envoy && a.kind == internalAddress && w.eds:
		p.Rule = "duplicate-internal-endpoint"
		p.Message = fmt.Sprintf("internal address %q occurs already at %s: give each endpoint its own endpoint_id", name, first)
	case envoy && w.static:
		p.Rule = "duplicate-endpoint-static"
		p.Message += ": in a STATIC cluster it counts twice"
	}
	if grpc {
		p.GRPC = GRPCSays("duplicate endpoint with the same address " + text.String())
	} else {
		p.GRPC.Effect = &none
	}
	w.report(p)
}
