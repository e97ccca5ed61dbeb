package author

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// DNS asks name servers for endpoints.
type DNS struct {
	Resolver *net.Resolver
	Family   string // ipv4, ipv6 or all
}

// NewDNS makes a DNS that asks a server, HOST:PORT, or those of the system when it is empty.
func NewDNS(server, family string) *DNS {
	d := &DNS{Resolver: &net.Resolver{PreferGo: true}, Family: family}
	if server != "" {
		d.Resolver.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server)
		}
	}
	return d
}

func (d *DNS) network() string {
	switch d.Family {
	case "ipv4":
		return "ip4"
	case "ipv6":
		return "ip6"
	}
	return "ip"
}

// addresses of a host, sorted: servers answer in changing order.
func (d *DNS) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	found, err := d.Resolver.LookupNetIP(ctx, d.network(), host)
	if err != nil {
		return nil, dnsError(host, err)
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	slices.SortFunc(found, netip.Addr.Compare)
	return slices.Compact(found), nil
}

// dnsError names the host and the reason, not the server and the port that the query came from.
func dnsError(name string, err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return fmt.Errorf("look up %q: %s", name, dns.Err)
	}
	return fmt.Errorf("look up %q: %w", name, err)
}

// CheckHostPort tells whether a text has the form HOST:PORT, with a number for the port.
func CheckHostPort(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return errors.New("must have the form HOST:PORT")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port %q must be a whole number from 0 to 65535", port)
	}
	return nil
}

// Hosts asks for the addresses of HOST:PORT; the name becomes the hostname of each endpoint.
func (d *DNS) Hosts(ctx context.Context, target string) ([]*EndpointSpec, error) {
	if err := CheckHostPort(target); err != nil {
		return nil, fmt.Errorf("%q: %w", target, err)
	}
	host, port, _ := net.SplitHostPort(target)
	found, err := d.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	name := host
	if _, err := netip.ParseAddr(host); err == nil {
		name = ""
	}
	out := make([]*EndpointSpec, 0, len(found))
	for _, ip := range found {
		spec, err := specOf(net.JoinHostPort(ip.String(), port), name)
		if err != nil {
			return nil, err
		}
		out = append(out, spec)
	}
	return out, nil
}

func specOf(address, hostname string) (*EndpointSpec, error) {
	a, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	endpoint := &endpointv3.Endpoint{Address: a, Hostname: strings.TrimSuffix(hostname, ".")}
	return &EndpointSpec{Endpoint: &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: endpoint}}}, nil
}

// target is the host of an SRV record with its addresses.
type target struct {
	*net.SRV
	addresses []netip.Addr
}

// Services asks for the SRV records of a name and for the addresses of their targets. The priorities of the records
// become 0, 1, 2 in their order. A record's weight is shared out over the addresses of its target.
func (d *DNS) Services(ctx context.Context, name string) ([]*EndpointSpec, error) {
	_, records, err := d.Resolver.LookupSRV(ctx, "", "", name)
	if err != nil {
		return nil, dnsError(name, err)
	}
	targets := make([]target, 0, len(records))
	for _, r := range records {
		if r.Target == "." { // RFC 2782: the service is decidedly not available
			return nil, fmt.Errorf("look up %q: the service is not available at this name (the target is the root)", name)
		}
		found, err := d.addresses(ctx, r.Target)
		if err != nil {
			return nil, err
		}
		targets = append(targets, target{r, found})
	}
	slices.SortFunc(targets, func(a, b target) int { // the resolver shuffles by weight
		return compareAll(int(a.Priority)-int(b.Priority), strings.Compare(a.Target, b.Target), int(a.Port)-int(b.Port))
	})
	return serviceSpecs(targets)
}

func compareAll(all ...int) int {
	for _, c := range all {
		if c != 0 {
			return c
		}
	}
	return 0
}

// serviceSpecs turns records, sorted by priority, into endpoints.
func serviceSpecs(targets []target) ([]*EndpointSpec, error) {
	var out []*EndpointSpec
	priority := uint32(0)
	for start := 0; start < len(targets); priority++ {
		end := start
		for end < len(targets) && targets[end].Priority == targets[start].Priority {
			end++
		}
		weights, err := srvWeights(targets[start:end])
		if err != nil {
			return nil, err
		}
		for i, t := range targets[start:end] {
			for _, ip := range t.addresses {
				spec, err := specOf(net.JoinHostPort(ip.String(), strconv.Itoa(int(t.Port))), t.Target)
				if err != nil {
					return nil, err
				}
				if weights[i] > 0 {
					spec.Endpoint.LoadBalancingWeight = wrapperspb.UInt32(weights[i])
				}
				if at := priority; len(targets) > 0 && targets[0].Priority != targets[len(targets)-1].Priority {
					spec.Place.Priority = &at
				}
				out = append(out, spec)
			}
		}
		start = end
	}
	return out, nil
}

// srvWeights are the weights of each record's endpoints at one priority. A target with two addresses must not get twice
// its share, so that all weights are multiplied by the least common multiple of the numbers of addresses and divided by
// the own one: weights 3 and 1 with two addresses and one give 3, 3 and 2. RFC 2782: a weight of 0 means a very small
// chance beside others, so it counts as 1; where all are 0 (or 1 each) nothing is said.
func srvWeights(targets []target) ([]uint32, error) {
	multiple, plain := uint64(1), true
	for _, t := range targets {
		n := uint64(len(t.addresses))
		multiple = multiple / gcd(multiple, n) * n
		plain = plain && t.Weight == targets[0].Weight && n == uint64(len(targets[0].addresses))
		if multiple > math.MaxUint32 {
			return nil, fmt.Errorf("the numbers of addresses of the targets at priority %d have no small common multiple", t.Priority)
		}
	}
	out := make([]uint32, len(targets))
	if plain {
		return out, nil // all the same
	}
	for i, t := range targets {
		w := uint64(max(t.Weight, 1)) * multiple / uint64(len(t.addresses))
		if w > math.MaxUint32 {
			return nil, fmt.Errorf("the weight of %q is too large once it is shared out over its addresses", t.Target)
		}
		out[i] = uint32(w)
	}
	return out, nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
