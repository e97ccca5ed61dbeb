package lint

import (
	"fmt"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	lbenvoy "github.com/edsctl/edsctl/pkg/lb/envoy"
)

var trafficRules = []string{
	"draining-excluded", "endpoint-weight-ignored", "host-weight-sum-overflow", "locality-weight-sum-overflow", "no-usable-endpoint", "panic-ignores-health", "priority-without-health-source",
}

// traffic counts endpoints during the walk, for the rules about where requests go with the health in the file.
type traffic struct {
	counts   []lbenvoy.Counts // by priority, without the copies that Envoy drops
	draining []uint64         // by priority
	total    int
	grpc     int               // endpoints that gRPC would pick: HEALTHY or UNKNOWN, in a locality with a weight
	weights  map[uint32]uint32 // of the first endpoint of each priority
	differs  diag.Path         // of the first endpoint whose weight differs from another of its priority
}

func (t *traffic) add(w *walk, priority uint32, dropped bool) {
	t.total++
	health := w.end.GetHealthStatus()
	if w.seen.grpcTakes && (health == corev3.HealthStatus_UNKNOWN || health == corev3.HealthStatus_HEALTHY) {
		t.grpc++
	}
	weight := uint32(1)
	if w.end.GetLoadBalancingWeight() != nil {
		weight = w.end.GetLoadBalancingWeight().GetValue()
	}
	if first, ok := t.weights[priority]; !ok {
		t.weights[priority] = weight
	} else if first != weight && t.differs == nil {
		t.differs = w.at("load_balancing_weight")
	}
	if dropped || priority > lbenvoy.MaxPriority {
		return
	}
	for uint32(len(t.counts)) <= priority {
		t.counts, t.draining = append(t.counts, lbenvoy.Counts{}), append(t.draining, 0)
	}
	t.count(&t.counts[priority], health, uint64(max(weight, 1)))
	if health == corev3.HealthStatus_DRAINING {
		t.draining[priority]++
	}
}

// count adds an endpoint to its priority (host_utility.cc and HostImplBase::setEdsHealthFlag).
func (t *traffic) count(c *lbenvoy.Counts, health corev3.HealthStatus, weight uint64) {
	c.Hosts++
	c.TotalWeight += weight
	switch health {
	case corev3.HealthStatus_DRAINING:
		c.Excluded++
		c.ExcludedWeight += weight
	case corev3.HealthStatus_UNHEALTHY, corev3.HealthStatus_TIMEOUT:
	case corev3.HealthStatus_DEGRADED:
		c.Degraded++
		c.DegradedWeight += weight
	default:
		c.Healthy++
		c.HealthyWeight += weight
	}
}

// defaultPanicThreshold is the healthy_panic_threshold of a cluster that has none, in percent.
const defaultPanicThreshold = 50

// PanicThreshold is the healthy_panic_threshold in whole percent, as Envoy truncates it.
func (c *Context) PanicThreshold() uint64 {
	if t := c.Policy(diag.Envoy).HealthyPanicThreshold; t != nil {
		return lbenvoy.TruncatePercent(*t)
	}
	return defaultPanicThreshold
}

// trafficChecks reports what the health in the file does to the traffic (load_balancer_impl.cc, through pkg/lb/envoy).
func (w *walk) trafficChecks() {
	t := &w.traffic
	if t.total == 0 {
		return
	}
	policy := w.c.Resource.Assignment.GetPolicy()
	cfg := lbenvoy.LoadConfig{
		OverprovisioningFactor: policy.GetOverprovisioningFactor().GetValue(), WeightedPriorityHealth: policy.GetWeightedPriorityHealth(),
		PanicThreshold: w.c.PanicThreshold(), LevelByLevel: w.c.EnvoyVersion < 40,
	}
	loads := lbenvoy.PriorityLoads(t.counts, cfg)
	w.panics(loads, cfg)
	w.unusable(loads, cfg)
	w.draining(loads, cfg)
	w.onlyHealthy()
	if t.differs != nil && !w.weightedInLocality() {
		w.report(diag.Problem{Rule: "endpoint-weight-ignored", Path: t.differs, Message: w.weightIgnored()})
	}
}

// weightedInLocality: load_aware_locality chooses a locality without the weights of endpoints, and the policy inside uses
// them (measured: 1 and 3 of 4 in a locality). gRPC has no such policy.
func (w *walk) weightedInLocality() bool {
	p := w.c.Policy(diag.Envoy)
	return p.Has("load_aware_locality") && !p.Has("random", "client_side_weighted_round_robin")
}

func (w *walk) weightIgnored() string {
	if w.c.Policy(diag.Envoy).Has("random", "client_side_weighted_round_robin") {
		return fmt.Sprintf("the policy %s does not use the weights of endpoints", w.c.Policy(diag.Envoy).Picker().Name)
	}
	return "endpoint weights differ: Envoy uses them, gRPC does so with ring_hash only"
}

// panics reports priorities that are in panic and get traffic, so that their unhealthy endpoints do.
func (w *walk) panics(loads lbenvoy.Loads, cfg lbenvoy.LoadConfig) {
	for p, c := range w.traffic.counts {
		bad := c.Hosts - c.Healthy - c.Degraded
		if p >= len(loads.Panic) || !loads.Panic[p] || bad == 0 || loads.Healthy[p]+loads.Degraded[p] == 0 {
			continue
		}
		usable, of := c.Healthy+c.Degraded, c.Hosts-c.Excluded
		percent := uint64(0)
		if of > 0 {
			percent = 100 * usable / of
		}
		w.report(diag.Problem{
			Rule: "panic-ignores-health", Path: groupPath(firstOf(w.c.Resource.Assignment, uint32(p), unhealthy)),
			Message: fmt.Sprintf("priority %d is in panic: %d %% of its endpoints are usable, the threshold is %d %%, so its %d UNHEALTHY or DRAINING endpoints get traffic too",
				p, percent, cfg.PanicThreshold, bad),
		})
	}
}

func unhealthy(h corev3.HealthStatus) bool {
	return h == corev3.HealthStatus_UNHEALTHY || h == corev3.HealthStatus_TIMEOUT || h == corev3.HealthStatus_DRAINING
}

// firstOf is the first entry of a priority that has an endpoint of such health; else the first of the priority.
func firstOf(a *endpointv3.ClusterLoadAssignment, priority uint32, is func(corev3.HealthStatus) bool) int {
	first := -1
	for i, g := range a.GetEndpoints() {
		if g.GetPriority() != priority {
			continue
		}
		if first < 0 {
			first = i
		}
		if slices.ContainsFunc(g.GetLbEndpoints(), func(e *endpointv3.LbEndpoint) bool { return is(e.GetHealthStatus()) }) {
			return i
		}
	}
	return max(first, 0)
}

// unusable reports an assignment with endpoints of which a client would pick none.
func (w *walk) unusable(loads lbenvoy.Loads, cfg lbenvoy.LoadConfig) {
	usable := uint64(0)
	for _, c := range w.traffic.counts {
		usable += c.Healthy + c.Degraded
	}
	envoy := usable == 0 && cfg.PanicThreshold == 0 || w.hashWithoutWeights()
	if !envoy && w.traffic.grpc > 0 {
		return
	}
	p := diag.Problem{Rule: "no-usable-endpoint", Path: diag.Path{}.Field("endpoints")}
	if envoy {
		p.Message = "no endpoint is usable: every request fails with 503 \"no healthy upstream\""
		p.Envoy = EnvoySays("no healthy upstream")
	} else {
		p.Message = "no endpoint is usable for gRPC: none is HEALTHY or UNKNOWN in a locality with a weight, so every RPC fails with UNAVAILABLE"
		p.Envoy.Effect = new(diag.None)
	}
	if w.traffic.grpc > 0 {
		p.GRPC.Effect = new(diag.None)
	}
	w.report(p)
}

// hashWithoutWeights tells whether a hash policy weights localities of which none has a weight (thread_aware_lb_impl.cc).
func (w *walk) hashWithoutWeights() bool {
	hash := w.c.Policy(diag.Envoy).Find("ring_hash", "maglev")
	if hash == nil || !hash.LocalityWeighted {
		return false
	}
	for _, g := range w.c.Resource.Assignment.GetEndpoints() {
		if g.GetLocality() != nil && g.GetLoadBalancingWeight().GetValue() > 0 && len(g.GetLbEndpoints()) > 0 {
			return false
		}
	}
	return true
}

// draining reports that DRAINING endpoints leave the denominator of the health percentage, where that shows in the loads.
func (w *walk) draining(loads lbenvoy.Loads, cfg lbenvoy.LoadConfig) {
	priority := slices.IndexFunc(w.traffic.draining, func(n uint64) bool { return n > 0 })
	if priority < 0 {
		return
	}
	counts := slices.Clone(w.traffic.counts)
	for i := range counts {
		counts[i].Excluded, counts[i].ExcludedWeight = 0, 0
	}
	other := lbenvoy.PriorityLoads(counts, cfg)
	if slices.Equal(loads.Healthy, other.Healthy) && slices.Equal(loads.Degraded, other.Degraded) && slices.Equal(loads.Panic, other.Panic) {
		return
	}
	isDraining := func(h corev3.HealthStatus) bool { return h == corev3.HealthStatus_DRAINING }
	w.report(diag.Problem{
		Rule: "draining-excluded", Path: groupPath(firstOf(w.c.Resource.Assignment, uint32(priority), isDraining)),
		Message: "DRAINING endpoints do not count in the health percentage of their priority; as UNHEALTHY they would lower it and change the loads",
	})
}

// onlyHealthy reports priorities that never get traffic because nothing marks an endpoint unhealthy.
func (w *walk) onlyHealthy() {
	priorities := 0
	for _, c := range w.traffic.counts {
		if c.Hosts == 0 {
			continue
		}
		priorities++
		if c.Healthy != c.Hosts {
			return
		}
	}
	if priorities < 2 {
		return
	}
	if c := w.c.Cluster; c != nil && (len(c.Message.GetHealthChecks()) > 0 || c.Message.GetOutlierDetection() != nil) {
		return
	}
	first := slices.IndexFunc(w.traffic.counts, func(c lbenvoy.Counts) bool { return c.Hosts > 0 })
	lower := slices.IndexFunc(w.c.Resource.Assignment.GetEndpoints(), func(g *endpointv3.LocalityLbEndpoints) bool {
		return g.GetPriority() > uint32(first) && len(g.GetLbEndpoints()) > 0
	})
	message := fmt.Sprintf("lower priorities get no traffic while nothing marks an endpoint of priority %d unhealthy: neither health_status here nor health checks", first)
	if w.c.Cluster == nil {
		message += " (unless its cluster has some)"
	}
	w.report(diag.Problem{Rule: "priority-without-health-source", Path: groupPath(max(lower, 0)).Field("priority"), Message: message})
}
