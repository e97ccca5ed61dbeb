package lint

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// kind of an address, as Envoy distinguishes them.
type addressKind uint8

const (
	noAddress addressKind = iota // absent, or of a form that breaks a constraint
	ipAddress
	pipeAddress
	internalAddress
)

// address is one that Envoy has resolved, or the reason why it cannot (resolver_impl.cc, resolveProtoAddress). One that
// breaks a constraint has neither: the constraint's rule speaks of it.
type address struct {
	kind addressKind
	ip   netip.AddrPort // of an IP address
	name string         // of a pipe or an internal address, as Envoy prints it

	rule, field string // the rule that refuses it, and the field of it below the address
	says        string // Envoy's text
	words       string // for users
	hint        string // the address that was meant, if that is certain
}

// sunPathSize is sizeof(sockaddr_un::sun_path) on Linux.
const sunPathSize = 108

// resolve is what Envoy makes of an address of an EDS or STATIC cluster.
func resolve(a *corev3.Address) address {
	switch t := a.GetAddress().(type) {
	case *corev3.Address_SocketAddress:
		return resolveSocket(t.SocketAddress)
	case *corev3.Address_Pipe:
		return resolvePipe(t.Pipe)
	case *corev3.Address_EnvoyInternalAddress:
		if listener, ok := t.EnvoyInternalAddress.GetAddressNameSpecifier().(*corev3.EnvoyInternalAddress_ServerListenerName); ok {
			return address{kind: internalAddress, name: "envoy://" + listener.ServerListenerName + "/" + t.EnvoyInternalAddress.GetEndpointId()}
		}
	}
	return address{}
}

func resolveSocket(s *corev3.SocketAddress) address {
	if name := s.GetResolverName(); name != "" && name != "envoy.ip" {
		return address{
			rule: "resolver-unknown", field: "socket_address.resolver_name", says: "Unknown address resolver: " + name,
			words: fmt.Sprintf("resolver_name is %q, but Envoy has only %q", name, "envoy.ip"),
		}
	}
	if port, ok := s.GetPortSpecifier().(*corev3.SocketAddress_NamedPort); ok {
		return address{
			rule: "named-port", field: "socket_address.named_port", says: "IP resolver can't handle port specifier type 4",
			words: fmt.Sprintf("named_port %q needs a custom resolver: use port_value", port.NamedPort),
		}
	}
	if s.GetAddress() == "" {
		return address{}
	}
	ip, ok := parseIP(s.GetAddress())
	if !ok {
		return address{
			rule: "endpoint-not-ip", field: "socket_address.address", says: "malformed IP address: " + s.GetAddress(),
			words: notIP(s.GetAddress()), hint: meantIP(s.GetAddress()),
		}
	}
	return address{kind: ipAddress, ip: netip.AddrPortFrom(ip, uint16(s.GetPortValue()))}
}

// notIP tells what is wrong with a text that is no IP address.
func notIP(text string) string {
	words := strconv.Quote(text) + " is no IP address"
	isLetter := func(r rune) bool { return r >= 'g' && r <= 'z' || r >= 'G' && r <= 'Z' }
	if strings.ContainsFunc(text, isLetter) && !strings.ContainsAny(text, ":%/") {
		words += ": a name can be resolved in a STRICT_DNS or LOGICAL_DNS cluster only"
	}
	return words
}

// meantIP is a hint about a text that is an IP address with something around it; empty for any other.
func meantIP(text string) string {
	rest := strings.TrimSpace(text)
	if _, after, ok := strings.Cut(rest, "://"); ok {
		rest = strings.TrimSuffix(after, "/")
	}
	if at, err := netip.ParseAddrPort(rest); err == nil {
		return fmt.Sprintf("write %q; the port belongs into port_value", at.Addr())
	}
	if of, err := netip.ParsePrefix(rest); err == nil {
		return fmt.Sprintf("write %q", of.Addr())
	}
	rest = strings.TrimSuffix(strings.TrimPrefix(rest, "["), "]")
	if ip, ok := parseIP(rest); ok && rest != text {
		return fmt.Sprintf("write %q", ip)
	}
	return ""
}

func resolvePipe(p *corev3.Pipe) address {
	path := p.GetPath()
	switch {
	case path == "":
		return address{}
	case len(path) >= sunPathSize:
		return address{
			rule: "pipe-path-too-long", field: "pipe.path",
			says:  fmt.Sprintf("Path %q exceeds maximum UNIX domain socket path size of %d.", path, sunPathSize),
			words: fmt.Sprintf("path has %d bytes, more than the %d that a UNIX domain socket may have", len(path), sunPathSize-1),
		}
	case path[0] == '@' && p.GetMode() != 0:
		return address{
			rule: "pipe-abstract-mode", field: "pipe.mode", says: "Cannot set mode for Abstract AF_UNIX sockets",
			words: fmt.Sprintf("%q is an abstract socket, which cannot have a mode", path),
		}
	case path[0] == '@':
		// Envoy prints NUL bytes of an abstract name as @ (address_impl.cc, friendlyNameFromAbstractPath).
		return address{kind: pipeAddress, name: strings.ReplaceAll(path, "\x00", "@")}
	case strings.ContainsRune(path, 0):
		return address{
			rule: "pipe-embedded-nul", field: "pipe.path", says: "UNIX domain socket pathname contains embedded null characters",
			words: fmt.Sprintf("path %q contains a NUL byte", path),
		}
	}
	return address{kind: pipeAddress, name: path}
}

// interfaceName are the names that Linux, container runtimes and network plugins give to interfaces. Whether one exists
// on Envoy's host cannot be known here, so a zone of such a name is taken to be right, and any other to be wrong.
var interfaceName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(lo|(eth|wlan|bond|team|tun|tap|veth|dummy|br|docker|virbr|ib|usb|net|wg|cni|vxlan|cali|flannel)[0-9a-f.:-]*|(en|wl|ww|sl)[ospxbc][0-9a-z]+)$`)
})

// parseIP reads an address as Envoy does (network/utility.cc, parseInternetAddressNoThrow): IPv4 by inet_pton, IPv6 by
// getaddrinfo with AI_NUMERICHOST; C strings end at a NUL byte.
func parseIP(text string) (netip.Addr, bool) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	text, zone, zoned := strings.Cut(text, "%")
	ip, err := netip.ParseAddr(text)
	if err != nil || zoned && ip.Is4() {
		return netip.Addr{}, false
	}
	if !zoned {
		return ip, true
	}
	// glibc (inet6_scopeid_pton): a number for any address, an interface for link-local ones.
	if _, err := strconv.ParseUint(zone, 10, 32); err != nil {
		local := ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsInterfaceLocalMulticast()
		if !local || !interfaceName().MatchString(zone) {
			return netip.Addr{}, false
		}
	}
	return ip.WithZone(zone), true
}
