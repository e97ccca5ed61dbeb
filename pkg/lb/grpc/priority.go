package grpc

import (
	"cmp"
	"slices"
)

// Priority is a group of localities with one priority, in document order.
type Priority struct {
	Number     uint32
	Localities []int // indices into Assignment.Localities
}

// priorities groups the localities that gRPC sees (weight above 0) by priority, ascending (groupLocalitiesByPriority).
func priorities(a *Assignment) []Priority {
	var groups []Priority
	index := map[uint32]int{}
	for i := range a.Localities {
		l := &a.Localities[i]
		if l.Weight == 0 {
			continue
		}
		at, ok := index[l.Priority]
		if !ok {
			at = len(groups)
			index[l.Priority] = at
			groups = append(groups, Priority{Number: l.Priority})
		}
		groups[at].Localities = append(groups[at].Localities, i)
	}
	slices.SortFunc(groups, func(a, b Priority) int { return cmp.Compare(a.Number, b.Number) })
	return groups
}

// active returns the index of the priority that gets everything: the first whose child becomes READY, and whether it
// does (balancer_priority.go, syncPriority; A56). A priority without usable endpoints fails at once, one whose endpoints
// refuse as soon as all of them did. When none is ready the last one answers with its error. A child that never leaves
// IDLE (wrr_locality around ring_hash) is good enough for the priority policy, which then waits for ever.
func (m *model) active() (index int, ready bool) {
	for i, p := range m.groups {
		usable, up := false, false
		for _, l := range p.Localities {
			for j := range m.a.Localities[l].Endpoints {
				e := &m.a.Localities[l].Endpoints[j]
				usable = usable || e.Usable
				up = up || e.Up()
			}
		}
		if up && !m.p.neverConnects() {
			return i, true
		}
		if usable && m.p.stuckIdle() {
			return i, false
		}
	}
	return len(m.groups) - 1, false
}

// stuckIdle: weighted_target answers a set of IDLE children with a picker that queues, and ring_hash waits for a pick
// before it connects.
func (p Policy) stuckIdle() bool { return p.Kind == RingHash && p.WrrLocality == 1 }

// neverConnects: no RPC is ever sent, whatever the endpoints.
func (p Policy) neverConnects() bool { return p.stuckIdle() || p.WrrLocality > 1 }
