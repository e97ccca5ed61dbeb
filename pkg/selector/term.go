package selector

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

type (
	matcher     = func(*endpointv3.LocalityLbEndpoints, *endpointv3.LbEndpoint) bool
	addressTest = func(*corev3.Address) bool
)

// parseTerm reads KEY=VALUE or "all".
func parseTerm(text string) (term, error) {
	if text == "all" {
		return term{key: "all", match: func(*endpointv3.LocalityLbEndpoints, *endpointv3.LbEndpoint) bool { return true }}, nil
	}
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return term{}, fmt.Errorf("%q is not KEY=VALUE or %q; keys are %s", text, "all", strings.Join(keys[1:], ", "))
	}
	t := term{key: strings.TrimSpace(key), value: strings.TrimSpace(value)}
	var err error
	if t.key == "address" {
		if t.address, err = newAddressTest(t.value); err == nil {
			t.match = anyAddress(t.address)
		}
		return t, err
	}
	t.match, err = newMatcher(t.key, t.value)
	return t, err
}

func newMatcher(key, value string) (matcher, error) {
	switch key {
	case "priority":
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("priority %q is not a number", value)
		}
		return func(g *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) bool {
			return g.GetPriority() == uint32(n)
		}, nil
	case "region":
		return func(g *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) bool {
			return g.GetLocality().GetRegion() == value
		}, nil
	case "zone":
		return func(g *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) bool {
			return g.GetLocality().GetZone() == value
		}, nil
	case "sub_zone":
		return func(g *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) bool {
			return g.GetLocality().GetSubZone() == value
		}, nil
	case "hostname":
		return func(_ *endpointv3.LocalityLbEndpoints, e *endpointv3.LbEndpoint) bool {
			return e.GetEndpoint().GetHostname() == value
		}, nil
	case "health":
		return healthMatcher(value)
	case "all":
		return nil, fmt.Errorf("%q takes no value", key)
	}
	if path, ok := strings.CutPrefix(key, "metadata."); ok && strings.Contains(path, ".") {
		return func(_ *endpointv3.LocalityLbEndpoints, e *endpointv3.LbEndpoint) bool {
			return metadataIs(e.GetMetadata(), path, value)
		}, nil
	}
	return nil, fmt.Errorf("unknown key %q%s; keys are %s", key, didYouMean(key, keys[:]), strings.Join(keys[:], ", "))
}

func healthMatcher(value string) (matcher, error) {
	status, err := ParseHealth(value)
	if err != nil {
		return nil, err
	}
	return func(_ *endpointv3.LocalityLbEndpoints, e *endpointv3.LbEndpoint) bool {
		return e.GetHealthStatus() == status
	}, nil
}

// ParseHealth reads the name of a health status in any case.
func ParseHealth(value string) (corev3.HealthStatus, error) {
	if n, ok := corev3.HealthStatus_value[strings.ToUpper(value)]; ok {
		return corev3.HealthStatus(n), nil
	}
	var names []string
	for n := range int32(len(corev3.HealthStatus_name)) {
		names = append(names, corev3.HealthStatus_name[n])
	}
	return 0, fmt.Errorf("unknown health status %q%s; must be one of %s", value, didYouMean(strings.ToUpper(value), names), strings.Join(names, ", "))
}

// newAddressTest reads a CIDR, an IP, IP:port, or what stands in the address as written (a name, name:port, a path).
// Addresses are compared as numbers, so that every spelling of an IPv6 address matches.
func newAddressTest(value string) (addressTest, error) {
	if value == "" {
		return nil, fmt.Errorf("the address is empty")
	}
	test := func(a *corev3.Address) bool { return textMatches(a, value) }
	if prefix, err := netip.ParsePrefix(value); err == nil {
		test = func(a *corev3.Address) bool {
			ip, ok := ipOf(a)
			return ok && prefix.Contains(ip)
		}
	} else if want, err := netip.ParseAddr(strings.Trim(value, "[]")); err == nil {
		test = func(a *corev3.Address) bool {
			ip, ok := ipOf(a)
			return ok && ip == want
		}
	} else if want, err := netip.ParseAddrPort(value); err == nil {
		test = func(a *corev3.Address) bool {
			ip, ok := ipOf(a)
			return ok && ip == want.Addr() && a.GetSocketAddress().GetPortValue() == uint32(want.Port())
		}
	}
	return test, nil
}

// anyAddress tells whether a test holds for one of the addresses of an endpoint.
func anyAddress(test addressTest) matcher {
	return func(_ *endpointv3.LocalityLbEndpoints, e *endpointv3.LbEndpoint) bool {
		if test(e.GetEndpoint().GetAddress()) {
			return true
		}
		for _, more := range e.GetEndpoint().GetAdditionalAddresses() {
			if test(more.GetAddress()) {
				return true
			}
		}
		return false
	}
}

func ipOf(a *corev3.Address) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(a.GetSocketAddress().GetAddress())
	return ip, err == nil
}

func textMatches(a *corev3.Address, value string) bool {
	if p := a.GetPipe().GetPath(); p != "" {
		return p == value
	}
	if l := a.GetEnvoyInternalAddress().GetServerListenerName(); l != "" {
		return "envoy://"+l+"/"+a.GetEnvoyInternalAddress().GetEndpointId() == value
	}
	s := a.GetSocketAddress()
	if s == nil {
		return false
	}
	return s.GetAddress() == value || net.JoinHostPort(s.GetAddress(), strconv.FormatUint(uint64(s.GetPortValue()), 10)) == value
}
