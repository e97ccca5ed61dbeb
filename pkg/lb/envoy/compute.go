package envoy

import "slices"

// tally collects expected shares while the stages hand parts of the traffic on.
type tally struct {
	endpoints   []float64 // by Model.hosts
	levels      []float64 // shares that reach an endpoint, by priority
	unavailable []float64 // shares that found none, by priority
	panicPicks  float64
}

// Compute gives the expected traffic of an input. Errors: see Build.
func Compute(in Input) (*Result, error) {
	m, err := Build(in)
	if err != nil {
		return nil, err
	}
	return m.Compute(), nil
}

// Compute gives the expected traffic. Each part of it is a product of independent choices (drop, priority, locality,
// endpoint), except where one number decides two of them (random) or all (hash policies).
func (m *Model) Compute() *Result {
	t := &tally{
		endpoints: make([]float64, len(m.hosts)), levels: make([]float64, len(m.full)), unavailable: make([]float64, len(m.full)),
	}
	r := &Result{Rejected: m.rejected, Drops: m.drops, Dropped: m.dropped, Subset: m.subset, Method: m.method()}
	left := 1 - m.dropped
	var reach *[100]bool // residues that still look for a host; nil for all
	var first []float64  // shares after the first attempt
	for i, b := range m.balancers {
		if i == 1 {
			first = slices.Clone(t.endpoints)
		}
		left, reach = b.tally(left, reach, t)
		if left == 0 {
			break
		}
	}
	r.Unavailable, r.PanicPicks = left, t.panicPicks
	if len(m.balancers) > 0 && m.balancers[0].single < 0 {
		r.Loads, r.ZoneAware = m.balancers[0].loads, m.balancers[0].zone.result
	}
	m.fill(r, t)
	for i := range first {
		r.Endpoints[i].Later = r.Endpoints[i].Share - first[i]
	}
	return r
}

func (m *Model) method() Method {
	switch {
	case m.in.Policy.hashes():
		return HashSpace
	case m.in.Policy.Name == Random:
		return Enumeration
	}
	return Analytic
}

// tally adds the shares of one balancer that mass requests reach, and returns what finds no host. A hash keeps its
// residue from one balancer to the next (reach), random numbers are drawn again.
func (b *balancer) tally(mass float64, reach *[100]bool, t *tally) (left float64, missed *[100]bool) {
	if b.single >= 0 {
		t.endpoints[b.single] += mass
		t.levels[b.m.hosts[b.single].priority] += mass
		return 0, nil
	}
	hashes := b.m.in.Policy.hashes()
	if hashes {
		missed = new([100]bool)
	}
	all := count(reach, 0, 100)
	for _, c := range b.cells() {
		n := count(reach, c.lo, c.hi)
		if n == 0 {
			continue
		}
		part := mass * float64(n) / float64(all)
		if b.loads.Panic[c.level] {
			t.panicPicks += part
		}
		lost := b.tallyCell(c, part, t.endpoints)
		t.levels[c.level] += part - lost
		t.unavailable[c.level] += lost
		left += lost
		for residue := c.lo; hashes && lost > 0 && residue < c.hi; residue++ {
			missed[residue] = reach == nil || reach[residue]
		}
	}
	return left, missed
}

func count(reach *[100]bool, lo, hi int) int {
	if reach == nil {
		return hi - lo
	}
	n := 0
	for _, in := range reach[lo:hi] {
		if in {
			n++
		}
	}
	return n
}

// tallyCell distributes what reaches a level and class (ZoneAwareLoadBalancerBase::hostSourceToUse): in panic over all
// hosts; else by locality weight; else, in priority 0, by zone; else over the flat list.
func (b *balancer) tallyCell(c cell, mass float64, out []float64) (unavailable float64) {
	p := &b.m.in.Policy
	lv := &b.levels[c.level]
	switch {
	case p.hashes():
		return b.tallyTable(b.tables[c.level], mass, out)
	case p.Name == LoadAwareLocality:
		return b.tallyLoadAware(c, mass, out)
	case b.loads.Panic[c.level]:
		if p.ZoneAware.FailTrafficOnPanic {
			return mass
		}
		return b.spread(lv.hosts, mass, c.lo, c.hi, out)
	case b.wrr != nil && b.wrr[c.level][c.class].weights != nil:
		w := b.wrr[c.level][c.class]
		for i, weight := range w.weights {
			if weight > 0 {
				unavailable += b.spread(lv.localities[i].class(c.class), mass*weight/w.sum, c.lo, c.hi, out)
			}
		}
		return unavailable
	case c.level == 0 && b.zone.shares != nil:
		return b.tallyZone(c, mass, out)
	}
	return b.spread(lv.class(c.class), mass, c.lo, c.hi, out)
}

// tallyZone routes the enabled part by zone and the rest over the flat list. Degraded picks use the localities that were
// computed from healthy hosts, so that they can land where no degraded host is.
func (b *balancer) tallyZone(c cell, mass float64, out []float64) (unavailable float64) {
	lv := &b.levels[0]
	byZone := mass * float64(b.zone.result.EnabledPercent) / 100
	flat := mass - byZone
	switch {
	case b.zone.fail:
		unavailable = byZone
	case b.zone.result.LocalPanic:
		flat = mass
	default:
		for i, share := range b.zone.shares {
			if share > 0 && byZone > 0 {
				unavailable += b.spread(lv.localities[i].class(c.class), byZone*share, c.lo, c.hi, out)
			}
		}
	}
	if flat > 0 {
		unavailable += b.spread(lv.class(c.class), flat, c.lo, c.hi, out)
	}
	return unavailable
}

// tallyTable distributes by the exact hash space of a ring or table. The priority depends on the same hash, but on its
// residue by 100, which is independent of the place on the ring up to 100 / 2^64.
func (b *balancer) tallyTable(t *table, mass float64, out []float64) (unavailable float64) {
	if t.empty() {
		return mass
	}
	for i, share := range t.boundedShares(t.shares(), b.m.in.Policy.Hash.BalanceFactor, b.m.hosts) {
		out[t.hosts[i]] += mass * share
	}
	return 0
}

// fill copies the tally into the result and describes priorities, localities and endpoints.
func (m *Model) fill(r *Result, t *tally) {
	var b *balancer
	if len(m.balancers) > 0 && m.balancers[0].single < 0 {
		b = m.balancers[0]
	}
	r.Endpoints = make([]EndpointShare, len(m.hosts))
	for i := range m.hosts {
		h := &m.hosts[i]
		r.Endpoints[i] = EndpointShare{
			Group: int(h.group), Index: int(h.index), Address: h.Address, Priority: int(h.priority),
			Locality: m.in.Groups[h.group].locality(), Class: h.class, Excluded: h.excluded, Duplicate: h.duplicate,
			Weight: h.weight, Share: t.endpoints[i],
		}
	}
	r.Priorities = make([]Priority, len(m.full))
	for i := range m.full {
		lv := &m.full[i]
		p := &r.Priorities[i]
		*p = Priority{
			Priority: i, Hosts: len(lv.hosts), Healthy: len(lv.healthy), Degraded: len(lv.degraded), Excluded: lv.excluded,
			Share: t.levels[i], Unavailable: t.unavailable[i],
		}
		p.Unhealthy = p.Hosts - p.Healthy - p.Degraded
		for j := range lv.localities {
			p.Localities = append(p.Localities, m.locality(b, i, j, t.endpoints))
		}
		if b == nil {
			if m.subset.Single && int(m.hosts[m.balancers[0].single].priority) == i {
				p.HealthyAvailability, p.HealthyLoad, p.Why = 100, 100, "single_host_per_subset: one endpoint gets all"
			}
			continue
		}
		p.HealthyAvailability, p.DegradedAvailability = b.loads.HealthyAvailability[i], b.loads.DegradedAvailability[i]
		p.HealthyLoad, p.DegradedLoad = b.load(i, ClassHealthy), b.load(i, ClassDegraded)
		p.Panic = b.loads.Panic[i]
		p.Why = b.whyPriority(i)
	}
}

func (m *Model) locality(b *balancer, level, i int, shares []float64) LocalityShare {
	loc := &m.full[level].localities[i]
	l := LocalityShare{
		Locality: loc.name, Weight: loc.weight,
		Hosts: len(loc.hosts), Healthy: len(loc.healthy), Degraded: len(loc.degraded), Excluded: loc.excluded,
	}
	l.Unhealthy = l.Hosts - l.Healthy - l.Degraded
	for _, h := range loc.hosts {
		l.Share += shares[h]
	}
	if b != nil && b.wrr != nil {
		if w := b.wrr[level][ClassHealthy].weights; w != nil {
			l.EffectiveWeight = w[i]
		}
		if w := b.wrr[level][ClassDegraded].weights; w != nil {
			l.EffectiveDegradedWeight = w[i]
		}
	}
	return l
}
