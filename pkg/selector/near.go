package selector

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// maxNear is the number of values that a message names.
const maxNear = 5

// noMatch explains why nothing matched: the first term that no endpoint fulfils, with the values that are there; else
// that the terms exclude each other.
func (s Selector) noMatch(cla *endpointv3.ClusterLoadAssignment) error {
	endpoints := 0
	for _, group := range cla.GetEndpoints() {
		endpoints += len(group.GetLbEndpoints())
	}
	if endpoints == 0 {
		return &NoMatchError{fmt.Sprintf("selector %q matches nothing: the assignment has no endpoints", s.text)}
	}
	for _, t := range s.terms {
		if t.matchesAny(cla) {
			continue
		}
		values := present(cla, t.key)
		if len(values) == 0 {
			return &NoMatchError{fmt.Sprintf("selector %q matches nothing: no endpoint has a %s", s.text, t.key)}
		}
		return &NoMatchError{fmt.Sprintf("selector %q matches nothing: no endpoint has %s %q; there is %s", s.text, t.key, t.value, near(t.value, values))}
	}
	return &NoMatchError{fmt.Sprintf("selector %q matches nothing: each part matches endpoints, but no endpoint matches all of them", s.text)}
}

func (t term) matchesAny(cla *endpointv3.ClusterLoadAssignment) bool {
	for _, group := range cla.GetEndpoints() {
		for _, endpoint := range group.GetLbEndpoints() {
			if t.match(group, endpoint) {
				return true
			}
		}
	}
	return false
}

// present lists the values that the endpoints have under a key, sorted, each once.
func present(cla *endpointv3.ClusterLoadAssignment, key string) []string {
	seen := map[string]bool{}
	add := func(v string) {
		if v != "" {
			seen[v] = true
		}
	}
	for _, group := range cla.GetEndpoints() {
		for _, endpoint := range group.GetLbEndpoints() {
			switch key {
			case "priority":
				add(strconv.FormatUint(uint64(group.GetPriority()), 10))
			case "region":
				add(group.GetLocality().GetRegion())
			case "zone":
				add(group.GetLocality().GetZone())
			case "sub_zone":
				add(group.GetLocality().GetSubZone())
			case "hostname":
				add(endpoint.GetEndpoint().GetHostname())
			case "health":
				add(endpoint.GetHealthStatus().String())
			case "address":
				if a := endpoint.GetEndpoint().GetAddress().GetSocketAddress(); a != nil {
					add(net.JoinHostPort(a.GetAddress(), strconv.FormatUint(uint64(a.GetPortValue()), 10)))
				}
			default:
				collect(endpoint.GetMetadata(), func(path, value string) {
					if "metadata."+path == key {
						add(value)
					}
				})
			}
		}
	}
	values := make([]string, 0, len(seen))
	for v := range seen {
		values = append(values, v)
	}
	slices.Sort(values)
	return values
}

// near lists the values closest to the wanted one, and how many more there are.
func near(want string, values []string) string {
	total := len(values)
	distances := make(map[string]int, total)
	for _, v := range values {
		distances[v] = diag.Distance(want, v)
	}
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	var quoted []string
	for _, v := range values[:min(total, maxNear)] {
		quoted = append(quoted, strconv.Quote(v))
	}
	text := strings.Join(quoted, ", ")
	if total > maxNear {
		text += fmt.Sprintf(" and %d more", total-maxNear)
	}
	return text
}

// didYouMean suggests the nearest of the allowed words when it is near enough.
func didYouMean(word string, allowed []string) string {
	at, ok := diag.Nearest(word, allowed)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", at)
}

// NoMatchError tells that a selector matches no endpoint of an assignment.
type NoMatchError struct{ text string }

func (e *NoMatchError) Error() string { return e.text }
