package grpc

import (
	"math/rand/v2"
	"slices"
)

// Outcome is what became of one request.
type Outcome uint8

// The outcomes.
const (
	Served Outcome = iota
	Dropped
	Unavailable
)

// Pick is the fate of one request.
type Pick struct {
	Outcome  Outcome
	Endpoint Ref // Served
	Category int // Dropped: index into Result.Drops
}

// Picker runs the pickers of the active priority: the droppers, weighted_target's random locality, and the policy.
// Requests do not overlap. All randomness comes from the generator that it was made with.
type Picker struct {
	r   *Result
	rng *rand.Rand

	localities []*group
	cumulated  []uint64 // running sums of the locality weights
}

// group is what one instance of the policy picks among.
type group struct {
	up      []Ref
	first   Ref      // pick_first without shuffle
	weights []uint64 // running sums, pick_first with shuffle
	next    uint32   // round robin
}

// NewPicker makes the pickers as a fresh channel does: round robin starts anywhere.
func (r *Result) NewPicker(rng *rand.Rand) *Picker {
	p := &Picker{r: r, rng: rng}
	if !r.Ready || r.m.p.Kind == RingHash {
		return p
	}
	localities := r.Priorities[r.Active].Localities
	if r.m.p.WrrLocality == 0 {
		p.localities = []*group{p.group(r.usable(localities))}
		return p
	}
	var sum uint64
	for _, l := range localities {
		if r.localityUp(l) {
			sum += uint64(r.m.a.Localities[l].Weight)
			p.localities = append(p.localities, p.group(r.usable([]int{l})))
			p.cumulated = append(p.cumulated, sum)
		}
	}
	return p
}

func (p *Picker) group(refs []Ref) *group {
	g := &group{up: p.r.up(refs)}
	if p.r.m.p.Kind == PickFirst {
		g.first, _ = p.r.firstToConnect(refs)
		var sum uint64
		for _, ref := range g.up {
			sum += uint64(p.r.weight(ref))
			g.weights = append(g.weights, sum)
		}
	}
	if len(g.up) > 0 {
		g.next = uint32(p.rng.IntN(len(g.up)))
	}
	return g
}

// Pick decides one request. hash is its request hash; nil stands for a route without hash policy, whose requests have
// a random one. Only ring_hash looks at it.
func (p *Picker) Pick(hash *uint64) Pick {
	if !p.r.Ready {
		return Pick{Outcome: Unavailable}
	}
	for i, d := range p.r.Drops {
		if d.PerMillion > 0 && uint32(p.rng.IntN(million)) < d.PerMillion {
			return Pick{Outcome: Dropped, Category: i}
		}
	}
	if p.r.refusesAll() {
		return Pick{Outcome: Unavailable}
	}
	if p.r.m.p.Kind == RingHash {
		h := p.rng.Uint64()
		if hash != nil {
			h = *hash
		}
		ref, ok := p.r.Ring.Pick(h)
		if !ok {
			return Pick{Outcome: Unavailable}
		}
		return Pick{Endpoint: ref}
	}
	return Pick{Endpoint: p.pick(p.locality())}
}

func (p *Picker) locality() *group {
	if len(p.localities) == 1 {
		return p.localities[0]
	}
	return p.localities[search(p.cumulated, p.rng)]
}

func (p *Picker) pick(g *group) Ref {
	switch p.r.m.p.Kind {
	case PickFirst:
		if p.r.m.p.Shuffle {
			return g.up[search(g.weights, p.rng)]
		}
		return g.first
	case LeastRequest:
		first := p.rng.IntN(len(g.up)) // all are idle: the first sample wins
		for range p.r.m.p.choices() - 1 {
			p.rng.IntN(len(g.up))
		}
		return g.up[first]
	default: // round robin, and weighted round robin without load reports
		g.next++
		return g.up[int(g.next)%len(g.up)]
	}
}

// choices is the number of samples of least_request: default 2, at most 10 (leastrequest.go, ParseConfig).
func (p Policy) choices() int {
	if p.ChoiceCount == 0 {
		return 2
	}
	return int(min(p.ChoiceCount, 10))
}

// search draws an index in proportion to the differences of running sums (internal/wrr, randomWRR).
func search(sums []uint64, rng *rand.Rand) int {
	x := rng.Uint64N(sums[len(sums)-1])
	i, _ := slices.BinarySearchFunc(sums, x, func(sum, x uint64) int {
		if sum > x {
			return 1
		}
		return -1
	})
	return i
}
