package envoy

import (
	"fmt"
	"strings"
)

// Step is one line of the computation.
type Step struct {
	Stage string // drop, subset, health, load, panic, locality, zone-aware, policy, hash or result
	Text  string
}

// steps collects lines.
type steps []Step

func (s *steps) add(stage, format string, args ...any) {
	*s = append(*s, Step{Stage: stage, Text: fmt.Sprintf(format, args...)})
}

// Explain writes the computation of a result down with its numbers, in Envoy's order, so that it can be checked by hand.
func (m *Model) Explain(r *Result) []Step {
	s := &steps{}
	m.explainDrops(s)
	if m.subset.Used {
		s.add("subset", "%s: %s", m.subset.Kind, m.subset.Reason)
	}
	switch {
	case len(m.balancers) == 0:
		s.add("subset", "no endpoints are left: every request that is not dropped fails")
	default:
		for i, b := range m.balancers {
			if i > 0 {
				s.add("subset", "what finds no endpoint is balanced again, attempt %d: %s", i+1, b.kind)
			}
			if b.single >= 0 {
				s.add("subset", "single_host_per_subset: %s gets all, whatever its health", m.hosts[b.single].Address)
				continue
			}
			b.explainLoads(s)
			b.explainLocalities(s)
			b.explainPolicy(s)
		}
	}
	if r.Unavailable > 0 {
		s.add("result", "%s of all requests find no endpoint: 503 no healthy upstream", number(r.Unavailable))
	}
	return *s
}

// number prints a share so that sums can be checked.
func number(x float64) string { return fmt.Sprintf("%.9g", x) }

func (m *Model) explainDrops(s *steps) {
	pass := 1.0
	for _, d := range m.drops {
		s.add("drop", "category %q drops %s of the %s that reach it: %s of all requests", d.Category, number(d.Rate), number(pass), number(d.Share))
		pass *= 1 - d.Rate
	}
	if limit := m.in.DropLimitPercent; limit != nil && len(m.drops) == 1 {
		s.add("drop", "the runtime key load_balancing_policy.drop_overload_limit bounds the rate: %d %%", *limit)
	}
	if m.rejected != "" {
		s.add("drop", "Envoy refuses this assignment: %s", m.rejected)
	}
}

// explainLoads shows availability, loads and panic.
func (b *balancer) explainLoads(s *steps) {
	in, l := b.m.in, &b.loads
	factor := LoadConfig{OverprovisioningFactor: in.OverprovisioningFactor}.factor()
	basis := "endpoints"
	if in.WeightedPriorityHealth {
		basis = "weights"
	}
	for i, c := range b.counts {
		if c.Hosts == 0 {
			b.explainGap(s, i)
			continue
		}
		h, d, n := c.Healthy, c.Degraded, c.eligible()
		if in.WeightedPriorityHealth {
			h, d, n = c.HealthyWeight, c.DegradedWeight, c.TotalWeight-c.ExcludedWeight
		}
		text := fmt.Sprintf("priority %d: availability min(100, floor(%d * %d / %d %s)) = %d", i, factor, h, n, basis, l.HealthyAvailability[i])
		if d > 0 {
			text += fmt.Sprintf(", degraded min(100, floor(%d * %d / %d)) = %d", factor, d, n, l.DegradedAvailability[i])
		}
		if c.Excluded > 0 {
			text += fmt.Sprintf("; %d of the %d endpoints are excluded", c.Excluded, c.Hosts)
		}
		s.add("health", "%s", text)
	}
	s.add("load", "normalized total availability: min(100, sum) = %d", l.NormalizedTotal)
	switch {
	case l.TotalPanic:
		s.add("panic", "every priority is below the threshold of %d %%: load goes by the number of endpoints, excluded ones too", in.Threshold())
	case l.NormalizedTotal > 0:
		s.add("load", "load of a priority: floor(availability * 100 / %d), healthy ones first; what is left of 100 goes to the first that is available", l.NormalizedTotal)
	case l.Hole:
		s.add("load", "every availability is 0, but not every priority is in panic: Envoy computes no loads")
	}
	s.add("load", "healthy loads %s, degraded loads %s", joined(l.Healthy), joined(l.Degraded))
	if l.Rest > 0 {
		s.add("load", "the %d %% without a load go to the healthy endpoints of priority 0", l.Rest)
	}
	for i, c := range b.counts {
		if l.Panic[i] && !l.TotalPanic {
			s.add("panic", "priority %d: %.6g %% available is below the threshold of %d %%: all its endpoints are used", i, c.availablePercent(), in.Threshold())
		}
	}
}

// explainGap has one line for the empty priorities next to each other, which may be very many.
func (b *balancer) explainGap(s *steps, level int) {
	end := level
	for end+1 < len(b.counts) && b.counts[end+1].Hosts == 0 {
		end++
	}
	switch {
	case level > 0 && b.counts[level-1].Hosts == 0: // named with the first
	case end > level:
		s.add("health", "priorities %d to %d have no endpoints: availability 0", level, end)
	default:
		s.add("health", "priority %d has no endpoints: availability 0", level)
	}
}

// joined prints loads as 37/35/28.
func joined(loads []uint32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(loads), " ", "/"), "[]")
}
