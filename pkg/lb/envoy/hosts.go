package envoy

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxPriority is the highest priority that the API allows.
const MaxPriority = 128

// host is an endpoint in its place.
type host struct {
	*Endpoint
	group, index int32
	priority     uint32
	weight       uint32
	class        Class
	excluded     bool
	duplicate    bool
}

// list holds indices into Model.hosts, in the order of the assignment.
type list []int32

// locality is the hosts of one locality in a priority.
type locality struct {
	name                     Locality
	weight                   uint32 // 0 when the assignment gives none
	hosts, healthy, degraded list
	excluded                 int
}

// level is one priority.
type level struct {
	hosts, healthy, degraded list
	excluded                 int
	// localities are ordered: the node's own first, if it has hosts here, then ascending.
	localities []locality
	hasLocal   bool
	// unweighted: there is no list of locality weights at all, as in subsets that are not locality_weight_aware.
	unweighted bool
}

// collect flattens the groups. Of the copies of an address in an EDS assignment the first stays, wherever it stands
// (eds.cc, updateLocalityEndpoints); STATIC clusters keep all (keepCopies).
func collect(groups []Group, keepCopies bool) []host {
	n := 0
	for i := range groups {
		n += len(groups[i].Endpoints)
	}
	hosts := make([]host, 0, n)
	var seen map[string]struct{}
	if !keepCopies {
		seen = make(map[string]struct{}, n)
	}
	for g := range groups {
		for i := range groups[g].Endpoints {
			e := &groups[g].Endpoints[i]
			h := host{Endpoint: e, group: int32(g), index: int32(i), priority: groups[g].Priority,
				weight: e.HostWeight(), class: e.Class(), excluded: e.Excluded()}
			if !keepCopies {
				before := len(seen)
				seen[e.Address] = struct{}{}
				h.duplicate = len(seen) == before
			}
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// arrange sorts hosts into levels and localities (PriorityStateManager::updateClusterPrioritySet). A priority that only
// has groups without endpoints exists too. Groups above MaxPriority are left out.
func arrange(groups []Group, hosts []host, node *Locality) []level {
	highest := -1
	for i := range groups {
		if p := groups[i].Priority; p <= MaxPriority {
			highest = max(highest, int(p))
		}
	}
	levels := make([]level, highest+1)
	places := make([]map[Locality]int, len(levels))
	weights := make([]map[Locality]uint32, len(levels))
	for i := range levels {
		places[i], weights[i] = map[Locality]int{}, map[Locality]uint32{}
	}
	next := 0
	for g := range groups {
		group := &groups[g]
		end := next + len(group.Endpoints)
		if group.Priority > MaxPriority {
			next = end
			continue
		}
		lv := &levels[group.Priority]
		name := group.locality()
		// The last group with both a locality and a weight decides; a group without weight takes nothing back.
		if group.Locality != nil && group.Weight > 0 {
			weights[group.Priority][name] = group.Weight
		}
		place, known := places[group.Priority][name]
		for ; next < end; next++ {
			if hosts[next].duplicate {
				continue
			}
			if !known {
				place, known = len(lv.localities), true
				places[group.Priority][name] = place
				lv.localities = append(lv.localities, locality{name: name})
			}
			lv.add(place, int32(next), &hosts[next])
		}
	}
	for p := range levels {
		lv := &levels[p]
		for i := range lv.localities {
			lv.localities[i].weight = weights[p][lv.localities[i].name]
		}
		if node != nil {
			_, lv.hasLocal = places[p][*node]
		}
		slices.SortFunc(lv.localities, func(a, b locality) int {
			if lv.hasLocal && (a.name == *node) != (b.name == *node) {
				if a.name == *node {
					return -1
				}
				return 1
			}
			return a.name.Compare(b.name)
		})
	}
	return levels
}

// add puts a host into a level and one of its localities.
func (lv *level) add(place int, index int32, h *host) {
	loc := &lv.localities[place]
	lv.hosts = append(lv.hosts, index)
	loc.hosts = append(loc.hosts, index)
	switch h.class {
	case ClassHealthy:
		lv.healthy = append(lv.healthy, index)
		loc.healthy = append(loc.healthy, index)
	case ClassDegraded:
		lv.degraded = append(lv.degraded, index)
		loc.degraded = append(loc.degraded, index)
	}
	if h.excluded {
		lv.excluded++
		loc.excluded++
	}
}

// class is the list of hosts that a pick of that class is made from.
func (lv *level) class(c Class) list {
	if c == ClassDegraded {
		return lv.degraded
	}
	return lv.healthy
}

func (l *locality) class(c Class) list {
	if c == ClassDegraded {
		return l.degraded
	}
	return l.healthy
}

// counts sums up a level.
func (lv *level) counts(hosts []host) Counts {
	c := Counts{Hosts: uint64(len(lv.hosts)), Healthy: uint64(len(lv.healthy)), Degraded: uint64(len(lv.degraded)),
		Excluded: uint64(lv.excluded)}
	for _, i := range lv.hosts {
		h := &hosts[i]
		weight := uint64(h.weight)
		c.TotalWeight += weight
		switch h.class {
		case ClassHealthy:
			c.HealthyWeight += weight
		case ClassDegraded:
			c.DegradedWeight += weight
		}
		if h.excluded {
			c.ExcludedWeight += weight
		}
	}
	return c
}

// CountPriorities is the counts of each priority of an assignment, for PriorityLoads.
func CountPriorities(groups []Group, keepCopies bool) []Counts {
	hosts := collect(groups, keepCopies)
	levels := arrange(groups, hosts, nil)
	counts := make([]Counts, len(levels))
	for i := range levels {
		counts[i] = levels[i].counts(hosts)
	}
	return counts
}

// locality is the group's, the empty one when there is no message.
func (g *Group) locality() Locality {
	if g.Locality == nil {
		return Locality{}
	}
	return *g.Locality
}

// Compare orders localities as Envoy does (LocalityLess).
func (l Locality) Compare(m Locality) int {
	return cmp.Or(cmp.Compare(l.Region, m.Region), cmp.Compare(l.Zone, m.Zone), cmp.Compare(l.SubZone, m.SubZone))
}

// String is "region/zone/sub_zone".
func (l Locality) String() string { return fmt.Sprintf("%s/%s/%s", l.Region, l.Zone, l.SubZone) }
