package lint

import (
	"fmt"
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// resolverHint is what Envoy adds to what it says about an address of an EDS or STATIC cluster (upstream_impl.cc,
// ClusterImplBase::resolveProtoAddress).
const resolverHint = ". Consider setting resolver_name or setting cluster type to 'STRICT_DNS' or 'LOGICAL_DNS'"

const addressMustBeSet = "Address must be set: <dump>"

// addresses resolves the address of the endpoint and then the additional ones, and reports those that Envoy refuses.
func (w *walk) addresses() address {
	e := w.end.GetEndpoint()
	main := address{}
	if e.GetAddress() == nil {
		w.missing()
	} else {
		main = w.resolve(e.GetAddress(), func() diag.Path { return w.at("endpoint.address") })
	}
	more := e.GetAdditionalAddresses()
	if len(more) == 0 {
		return main
	}
	allIP := main.kind == ipAddress || main.kind == noAddress
	for k, additional := range more {
		path := func() diag.Path { return w.at("endpoint.additional_addresses").Index(k).Field("address") }
		if additional.GetAddress() == nil {
			w.report(diag.Problem{
				Rule: "additional-address-missing", Path: w.at("endpoint.additional_addresses").Index(k),
				Message: "an additional address without address", Envoy: EnvoySays(addressMustBeSet + resolverHint),
			})
			continue
		}
		a := w.resolve(additional.GetAddress(), path)
		if a.kind == pipeAddress || a.kind == internalAddress {
			allIP = false
		}
	}
	if !allIP && w.c.EnvoyVersion < 38 {
		w.report(diag.Problem{
			Rule: "additional-address-not-ip", Path: w.at("endpoint.additional_addresses"),
			Message: "an endpoint with additional_addresses may have IP addresses only", Envoy: EnvoySays("additional_addresses must be IP addresses."),
		})
	}
	return main
}

// missing reports an endpoint without address: "endpoint" or its address is absent, or there is an endpoint_name.
func (w *walk) missing() {
	says := EnvoySays(addressMustBeSet + resolverHint)
	if named, ok := w.end.GetHostIdentifier().(*endpointv3.LbEndpoint_EndpointName); ok {
		w.report(diag.Problem{
			Rule: "endpoint-name-not-implemented", Path: w.at("endpoint_name"), Envoy: says,
			Message: fmt.Sprintf("endpoint_name %q is looked up by no client: write the endpoint itself", named.EndpointName),
		})
		return
	}
	path := w.at("")
	if w.end.GetEndpoint() != nil {
		path = w.at("endpoint")
	}
	w.report(diag.Problem{Rule: "endpoint-address-missing", Path: path, Message: "the endpoint has no address", Envoy: says})
}

// resolve reports an address that Envoy refuses, and what is odd about one that it takes.
func (w *walk) resolve(a *corev3.Address, path func() diag.Path) address {
	got := resolve(a)
	switch {
	case got.rule != "" && w.dns && got.rule != "named-port":
		// DNS clusters resolve names; other forms have rules of their own there.
	case got.rule != "":
		w.report(diag.Problem{Rule: got.rule, Path: path().Field(got.field), Message: got.words, Hint: got.hint, Envoy: EnvoySays(got.says + resolverHint)})
	case got.kind == ipAddress:
		w.families.add(got.ip.Addr(), path)
		w.routable(got.ip.Addr(), path)
	}
	if s := a.GetSocketAddress(); s != nil {
		w.socketFields(s, path)
	}
	return got
}

// routable advises against addresses that nothing can connect to.
func (w *walk) routable(ip netip.Addr, path func() diag.Path) {
	plain := ip.Unmap()
	var what string
	switch {
	case plain.IsUnspecified():
		what = "the unspecified address"
	case plain.IsMulticast():
		what = "a multicast address"
	case plain == broadcast:
		what = "the broadcast address"
	default:
		return
	}
	w.report(diag.Problem{
		Rule: "address-unroutable", Path: path().Field("socket_address.address"), Message: fmt.Sprintf("%s is %s: no connection can be made to it", ip, what),
	})
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// socketFields reports fields of a socket address without effect, and port 0.
func (w *walk) socketFields(s *corev3.SocketAddress, path func() diag.Path) {
	if port, ok := s.GetPortSpecifier().(*corev3.SocketAddress_PortValue); ok && port.PortValue == 0 {
		w.report(diag.Problem{Rule: "port-zero", Path: path().Field("socket_address.port_value"), Message: "port_value is 0: no connection can be made to it"})
	}
	if s.GetProtocol() == corev3.SocketAddress_UDP {
		w.report(diag.Problem{
			Rule: "protocol-udp-ignored", Path: path().Field("socket_address.protocol"),
			Message: "the protocol of an endpoint's address is not read: listener and filter decide what is sent",
		})
	}
	if s.GetIpv4Compat() {
		w.report(diag.Problem{
			Rule: "ipv4-compat", Path: path().Field("socket_address.ipv4_compat"), Message: "ipv4_compat has no effect on the address of an endpoint",
		})
	}
}

// families remembers the first address of each IP family.
type families struct {
	v4, v6 bool
	path   diag.Path // of the first IPv6 address
}

func (f *families) add(ip netip.Addr, path func() diag.Path) {
	if ip.Is4() {
		f.v4 = true
	} else if !f.v6 {
		f.v6, f.path = true, path()
	}
}

func (f *families) report(w *walk) {
	if f.v4 && f.v6 {
		w.report(diag.Problem{
			Rule: "endpoint-ip-family-unsupported", Path: f.path.Field("socket_address.address"),
			Message: "the assignment has IPv4 and IPv6 addresses: on a host that lacks one of the families Envoy refuses all of it",
		})
	}
}
