package lint

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	lbenvoy "github.com/edsctl/edsctl/pkg/lb/envoy"
)

var grpcAssignmentRules = []string{
	"address-not-socket", "drop-overload-numerator-large", "grpc-field-ignored", "grpc-no-partial-spill", "leds-not-in-grpc", "locality-missing",
}

// grpcAssignmentChecks reports what gRPC makes of an assignment and Envoy does not (unmarshal_eds.go; grpc-eds.md 11).
func grpcAssignmentChecks(c *Context, report func(diag.Problem)) {
	a := c.Resource.Assignment
	g := grpcWalk{c: c, report: report}
	for i, group := range a.GetEndpoints() {
		g.group = i
		g.locality(group)
		taken := group.GetLoadBalancingWeight().GetValue() != 0 || c.ClusterType() == TypeLogicalDNS
		for j, end := range group.GetLbEndpoints() {
			g.index = j
			if taken {
				g.addresses(end.GetEndpoint())
			}
			if config := end.GetEndpoint().GetHealthCheckConfig(); g.healthCheck == nil && config != nil && isSet(config) {
				g.healthCheck = g.at("endpoint.health_check_config")
			}
		}
	}
	g.policy(a.GetPolicy())
	g.spill(a)
}

type grpcWalk struct {
	c            *Context
	report       func(diag.Problem)
	group, index int
	healthCheck  diag.Path // of the first health_check_config
}

func (g *grpcWalk) at(field string) diag.Path { return endpointPath(g.group, g.index).Field(field) }

func (g *grpcWalk) locality(group *endpointv3.LocalityLbEndpoints) {
	if group.GetLocality() == nil {
		g.report(diag.Problem{Rule: "locality-missing", Path: groupPath(g.group).Field("locality"), Message: "gRPC needs a locality, which may be empty: {}",
			GRPC: GRPCSays("EDS response contains a locality without ID, locality: <dump>")})
	}
	if group.GetLedsClusterLocalityConfig() != nil {
		g.report(diag.Problem{Rule: "leds-not-in-grpc", Path: groupPath(g.group).Field("leds_cluster_locality_config"), Message: "gRPC has no LEDS: it sees the endpoints in lb_endpoints only"})
	}
}

// addresses: everything that is no socket address becomes ":0" (parseAddress).
func (g *grpcWalk) addresses(e *endpointv3.Endpoint) {
	g.address(e.GetAddress(), "endpoint.address")
	for k, additional := range e.GetAdditionalAddresses() {
		if what := notSocket(additional.GetAddress()); what != "" {
			g.report(diag.Problem{Rule: "address-not-socket", Path: g.at("endpoint.additional_addresses").Index(k).Field("address"), Message: notSocketWords(what)})
		}
	}
}

func (g *grpcWalk) address(a *corev3.Address, field string) {
	if what := notSocket(a); what != "" {
		g.report(diag.Problem{Rule: "address-not-socket", Path: g.at(field), Message: notSocketWords(what)})
	}
}

func notSocketWords(what string) string {
	return "gRPC cannot use " + what + ": grpc-go takes it for \":0\", C++ and Java refuse the assignment"
}

// notSocket names an address of a kind that gRPC cannot use; empty for others, and for those that break a constraint.
func notSocket(a *corev3.Address) string {
	switch t := a.GetAddress().(type) {
	case *corev3.Address_Pipe:
		if t.Pipe.GetPath() != "" {
			return "a pipe"
		}
	case *corev3.Address_EnvoyInternalAddress:
		if t.EnvoyInternalAddress.GetAddressNameSpecifier() != nil {
			return "an internal address"
		}
	}
	return ""
}

// policy reports fields that gRPC does not read, each at its first place, and drops that older clients get wrong.
func (g *grpcWalk) policy(p *endpointv3.ClusterLoadAssignment_Policy) {
	ignored := func(field string) {
		g.report(diag.Problem{Rule: "grpc-field-ignored", Path: diag.Path{}.Field("policy").Field(field), Message: "gRPC does not read " + field})
	}
	if p.GetOverprovisioningFactor() != nil {
		ignored("overprovisioning_factor")
	}
	if p.GetEndpointStaleAfter() != nil {
		ignored("endpoint_stale_after")
	}
	if p.GetWeightedPriorityHealth() {
		ignored("weighted_priority_health")
	}
	if g.healthCheck != nil {
		g.report(diag.Problem{Rule: "grpc-field-ignored", Path: g.healthCheck, Message: "gRPC does not read health_check_config"})
	}
	// Up to 1.83 grpc-go multiplied by 1000000 in 32 bits.
	const largest = 4294
	for i, d := range p.GetDropOverloads() {
		if n := d.GetDropPercentage().GetNumerator(); n > largest {
			g.report(diag.Problem{Rule: "drop-overload-numerator-large", Path: diag.Path{}.Field("policy.drop_overloads").Index(i).Field("drop_percentage.numerator"),
				Message: fmt.Sprintf("grpc-go up to 1.83 drops another share than this: its arithmetic overflows above a numerator of %d", largest)})
		}
	}
}

// spill reports that Envoy sends a part of the requests past the priority that gRPC would use alone.
func (g *grpcWalk) spill(a *endpointv3.ClusterLoadAssignment) {
	counts, active := priorityCounts(a)
	if active < 0 || len(counts) < 2 {
		return
	}
	cfg := lbenvoy.LoadConfig{
		OverprovisioningFactor: a.GetPolicy().GetOverprovisioningFactor().GetValue(), WeightedPriorityHealth: a.GetPolicy().GetWeightedPriorityHealth(),
		PanicThreshold: g.c.PanicThreshold(), LevelByLevel: g.c.EnvoyVersion < 40,
	}
	loads := lbenvoy.PriorityLoads(counts, cfg)
	load := loads.Healthy[active] + loads.Degraded[active]
	if active == 0 {
		load += loads.Rest
	}
	usable := counts[active].Healthy
	if load >= 100 || load == 0 || usable == counts[active].Hosts {
		return
	}
	at := firstOf(a, uint32(active), unhealthy)
	g.report(diag.Problem{Rule: "grpc-no-partial-spill", Path: groupPath(at), Message: fmt.Sprintf(
		"Envoy sends %d %% of the requests to priority %d and the rest elsewhere; gRPC sends all to it while one of its endpoints is up", load, active)})
}

// priorityCounts counts the endpoints of each priority by health, and finds the priority that gRPC would use: the first
// with an endpoint that is HEALTHY or UNKNOWN, in a locality with a weight; -1 when there is none.
func priorityCounts(a *endpointv3.ClusterLoadAssignment) (counts []lbenvoy.Counts, active int) {
	active = -1
	t := traffic{}
	for _, group := range a.GetEndpoints() {
		priority := int(group.GetPriority())
		if priority > lbenvoy.MaxPriority {
			continue
		}
		for len(counts) <= priority {
			counts = append(counts, lbenvoy.Counts{})
		}
		for _, end := range group.GetLbEndpoints() {
			before := counts[priority].Healthy
			t.count(&counts[priority], end.GetHealthStatus(), uint64(max(end.GetLoadBalancingWeight().GetValue(), 1)))
			if counts[priority].Healthy > before && group.GetLoadBalancingWeight().GetValue() != 0 && (active < 0 || priority < active) {
				active = priority
			}
		}
	}
	return counts, active
}
