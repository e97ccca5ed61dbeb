package eds

import (
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	wrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	lbcommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/common/v3"
	dynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/dynamic_modules/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	loadawarev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/load_aware_locality/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	overridehostv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	randomv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/subset/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// readExtension reads the configuration of a policy that Envoy has.
func (p *PolicyConfig) readExtension(message proto.Message, version int) {
	switch c := message.(type) {
	case *roundrobinv3.RoundRobin:
		p.locality(c.GetLocalityLbConfig())
		readSlowStart(p, c.GetSlowStartConfig())
	case *leastrequestv3.LeastRequest:
		p.ChoiceCount, p.ActiveRequestBias = optional(c.GetChoiceCount()), runtimeDouble(c.GetActiveRequestBias())
		p.FullScan = c.GetSelectionMethod() == leastrequestv3.LeastRequest_FULL_SCAN || c.GetEnableFullScan().GetValue()
		p.locality(c.GetLocalityLbConfig())
		readSlowStart(p, c.GetSlowStartConfig())
	case *randomv3.Random:
		p.locality(c.GetLocalityLbConfig())
	case *wrrv3.ClientSideWeightedRoundRobin:
		p.clientSideDurations(c, version)
		readSlowStart(p, c.GetSlowStartConfig())
	case *ringhashv3.RingHash:
		p.LocalityWeighted = c.GetLocalityWeightedLbConfig() != nil
		// The fields of RingHash itself count only where the common message is absent, not where it is empty.
		p.hash(c.GetConsistentHashingLbConfig(), c.GetUseHostnameForHashing(), c.GetHashBalanceFactor()) //nolint:staticcheck // Envoy still reads them
		p.Hash.Function = c.GetHashFunction().String()
		p.Hash.MinimumRingSize, p.Hash.MaximumRingSize = optional(c.GetMinimumRingSize()), optional(c.GetMaximumRingSize())
		p.checkRing()
	case *maglevv3.Maglev:
		p.LocalityWeighted = c.GetLocalityWeightedLbConfig() != nil
		p.hash(c.GetConsistentHashingLbConfig(), false, nil)
		p.Hash.TableSize = optional(c.GetTableSize())
		p.checkTable()
	case *dynamicmodulesv3.DynamicModulesLoadBalancerConfig:
		if module := c.GetDynamicModuleConfig(); module.GetName() == "" && module.GetModule() == nil { // extensions/dynamic_modules/dynamic_modules.cc
			says := "Either 'name' or 'module' must be specified in dynamic_module_config"
			if version < 39 {
				says = "failed to load dynamic module '': Failed to load dynamic module: lib.so not found in any search path: "
			}
			p.Refusals = append(p.Refusals, Refusal{Rule: "cluster-constraint", Path: p.Path.Field("dynamic_module_config"), Message: says})
		}
	case *subsetv3.Subset:
		p.extensionSubset(c, version)
	case *wrrlocalityv3.WrrLocality:
		p.LocalityWeighted = true
		child := p.inner(c.GetEndpointPickingPolicy(), "endpoint_picking_policy", "No supported endpoint picking policy.", version)
		if child.Name != "" && child.Name != "client_side_weighted_round_robin" {
			child.Refusals = append([]Refusal{{Rule: "wrr-locality-child", Path: child.Path,
				Message: "Currently WrrLocalityLoadBalancer only supports ClientSideWeightedRoundRobinLoadBalancer as its endpoint picking policy."}}, child.Refusals...)
		}
		p.adopt(child)
	case *loadawarev3.LoadAwareLocality:
		p.RemoteProbeFraction = optional(c.GetRemoteProbeFraction())
		if version < 40 {
			p.refuse("lb-policy-unknown", p.Path, "envoy.load_balancing_policies.load_aware_locality is not yet implemented")
		}
		p.loadAwareNumbers(c)
		p.loadAware(p.inner(c.GetEndpointPickingPolicy(), "endpoint_picking_policy", "No supported endpoint picking policy.", version))
	case *overridehostv3.OverrideHost:
		p.overrideHost(c, version)
	}
}

func (p *PolicyConfig) loadAware(child PolicyConfig) {
	switch child.Name {
	case "load_aware_locality":
		p.refuse("lb-policy-unknown", child.Path, "load_aware_locality cannot be its own endpoint_picking_policy")
	case "cluster_provided":
		p.Refusals = append(p.Refusals, Refusal{Rule: "lb-policy-cluster-provided", Path: child.Path, Late: true, Worker: true, Message: "Unsupported endpoint picking policy for " +
			"load_aware_locality: envoy.load_balancing_policies.cluster_provided. Child load balancer could not be instantiated per locality."})
	}
	p.adopt(child)
}

// inner reads the list in a field of a wrapper; message is Envoy's text when it finds no policy there.
func (p *PolicyConfig) inner(list *clusterv3.LoadBalancingPolicy, field, message string, version int) PolicyConfig {
	child, _ := envoyList(list, p.Path.Field(field), version)
	if child.Name == "" {
		child.refuse("lb-policy-unknown", p.Path.Field(field), message)
	}
	return child
}

// overrideHost checks its constraints, which Envoy enforces in this extension (override_host/config.cc), and its sources
// (override_host/load_balancer.cc, makeOverrideSources).
func (p *PolicyConfig) overrideHost(c *overridehostv3.OverrideHost, version int) {
	if c.ValidateAll() != nil {
		p.Refusals = append(p.Refusals, Refusal{Rule: "cluster-constraint", Path: p.Path, Thrown: true, Constraints: c})
	}
	for i, source := range c.GetOverrideHostSources() {
		at := p.Path.Field("override_host_sources").Index(i)
		switch header, metadata := source.GetHeader() != "", source.GetMetadata() != nil; {
		case !header && !metadata:
			p.refuse("cluster-constraint", at, "Empty override source")
		case header && metadata:
			p.refuse("cluster-constraint", at, "Only one override source must be set")
		}
	}
	child, missing := envoyList(c.GetFallbackPolicy(), p.Path.Field("fallback_policy"), version)
	if child.Name == "" {
		child.refuse("lb-policy-unknown", p.Path.Field("fallback_policy"),
			"dynamic forwarding LB: didn't find a registered fallback load balancer factory with names from "+strings.Join(missing, ", "))
	}
	p.childProvided(&child)
	p.adopt(child)
}

// hash reads what ring_hash and maglev share.
func (p *PolicyConfig) hash(c *lbcommonv3.ConsistentHashingLbConfig, useHostname bool, balance *wrapperspb.UInt32Value) {
	p.Hash = &HashConfig{UseHostname: useHostname, BalanceFactor: optional(balance), BalanceFactorPath: p.Path.Field("hash_balance_factor")}
	if c == nil {
		return
	}
	at := p.Path.Field("consistent_hashing_lb_config")
	p.Hash.UseHostname, p.Hash.BalanceFactor = c.GetUseHostnameForHashing(), optional(c.GetHashBalanceFactor())
	p.Hash.BalanceFactorPath = at.Field("hash_balance_factor")
	p.Hash.HashPolicies = len(c.GetHashPolicy())
	for i, h := range c.GetHashPolicy() {
		if h.GetPolicySpecifier() == nil {
			p.Refusals = append(p.Refusals, Refusal{Rule: "hash-policy-empty", Path: at.Field("hash_policy").Index(i), Thrown: true, Crash: true, Message: "panic: hash policy not set"})
			return
		}
		// Envoy compiles it (hash_policy.cc, HeaderHashMethod).
		if says := RegexError(h.GetHeader().GetRegexRewrite().GetPattern().GetRegex()); says != "" {
			p.refuse("cluster-constraint", at.Field("hash_policy").Index(i).Field("header.regex_rewrite.pattern.regex"), says)
			return
		}
	}
}

func (p *PolicyConfig) locality(c *lbcommonv3.LocalityLbConfig) {
	p.LocalityWeighted = c.GetLocalityWeightedLbConfig() != nil
	z := c.GetZoneAwareLbConfig()
	if z == nil {
		return
	}
	p.ZoneAware = ZoneAwareConfig{
		Path: p.Path.Field("locality_lb_config.zone_aware_lb_config"), MinClusterSize: optional(z.GetMinClusterSize()), FailTrafficOnPanic: z.GetFailTrafficOnPanic(),
		ForceLocalZoneMinSize: forceLocalZone(z), ByWeight: z.GetLocalityBasis() == lbcommonv3.LocalityLbConfig_ZoneAwareLbConfig_HEALTHY_HOSTS_WEIGHT,
	}
	if e := z.GetRoutingEnabled(); e != nil {
		p.ZoneAware.RoutingEnabled = new(e.GetValue())
	}
	p.checkZone()
}

func forceLocalZone(z *lbcommonv3.LocalityLbConfig_ZoneAwareLbConfig) *uint64 {
	if f := z.GetForceLocalZone(); f != nil {
		return new(uint64(orDefault(optional(f.GetMinSize()), 1)))
	}
	if z.GetForceLocalityDirectRouting() { //nolint:staticcheck // deprecated, and Envoy reads it
		return new(uint64(1))
	}
	return nil
}
