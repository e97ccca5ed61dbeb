package envoy

import "github.com/edsctl/edsctl/pkg/lb"

type localityKey struct {
	level int
	class Class
}

// localityScheduler is the EDF scheduler over the localities that have an effective weight.
type localityScheduler struct {
	edf     *lb.EDF
	places  []int
	weights []float64
}

// locality is the next locality by effective weight; each scheduler starts at a random place.
func (w *worker) locality(level int, class Class) int {
	key := localityKey{level, class}
	s := w.localities[key]
	if s == nil {
		s = &localityScheduler{}
		for i, weight := range w.b.wrr[level][class].weights {
			if weight > 0 {
				s.places, s.weights = append(s.places, i), append(s.weights, weight)
			}
		}
		s.edf = lb.NewEDF(s.weights, w.rng.Uint32())
		w.localities[key] = s
	}
	return s.places[s.edf.Pick(func(i int) float64 { return s.weights[i] })]
}

// zone is the locality that zone-aware routing chooses, -1 for the flat list; ok is false when the request fails.
func (w *worker) zone() (locality int, ok bool) {
	z := &w.b.zone
	if e := z.result.EnabledPercent; e < 100 && w.rng.Uint64()%100 >= e {
		return -1, true
	}
	switch {
	case z.fail:
		return 0, false
	case z.result.LocalPanic:
		return -1, true
	case z.result.Mode == ZoneDirect:
		return 0, true
	case w.rng.Uint64()%perTenThousand < z.result.LocalPercent:
		return 0, true
	case z.anyGroup:
		return int(w.rng.Uint64() % uint64(len(z.shares))), true
	}
	capacity := z.result.ResidualCapacity
	threshold := w.rng.Uint64() % capacity[len(capacity)-1]
	for i, c := range capacity {
		if threshold < c {
			return i, true
		}
	}
	return len(capacity) - 1, true
}

// loadAware draws a locality by its weight; -1 when none has an eligible host.
func (w *worker) loadAware(c cell) int {
	weights, sum := w.b.loadAwareWeights(&w.b.levels[c.level], w.b.eligible(c)), 0.0
	for _, weight := range weights {
		sum += weight
	}
	last := -1
	at := w.rng.Float64() * sum
	for i, weight := range weights {
		if weight == 0 {
			continue
		}
		last = i
		if at < weight {
			break
		}
		at -= weight
	}
	return last
}
