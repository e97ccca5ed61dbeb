package author

import (
	"fmt"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/selector"
)

// Place is a locality at a priority. What is nil is not said.
type Place struct {
	Region, Zone, SubZone *string
	Priority              *uint32
}

// ParsePlace reads "priority=1", "zone=b,priority=0" or "locality=region/zone/sub_zone".
func ParsePlace(text string) (Place, error) {
	var p Place
	seen := map[string]bool{}
	for _, term := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(term, "=")
		if !ok {
			return p, fmt.Errorf("%q must have the form KEY=VALUE, with the keys priority, region, zone, sub_zone, locality", term)
		}
		if seen[key] {
			return p, twiceError(key)
		}
		seen[key] = true
		if known, err := p.set(key, value); err != nil {
			return p, err
		} else if !known {
			return p, fmt.Errorf("unknown key %q: must be one of priority, region, zone, sub_zone, locality", key)
		}
	}
	return p, nil
}

// set takes one key of a place; known is false for others.
func (p *Place) set(key, value string) (known bool, err error) {
	switch key {
	case "region":
		p.Region = &value
	case "zone":
		p.Zone = &value
	case "sub_zone":
		p.SubZone = &value
	case "locality":
		parts := strings.Split(value, "/")
		if len(parts) > 3 {
			return true, fmt.Errorf("locality %q must have the form region/zone/sub_zone", value)
		}
		parts = append(parts, "", "")
		p.Region, p.Zone, p.SubZone = &parts[0], &parts[1], &parts[2]
	case "priority":
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			return true, fmt.Errorf("priority %q must be a whole number, 0 is the highest", value)
		}
		priority := uint32(n)
		p.Priority = &priority
	default:
		return false, nil
	}
	return true, nil
}

// matches tells whether a group is at the place, as far as that is said.
func (p Place) matches(g *endpointv3.LocalityLbEndpoints) bool {
	l := g.GetLocality()
	same := func(want *string, got string) bool { return want == nil || *want == got }
	return same(p.Region, l.GetRegion()) && same(p.Zone, l.GetZone()) && same(p.SubZone, l.GetSubZone()) &&
		(p.Priority == nil || *p.Priority == g.GetPriority())
}

// spot is a place that is said in full.
type spot struct {
	region, zone, subZone string
	priority              uint32
}

func spotOf(g *endpointv3.LocalityLbEndpoints) spot {
	l := g.GetLocality()
	return spot{l.GetRegion(), l.GetZone(), l.GetSubZone(), g.GetPriority()}
}

// from is the place seen from a group: what is not said is as there.
func (p Place) from(s spot) spot {
	set := func(to *string, v *string) {
		if v != nil {
			*to = *v
		}
	}
	set(&s.region, p.Region)
	set(&s.zone, p.Zone)
	set(&s.subZone, p.SubZone)
	if p.Priority != nil {
		s.priority = *p.Priority
	}
	return s
}

// group makes an empty group at the spot.
func (s spot) group() *endpointv3.LocalityLbEndpoints {
	g := &endpointv3.LocalityLbEndpoints{Priority: s.priority}
	if s.region != "" || s.zone != "" || s.subZone != "" {
		g.Locality = &corev3.Locality{Region: s.region, Zone: s.zone, SubZone: s.subZone}
	}
	return g
}

// Move puts the selected endpoints into another locality or priority: into the group that is there, else a new one with
// the weight of theirs. A group that moves as a whole to a place where none is changes its locality and priority.
func Move(s selector.Selector, to Place, prune bool) Verb {
	emptied := newMarks()
	verb := Verb{Steps: []Step{
		stepOf(func(d *draft) error { return d.moveGroups(s, to) }),
		stepOf(func(d *draft) error { return d.moveEndpoints(s, to, emptied) }),
	}}
	if prune {
		verb.Steps = append(verb.Steps, pruneStep(emptied))
	}
	return verb
}

// targets are the groups at each spot, the first of several.
func targets(cla *endpointv3.ClusterLoadAssignment) map[spot]int {
	out := map[spot]int{}
	for g, group := range cla.GetEndpoints() {
		if _, ok := out[spotOf(group)]; !ok {
			out[spotOf(group)] = g
		}
	}
	return out
}

// moveGroups moves whole groups in place and makes the groups that endpoints are to move to.
func (d *draft) moveGroups(s selector.Selector, to Place) error {
	refs, err := s.Select(d.old)
	if err != nil {
		return err
	}
	at := targets(d.old)
	for g, part := range byGroup(refs) {
		group := d.old.Endpoints[g]
		dest := to.from(spotOf(group))
		if _, taken := at[dest]; taken {
			continue
		}
		at[dest] = g
		if len(part) == len(group.GetLbEndpoints()) {
			d.relocate(g, dest)
			continue
		}
		made := dest.group()
		made.LoadBalancingWeight = group.GetLoadBalancingWeight()
		v, err := messageOf(made)
		if err != nil {
			return err
		}
		v.put("lb_endpoints", &literal{kind: listLiteral}) // the endpoints come in the next step
		d.addGroup(made, v, groupPath(g))
		d.say("new: %s", localityText(made))
	}
	return nil
}

func (d *draft) addGroup(group *endpointv3.LocalityLbEndpoints, v *literal, like diag.Path) {
	l := d.changes.list(diag.Path{{Name: "endpoints"}})
	l.added = append(l.added, addition{message: group, text: v, like: like})
	d.Want.Endpoints = append(d.Want.Endpoints, group)
}

// relocate changes the locality and the priority of a group.
func (d *draft) relocate(g int, to spot) {
	old := d.old.Endpoints[g]
	from := spotOf(old)
	group := d.group(g)
	if to.region != from.region || to.zone != from.zone || to.subZone != from.subZone {
		group.Locality = &corev3.Locality{Region: to.region, Zone: to.zone, SubZone: to.subZone}
	}
	path := groupPath(g)
	for _, f := range []struct{ name, from, to string }{{"region", from.region, to.region}, {"zone", from.zone, to.zone}, {"sub_zone", from.subZone, to.subZone}} {
		switch {
		case f.from == f.to:
		case f.to == "":
			d.changes.collapse(path.Field("locality").Field(f.name))
		default:
			d.changes.set(path.Field("locality").Field(f.name), str(f.to))
		}
	}
	if group.Locality != nil && to.region == "" && to.zone == "" && to.subZone == "" {
		group.Locality = nil
	}
	if to.priority != from.priority {
		group.Priority = to.priority
		if to.priority == 0 {
			d.changes.set(path.Field("priority"), nil)
		} else {
			d.changes.set(path.Field("priority"), number(to.priority))
		}
	}
	d.say("locality moved (%s -> %s)", localityText(old), localityText(group))
}

// moveEndpoints moves endpoints into groups that are there.
func (d *draft) moveEndpoints(s selector.Selector, to Place, emptied marks) error {
	refs, err := s.Select(d.old)
	if err != nil {
		return nil //nolint:nilerr // the whole selection went with its groups, whose place is part of the selector
	}
	at := targets(d.old)
	var moving []selector.Ref
	for _, r := range refs {
		from := d.old.Endpoints[r.Group]
		g, ok := at[to.from(spotOf(from))]
		if !ok || spotOf(d.old.Endpoints[g]) == spotOf(from) {
			continue
		}
		e := from.LbEndpoints[r.Index]
		moving = append(moving, r)
		group := d.group(g)
		group.LbEndpoints = append(group.LbEndpoints, e)
		l := d.changes.list(listPath(g))
		l.added = append(l.added, addition{message: e, from: endpointPath(r)})
		d.say("%s: moved (%s -> %s)", addressOf(e), localityText(from), localityText(group))
	}
	d.take(moving)
	emptied.mark(d)
	return nil
}
