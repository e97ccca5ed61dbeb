package diff

import (
	"cmp"
	"slices"
	"strconv"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// comparison collects changes: of the assignment first, then of localities, then of endpoints.
type comparison struct {
	changes  []Change
	was, now []located
	// dumped: one side is what a running Envoy shows, who writes defaults down and leaves some fields out; coarse: its DRAINING
	// endpoints are UNHEALTHY.
	dumped, coarse bool
}

func (c *comparison) add(change Change) { c.changes = append(c.changes, change) }

func (c *comparison) compare(p Pair) {
	if p.Old.Name != p.New.Name {
		c.add(Change{Kind: Renamed, Old: p.Old.Name, New: p.New.Name})
	}
	c.dumped = (p.Old.Shape == eds.ShapeConfigDump) != (p.New.Shape == eds.ShapeConfigDump)
	c.coarse = p.Old.CoarseHealth || p.New.CoarseHealth
	c.policy(p.Old.Assignment.GetPolicy(), p.New.Assignment.GetPolicy())
	c.cluster(p)
	c.localities(p.Old.Assignment, p.New.Assignment)
	c.endpoints(p.Old.Assignment, p.New.Assignment)
}

// place is a locality at a priority, which is how localities are told apart.
type place struct {
	priority uint32
	locality simulate.LocalityID
}

func placeOf(g *endpointv3.LocalityLbEndpoints) place {
	l := g.GetLocality()
	return place{g.GetPriority(), simulate.LocalityID{Region: l.GetRegion(), Zone: l.GetZone(), SubZone: l.GetSubZone()}}
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.priority, q.priority), cmp.Compare(p.locality.Region, q.locality.Region),
		cmp.Compare(p.locality.Zone, q.locality.Zone), cmp.Compare(p.locality.SubZone, q.locality.SubZone))
}

// String is the place as a reader names it.
func (p place) String() string {
	return "priority " + strconv.FormatUint(uint64(p.priority), 10) + ", locality " + p.locality.String()
}

func (p place) change(kind Kind) Change {
	return Change{Kind: kind, Priority: &p.priority, Locality: &p.locality}
}

// localities compares what is said about localities that are on both sides; that one is new or gone shows in its
// endpoints. Of a locality that is written more than once the last weight counts, as for Envoy.
func (c *comparison) localities(before, after *endpointv3.ClusterLoadAssignment) {
	was := c.byPlace(before)
	now := c.byPlace(after)
	places := make([]place, 0, len(now))
	for p := range now {
		if was[p] != nil {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, place.compare)
	for _, p := range places {
		if o, n := was[p].weight, now[p].weight; o != n {
			change := p.change(LocalityWeight)
			change.Old, change.New = o, n
			change.OldPath, change.NewPath = was[p].path, now[p].path
			c.add(change)
		}
		if c.dumped {
			continue // metadata and proximity are not in a dump
		}
		if !eds.SameMetadata(was[p].last.GetMetadata(), now[p].last.GetMetadata()) {
			change := p.change(Locality)
			change.Field, change.OldPath, change.NewPath = "metadata", was[p].path, now[p].path
			c.add(change)
		}
		if o, n := was[p].last.GetProximity().GetValue(), now[p].last.GetProximity().GetValue(); o != n {
			change := p.change(Locality)
			change.Field, change.Old, change.New = "proximity", strconv.FormatUint(uint64(o), 10), strconv.FormatUint(uint64(n), 10)
			change.OldPath, change.NewPath = was[p].path, now[p].path
			c.add(change)
		}
	}
}

type localityGroup struct {
	weight string // empty when unset
	last   *endpointv3.LocalityLbEndpoints
	path   string
}

func (c *comparison) byPlace(cla *endpointv3.ClusterLoadAssignment) map[place]*localityGroup {
	out := map[place]*localityGroup{}
	for i, g := range cla.GetEndpoints() {
		p := placeOf(g)
		if out[p] == nil {
			out[p] = &localityGroup{}
		}
		out[p].last, out[p].path = g, "endpoints["+strconv.Itoa(i)+"]"
		if g.GetLoadBalancingWeight() != nil && (g.Locality != nil || !c.dumped) { // without a locality Envoy takes no weight
			out[p].weight = strconv.FormatUint(uint64(g.GetLoadBalancingWeight().GetValue()), 10)
		}
	}
	return out
}
