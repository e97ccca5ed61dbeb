package lint

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// UpdateCheck reports what one rule finds in the step from one version of an assignment to the next. Paths are those of
// the new version, but for endpoints that it no longer has.
type UpdateCheck func(u *Update, report func(diag.Problem))

// UpdateEntry is one update check with the rules that it produces.
type UpdateEntry struct {
	Rules []string
	Check UpdateCheck
}

// UpdateChecks lists the checks of the rules that need two versions.
func UpdateChecks() []UpdateEntry {
	return []UpdateEntry{
		{Rules: []string{"drop-overload-alone-not-propagated"}, Check: dropAlone},
		{Rules: []string{"in-place-update-blind-spots"}, Check: blindSpots},
		{Rules: []string{"removed-host-kept"}, Check: removedHostKept},
	}
}

// UpdateProblems are what all update checks report, in their order. Only EDS clusters take updates in place: a cluster
// with a load_assignment is made anew.
func UpdateProblems(was, now *Context) []diag.Problem {
	if was.ClusterType() != TypeEDS || now.ClusterType() != TypeEDS {
		return nil
	}
	u := newUpdate(was, now)
	var problems []diag.Problem
	for _, e := range UpdateChecks() {
		e.Check(u, func(p diag.Problem) { problems = append(problems, p) })
	}
	return problems
}

// Update is an assignment before and after, with the hosts that Envoy makes of each.
type Update struct {
	Was, Now *Context
	was, now []updateHost // by address, the first copy of each, in document order

	before map[string]int // address to index into was
	after  map[string]int
	// changed are the priorities in which Envoy sees a change, which it then rebuilds from the new assignment.
	changed map[uint32]bool
}

// updateHost is an endpoint with its place.
type updateHost struct {
	address  string
	priority uint32
	group    *endpointv3.LocalityLbEndpoints
	path     diag.Path
	*endpointv3.LbEndpoint
}

func newUpdate(was, now *Context) *Update {
	u := &Update{Was: was, Now: now, changed: map[uint32]bool{}}
	u.was, u.before = updateHosts(was.Resource.Assignment)
	u.now, u.after = updateHosts(now.Resource.Assignment)
	u.findChanges()
	return u
}

// updateHosts lists the hosts of an EDS cluster: the first endpoint of each address (eds.cc, updateLocalityEndpoints).
func updateHosts(cla *endpointv3.ClusterLoadAssignment) ([]updateHost, map[string]int) {
	var hosts []updateHost
	index := map[string]int{}
	for i, group := range cla.GetEndpoints() {
		for j, e := range group.GetLbEndpoints() {
			address := simulate.EnvoyAddress(e.GetEndpoint().GetAddress())
			if _, again := index[address]; again {
				continue
			}
			index[address] = len(hosts)
			hosts = append(hosts, updateHost{address, group.GetPriority(), group, diag.Path{}.Field("endpoints").Index(i).Field("lb_endpoints").Index(j), e})
		}
	}
	return hosts, index
}
