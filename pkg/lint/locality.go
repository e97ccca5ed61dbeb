package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

var localityRules = []string{
	"locality-duplicate", "locality-weight-missing", "locality-weight-without-locality", "locality-without-endpoints", "priority-gap", "proximity-ignored",
}

// localityKey is a locality at a priority. An absent locality and an empty one are the same to Envoy.
type localityKey struct {
	priority              uint32
	region, zone, subZone string
}

func keyOf(g *endpointv3.LocalityLbEndpoints) localityKey {
	l := g.GetLocality()
	return localityKey{g.GetPriority(), l.GetRegion(), l.GetZone(), l.GetSubZone()}
}

func localityText(l *corev3.Locality) string {
	return fmt.Sprintf("{region=%q, zone=%q, sub_zone=%q}", l.GetRegion(), l.GetZone(), l.GetSubZone())
}

// localityChecks reports what is odd about the entries of endpoints (upstream_impl.cc, PriorityStateManager; grpc-go's
// unmarshal_eds.go, parseEDSRespProto).
func localityChecks(c *Context, report func(diag.Problem)) {
	groups := c.Resource.Assignment.GetEndpoints()
	if !c.EndpointsUsed() {
		return
	}
	first := make(map[localityKey]int, len(groups))
	firstWeighted := make(map[localityKey]int, len(groups)) // those that grpc-go reads
	served := map[uint32]bool{}                             // priorities with endpoints
	for _, g := range groups {
		if len(g.GetLbEndpoints()) > 0 {
			served[g.GetPriority()] = true
		}
	}
	for i, g := range groups {
		path := groupPath(i)
		duplicateLocality(g, i, first, firstWeighted, report)
		if g.GetLoadBalancingWeight() != nil && g.GetLocality() == nil {
			report(diag.Problem{
				Rule: "locality-weight-without-locality", Path: path.Field("load_balancing_weight"),
				Message: "the weight of an entry without locality is lost: write a locality, it may be empty",
			})
		}
		if g.GetProximity() != nil {
			report(diag.Problem{Rule: "proximity-ignored", Path: path.Field("proximity"), Message: "proximity is used by no client"})
		}
		if len(g.GetLbEndpoints()) == 0 && g.GetLbConfig() == nil && g.GetLedsClusterLocalityConfig() == nil {
			report(diag.Problem{Rule: "locality-without-endpoints", Path: path, Message: withoutEndpoints(g.GetPriority(), served)})
		}
	}
	missingWeights(c, report)
	priorityGap(c, report)
}

func groupPath(i int) diag.Path { return diag.Path{{Name: "endpoints"}, {Index: i}} }

// duplicateLocality reports a locality that occurred before in its priority. Entries without locality are no mistake:
// Envoy merges their hosts and nothing is lost.
func duplicateLocality(g *endpointv3.LocalityLbEndpoints, i int, first, firstWeighted map[localityKey]int, report func(diag.Problem)) {
	key := keyOf(g)
	before, found := first[key]
	if !found {
		first[key] = i
	}
	weighted := false
	if g.GetLoadBalancingWeight().GetValue() != 0 && g.GetLocality() != nil {
		if _, weighted = firstWeighted[key]; !weighted {
			firstWeighted[key] = i
		}
	}
	if !found || g.GetLocality() == nil {
		return
	}
	p := diag.Problem{
		Rule: "locality-duplicate", Path: groupPath(i).Field("locality"),
		Message: fmt.Sprintf("locality %s occurs already at endpoints[%d] in priority %d: Envoy joins them, the last weight counts", localityName(g.GetLocality()), before, key.priority),
	}
	if weighted {
		p.GRPC = GRPCSays(fmt.Sprintf("duplicate locality %s with the same priority %d", localityText(g.GetLocality()), key.priority))
	} else {
		p.GRPC.Effect = new(diag.None)
	}
	report(p)
}

// localityName is a locality for users: region/zone/sub_zone.
func localityName(l *corev3.Locality) string {
	if l.GetRegion() == "" && l.GetZone() == "" && l.GetSubZone() == "" {
		return `""`
	}
	return fmt.Sprintf("%q", l.GetRegion()+"/"+l.GetZone()+"/"+l.GetSubZone())
}

func withoutEndpoints(priority uint32, served map[uint32]bool) string {
	if served[priority] {
		return "the locality has no endpoints and does not exist for Envoy"
	}
	return fmt.Sprintf("the locality has no endpoints, and so has priority %d: its traffic goes to the next one", priority)
}

// missingWeights reports once that localities with endpoints have no weight.
func missingWeights(c *Context, report func(diag.Problem)) {
	first, missing, all := -1, 0, 0
	for i, g := range c.Resource.Assignment.GetEndpoints() {
		if len(g.GetLbEndpoints()) == 0 && g.GetLedsClusterLocalityConfig() == nil {
			continue
		}
		all++
		if g.GetLoadBalancingWeight().GetValue() == 0 {
			missing++
			if first < 0 {
				first = i
			}
		}
	}
	if missing == 0 {
		return
	}
	message := fmt.Sprintf("%d of %d localities have no load_balancing_weight: they get no traffic where locality weights count", missing, all)
	if missing == all {
		message = "no locality has a load_balancing_weight: none gets traffic where locality weights count"
	}
	report(diag.Problem{Rule: "locality-weight-missing", Path: groupPath(first), Message: message})
}

// priorityGap reports priorities that are not 0, 1, 2 and so on. grpc-go looks at those with a weighted locality only.
func priorityGap(c *Context, report func(diag.Problem)) {
	if c.ClusterType() == TypeLogicalDNS {
		return // its priority is 0, whatever is written
	}
	below := func(g *endpointv3.LocalityLbEndpoints) bool { return g.GetPriority() > 0 }
	if !slices.ContainsFunc(c.Resource.Assignment.GetEndpoints(), below) {
		return
	}
	used, weighted := map[uint32][]string{}, map[uint32][]string{}
	at := map[uint32]int{}
	for i, g := range c.Resource.Assignment.GetEndpoints() {
		p := g.GetPriority()
		if _, ok := used[p]; !ok {
			at[p] = i
		}
		used[p] = append(used[p], "")
		if g.GetLoadBalancingWeight().GetValue() != 0 {
			weighted[p] = append(weighted[p], localityText(g.GetLocality()))
		}
	}
	gap, envoy := firstGap(used)
	missing, grpc := firstGap(weighted)
	if !envoy && !grpc {
		return
	}
	p := diag.Problem{Rule: "priority-gap", GRPC: diag.Override{Effect: new(diag.None)}}
	if grpc {
		p.GRPC = GRPCSays(fmt.Sprintf("priority %d missing (with different priorities %s received)", missing, priorityMap(weighted)))
	}
	if envoy {
		p.Message = fmt.Sprintf("there is no priority %d: priorities are 0, 1, 2 and so on", gap)
	} else {
		gap = missing
		p.Message = fmt.Sprintf("priority %d has no locality with a weight, so there is a gap for gRPC", gap)
		p.Envoy.Effect = new(diag.None)
	}
	p.Path = groupPath(afterGap(at, gap)).Field("priority")
	report(p)
}

// firstGap is the lowest priority that is missing below the number of distinct ones (unmarshal_eds.go).
func firstGap[V any](used map[uint32]V) (uint32, bool) {
	for p := range uint32(len(used)) {
		if _, ok := used[p]; !ok {
			return p, true
		}
	}
	return 0, false
}

// afterGap is the entry with the lowest priority above the gap, else the first one.
func afterGap(at map[uint32]int, gap uint32) int {
	for _, p := range slices.Sorted(maps.Keys(at)) {
		if p > gap {
			return at[p]
		}
	}
	return 0
}

// priorityMap prints priorities and their localities as Go prints a map of maps, keys sorted.
func priorityMap(weighted map[uint32][]string) string {
	var parts []string
	for _, p := range slices.Sorted(maps.Keys(weighted)) {
		names := slices.Clone(weighted[p])
		slices.Sort(names)
		for i := range names {
			names[i] += ":true"
		}
		parts = append(parts, fmt.Sprintf("%d:map[%s]", p, strings.Join(names, " ")))
	}
	return "map[" + strings.Join(parts, " ") + "]"
}
