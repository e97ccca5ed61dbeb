package author

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/document"
)

// endpointSlice has the fields of discovery.k8s.io/v1 and v1beta1 that an assignment needs.
type endpointSlice struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	AddressType string          `json:"addressType"`
	Endpoints   []sliceEndpoint `json:"endpoints"`
	Ports       []slicePort     `json:"ports"`
	Items       []endpointSlice `json:"items"` // of a list
}

type sliceEndpoint struct {
	Addresses  []string `json:"addresses"`
	Conditions struct {
		Ready       *bool `json:"ready"`
		Serving     *bool `json:"serving"`
		Terminating *bool `json:"terminating"`
	} `json:"conditions"`
	Zone     *string           `json:"zone"`
	Topology map[string]string `json:"topology"` // v1beta1
}

type slicePort struct {
	Name     *string `json:"name"`
	Port     *int32  `json:"port"`
	Protocol *string `json:"protocol"`
}

// SliceOptions choose among what EndpointSlices hold. What is empty must not be ambiguous.
type SliceOptions struct {
	Service     string // NAME or NAMESPACE/NAME
	Port        string // name or number
	AddressType string // ipv4, ipv6, fqdn or all
}

// Slices is what EndpointSlices give.
type Slices struct {
	Service   string // NAME of the service; empty when the slices do not tell
	Namespace string
	Endpoints []*EndpointSpec
	Notes     []string // about what was left out
}

// SliceText is a file with EndpointSlices.
type SliceText struct {
	Name string
	Data []byte
}

// ChoiceError tells that the slices leave a choice: What is service, port or address-type.
type ChoiceError struct {
	What    string
	Message string
}

func (e *ChoiceError) Error() string { return e.Message }

func choice(what, format string, args ...any) error {
	return &ChoiceError{what, fmt.Sprintf(format, args...)}
}

// serviceLabel names the service that a slice belongs to.
const serviceLabel = "kubernetes.io/service-name"

// The labels of a zone and a region in the topology of v1beta1.
const (
	zoneLabel   = "topology.kubernetes.io/zone"
	regionLabel = "topology.kubernetes.io/region"
)

// ReadSlices reads the EndpointSlices of one service from YAML (one document or several) or JSON, alone or in lists. An
// endpoint that stands in several slices, as happens while they are rewritten, is taken once.
func ReadSlices(texts []SliceText, o SliceOptions) (*Slices, error) {
	var all []endpointSlice
	for _, t := range texts {
		found, err := parseSlices(t.Data)
		if err == nil && len(found) == 0 {
			err = errors.New("the file holds no EndpointSlice")
		}
		if err != nil {
			return nil, inFile(t.Name, err)
		}
		all = append(all, found...)
	}
	chosen, err := sliceService(all, o.Service)
	if err != nil {
		return nil, err
	}
	out := &Slices{Service: chosen[0].service(), Namespace: chosen[0].Metadata.Namespace}
	if chosen, err = sliceAddressType(chosen, o.AddressType); err != nil {
		return nil, err
	}
	if err := checkPort(chosen, o.Port); err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i := range chosen {
		s := &chosen[i]
		port, note, err := s.port(o.Port)
		if err != nil {
			return nil, err
		}
		if note != "" {
			out.Notes = append(out.Notes, note)
			continue
		}
		for j := range s.Endpoints {
			out.add(&s.Endpoints[j], port, at)
		}
	}
	return out, nil
}

// inFile names the file of an error: in front of its position, where it has one.
func inFile(name string, err error) error {
	if syntax := new(document.SyntaxError); errors.As(err, &syntax) && syntax.Span.IsKnown() {
		return fmt.Errorf("%s:%w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func parseSlices(data []byte) ([]endpointSlice, error) {
	docs, err := document.Parse(data, document.Limits{})
	if err != nil {
		return nil, err
	}
	var out []endpointSlice
	budget := maxTreeNodes
	for _, d := range docs {
		if !d.Root.IsValid() {
			continue
		}
		l, err := treeLiteral(d.Root, &budget)
		if err != nil {
			return nil, err
		}
		text, err := encodeJSON(l, false)
		if err != nil {
			return nil, err
		}
		var s endpointSlice
		if l.kind != mapLiteral {
			continue
		}
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, fmt.Errorf("read an EndpointSlice: %w", err)
		}
		out = append(out, s.flat()...)
	}
	return out, nil
}

// flat is the slice itself, or the slices in a list.
func (s *endpointSlice) flat() []endpointSlice {
	switch s.Kind {
	case "EndpointSlice":
		return []endpointSlice{*s}
	case "List", "EndpointSliceList":
		var out []endpointSlice
		for i := range s.Items {
			if s.Kind == "EndpointSliceList" && s.Items[i].Kind == "" { // items of a typed list need not tell
				s.Items[i].Kind = "EndpointSlice"
			}
			out = append(out, s.Items[i].flat()...)
		}
		return out
	}
	return nil
}

func (s *endpointSlice) service() string { return s.Metadata.Labels[serviceLabel] }

func (s *endpointSlice) fullName() string {
	if s.service() == "" {
		return "slice " + s.Metadata.Namespace + "/" + s.Metadata.Name
	}
	return s.Metadata.Namespace + "/" + s.service()
}

// sliceService picks the slices of one service.
func sliceService(all []endpointSlice, want string) ([]endpointSlice, error) {
	var names []string
	var out []endpointSlice
	for i := range all {
		s := &all[i]
		if !slices.Contains(names, s.fullName()) {
			names = append(names, s.fullName())
		}
		if want == "" || want == s.service() || want == s.fullName() {
			out = append(out, *s)
		}
	}
	slices.Sort(names)
	if len(out) == 0 {
		return nil, fmt.Errorf("no EndpointSlice belongs to the service %q: there is %s", want, strings.Join(names, ", "))
	}
	for i := range out {
		if out[i].fullName() != out[0].fullName() {
			return nil, choice("service", "the slices belong to several services: %s", strings.Join(names, ", "))
		}
	}
	return out, nil
}

// sliceAddressType picks the slices of one address type.
func sliceAddressType(all []endpointSlice, want string) ([]endpointSlice, error) {
	var types []string
	var out []endpointSlice
	for i := range all {
		if t := strings.ToLower(all[i].AddressType); !slices.Contains(types, t) {
			types = append(types, t)
		}
		if want == "" || want == "all" || strings.EqualFold(want, all[i].AddressType) {
			out = append(out, all[i])
		}
	}
	if want == "" && len(types) > 1 {
		return nil, choice("address-type", "the slices have several address types: %s", strings.Join(types, ", "))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no slice has the address type %q: there is %s", want, strings.Join(types, ", "))
	}
	return out, nil
}

// checkPort refuses a port that none of the slices has, if they have any: those of a service without endpoints need not.
func checkPort(all []endpointSlice, want string) error {
	var names []string
	for i := range all {
		found, has := all[i].ports(want)
		if len(found) > 0 {
			return nil
		}
		names = append(names, has...)
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("no slice has the port %q: there is %s", want, strings.Join(slices.Compact(names), ", "))
}

// ports finds the ports with a name or number, all of them when want is empty, and lists all that there are.
func (s *endpointSlice) ports(want string) (found []slicePort, names []string) {
	for _, p := range s.Ports {
		if p.Port == nil || p.Protocol != nil && *p.Protocol == "SCTP" {
			continue
		}
		number := strconv.Itoa(int(*p.Port))
		label := number
		if p.Name != nil && *p.Name != "" {
			label = *p.Name + " (" + number + ")"
		}
		names = append(names, label)
		if want == "" || want == number || p.Name != nil && want == *p.Name {
			found = append(found, p)
		}
	}
	return found, names
}

// port is the port of a slice's endpoints. A note says why the slice is left out.
func (s *endpointSlice) port(want string) (port uint32, note string, err error) {
	found, names := s.ports(want)
	switch {
	case len(found) == 1, len(found) > 1 && want != "": // the same number with two protocols
		return uint32(*found[0].Port), "", nil //nolint:gosec // checked when the address is made
	case len(found) > 1:
		return 0, "", choice("port", "slice %q has several ports: %s", s.Metadata.Name, strings.Join(names, ", "))
	case len(s.Endpoints) == 0:
		return 0, fmt.Sprintf("slice %q has no endpoints", s.Metadata.Name), nil
	case len(names) == 0:
		return 0, fmt.Sprintf("slice %q is left out: it has no port", s.Metadata.Name), nil
	}
	return 0, fmt.Sprintf("slice %q is left out: it has no port %q, only %s", s.Metadata.Name, want, strings.Join(names, ", ")), nil
}

// add takes an endpoint of a slice. Its addresses stand for the same: clients use the first.
func (out *Slices) add(e *sliceEndpoint, port uint32, at map[string]int) {
	if len(e.Addresses) == 0 {
		return
	}
	address := net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(port)))
	a, err := parseAddress(address)
	if err != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("endpoint %s is left out: %v", address, err))
		return
	}
	spec := &EndpointSpec{Endpoint: &endpointv3.LbEndpoint{
		HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: a}},
		HealthStatus:   e.health(),
	}}
	zone, region := e.Topology[zoneLabel], e.Topology[regionLabel]
	if e.Zone != nil {
		zone = *e.Zone
	}
	if zone != "" {
		spec.Place.Zone = &zone
	}
	if region != "" {
		spec.Place.Region = &region
	}
	if i, again := at[address]; again {
		if out.Endpoints[i].Endpoint.GetHealthStatus() != corev3.HealthStatus_HEALTHY { // the newer state is the better one
			out.Endpoints[i] = spec
		}
		return
	}
	at[address] = len(out.Endpoints)
	out.Endpoints = append(out.Endpoints, spec)
}

// health follows the conditions of the API: an absent "ready" means true, an absent "serving" means the same as "ready".
// One that terminates but still serves is drained; one that does not serve gets nothing.
func (e *sliceEndpoint) health() corev3.HealthStatus {
	ready := e.Conditions.Ready == nil || *e.Conditions.Ready
	serving := ready
	if e.Conditions.Serving != nil {
		serving = *e.Conditions.Serving
	}
	terminating := e.Conditions.Terminating != nil && *e.Conditions.Terminating
	switch {
	case ready:
		return corev3.HealthStatus_HEALTHY
	case serving && terminating:
		return corev3.HealthStatus_DRAINING
	}
	return corev3.HealthStatus_UNHEALTHY
}
