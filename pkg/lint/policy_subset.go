package lint

import (
	"slices"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/eds"
)

// endpoints of the cluster: those of its load_assignment, or of the EDS resource.
func (b *build) endpoints() []*endpointv3.LocalityLbEndpoints {
	if b.kind == eds.TypeEDS && b.c.InLoadAssignment() {
		return nil
	}
	return b.c.Resource.Assignment.GetEndpoints()
}

// subsetExists tells whether subset load balancing makes a load balancer at all: one for a fallback, or one for a subset
// that an endpoint belongs to. A subset with a single host has none.
func (b *build) subsetExists(s *eds.SubsetConfig) bool {
	fallback := func(name string) bool { return name == "ANY_ENDPOINT" || name == "DEFAULT_SUBSET" }
	if fallback(s.Fallback) || s.PanicModeAny || slices.ContainsFunc(s.Selectors, func(l eds.SubsetSelector) bool { return fallback(l.Fallback) }) {
		return true
	}
	for _, group := range b.endpoints() {
		for _, end := range group.GetLbEndpoints() {
			metadata := end.GetMetadata().GetFilterMetadata()["envoy.lb"].GetFields()
			for _, selector := range s.Selectors {
				if !selector.SingleHostPerSubset && !slices.ContainsFunc(selector.Keys, func(key string) bool { return metadata[key] == nil }) {
					return true
				}
			}
		}
	}
	return false
}
