package envoy

import "fmt"

// explainLocalities shows locality weights and zone-aware routing where they decide something.
func (b *balancer) explainLocalities(s *steps) {
	switch {
	case b.m.in.Policy.hashes():
		return
	case b.m.in.Policy.Name == LoadAwareLocality:
		b.explainLoadAware(s)
		return
	}
	for _, c := range b.cells() {
		if b.wrr != nil && !b.loads.Panic[c.level] {
			b.explainWeights(s, c)
		}
	}
	z := &b.zone.result
	switch {
	case z.Mode == ZoneNone:
		s.add("zone-aware", "zone-aware routing is not used: %s", z.Reason)
		return
	case z.Mode != ZoneDirect && z.Mode != ZoneResidual:
		return
	case b.loads.Panic[0]:
		s.add("zone-aware", "zone-aware routing is not used: priority 0 is in panic")
		return
	case b.wrr != nil && b.wrr[0][ClassHealthy].weights != nil:
		s.add("zone-aware", "zone-aware routing is not used: locality weights come first")
		return
	}
	lv := &b.levels[0]
	for i := range lv.localities {
		s.add("zone-aware", "%s: %d of 10000 of the local cluster, %d of 10000 of this one; gets %s", lv.localities[i].name, z.LocalShare[i], z.Upstream[i],
			number(b.zone.shares[i]))
	}
	switch {
	case z.Forced:
		s.add("zone-aware", "direct: force_local_zone keeps everything in the own zone, whatever its part")
	case z.Mode == ZoneDirect:
		s.add("zone-aware", "direct: this cluster has enough in the own zone, everything stays there")
	default:
		s.add("zone-aware", "residual: %d of 10000 stay in the own zone, the rest goes where capacity is left (cumulative %v)", z.LocalPercent, z.ResidualCapacity)
	}
	if z.EnabledPercent < 100 {
		s.add("zone-aware", "routing_enabled: only %d %% of the requests are routed by zone", z.EnabledPercent)
	}
	if z.LocalPanic {
		s.add("zone-aware", "the local cluster is in panic: zones do not count")
	}
}

// explainWeights shows the effective weights behind one cell.
func (b *balancer) explainWeights(s *steps, c cell) {
	factor := LoadConfig{OverprovisioningFactor: b.m.in.OverprovisioningFactor}.factor()
	w, lv := b.wrr[c.level][c.class], &b.levels[c.level]
	switch {
	case lv.unweighted:
		s.add("locality", "priority %d: subsets that are not locality_weight_aware have no locality weights, so that their endpoints form one list", c.level)
		return
	case w.weights == nil:
		s.add("locality", "priority %d: no locality with %s endpoints has a weight, so that they form one list", c.level, c.class)
		return
	}
	for i := range lv.localities {
		loc := &lv.localities[i]
		s.add("locality", "priority %d, %s: effective weight %d * min(1, %d/100 * %d %s / %d) = %s, share %s of the priority", c.level, loc.name, loc.weight,
			factor, len(loc.class(c.class)), c.class, len(loc.hosts)-loc.excluded, number(w.weights[i]), number(w.weights[i]/w.sum))
	}
}

// explainPolicy shows how an endpoint is picked from each list that gets load.
func (b *balancer) explainPolicy(s *steps) {
	p := &b.m.in.Policy
	if p.hashes() {
		b.explainTables(s)
		return
	}
	if p.hashesNothing() {
		s.add("policy", "%s under load_aware_locality finds no endpoint inside a subset: every request fails", p.Endpoint)
		return
	}
	switch p.EndpointPolicy() {
	case RingHash, Maglev:
		s.add("policy", "%s: each locality has one of its own", p.Endpoint)
	case Random:
		s.add("policy", "%s", randomWords(p))
	case ClientSideWeighted:
		s.add("policy", "client_side_weighted_round_robin: weights come from load reports; without any all endpoints of a list are alike")
	case LeastRequest:
		s.add("policy", "least_request: alike among equal weights, else weight / sum of its list, while no request is active")
	default:
		s.add("policy", "round_robin: weight / sum of its list")
	}
	for _, c := range b.cells() {
		lv := &b.levels[c.level]
		switch {
		case p.Name == LoadAwareLocality:
			b.explainInside(s, c)
		case b.loads.Panic[c.level] && p.ZoneAware.FailTrafficOnPanic:
			s.add("policy", "priority %d is in panic and fail_traffic_on_panic is set: its %d %% fail", c.level, c.hi-c.lo)
		case b.loads.Panic[c.level]:
			b.explainList(s, fmt.Sprintf("priority %d, all", c.level), lv.hosts, c)
		case b.wrr != nil && b.wrr[c.level][c.class].weights != nil || c.level == 0 && b.zone.shares != nil:
			for i := range lv.localities {
				if l := lv.localities[i].class(c.class); len(l) > 0 {
					b.explainList(s, fmt.Sprintf("priority %d, %s, %s", c.level, lv.localities[i].name, c.class), l, c)
				}
			}
		default:
			b.explainList(s, fmt.Sprintf("priority %d, %s", c.level, c.class), lv.class(c.class), c)
		}
	}
}

func (b *balancer) explainList(s *steps, name string, l list, c cell) {
	if len(l) == 0 {
		s.add("policy", "%s: no endpoints for the load of %d %%", name, c.hi-c.lo)
		return
	}
	switch b.m.in.Policy.EndpointPolicy() {
	case Random:
		if b.m.in.Policy.Name == LoadAwareLocality {
			s.add("policy", "%s: %d endpoints", name, len(l))
			return
		}
		s.add("policy", "%s: %d endpoints, residues %d to %d", name, len(l), c.lo, c.hi-1)
	case ClientSideWeighted:
		s.add("policy", "%s: %d endpoints", name, len(l))
	default:
		sum := 0.0
		for _, h := range l {
			sum += b.weight(h)
		}
		load := fmt.Sprintf(", load %d %%", c.hi-c.lo)
		if b.m.in.Policy.Name == LoadAwareLocality {
			load = "" // the locality has a part of it
		}
		s.add("policy", "%s: %d endpoints, sum of weights %s%s", name, len(l), number(sum), load)
	}
}

func (b *balancer) explainTables(s *steps) {
	for i, t := range b.tables {
		if t.empty() {
			s.add("hash", "priority %d: no entries, a hash that leads here finds no endpoint", i)
			continue
		}
		kind, entries := "ring", 0
		var least, most uint64
		if t.maglev != nil {
			kind, entries = "table", t.maglev.Len()
			least, most = t.maglev.Range()
		} else {
			entries = t.ring.Len()
			least, most = t.ring.Range()
		}
		s.add("hash", "priority %d: %s of %d entries, %d to %d for each of %d endpoints", i, kind, entries, least, most, len(t.hosts))
		for _, tie := range t.ties() {
			s.add("hash", "priority %d: %s and %d more have one hash key; which of them gets its hashes cannot be predicted", i,
				b.m.hosts[tie[0]].Address, len(tie)-1)
		}
	}
	s.add("hash", "the hash modulo 100 chooses the priority, the same hash its place in the %s", map[bool]string{true: "table", false: "ring"}[b.m.in.Policy.Name == Maglev])
}
