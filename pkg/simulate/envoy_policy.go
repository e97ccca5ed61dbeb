package simulate

import (
	"fmt"
	"strings"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

func envoyHash(h *eds.HashConfig) envoy.Hash {
	out := envoy.Hash{
		MinimumRingSize: h.MinimumRingSize, MaximumRingSize: h.MaximumRingSize, TableSize: h.TableSize, UseHostname: h.UseHostname,
	}
	if h.Function == lb.Murmur2.String() {
		out.Function = lb.Murmur2
	}
	if h.BalanceFactor != nil {
		out.BalanceFactor = *h.BalanceFactor
	}
	return out
}

// envoySubsets are the subset policies of a chain up to one of its policies, each inside the one before.
func envoySubsets(config, end *eds.PolicyConfig) *envoy.Subset {
	var outermost *envoy.Subset
	next := &outermost
	for ; config != end; config = config.Child {
		if config.Subset != nil {
			*next = envoySubset(config.Subset)
			next = &(*next).Inner
		}
	}
	return outermost
}

// unmodelled says why nothing is known about the traffic of a chain of policies; empty when it is. Envoy 1.40 was observed
// to die of these, on the first requests at the latest: load_aware_locality in two subsets, or twice with a subset between.
func unmodelled(config *eds.PolicyConfig) string {
	subsets, aware := 0, 0
	for _, name := range config.Chain() {
		switch name {
		case "subset":
			subsets++
		case "load_aware_locality":
			if aware++; aware > 1 || subsets > 1 {
				return fmt.Sprintf("edsctl cannot tell where requests go under %s: Envoy 1.40 crashed with it", strings.Join(config.Chain(), " > "))
			}
		}
	}
	return ""
}

func envoySubset(s *eds.SubsetConfig) *envoy.Subset {
	out := &envoy.Subset{
		Fallback: envoy.Fallback(s.Fallback), DefaultSubset: s.DefaultSubset, LocalityWeightAware: s.LocalityWeightAware,
		ScaleLocalityWeight: s.ScaleLocalityWeight, PanicModeAny: s.PanicModeAny, ListAsAny: s.ListAsAny,
		AllowRedundantKeys: s.AllowRedundantKeys, MetadataFallbackList: s.MetadataFallbackPolicy == "FALLBACK_LIST",
	}
	for _, sel := range s.Selectors {
		selector := envoy.Selector{Keys: sel.Keys, FallbackKeys: sel.FallbackKeys, SingleHostPerSubset: sel.SingleHostPerSubset}
		if sel.Fallback != "NOT_DEFINED" {
			selector.Fallback = envoy.Fallback(sel.Fallback)
		}
		out.Selectors = append(out.Selectors, selector)
	}
	return out
}
