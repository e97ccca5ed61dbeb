package envoy

import "github.com/edsctl/edsctl/pkg/lb"

// listState is what a worker keeps for a list of hosts.
type listState struct {
	hosts list
	edf   *lb.EDF // nil when the pick is not weighted
	next  uint64  // round_robin's index
}

// list returns the state of a list; it is made at the list's first pick.
func (w *worker) list(key listKey) *listState {
	if s := w.lists[key]; s != nil {
		return s
	}
	s := &listState{next: w.seed}
	lv := &w.b.levels[key.level]
	switch {
	case key.locality >= 0 && key.panic:
		s.hosts = lv.localities[key.locality].hosts
	case key.locality >= 0:
		s.hosts = lv.localities[key.locality].class(key.class)
	case key.panic:
		s.hosts = lv.hosts
	default:
		s.hosts = lv.class(key.class)
	}
	switch w.b.m.in.Policy.EndpointPolicy() {
	case Random, ClientSideWeighted, RingHash, Maglev:
	default:
		if _, equal := w.b.unweighted(s.hosts); !equal && len(s.hosts) > 1 {
			weights := make([]float64, len(s.hosts))
			for i, h := range s.hosts {
				weights[i] = w.b.weight(h)
			}
			s.edf = lb.NewEDF(weights, uint32(w.seed))
		}
	}
	w.lists[key] = s
	return s
}

// pickHost picks from a list; random is the number that chose the priority, which random uses again.
func (w *worker) pickHost(key listKey, random uint64) int {
	s := w.list(key)
	n := len(s.hosts)
	if n == 0 {
		return -1
	}
	p := &w.b.m.in.Policy
	switch {
	case s.edf != nil:
		return int(s.hosts[s.edf.Pick(func(i int) float64 { return w.b.weight(s.hosts[i]) })])
	case p.EndpointPolicy() == Random:
		return int(s.hosts[random%uint64(n)])
	case p.EndpointPolicy() == LeastRequest:
		active := func(i int) uint32 { return w.b.m.hosts[s.hosts[i]].ActiveRequests }
		if p.LeastRequest.FullScan {
			return int(s.hosts[lb.LeastOfAll(n, active, w.rng.Uint64)])
		}
		return int(s.hosts[lb.LeastOfN(n, p.LeastRequest.choices(), active, w.rng.Uint64)])
	}
	i := s.next % uint64(n)
	s.next++
	return int(s.hosts[i])
}
