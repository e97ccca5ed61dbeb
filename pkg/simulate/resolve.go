package simulate

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/selector"
)

// resolved is an assignment whose host names have been replaced by their addresses.
type resolved struct {
	cla *endpointv3.ClusterLoadAssignment
	// origin and name are, by place in cla, the endpoint that it was made from and the host name; nil when nothing was
	// resolved.
	origin [][]selector.Ref
	name   [][]string
}

// resolve replaces the endpoints of a STRICT_DNS cluster whose host name has addresses by one endpoint for each of them,
// which has the full weight (strict_dns_cluster.cc). A host name without addresses stays one endpoint.
func resolve(cla *endpointv3.ClusterLoadAssignment, addresses map[string][]string) (resolved, error) {
	if len(addresses) == 0 {
		return resolved{cla: cla}, nil
	}
	out := resolved{cla: &endpointv3.ClusterLoadAssignment{ClusterName: cla.GetClusterName(), Policy: cla.GetPolicy()}}
	for i, group := range cla.GetEndpoints() {
		g := &endpointv3.LocalityLbEndpoints{
			Locality: group.GetLocality(), LoadBalancingWeight: group.GetLoadBalancingWeight(), Priority: group.GetPriority(), Metadata: group.GetMetadata(),
		}
		var origin []selector.Ref
		var names []string
		for j, e := range group.GetLbEndpoints() {
			name := e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
			ips, ok := addresses[name]
			if !ok {
				g.LbEndpoints = append(g.LbEndpoints, e)
				origin, names = append(origin, selector.Ref{Group: i, Index: j}), append(names, "")
				continue
			}
			seen := map[string]bool{} // a name has one host at an address
			for _, ip := range ips {
				at, err := atAddress(e, name, ip)
				if err != nil {
					return resolved{}, err
				}
				text := EnvoyAddress(at.GetEndpoint().GetAddress())
				if seen[text] {
					continue
				}
				seen[text] = true
				g.LbEndpoints = append(g.LbEndpoints, at)
				origin, names = append(origin, selector.Ref{Group: i, Index: j}), append(names, name)
			}
		}
		out.cla.Endpoints = append(out.cla.Endpoints, g)
		out.origin, out.name = append(out.origin, origin), append(out.name, names)
	}
	return out, nil
}

// unresolved tells whether a host name is left that is no address.
func (d resolved) unresolved() bool {
	for _, group := range d.cla.GetEndpoints() {
		for _, e := range group.GetLbEndpoints() {
			if _, err := netip.ParseAddr(e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()); err != nil {
				return true
			}
		}
	}
	return false
}

// atAddress is an endpoint at one of the addresses of its host name. Its hostname, which hash policies can use, is the
// name unless one is written.
func atAddress(e *endpointv3.LbEndpoint, name, address string) (*endpointv3.LbEndpoint, error) {
	out := proto.CloneOf(e)
	s := out.GetEndpoint().GetAddress().GetSocketAddress()
	host := address
	if h, port, err := net.SplitHostPort(address); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("resolve %s: port of %q is not a number from 0 to 65535", name, address)
		}
		host, s.PortSpecifier = h, &corev3.SocketAddress_PortValue{PortValue: uint32(n)}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %q is not an IP address", name, address)
	}
	s.Address = ip.String()
	if out.GetEndpoint().GetHostname() == "" {
		out.GetEndpoint().Hostname = name
	}
	return out, nil
}

// restore gives the endpoints of a result the places that they have in the file.
func (d resolved) restore(r *Result) {
	if d.origin == nil {
		return
	}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		e.Name = d.name[e.Group][e.Index]
		at := d.origin[e.Group][e.Index]
		e.Group, e.Index, e.Path = at.Group, at.Index, endpointPath(at.Group, at.Index)
	}
}
