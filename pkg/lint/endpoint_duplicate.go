package lint

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

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
// text of all addresses of localities with a weight. Plain IPv4 addresses, of which there are many, are the same text
// whenever they are the same address; they share one map with keys that are cheap to hash.
type seenAddresses struct {
	v4        map[uint64]seenPlaces
	ips       map[netip.AddrPort]place
	names     map[string]place // pipes and internal addresses
	texts     map[textAddress]place
	grpcTakes bool // grpc-go reads the locality that is looked at
	onlyFirst bool // grpc-go does not read additional addresses
	pooled    bool // v4 is of the pool
}

// seenPlaces are where the clients saw an address first.
type seenPlaces struct {
	envoy, grpc     place
	inEnvoy, inGRPC bool
}

func (s *seenAddresses) init(c *Context) {
	// On unless switched off with "false" (grpc-eds.md 2.5).
	s.onlyFirst = strings.EqualFold(c.Getenv("GRPC_EXPERIMENTAL_XDS_DUALSTACK_ENDPOINTS"), "false")
	n := 0
	for _, g := range c.Resource.Assignment.GetEndpoints() {
		n += len(g.GetLbEndpoints())
	}
	if s.pooled = n <= pooledPlaces; !s.pooled {
		s.v4 = make(map[uint64]seenPlaces, n)
		return
	}
	s.v4 = placesPool.Get().(map[uint64]seenPlaces)
}

// pooledPlaces is the largest number of addresses whose map is used again for the next assignment.
const pooledPlaces = 1024

var placesPool = sync.Pool{New: func() any { return map[uint64]seenPlaces{} }}

// release gives the map back when the walk has ended.
func (s *seenAddresses) release() {
	if s.pooled {
		clear(s.v4)
		placesPool.Put(s.v4)
	}
	s.v4 = nil
}

// plain is the key of an IPv4 address with its port; false for all others.
func plain(a address) (uint64, bool) {
	if a.kind != ipAddress || !a.ip.Addr().Is4() {
		return 0, false
	}
	return plainKey(a.ip.Addr(), a.ip.Port()), true
}

func plainKey(ip netip.Addr, port uint16) uint64 {
	b := ip.As4()
	return uint64(b[0])<<40 | uint64(b[1])<<32 | uint64(b[2])<<24 | uint64(b[3])<<16 | uint64(port)
}

// primary tells where the clients have seen the primary address of an endpoint before.
func (s *seenAddresses) primary(a address, proto *corev3.Address, at place) (envoy, grpc sighting) {
	key, ok := plain(a)
	if !ok || !sameText(proto) {
		return s.envoy(a, at), s.grpc(proto, at)
	}
	seen := s.v4[key]
	envoy, grpc = sighting{seen.envoy, seen.inEnvoy}, sighting{seen.grpc, seen.inGRPC && s.grpcTakes}
	if envoy.found && (seen.inGRPC || !s.grpcTakes) {
		return envoy, grpc
	}
	if !seen.inEnvoy {
		seen.envoy, seen.inEnvoy = at, true
	}
	if s.grpcTakes && !seen.inGRPC {
		seen.grpc, seen.inGRPC = at, true
	}
	s.v4[key] = seen
	return envoy, grpc
}

// sameText tells whether the text of a plain address says no more than Envoy takes from it: Envoy reads what is before a
// NUL byte, and 16 bits of the port.
func sameText(a *corev3.Address) bool {
	socket := a.GetSocketAddress()
	return socket.GetPortValue() <= math.MaxUint16 && strings.IndexByte(socket.GetAddress(), 0) < 0
}

// sighting of an address before.
type sighting struct {
	first place
	found bool
}

// envoy tells where Envoy has seen an address before.
func (s *seenAddresses) envoy(a address, at place) sighting {
	switch a.kind {
	case ipAddress:
		return see(&s.ips, a.ip, at)
	case pipeAddress, internalAddress:
		return see(&s.names, a.name, at)
	}
	return sighting{}
}

func see[K comparable](seen *map[K]place, key K, at place) sighting {
	first, found := (*seen)[key]
	if !found {
		if *seen == nil {
			*seen = map[K]place{}
		}
		(*seen)[key] = at
	}
	return sighting{first, found}
}

// grpc tells where grpc-go has seen the text of an address before (unmarshal_eds.go, parseEndpoints).
func (s *seenAddresses) grpc(a *corev3.Address, at place) sighting {
	if !s.grpcTakes {
		return sighting{}
	}
	text := textOf(a)
	ip, err := netip.ParseAddr(text.host)
	if err != nil || !ip.Is4() || !sameText(a) {
		return see(&s.texts, text, at)
	}
	key := plainKey(ip, uint16(text.port))
	seen := s.v4[key]
	before := sighting{seen.grpc, seen.inGRPC}
	if !seen.inGRPC {
		seen.grpc, seen.inGRPC = at, true
		s.v4[key] = seen
	}
	return before
}

// textOf is the text of an address: of what is no socket address an empty host and port 0.
func textOf(a *corev3.Address) textAddress {
	return textAddress{a.GetSocketAddress().GetAddress(), a.GetSocketAddress().GetPortValue()}
}

// duplicates reports addresses that occurred before and tells whether Envoy takes the endpoint for a copy.
func (w *walk) duplicates(main address) bool {
	at := place{int32(w.group), int32(w.index)}
	e := w.end.GetEndpoint()
	envoy, grpc := w.seen.primary(main, e.GetAddress(), at)
	if envoy.found || grpc.found {
		first := envoy.first
		if !envoy.found {
			first = grpc.first
		}
		w.duplicate(w.at("endpoint.address"), main, first, envoy.found, textOf(e.GetAddress()), grpc.found)
	}
	for k, additional := range e.GetAdditionalAddresses() {
		if seen := w.seen.additional(additional.GetAddress(), at); seen.found {
			w.duplicate(w.at("endpoint.additional_addresses").Index(k).Field("address"), address{}, seen.first, false, textOf(additional.GetAddress()), true)
		}
	}
	return envoy.found
}

// additional tells where grpc-go has seen an additional address before.
func (s *seenAddresses) additional(a *corev3.Address, at place) sighting {
	if !s.grpcTakes || s.onlyFirst {
		return sighting{}
	}
	return s.grpc(a, at)
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
