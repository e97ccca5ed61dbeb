// Package selector picks endpoints of an assignment by a short expression: all, priority=0, region=r, zone=z,
// sub_zone=s, address=10.0.0.0/24, hostname=h, health=DEGRADED, metadata.envoy.lb.version=v1, combined with "," (and).
package selector

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// Ref is the place of an endpoint: endpoints[Group].lb_endpoints[Index].
type Ref struct{ Group, Index int }

// Selector is a parsed expression. The zero Selector matches every endpoint.
type Selector struct {
	text  string
	terms []term
}

// term is one condition; all terms of a selector must hold.
type term struct {
	key   string // as written: "zone", "metadata.envoy.lb.version"
	value string
	match matcher
	// address is what match asks of each address of an endpoint; nil for other keys.
	address addressTest
}

// keys are the keys that a term can have, in the order of messages.
var keys = [...]string{"all", "priority", "region", "zone", "sub_zone", "address", "hostname", "health", "metadata.NAMESPACE.KEY"}

// String returns the text that the selector was parsed from.
func (s Selector) String() string { return s.text }

// Parse reads an expression. Errors say which part is wrong and what is allowed.
func Parse(text string) (Selector, error) {
	s := Selector{text: text}
	parts, err := split(text)
	if err != nil {
		return Selector{}, fmt.Errorf("selector %q: %w", text, err)
	}
	for _, part := range parts {
		t, err := parseTerm(part)
		if err != nil {
			return Selector{}, fmt.Errorf("selector %q: %w", text, err)
		}
		s.terms = append(s.terms, t)
	}
	return s, nil
}

// split cuts the text at commas outside double quotes and removes the quotes.
func split(text string) ([]string, error) {
	var parts []string
	var b strings.Builder
	quoted := false
	for _, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ',' && !quoted:
			parts = append(parts, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteRune(r)
		}
	}
	if quoted {
		return nil, fmt.Errorf("the quotation mark is not closed")
	}
	return append(parts, strings.TrimSpace(b.String())), nil
}

// Match tells whether all terms hold for an endpoint and its group.
func (s Selector) Match(group *endpointv3.LocalityLbEndpoints, endpoint *endpointv3.LbEndpoint) bool {
	for i := range s.terms {
		if !s.terms[i].match(group, endpoint) {
			return false
		}
	}
	return true
}

// MatchAddress is Match for one address of an endpoint: terms about addresses must hold for this one.
func (s Selector) MatchAddress(group *endpointv3.LocalityLbEndpoints, endpoint *endpointv3.LbEndpoint, address *corev3.Address) bool {
	for i := range s.terms {
		if t := &s.terms[i]; t.address != nil && !t.address(address) || t.address == nil && !t.match(group, endpoint) {
			return false
		}
	}
	return true
}

// Select lists the endpoints of an assignment that match, in document order. None is an error that says which term
// excludes everything and names near values.
func (s Selector) Select(cla *endpointv3.ClusterLoadAssignment) ([]Ref, error) {
	var refs []Ref
	for i, group := range cla.GetEndpoints() {
		for j, endpoint := range group.GetLbEndpoints() {
			if s.Match(group, endpoint) {
				refs = append(refs, Ref{i, j})
			}
		}
	}
	if len(refs) == 0 {
		return nil, s.noMatch(cla)
	}
	return refs, nil
}
