package envoy

import "math/rand/v2"

// Sample is what a number of requests came to.
type Sample struct {
	Requests int64
	Drops    []int64 // by category
	// Dropped, Unavailable and the sum of Endpoints add up to Requests.
	Dropped, Unavailable int64
	PanicPicks           int64
	Endpoints            []int64 // in the order of Result.Endpoints
}

// Run makes requests one after the other with Envoy's pick algorithms, as one worker of a fresh Envoy does. Hash policies
// get a random hash each. Memory does not grow with the number of requests.
func (m *Model) Run(requests int64, rng *rand.Rand) Sample {
	p := m.NewPicker(rng)
	s := Sample{Requests: requests, Drops: make([]int64, len(m.drops)), Endpoints: make([]int64, len(m.hosts))}
	for range requests {
		if category := p.drop(); category >= 0 {
			s.Drops[category]++
			s.Dropped++
			continue
		}
		endpoint, panicked := p.Pick()
		if panicked {
			s.PanicPicks++
		}
		if endpoint < 0 {
			s.Unavailable++
		} else {
			s.Endpoints[endpoint]++
		}
	}
	return s
}

// Picker is the state of one worker's load balancers.
type Picker struct {
	m       *Model
	rng     *rand.Rand
	workers []*worker
}

// NewPicker starts a worker; all its randomness comes from rng.
func (m *Model) NewPicker(rng *rand.Rand) *Picker {
	p := &Picker{m: m, rng: rng}
	for _, b := range m.balancers {
		p.workers = append(p.workers, &worker{b: b, rng: rng, seed: rng.Uint64(), lists: map[listKey]*listState{},
			localities: map[localityKey]*localityScheduler{}, inside: map[listKey]*Picker{}})
	}
	return p
}

// drop returns the category that drops a request, or -1.
func (p *Picker) drop() int {
	for i, d := range p.m.drops {
		if d.Rate > 0 && p.rng.Float64() < d.Rate {
			return i
		}
	}
	return -1
}

// Pick balances one request that was not dropped. It returns the endpoint by its place in Result.Endpoints, or -1, and
// whether the request met a priority in panic.
func (p *Picker) Pick() (endpoint int, panicked bool) {
	hash := p.rng.Uint64()
	for i, w := range p.workers {
		if i > 0 && !p.m.in.Policy.hashes() {
			hash = p.rng.Uint64()
		}
		endpoint, panic := w.pick(hash)
		panicked = panicked || panic
		if endpoint >= 0 {
			return endpoint, panicked
		}
	}
	return -1, panicked
}

// worker is a balancer with its schedulers.
type worker struct {
	b          *balancer
	rng        *rand.Rand
	seed       uint64
	lists      map[listKey]*listState
	localities map[localityKey]*localityScheduler
	inside     map[listKey]*Picker // of the subsets inside load_aware_locality
}

// listKey names a list of hosts: all (panic), healthy or degraded of a level, or of one of its localities.
type listKey struct {
	level, locality int // locality -1 is the whole level
	panic           bool
	class           Class
}

func (w *worker) pick(random uint64) (endpoint int, panicked bool) {
	b := w.b
	if b.single >= 0 {
		return int(b.single), false
	}
	level, class := b.loads.ChoosePriority(random)
	panicked = b.loads.Panic[level]
	key := listKey{level: level, locality: -1, panic: panicked, class: class}
	p := &b.m.in.Policy
	switch {
	case p.hashes():
		return b.pickTable(level, random, 0, nil), panicked
	case p.Name == LoadAwareLocality:
		if key.locality = w.loadAware(cell{level: level, class: class}); key.locality < 0 || p.hashesNothing() {
			return -1, panicked
		}
		if local := b.inside[key]; local != nil {
			return w.pickInside(key, local), panicked
		}
		random = w.rng.Uint64()
	case panicked:
		if p.ZoneAware.FailTrafficOnPanic {
			return -1, true
		}
	case b.wrr != nil && b.wrr[level][class].weights != nil:
		key.locality = w.locality(level, class)
	case level == 0 && b.zone.shares != nil:
		ok := false
		if key.locality, ok = w.zone(); !ok {
			return -1, false
		}
	}
	return w.pickHost(key, random), panicked
}

// pickTable asks the ring or table of a level.
func (b *balancer) pickTable(level int, hash uint64, attempt uint32, active []uint32) int {
	t := b.tables[level]
	i := t.bounded(hash, t.pick(hash, attempt), b.m.in.Policy.Hash.BalanceFactor, active)
	if i < 0 {
		return -1
	}
	return int(t.hosts[i])
}
