package envoy

import (
	"fmt"
	"strings"
)

// steps writes the computation down with its numbers, in Envoy's order, so that it can be checked by hand.
func (m *Model) steps(r *Result) []Step {
	var steps []Step
	add := func(stage, format string, args ...any) {
		steps = append(steps, Step{Stage: stage, Text: fmt.Sprintf(format, args...)})
	}
	m.dropSteps(add)
	if m.subset.Used {
		add("subset", "%s: %s", m.subset.Kind, m.subset.Reason)
	}
	if len(m.balancers) == 0 {
		add("subset", "no host set is left: every request that is not dropped fails with no healthy upstream")
		return steps
	}
	b := m.balancers[0]
	if b.single >= 0 {
		add("subset", "single_host_per_subset: %s gets all, whatever its health", m.hosts[b.single].Address)
		return steps
	}
	b.loadSteps(add)
	b.localitySteps(add)
	b.policySteps(add)
	if r.Unavailable > 0 {
		add("result", "%.10g of all requests find no host: 503 no healthy upstream", r.Unavailable)
	}
	return steps
}

type addStep func(stage, format string, args ...any)

func (m *Model) dropSteps(add addStep) {
	pass := 1.0
	for i, d := range m.drops {
		add("drop", "category %q: %.10g of the %.10g that reach it = %.10g of all requests", d.Category, d.Rate, pass, d.Share)
		if limit := m.in.DropLimitPercent; limit != nil && len(m.drops) == 1 {
			add("drop", "the runtime key load_balancing_policy.drop_overload_limit bounds the rate: %d %%", *limit)
		}
		pass *= 1 - m.drops[i].Rate
	}
	if m.rejected != "" {
		add("drop", "Envoy refuses this assignment: %s", m.rejected)
	}
}

// loadSteps explains availability, loads and panic.
func (b *balancer) loadSteps(add addStep) {
	in, l := b.m.in, &b.loads
	factor := LoadConfig{OverprovisioningFactor: in.OverprovisioningFactor}.factor()
	basis := "counts"
	if in.WeightedPriorityHealth {
		basis = "weights"
	}
	for i, c := range b.counts {
		if c.Hosts == 0 {
			add("health", "priority %d: no endpoints, availability 0", i)
			continue
		}
		h, d, n := c.Healthy, c.Degraded, c.eligible()
		if in.WeightedPriorityHealth {
			h, d, n = c.HealthyWeight, c.DegradedWeight, c.TotalWeight-c.ExcludedWeight
		}
		text := fmt.Sprintf("priority %d: availability by %s min(100, floor(%d * %d / %d)) = %d", i, basis, factor, h, n, l.HealthyAvailability[i])
		if d > 0 {
			text += fmt.Sprintf(", degraded min(100, floor(%d * %d / %d)) = %d", factor, d, n, l.DegradedAvailability[i])
		}
		if c.Excluded > 0 {
			text += fmt.Sprintf(" (%d excluded from the %d endpoints)", c.Excluded, c.Hosts)
		}
		add("health", "%s", text)
	}
	add("load", "normalized total min(100, sum) = %d", l.NormalizedTotal)
	switch {
	case l.TotalPanic:
		add("panic", "all priorities are below the threshold of %d %%: total panic, load by endpoint counts", in.Threshold())
	case l.Hole:
		add("load", "every availability is 0, but not every priority is in panic: Envoy computes no loads")
	case l.NormalizedTotal > 0:
		add("load", "each load is floor(availability * 100 / %d), healthy ones first; the rest goes to the first available priority", l.NormalizedTotal)
	}
	add("load", "healthy loads %s, degraded loads %s", joined(l.Healthy), joined(l.Degraded))
	if l.Rest > 0 {
		add("load", "the %d %% without a load go to the healthy endpoints of priority 0", l.Rest)
	}
	for i, c := range b.counts {
		if l.Panic[i] && !l.TotalPanic {
			add("panic", "priority %d: %.6g %% available is below the threshold of %d %%: all its endpoints are used", i, c.availablePercent(), in.Threshold())
		}
	}
}

func joined(loads []uint32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(loads), " ", "/"), "[]")
}

// localitySteps explains locality weights and zone-aware routing.
func (b *balancer) localitySteps(add addStep) {
	in := b.m.in
	if b.m.in.Policy.hashes() {
		return
	}
	factor := LoadConfig{OverprovisioningFactor: in.OverprovisioningFactor}.factor()
	for i := range b.wrr {
		lv := &b.levels[i]
		if b.loads.Panic[i] {
			continue
		}
		for _, c := range []Class{ClassHealthy, ClassDegraded} {
			if b.load(i, c) == 0 {
				continue
			}
			w := b.wrr[i][c]
			if w.weights == nil {
				add("locality", "priority %d: no locality with %s endpoints has a weight: all of them form one list", i, c)
				continue
			}
			for j := range lv.localities {
				loc := &lv.localities[j]
				add("locality", "priority %d, %s, %s: %d * min(1, %d/100 * %d/%d) = %.10g, share %.10g", i, loc.name, c, loc.weight,
					factor, len(loc.class(c)), len(loc.hosts)-loc.excluded, w.weights[j], w.weights[j]/w.sum)
			}
		}
	}
	z := &b.zone.result
	switch z.Mode {
	case ZoneNone:
		add("zone-aware", "not used: %s", z.Reason)
	case ZoneDirect, ZoneResidual:
		add("zone-aware", "local zones %v and upstream zones %v in 1/10000: %s", z.LocalShare, z.Upstream, z.Mode)
		if z.Mode == ZoneResidual {
			add("zone-aware", "%d of 10000 stay local, the rest by residual capacity %v (cumulative)", z.LocalPercent, z.ResidualCapacity)
		}
		if z.EnabledPercent < 100 {
			add("zone-aware", "routing_enabled: %d %% of the requests", z.EnabledPercent)
		}
		if z.LocalPanic {
			add("zone-aware", "the local cluster is in panic: not used")
		}
	}
}

// policySteps explains how an endpoint is picked.
func (b *balancer) policySteps(add addStep) {
	p := &b.m.in.Policy
	switch p.endpointPolicy() {
	case Random:
		add("policy", "random: endpoint number r mod size, with the r whose r mod 100 chose the priority; weights are ignored")
	case ClientSideWeighted:
		add("policy", "client_side_weighted_round_robin: weights come from load reports; without any, all are equal")
	case RingHash, Maglev:
		b.tableSteps(add)
	case LeastRequest:
		add("policy", "least_request: even among equal weights, else weight / sum, while no request is active")
	default:
		add("policy", "round_robin: weight / sum of the weights in the list")
	}
}

func (b *balancer) tableSteps(add addStep) {
	for i, t := range b.tables {
		if t.empty() {
			add("hash", "priority %d: no entries, a hash that leads here finds no host", i)
			continue
		}
		if t.maglev != nil {
			least, most := t.maglev.Range()
			add("hash", "priority %d: maglev table of %d entries, %d to %d for each of %d endpoints", i, t.maglev.Len(), least, most, len(t.hosts))
			continue
		}
		least, most := t.ring.Range()
		add("hash", "priority %d: ring of %d entries, %d to %d for each of %d endpoints", i, t.ring.Len(), least, most, len(t.hosts))
	}
}
