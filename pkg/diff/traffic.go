package diff

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// Traffic is what a change does under one client. Shares are those of the simulation; Delta is after minus before.
type Traffic struct {
	Client     string `json:"client"`
	OldVerdict string `json:"old_verdict"`
	NewVerdict string `json:"new_verdict"`
	OldMessage string `json:"old_message,omitempty"`
	NewMessage string `json:"new_message,omitempty"`
	// Kept: the client refuses the new assignment and goes on with the old one, so that nothing moves.
	Kept      bool     `json:"kept,omitempty"`
	Policy    string   `json:"policy"`
	OldPolicy string   `json:"old_policy,omitempty"` // where it is another one
	Notes     []string `json:"notes,omitempty"`

	Dropped     Shift           `json:"dropped"`
	Unavailable Shift           `json:"unavailable"`
	Priorities  []PriorityShift `json:"priorities"`
	Localities  []LocalityShift `json:"localities"`
	// Endpoints are those that changed themselves and those whose share moves by more than Threshold, the largest delta
	// first. Others sums up the rest.
	Endpoints []EndpointShift `json:"endpoints"`
	Others    Others          `json:"others"`
	// KeysMoved is the part of the hash space whose endpoint is another one afterwards; null for policies without hash.
	KeysMoved *float64 `json:"keys_moved"`
}

// Threshold is the least difference of a share that is listed for endpoints that did not change themselves: what two
// decimals in percent show.
const Threshold = 0.00005

// Shift is a share before and after.
type Shift struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Delta  float64 `json:"delta"`
}

// PriorityShift is the shift of a priority.
type PriorityShift struct {
	Priority uint32 `json:"priority"`
	Shift
}

// LocalityShift is the shift of a locality at a priority.
type LocalityShift struct {
	Priority uint32 `json:"priority"`
	simulate.LocalityID
	Shift
}

// EndpointShift is the shift of an endpoint.
type EndpointShift struct {
	Address string `json:"address"`
	Shift
}

// Others are the endpoints that are not listed: how many have another share than before, and what they gain or lose
// together.
type Others struct {
	Count int     `json:"count"`
	Delta float64 `json:"delta"`
}

func shift(before, after float64) Shift { return Shift{before, after, after - before} }

// add puts more on both sides.
func (s *Shift) add(before, after float64) { *s = shift(s.Before+before, s.After+after) }

// Impact simulates both versions of a pair for a client and adds the difference to the result. Nothing is added when
// nothing changed, or when there is only one version. options are those of each side: a resource's verdict depends on how
// its file is read.
func (r *Result) Impact(p Pair, client diag.Client, before, after *simulate.Options) error {
	if r.Same() || r.compared == nil {
		return nil
	}
	var was, now *simulate.Result
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { was, errs[0] = simulate.FromResource(p.Old, client, before) })
	wg.Go(func() { now, errs[1] = simulate.FromResource(p.New, client, after) })
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if keepsOld(p, was, now) {
		r.Traffic = append(r.Traffic, keptTraffic(client, was, now))
		return nil
	}
	r.Traffic = append(r.Traffic, r.traffic(client, was, now))
	return nil
}

// keepsOld tells whether the client goes on with the old assignment because it refuses or ignores the update (eds.cc,
// onConfigUpdate; A88). A bootstrap is no update: it is read when Envoy starts, which then fails.
func keepsOld(p Pair, was, now *simulate.Result) bool {
	return was.Accepted() && (now.Verdict == string(diag.Rejected) || now.Verdict == string(diag.Ignored)) && p.New.Source != eds.FromBootstrap
}

// keptTraffic is the traffic of the old assignment on both sides.
func keptTraffic(client diag.Client, was, now *simulate.Result) Traffic {
	t := Traffic{
		Client: client.String(), OldVerdict: was.Verdict, NewVerdict: now.Verdict, OldMessage: was.Message, NewMessage: now.Message, Kept: true,
		Policy: was.Policy, Dropped: shift(was.Dropped, was.Dropped), Unavailable: shift(was.Unavailable, was.Unavailable),
		Priorities: []PriorityShift{}, Localities: []LocalityShift{}, Endpoints: []EndpointShift{}, Notes: slices.Clone(was.Notes),
	}
	if was.HasPick() {
		t.KeysMoved = new(0.0)
	}
	return t
}

// changedAddresses are the endpoints that a change names.
func (r *Result) changedAddresses() map[string]bool {
	out := map[string]bool{}
	for _, c := range r.Changes {
		if c.Address != "" {
			out[c.Address] = true
		}
	}
	return out
}

func (r *Result) traffic(client diag.Client, was, now *simulate.Result) Traffic {
	t := Traffic{
		Client: client.String(), OldVerdict: was.Verdict, NewVerdict: now.Verdict, OldMessage: was.Message, NewMessage: now.Message,
		Policy: cmp.Or(now.Policy, was.Policy), Dropped: shift(was.Dropped, now.Dropped), Unavailable: shift(was.Unavailable, now.Unavailable),
		Priorities: []PriorityShift{}, Localities: []LocalityShift{}, Endpoints: []EndpointShift{},
	}
	for _, note := range slices.Concat(was.Notes, now.Notes) {
		if !slices.Contains(t.Notes, note) {
			t.Notes = append(t.Notes, note)
		}
	}
	if was.Policy != now.Policy {
		t.OldPolicy = was.Policy
	}
	t.levels(was, now)
	t.endpoints(r.shifts(was, now), r.changedAddresses())
	if was.HasPick() && now.HasPick() {
		t.KeysMoved = new(keysMoved(was, now))
	}
	return t
}

// levels adds up priorities and localities; only those that move are listed.
func (t *Traffic) levels(was, now *simulate.Result) {
	priorities := map[uint32]*Shift{}
	localities := map[place]*Shift{}
	collect := func(r *simulate.Result, before, after float64) {
		for i := range r.Priorities {
			p := &r.Priorities[i]
			if priorities[p.Priority] == nil {
				priorities[p.Priority] = &Shift{}
			}
			priorities[p.Priority].add(before*p.Share, after*p.Share)
			for _, l := range p.Localities {
				key := place{p.Priority, l.LocalityID}
				if localities[key] == nil {
					localities[key] = &Shift{}
				}
				localities[key].add(before*l.Share, after*l.Share)
			}
		}
	}
	collect(was, 1, 0)
	collect(now, 0, 1)
	for priority, s := range priorities {
		if moves(*s) {
			t.Priorities = append(t.Priorities, PriorityShift{priority, *s})
		}
	}
	slices.SortFunc(t.Priorities, func(a, b PriorityShift) int { return cmp.Compare(a.Priority, b.Priority) })
	for p, s := range localities {
		if moves(*s) {
			t.Localities = append(t.Localities, LocalityShift{p.priority, p.locality, *s})
		}
	}
	slices.SortFunc(t.Localities, func(a, b LocalityShift) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Delta), math.Abs(a.Delta)), place{a.Priority, a.LocalityID}.compare(place{b.Priority, b.LocalityID}))
	})
}

// moves tells a difference from what rounding leaves.
func moves(s Shift) bool { return math.Abs(s.Delta) > 1e-9 }

// shifts pairs the endpoints of two simulations as they were matched. Both list all endpoints in document order, or none
// when the client does not take the assignment.
func (r *Result) shifts(was, now *simulate.Result) []EndpointShift {
	share := func(of *simulate.Result, i int) float64 {
		if i < 0 || i >= len(of.Endpoints) {
			return 0
		}
		return of.Endpoints[i].Share
	}
	out := make([]EndpointShift, 0, max(len(was.Endpoints), len(now.Endpoints)))
	for i := range r.compared.was {
		if e := &r.compared.was[i]; e.match < 0 {
			out = append(out, EndpointShift{e.address, shift(share(was, i), 0)})
		}
	}
	for i := range r.compared.now {
		e := &r.compared.now[i]
		out = append(out, EndpointShift{e.address, shift(share(was, int(e.match)), share(now, i))})
	}
	return out
}

// endpoints lists the shifts of endpoints that changed themselves or move by more than Threshold.
func (t *Traffic) endpoints(shifts []EndpointShift, changed map[string]bool) {
	for _, s := range shifts {
		switch {
		case changed[s.Address] || math.Abs(s.Delta) >= Threshold:
			t.Endpoints = append(t.Endpoints, s)
		case s.Delta != 0:
			t.Others.Count++
		}
	}
	slices.SortFunc(t.Endpoints, func(a, b EndpointShift) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Delta), math.Abs(a.Delta)), cmp.Compare(a.Address, b.Address))
	})
	// The total of the rest is what the listed ones, the dropped and the unavailable leave.
	listed := 0.0
	for _, e := range t.Endpoints {
		listed += e.Delta
	}
	if t.Others.Count > 0 {
		t.Others.Delta = -(listed + t.Dropped.Delta + t.Unavailable.Delta)
	}
}

// keySamples is the number of hashes that stand for the hash space.
const keySamples = 1 << 18

// golden spreads multiples evenly over 64 bits (Knuth's multiplicative hashing); it is odd, so that all remainders of
// 100, by which Envoy chooses the priority, occur equally often.
const golden = 0x9E3779B97F4A7C15

// keysMoved is the part of evenly spread hashes that go to another endpoint, or to none, afterwards.
func keysMoved(was, now *simulate.Result) float64 {
	moved := 0
	for i := range uint64(keySamples) {
		hash := i * golden
		if was.Pick(hash) != now.Pick(hash) {
			moved++
		}
	}
	return float64(moved) / keySamples
}
