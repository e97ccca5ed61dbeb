package simulate

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// EnvoyAddress is the text by which Envoy knows an address, which is also what hash policies hash
// (source/common/network/address_impl.cc): "10.0.0.1:80", "[2001:db8::1]:443", "/run/s.sock", "@abstract" or
// "envoy://listener/endpoint".
func EnvoyAddress(a *corev3.Address) string {
	switch a := a.GetAddress().(type) {
	case *corev3.Address_SocketAddress:
		host, port := a.SocketAddress.GetAddress(), a.SocketAddress.GetPortValue()
		if strings.IndexByte(host, ':') < 0 { // IPv4, or a name
			b := make([]byte, 0, len(host)+6)
			return string(strconv.AppendUint(append(append(b, host...), ':'), uint64(port), 10))
		}
		if ip, err := netip.ParseAddr(host); err == nil {
			host = "[" + ip6Text(ip) + "]"
		}
		return host + ":" + strconv.FormatUint(uint64(port), 10)
	case *corev3.Address_Pipe:
		return strings.ReplaceAll(a.Pipe.GetPath(), "\x00", "@")
	case *corev3.Address_EnvoyInternalAddress:
		return "envoy://" + a.EnvoyInternalAddress.GetServerListenerName() + "/" + a.EnvoyInternalAddress.GetEndpointId()
	}
	return ""
}

// ip6Text is glibc's inet_ntop, which writes the last 32 bits of ::/96 in dotted form when the first 16 of them are not
// zero: ::1:2 is "::0.1.0.2".
func ip6Text(ip netip.Addr) string {
	zone := ""
	if ip.Zone() != "" {
		zone = "%" + ip.Zone()
	}
	ip = ip.WithZone("")
	b := ip.As16()
	for _, c := range b[:12] {
		if c != 0 {
			return ip.String() + zone
		}
	}
	if b[12] == 0 && b[13] == 0 {
		return ip.String() + zone
	}
	return fmt.Sprintf("::%d.%d.%d.%d%s", b[12], b[13], b[14], b[15], zone)
}
