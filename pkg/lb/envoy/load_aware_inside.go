package envoy

import "cmp"

// hashesNothing: load_aware_locality over a hash policy finds no host when a subset is around it (observed on 1.40: the
// ring or table that the subset's worker makes stays empty).
func (p *Policy) hashesNothing() bool {
	return p.Name == LoadAwareLocality && p.Subset != nil && p.Inside == nil && (p.Endpoint == RingHash || p.Endpoint == Maglev)
}

// insideModel is the subset load balancer of one locality.
type insideModel struct {
	model *Model
	hosts list // by endpoint of the model
}

// localKey is the list of a locality that a cell is picked from.
func (b *balancer) localKey(c cell, locality int) listKey {
	return listKey{level: c.level, locality: locality, panic: b.loads.Panic[c.level], class: c.class}
}

// buildInside makes the subset load balancers of the localities that get requests.
func (b *balancer) buildInside() error {
	if b.m.in.Policy.Inside == nil {
		return nil
	}
	b.inside = map[listKey]*insideModel{}
	for _, c := range b.cells() {
		eligible, localities := b.eligible(c), b.levels[c.level].localities
		for i := range localities {
			hosts := eligible(&localities[i])
			if len(hosts) == 0 {
				continue
			}
			local := &insideModel{b.m.alone(hosts, b.criteria), hosts}
			if err := local.model.assemble(); err != nil {
				return err
			}
			b.inside[b.localKey(c, i)] = local
		}
	}
	return nil
}

// alone is a model with some hosts of a locality, all of them healthy: what a worker of load_aware_locality gives to the
// policy inside for requests to the healthy, the degraded, or in panic all hosts.
func (m *Model) alone(hosts list, criteria map[string]any) *Model {
	in := *m.in
	group := Group{Endpoints: make([]Endpoint, len(hosts))}
	for i, h := range hosts {
		group.Endpoints[i] = *m.hosts[h].Endpoint
		group.Endpoints[i].Health, group.Endpoints[i].Checks = Unknown, 0
	}
	in.Groups, in.KeepCopies, in.Match = []Group{group}, true, criteria
	in.Policy.Name, in.Policy.Subset, in.Policy.Inside = in.Policy.EndpointPolicy(), in.Policy.Inside, nil
	flat := collect(in.Groups, in.KeepCopies)
	return &Model{in: &in, hosts: flat, full: arrange(in.Groups, flat, nil)}
}

// tally adds the shares of the hosts of the locality that mass requests reach.
func (l *insideModel) tally(mass float64, out []float64) (unavailable float64) {
	r := l.model.Compute()
	for i, h := range l.hosts {
		out[h] += mass * r.Endpoints[i].Share
	}
	return mass * r.Unavailable
}

// pickInside asks the subset of a locality.
func (w *worker) pickInside(key listKey, local *insideModel) int {
	p := w.inside[key]
	if p == nil {
		p = local.model.NewPicker(w.rng)
		w.inside[key] = p
	}
	if endpoint, _ := p.Pick(); endpoint >= 0 {
		return int(local.hosts[endpoint])
	}
	return -1
}

// insideResult says that subsets are inside localities.
func (m *Model) insideResult() {
	if m.in.Policy.Inside == nil || len(m.balancers) == 0 || m.balancers[0].single >= 0 {
		return
	}
	hosts := 0
	for _, local := range m.balancers[0].inside {
		hosts += local.model.subset.Hosts
	}
	const reason = "load_aware_locality chooses the locality by all its endpoints, the subset is taken inside it"
	if m.subset.Used {
		m.subset.Reason += "; " + reason
	} else {
		m.subset.Reason = reason
	}
	m.subset.Used, m.subset.Hosts, m.subset.Match = true, hosts, m.in.Match
	m.subset.Kind = cmp.Or(m.subset.Kind, "inside localities")
}
