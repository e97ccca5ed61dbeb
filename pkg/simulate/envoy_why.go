package simulate

import (
	"fmt"
	"strings"

	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// envoyExplainer says in one line where an endpoint's share comes from. There may be very many endpoints: the words are
// made once for neighbours that have the same, and lists are found once for each group of endpoints.
type envoyExplainer struct {
	in *envoy.Input
	e  *envoy.Result
	// lists have the endpoints with a share, by priority and class and, where localities are chosen first, by locality.
	lists map[listOf]*list
	// named are the priorities in which a locality is chosen before the endpoint; zoned: in priority 0 by zone.
	named []bool
	zoned bool

	group  int // that the rest is about
	byName bool
	found  map[envoy.Class]*list
	texts  map[whyKey]string
}

// whyKey is what tells the words for endpoints of one group apart.
type whyKey struct {
	later     bool
	class     envoy.Class
	excluded  bool
	duplicate bool
	served    bool
	weight    uint32
}

type listOf struct {
	priority int
	locality envoy.Locality // the zero one for a flat list
	class    envoy.Class    // ClassHealthy for all of a priority in panic
}

type list struct {
	hosts  int
	weight uint64
}

func newEnvoyExplainer(in *envoy.Input, e *envoy.Result) *envoyExplainer {
	x := &envoyExplainer{in: in, e: e, lists: map[listOf]*list{}, named: make([]bool, len(e.Priorities)), group: -1}
	x.zoned = routedByZone(in, e) > 0
	for priority := range e.Priorities {
		x.named[priority] = x.byLocality(priority)
	}
	for i := range e.Endpoints {
		if s := &e.Endpoints[i]; s.Share > 0 {
			x.enter(s)
			l := x.list(s)
			l.hosts++
			l.weight += uint64(s.Weight)
		}
	}
	x.group = -1
	return x
}

// enter goes to the group of an endpoint.
func (x *envoyExplainer) enter(s *envoy.EndpointShare) {
	if s.Group == x.group {
		return
	}
	x.group, x.byName = s.Group, x.named[s.Priority]
	x.found, x.texts = map[envoy.Class]*list{}, map[whyKey]string{}
}

// list is the list that an endpoint of the group is chosen from.
func (x *envoyExplainer) list(s *envoy.EndpointShare) *list {
	key := listOf{priority: s.Priority}
	if !x.e.Priorities[s.Priority].Panic {
		key.class = s.Class
	}
	if l, ok := x.found[key.class]; ok {
		return l
	}
	if x.byName {
		key.locality = s.Locality
	}
	l, ok := x.lists[key]
	if !ok {
		l = &list{}
		x.lists[key] = l
	}
	x.found[key.class] = l
	return l
}

// byLocality tells whether a locality of the priority is chosen before the endpoint.
func (x *envoyExplainer) byLocality(priority int) bool {
	p := &x.e.Priorities[priority]
	if p.Panic {
		return false
	}
	if x.in.Policy.Name == envoy.LoadAwareLocality {
		return true
	}
	for i := range p.Localities {
		if p.Localities[i].EffectiveWeight > 0 || p.Localities[i].EffectiveDegradedWeight > 0 {
			return true
		}
	}
	return priority == 0 && x.zoned
}

func (x *envoyExplainer) text(s *envoy.EndpointShare) string {
	x.enter(s)
	key := whyKey{s.Later > s.Share/2, s.Class, s.Excluded, s.Duplicate, s.Share > 0, s.Weight}
	text, ok := x.texts[key]
	if !ok {
		text = x.why(s)
		x.texts[key] = text
	}
	return text
}

func (x *envoyExplainer) why(s *envoy.EndpointShare) string {
	if s.Duplicate {
		return "the address is defined before: Envoy ignores this copy"
	}
	p := &x.e.Priorities[s.Priority]
	load := p.HealthyLoad
	if s.Class == envoy.ClassDegraded && !p.Panic {
		load = p.DegradedLoad
	}
	if p.Panic {
		load = p.HealthyLoad + p.DegradedLoad
	}
	switch {
	case s.Share > 0 && x.e.Subset.Single:
		return "the one endpoint of its subset (single_host_per_subset)"
	case s.Later > s.Share/2:
		return "gets what the subset has no endpoint for: " + strings.Join(x.e.Subset.Later, ", ")
	case s.Share > 0:
		return x.served(s, p, load)
	case x.e.Subset.Single:
		return "not the one endpoint of its subset (single_host_per_subset)"
	case x.e.Subset.Used && load > 0 && s.Class != envoy.ClassUnhealthy:
		return "not in the subset that the request is balanced over"
	case s.Excluded:
		return "excluded: gets nothing and counts nowhere"
	case s.Class == envoy.ClassUnhealthy && !p.Panic:
		return "unhealthy, and its priority is not in panic"
	case load == 0:
		return fmt.Sprintf("priority %d has no load for %s endpoints", s.Priority, s.Class)
	case s.Class == envoy.ClassDegraded && !p.Panic && hashes(x.in):
		return "hash policies do not use degraded endpoints"
	case hashes(x.in):
		return x.unhashed(s, p)
	case p.Panic && x.in.Policy.ZoneAware.FailTrafficOnPanic:
		return "panic, and fail_traffic_on_panic is set"
	case len(x.e.Subset.Later) > 0:
		return "not among what is tried for the request"
	case x.byName:
		return "its locality gets nothing"
	default:
		return "never chosen"
	}
}

// unhashed says why an endpoint that could be used is not on the ring or in the table.
func (x *envoyExplainer) unhashed(s *envoy.EndpointShare, p *envoy.Priority) string {
	what := "entry on the ring"
	if x.in.Policy.Name == envoy.Maglev {
		what = "entry in the table"
	}
	if x.in.Policy.LocalityWeighted {
		for i := range p.Localities {
			if l := &p.Localities[i]; l.Locality == s.Locality && l.Weight == 0 {
				return "no " + what + ": its locality has no weight"
			}
		}
	}
	if p.Share == 0 {
		return "no endpoint has an " + what
	}
	return "no " + what + ", which has too few for all endpoints"
}

func hashes(in *envoy.Input) bool {
	return in.Policy.Name == envoy.RingHash || in.Policy.Name == envoy.Maglev
}

// served says how the share of an endpoint that gets requests comes about.
func (x *envoyExplainer) served(s *envoy.EndpointShare, p *envoy.Priority, load uint32) string {
	l := x.list(s)
	text := fmt.Sprintf("load %d %% of priority %d", load, s.Priority)
	if p.Panic {
		text += " in panic: all its endpoints"
	}
	if x.byName {
		text += ", locality " + LocalityID(s.Locality).String()
		if percent := x.e.ZoneAware.EnabledPercent; s.Priority == 0 && x.zoned && percent < 100 {
			// Two lists at once: what the endpoint has of each would need both.
			return text + fmt.Sprintf(" for the %d %% that are routed by zone, all localities for the rest", percent)
		}
	}
	switch x.in.Policy.EndpointPolicy() {
	case envoy.RingHash, envoy.Maglev:
		return text + ", its part of the hash space"
	case envoy.Random, envoy.ClientSideWeighted:
		return text + fmt.Sprintf(", 1 of %d", l.hosts)
	default:
		return text + fmt.Sprintf(", weight %d of %d", s.Weight, l.weight)
	}
}
