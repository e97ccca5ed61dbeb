package eds

import (
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/subset/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// legacySubset puts the subset load balancer around a policy.
func legacySubset(c *clusterv3.Cluster_LbSubsetConfig, inner PolicyConfig) PolicyConfig {
	at := clusterPath("lb_subset_config")
	p := PolicyConfig{Name: "subset", Path: at, ConfigPath: at, LocalityWeighted: inner.LocalityWeighted, ZoneAware: inner.ZoneAware}
	p.Subset = &SubsetConfig{
		Path: at, Fallback: c.GetFallbackPolicy().String(), DefaultSubset: c.GetDefaultSubset().AsMap(),
		LocalityWeightAware: c.GetLocalityWeightAware(), ScaleLocalityWeight: c.GetScaleLocalityWeight(), PanicModeAny: c.GetPanicModeAny(),
		ListAsAny: c.GetListAsAny(), MetadataFallbackPolicy: c.GetMetadataFallbackPolicy().String(),
	}
	for i, s := range c.GetSubsetSelectors() {
		p.Subset.add(SubsetSelector{
			Index: i, Keys: s.GetKeys(), SingleHostPerSubset: s.GetSingleHostPerSubset(), Fallback: s.GetFallbackPolicy().String(), FallbackKeys: s.GetFallbackKeysSubset(),
		})
	}
	if inner.Name == "cluster_provided" {
		p.refuse("lb-policy-cluster-provided", clusterPath("lb_policy"), "cluster: LB policy CLUSTER_PROVIDED cannot be combined with lb_subset_config")
	}
	p.checkSelectors(at)
	p.adopt(inner)
	return p
}

// extensionSubset reads the subset extension.
func (p *PolicyConfig) extensionSubset(c *subsetv3.Subset, version int) {
	p.Subset = &SubsetConfig{
		Path: p.Path, Fallback: c.GetFallbackPolicy().String(), DefaultSubset: c.GetDefaultSubset().AsMap(),
		LocalityWeightAware: c.GetLocalityWeightAware(), ScaleLocalityWeight: c.GetScaleLocalityWeight(), PanicModeAny: c.GetPanicModeAny(),
		ListAsAny: c.GetListAsAny(), AllowRedundantKeys: c.GetAllowRedundantKeys(), MetadataFallbackPolicy: c.GetMetadataFallbackPolicy().String(),
	}
	for i, s := range c.GetSubsetSelectors() {
		p.Subset.add(SubsetSelector{
			Index: i, Keys: s.GetKeys(), SingleHostPerSubset: s.GetSingleHostPerSubset(), Fallback: s.GetFallbackPolicy().String(), FallbackKeys: s.GetFallbackKeysSubset(),
		})
	}
	p.checkSelectors(p.Path)
	child, missing := envoyList(c.GetSubsetLbPolicy(), p.Path.Field("subset_lb_policy"), version)
	if child.Name == "" {
		child.refuse("lb-policy-unknown", p.Path.Field("subset_lb_policy"),
			"cluster: didn't find a registered load balancer factory implementation for subset lb with names from ["+strings.Join(missing, ", ")+"]")
	}
	p.childProvided(&child)
	p.adopt(child)
}

// add takes a selector, unless it has no keys: Envoy passes over such a one (subset_lb_config.h).
func (c *SubsetConfig) add(s SubsetSelector) {
	if len(s.Keys) > 0 {
		c.Selectors = append(c.Selectors, s)
	}
}

// checkSelectors: SubsetSelector's constructor (subset_lb_config.cc).
func (p *PolicyConfig) checkSelectors(at diag.Path) {
	for _, s := range p.Subset.Selectors {
		refuse := func(says string) {
			p.Refusals = append(p.Refusals, Refusal{Rule: "cluster-constraint", Path: at.Field("subset_selectors").Index(s.Index).Field("fallback_keys_subset"), Thrown: true, Message: says})
		}
		keys, fallback := sorted(s.Keys), sorted(s.FallbackKeys)
		switch {
		case s.Fallback != "KEYS_SUBSET":
			if len(fallback) > 0 {
				refuse("fallback_keys_subset can be set only for KEYS_SUBSET fallback_policy")
			}
		case len(fallback) == 0:
			refuse("fallback_keys_subset cannot be empty")
		case !includes(keys, fallback):
			refuse("fallback_keys_subset must be a subset of selector keys")
		case slices.Equal(keys, fallback):
			refuse("fallback_keys_subset cannot be equal to keys")
		}
	}
}

func sorted(keys []string) []string {
	s := slices.Clone(keys)
	slices.Sort(s)
	return slices.Compact(s)
}

func includes(set, part []string) bool {
	return !slices.ContainsFunc(part, func(k string) bool { return !slices.Contains(set, k) })
}
