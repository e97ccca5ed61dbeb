package simulate

import (
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
