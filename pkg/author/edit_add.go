package author

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/selector"
)

// EndpointSpec is an endpoint as a command line says it, with the place where it belongs.
type EndpointSpec struct {
	Endpoint *endpointv3.LbEndpoint
	Place    Place
	// LocalityWeight of a locality that is made for it; nil: none.
	LocalityWeight *uint32
}

// EndpointKeys are the keys of an endpoint spec.
func EndpointKeys() []string {
	return []string{"weight", "health", "hostname", "region", "zone", "sub_zone", "locality", "priority", "locality_weight", "metadata.NAMESPACE.KEY"}
}

// ParseEndpoint reads "10.0.0.1:80,weight=2,zone=a,priority=1,health=DRAINING,hostname=h,metadata.envoy.lb.version=v1".
// The address is HOST:PORT, [IPv6]:PORT or unix:PATH.
func ParseEndpoint(spec string) (*EndpointSpec, error) {
	if err := CheckText(spec); err != nil {
		return nil, err
	}
	terms := strings.Split(spec, ",")
	address, err := parseAddress(terms[0])
	if err != nil {
		return nil, err
	}
	endpoint := &endpointv3.Endpoint{Address: address}
	out := &EndpointSpec{Endpoint: &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: endpoint}}}
	seen := map[string]bool{}
	for _, term := range terms[1:] {
		key, value, ok := strings.Cut(term, "=")
		if !ok {
			return nil, fmt.Errorf("%q must have the form KEY=VALUE, with the keys %s", term, strings.Join(EndpointKeys(), ", "))
		}
		if seen[key] {
			return nil, twiceError(key)
		}
		seen[key] = true
		if err := out.set(key, value, endpoint); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CheckText refuses what a string of the API cannot hold.
func CheckText(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%q is not valid UTF-8", text)
	}
	return nil
}

func twiceError(key string) error { return fmt.Errorf("the key %q is given twice", key) }

func (e *EndpointSpec) set(key, value string, endpoint *endpointv3.Endpoint) error {
	if path, ok := strings.CutPrefix(key, "metadata."); ok {
		return e.metadata(path, value)
	}
	switch key {
	case "weight", "locality_weight":
		n, err := parseUint32(value)
		if err != nil || n == 0 {
			return fmt.Errorf("%s %q must be a whole number from 1 to 4294967295", key, value)
		}
		if key == "weight" {
			e.Endpoint.LoadBalancingWeight = wrapperspb.UInt32(n)
		} else {
			e.LocalityWeight = &n
		}
	case "health":
		status, err := selector.ParseHealth(value)
		if err != nil {
			return err
		}
		e.Endpoint.HealthStatus = status
	case "hostname":
		endpoint.Hostname = value
	default:
		known, err := e.Place.set(key, value)
		if err != nil {
			return err
		}
		if !known {
			return fmt.Errorf("unknown key %q: must be one of %s", key, strings.Join(EndpointKeys(), ", "))
		}
	}
	return nil
}

// metadata sets one value. The namespace is what stands before the last dot: "envoy.lb.version" is the key "version" of
// the namespace "envoy.lb".
func (e *EndpointSpec) metadata(path, value string) error {
	dot := strings.LastIndexByte(path, '.')
	if dot <= 0 || dot == len(path)-1 {
		return fmt.Errorf("metadata %q must have the form NAMESPACE.KEY, such as envoy.lb.version", path)
	}
	if e.Endpoint.Metadata == nil {
		e.Endpoint.Metadata = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{}}
	}
	namespaces := e.Endpoint.Metadata.FilterMetadata
	if namespaces[path[:dot]] == nil {
		namespaces[path[:dot]] = &structpb.Struct{Fields: map[string]*structpb.Value{}}
	}
	namespaces[path[:dot]].Fields[path[dot+1:]] = structpb.NewStringValue(value)
	return nil
}

func parseUint32(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err
}

func parseAddress(text string) (*corev3.Address, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok && path != "" {
		return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}, nil
	}
	host, portText, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return nil, fmt.Errorf("address %q must have the form HOST:PORT, [IPv6]:PORT or unix:PATH", text)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q must be a whole number from 0 to 65535", portText)
	}
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}, nil
}

// Add puts endpoints into the locality that each names, which is made when there is none.
func Add(specs []*EndpointSpec) Verb {
	var verb Verb
	for _, spec := range specs {
		verb.Steps = append(verb.Steps, stepOf(func(d *draft) error { return d.addEndpoint(spec) }))
	}
	return verb
}

func (d *draft) addEndpoint(spec *EndpointSpec) error {
	address := addressOf(spec.Endpoint)
	found := -1
	for g, group := range d.old.GetEndpoints() {
		for _, e := range group.GetLbEndpoints() {
			if addressOf(e) == address {
				return fmt.Errorf("endpoint %s is there already (%s)", address, localityText(group))
			}
		}
		if !spec.Place.matches(group) {
			continue
		}
		if found >= 0 {
			return fmt.Errorf("endpoint %s fits %s and %s: say more of its place (region, zone, sub_zone, priority)",
				address, localityText(d.old.Endpoints[found]), localityText(group))
		}
		found = g
	}
	if found >= 0 {
		group := d.group(found)
		group.LbEndpoints = append(group.LbEndpoints, spec.Endpoint)
		l := d.changes.list(listPath(found))
		l.added = append(l.added, addition{message: spec.Endpoint})
		d.say("%s: added (%s)", address, localityText(group))
		return nil
	}
	group := spec.Place.from(spot{}).group()
	group.LbEndpoints = []*endpointv3.LbEndpoint{spec.Endpoint}
	if spec.LocalityWeight != nil {
		group.LoadBalancingWeight = wrapperspb.UInt32(*spec.LocalityWeight)
	}
	d.Want.Endpoints = append(d.Want.Endpoints, group)
	l := d.changes.list(diag.Path{{Name: "endpoints"}})
	l.added = append(l.added, addition{message: group})
	d.say("%s: added (new: %s)", address, localityText(group))
	return nil
}
