package envoy

// DefaultRemoteProbeFraction of load_aware_locality (load_aware_locality_lb.cc).
const DefaultRemoteProbeFraction = 0.03

// loadAwareWeights are the weights of a level's localities before any load report (computeSourceWeights): the number of
// eligible hosts. If the node's own locality has some, it gets all but the probe fraction, which the others share by
// hosts.
func (b *balancer) loadAwareWeights(lv *level, eligible func(*locality) list) []float64 {
	weights := make([]float64, len(lv.localities))
	total := 0.0
	for i := range lv.localities {
		weights[i] = float64(len(eligible(&lv.localities[i])))
		total += weights[i]
	}
	if !lv.hasLocal || weights[0] == 0 || total == weights[0] {
		return weights
	}
	probe := DefaultRemoteProbeFraction
	if f := b.m.in.Policy.RemoteProbeFraction; f != nil {
		probe = *f
	}
	remote := total - weights[0]
	for i := range weights {
		weights[i] = probe * weights[i] / remote
	}
	weights[0] = 1 - probe
	return weights
}

// eligible is the list of a locality that a cell is picked from.
func (b *balancer) eligible(c cell) func(*locality) list {
	if b.loads.Panic[c.level] {
		return func(l *locality) list { return l.hosts }
	}
	return func(l *locality) list { return l.class(c.class) }
}

// tallyLoadAware chooses a locality, in panic too, and then an endpoint inside it.
func (b *balancer) tallyLoadAware(c cell, mass float64, out []float64) (unavailable float64) {
	lv := &b.levels[c.level]
	eligible := b.eligible(c)
	weights, sum := b.loadAwareWeights(lv, eligible), 0.0
	for _, w := range weights {
		sum += w
	}
	if sum == 0 || b.m.in.Policy.hashesNothing() {
		return mass
	}
	for i, w := range weights {
		part := mass * w / sum
		switch local := b.inside[b.localKey(c, i)]; {
		case w == 0:
		case local != nil:
			unavailable += local.tally(part, out)
		default:
			unavailable += b.spread(eligible(&lv.localities[i]), part, 0, 100, out)
		}
	}
	return unavailable
}
