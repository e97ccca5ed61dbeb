package envoy

import "strings"

// Rings lists the endpoints of every ring that Envoy makes for the cluster, whatever requests ask for: one by priority,
// and with subsets those of each of them and of each fallback (subset_lb.cc). load_aware_locality makes the rings of the
// whole cluster (load_aware_locality_lb.cc, WorkerLocalLbFactory); where it has subsets inside (inLocalities), which are
// made by its workers, each locality has its own. There are none for other policies than ring_hash.
//
// Errors: a ring that is too large.
func (m *Model) Rings(inLocalities bool) ([][]RingKey, error) {
	in := *m.in
	in.Policy.Name = in.Policy.EndpointPolicy()
	if in.Policy.Name != RingHash {
		return nil, nil
	}
	whole := &Model{in: &in, hosts: m.hosts, full: m.full}
	if !inLocalities {
		return whole.rings()
	}
	var all [][]RingKey
	for _, a := range whole.everyAttempt() {
		rings, err := whole.ringsInside(a.levels)
		if err != nil {
			return nil, err
		}
		all = append(all, rings...)
	}
	return all, nil
}

// ringsInside lists the rings of the subsets inside load_aware_locality.
func (m *Model) ringsInside(levels []level) ([][]RingKey, error) {
	var all [][]RingKey
	for i := range levels {
		for j := range levels[i].localities {
			l := &levels[i].localities[j]
			for _, hosts := range []list{l.hosts, l.healthy, l.degraded} {
				rings, err := m.alone(hosts, nil).rings()
				if err != nil {
					return nil, err
				}
				for _, ring := range rings {
					for k := range ring {
						ring[k].Endpoint = int(hosts[ring[k].Endpoint])
					}
				}
				all = append(all, rings...)
			}
		}
	}
	return all, nil
}

func (m *Model) rings() ([][]RingKey, error) {
	var all [][]RingKey
	for _, a := range m.everyAttempt() {
		b, err := m.balance(&a)
		if err != nil {
			return nil, err
		}
		for _, t := range b.tables {
			all = append(all, t.keys())
		}
	}
	return all, nil
}

// everyAttempt is all sets of hosts that the cluster has a load balancer for. A subset with a single host has none.
func (m *Model) everyAttempt() []attempt {
	s := m.in.Policy.Subset
	if s == nil {
		return []attempt{{levels: m.full, single: -1}}
	}
	outer := m.everyLookup()
	if s.Inner == nil {
		return outer
	}
	var all []attempt
	for _, a := range outer {
		all = append(all, m.within(a).everyAttempt()...)
	}
	return all
}

// everyLookup is those of one subset load balancer.
func (m *Model) everyLookup() []attempt {
	s := m.in.Policy.Subset
	anyEndpoint, defaultSubset := s.Fallback == AnyEndpoint || s.PanicModeAny, s.Fallback == DefaultSubset
	for i := range s.Selectors {
		anyEndpoint = anyEndpoint || s.Selectors[i].Fallback == AnyEndpoint
		defaultSubset = defaultSubset || s.Selectors[i].Fallback == DefaultSubset
	}
	var all []attempt
	if anyEndpoint {
		all = append(all, m.anyEndpoint())
	}
	if defaultSubset {
		all = append(all, m.defaultSubset())
	}
	return append(all, m.everySubset()...)
}

// everySubset is the subsets that hosts create; the first selector that does it decides whether one has a single host.
func (m *Model) everySubset() []attempt {
	s := m.in.Policy.Subset
	index := map[string]int{}
	var subsets [][]bool // by host; nil for one with a single host
	held := m.held()
	for i := range m.hosts {
		h := &m.hosts[i]
		if !held[i] || h.Metadata == nil {
			continue
		}
		for _, sel := range s.Selectors {
			for _, kvs := range extract(sel.Keys, h.Metadata, s.ListAsAny) {
				name := strings.Join(kvs, "\x00")
				n, known := index[name]
				if !known {
					n = len(subsets)
					index[name] = n
					subsets = append(subsets, nil)
					if !sel.SingleHostPerSubset {
						subsets[n] = make([]bool, len(m.hosts))
					}
				}
				if subsets[n] != nil {
					subsets[n][i] = true
				}
			}
		}
	}
	var all []attempt
	for _, in := range subsets {
		if in != nil {
			all = append(all, m.filtered(in, "subset", nil))
		}
	}
	return all
}
