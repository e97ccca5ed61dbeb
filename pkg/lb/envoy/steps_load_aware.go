package envoy

import "fmt"

// explainLoadAware shows how load_aware_locality chooses a locality.
func (b *balancer) explainLoadAware(s *steps) {
	s.add("locality", "load_aware_locality: before any load report a locality has the weight of its eligible endpoints; locality weights do not count")
	for _, c := range b.cells() {
		lv, eligible := &b.levels[c.level], b.eligible(c)
		weights, sum := b.loadAwareWeights(lv, eligible), 0.0
		for _, w := range weights {
			sum += w
		}
		if lv.hasLocal && weights[0] > 0 && weights[0] < 1 {
			s.add("locality", "priority %d: the own locality has all but remote_probe_fraction, which the others share", c.level)
		}
		for i, w := range weights {
			if n := len(eligible(&lv.localities[i])); n > 0 {
				s.add("locality", "priority %d, %s: %d eligible endpoints, share %s of the load of %d %%", c.level, lv.localities[i].name, n, number(w/sum), c.hi-c.lo)
			}
		}
	}
}

// explainInside shows how an endpoint is picked inside each locality.
func (b *balancer) explainInside(s *steps, c cell) {
	lv, eligible := &b.levels[c.level], b.eligible(c)
	for i := range lv.localities {
		name := fmt.Sprintf("priority %d, %s", c.level, lv.localities[i].name)
		hosts := eligible(&lv.localities[i])
		switch local := b.inside[b.localKey(c, i)]; {
		case len(hosts) == 0:
		case local != nil:
			s.add("subset", "%s: %s: %s", name, local.model.subset.Kind, local.model.subset.Reason)
		default:
			b.explainList(s, name, hosts, c)
		}
	}
}

// randomWords say how random takes an endpoint: with a number of its own inside load_aware_locality.
func randomWords(p *Policy) string {
	if p.Name == LoadAwareLocality {
		return "random: an endpoint of its list, all alike; weights do not count"
	}
	return "random: endpoint number r mod size of its list, with the r whose r mod 100 chose the priority; weights do not count"
}
