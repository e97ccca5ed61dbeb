package simulate

import (
	"cmp"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// envoyContext is what decides where requests go beside the assignment. The zero value is a cluster without any
// configuration, under the newest Envoy.
type envoyContext struct {
	version      int
	asDocumented bool
	// keepCopies: the cluster is STATIC or takes names from DNS, where copies of an address stay.
	keepCopies bool
	static     bool // the cluster is STATIC
	logicalDNS bool // the cluster is LOGICAL_DNS, whose endpoint is of priority 0, whatever it says
	strictDNS  bool // the cluster is STRICT_DNS, where the hostname of an endpoint is its name in the address unless it has one

	cluster *clusterv3.Cluster // nil is one without configuration
	runtime map[string]*structpb.Value

	nodeLocality *corev3.Locality
	local        *endpointv3.ClusterLoadAssignment // of the local cluster; nil turns zone-aware routing off
	localCopies  bool                              // copies of an address stay in it
	match        map[string]any

	panicThreshold         *float64 // percent, over the cluster's
	overprovisioningFactor *uint32  // percent, over the assignment's
	localityWeighted       *bool    // over the policy's
}

// envoyInput turns protos into the input of Envoy's model. Its groups and endpoints keep their places.
func envoyInput(cla *endpointv3.ClusterLoadAssignment, c envoyContext) envoy.Input {
	if c.version == 0 {
		c.version = newestEnvoy
	}
	config := eds.EnvoyPolicy(c.cluster, c.version)
	in := envoy.Input{
		Version:                envoy.Version(c.version),
		Static:                 c.static,
		KeepCopies:             c.keepCopies || c.static,
		AsDocumented:           c.asDocumented,
		OverprovisioningFactor: cla.GetPolicy().GetOverprovisioningFactor().GetValue(),
		WeightedPriorityHealth: cla.GetPolicy().GetWeightedPriorityHealth(),
		Policy:                 envoyPolicy(&config),
		HealthyPanicThreshold:  config.HealthyPanicThreshold,
		Runtime:                envoyRuntime(c.runtime),
		DropLimitPercent:       runtimeInteger(c.runtime, "load_balancing_policy.drop_overload_limit"),
		NodeLocality:           envoyLocality(c.nodeLocality),
		Match:                  c.match,
	}
	if c.panicThreshold != nil {
		in.HealthyPanicThreshold = c.panicThreshold
	}
	if c.overprovisioningFactor != nil {
		in.OverprovisioningFactor = *c.overprovisioningFactor
	}
	if c.localityWeighted != nil {
		in.Policy.LocalityWeighted = *c.localityWeighted
	}
	for _, d := range cla.GetPolicy().GetDropOverloads() {
		p := d.GetDropPercentage()
		in.Drops = append(in.Drops, envoy.Drop{Category: d.GetCategory(), Numerator: p.GetNumerator(),
			Denominator: denominator(p.GetDenominator().Number())})
	}
	in.Groups = envoyGroups(cla, in.Policy.Subset != nil || in.Policy.Inside != nil)
	if c.strictDNS {
		nameHosts(in.Groups, cla)
	}
	if c.logicalDNS { // logical_dns_cluster.cc, convertPriority
		for i := range in.Groups {
			in.Groups[i].Priority = 0
		}
	}
	if c.local != nil {
		in.Local = &envoy.Local{Groups: envoyGroups(c.local, false), KeepCopies: c.localCopies}
	}
	return in
}

// envoyGroups turns localities and endpoints into those of the model. Metadata is read only for subsets.
func envoyGroups(cla *endpointv3.ClusterLoadAssignment, metadata bool) []envoy.Group {
	groups := make([]envoy.Group, len(cla.GetEndpoints()))
	for i, group := range cla.GetEndpoints() {
		g := &groups[i]
		g.Priority, g.Locality, g.Weight = group.GetPriority(), envoyLocality(group.GetLocality()), group.GetLoadBalancingWeight().GetValue()
		g.Endpoints = make([]envoy.Endpoint, len(group.GetLbEndpoints()))
		for j, e := range group.GetLbEndpoints() {
			out := &g.Endpoints[j]
			address := e.GetEndpoint().GetAddress()
			out.Address, out.Hostname = EnvoyAddress(address), e.GetEndpoint().GetHostname()
			out.Weight, out.Health = e.GetLoadBalancingWeight().GetValue(), envoy.Health(e.GetHealthStatus())
			out.HashKey = hashKey(e.GetMetadata())
			if labels := e.GetMetadata().GetFilterMetadata()["envoy.lb"]; metadata && labels != nil {
				out.Metadata = labels.AsMap()
			}
		}
	}
	return groups
}

// nameHosts gives the endpoints of a STRICT_DNS cluster without a hostname that of their address, an IP address too
// (strict_dns_cluster.cc). What was resolved has its name already.
func nameHosts(groups []envoy.Group, cla *endpointv3.ClusterLoadAssignment) {
	for i, group := range cla.GetEndpoints() {
		for j, e := range group.GetLbEndpoints() {
			out := &groups[i].Endpoints[j]
			out.Hostname = cmp.Or(out.Hostname, e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress())
		}
	}
}

func envoyLocality(l *corev3.Locality) *envoy.Locality {
	if l == nil {
		return nil
	}
	return &envoy.Locality{Region: l.GetRegion(), Zone: l.GetZone(), SubZone: l.GetSubZone()}
}

// envoyPolicy flattens the chain of policies: override_host passes on to its fallback policy, wrr_locality turns locality
// weights on, subset filters the hosts, and load_aware_locality chooses a locality for the policies inside it.
func envoyPolicy(config *eds.PolicyConfig) envoy.Policy {
	picker := config.Picker()
	p := envoy.Policy{
		Name:             envoy.Name(picker.Name),
		LocalityWeighted: config.LocalityWeights(),
		ZoneAware: envoy.ZoneAware{
			RoutingEnabled: picker.ZoneAware.RoutingEnabled, MinClusterSize: picker.ZoneAware.MinClusterSize,
			FailTrafficOnPanic: picker.ZoneAware.FailTrafficOnPanic, ForceLocalZoneMinSize: picker.ZoneAware.ForceLocalZoneMinSize,
			ByWeight: picker.ZoneAware.ByWeight,
		},
		LeastRequest: envoy.LeastChoices{FullScan: picker.FullScan, ActiveRequestBias: picker.ActiveRequestBias},
	}
	if picker.ChoiceCount != nil {
		p.LeastRequest.ChoiceCount = *picker.ChoiceCount
	}
	if s := picker.SlowStart; s != nil {
		p.SlowStart = envoy.SlowStart{WindowMillis: s.WindowMillis, Aggression: s.Aggression, MinWeightPercent: s.MinWeightPercent}
	}
	if picker.Hash != nil {
		p.Hash = envoyHash(picker.Hash)
	}
	aware := config.Find("load_aware_locality")
	p.Subset = envoySubsets(config, aware)
	if aware == nil {
		return p
	}
	p.Inside = envoySubsets(aware, nil)
	// The ring or table of a hash policy inside is that of the whole cluster, whichever locality is chosen (observed: key by
	// key, also with degraded and panicking priorities).
	if picker.Hash == nil || p.Subset != nil || p.Inside != nil {
		p.Name, p.Endpoint, p.RemoteProbeFraction = envoy.LoadAwareLocality, p.Name, aware.RemoteProbeFraction
	}
	return p
}

// RuntimeKeys are the keys of Envoy's runtime that decide where requests go.
func RuntimeKeys() []string {
	return []string{
		"upstream.healthy_panic_threshold", "upstream.zone_routing.enabled", "upstream.zone_routing.min_cluster_size",
		"upstream.zone_routing.force_local_zone.min_size", "load_balancing_policy.drop_overload_limit",
		"envoy.reloadable_features.enable_batch_aware_update", "envoy.reloadable_features.coalesce_lb_rebuilds_on_batch_update",
	}
}

// envoyRuntime reads the keys that load balancing asks for.
func envoyRuntime(runtime map[string]*structpb.Value) envoy.Runtime {
	off := func(guard string) bool {
		on, set := eds.RuntimeFlag(runtime["envoy.reloadable_features."+guard])
		return set && !on
	}
	return envoy.Runtime{
		HealthyPanicThreshold: runtimeInteger(runtime, "upstream.healthy_panic_threshold"),
		ZoneRoutingEnabled:    runtimeInteger(runtime, "upstream.zone_routing.enabled"),
		MinClusterSize:        runtimeInteger(runtime, "upstream.zone_routing.min_cluster_size"),
		ForceLocalZoneMinSize: runtimeInteger(runtime, "upstream.zone_routing.force_local_zone.min_size"),
		LevelByLevel:          off("enable_batch_aware_update") || off("coalesce_lb_rebuilds_on_batch_update"),
	}
}

// runtimeInteger is nil for what Envoy does not read as an integer.
func runtimeInteger(runtime map[string]*structpb.Value, key string) *uint64 {
	if n, ok := eds.RuntimeInteger(runtime[key]); ok {
		return &n
	}
	return nil
}
