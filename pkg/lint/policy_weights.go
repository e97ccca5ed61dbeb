package lint

import (
	"fmt"
	"math"

	"github.com/edsctl/edsctl/pkg/diag"
	lbenvoy "github.com/edsctl/edsctl/pkg/lb/envoy"
	"github.com/edsctl/edsctl/pkg/simulate"
)

var policyWeightRules = []string{"locality-weight-ignored", "random-priority-skew", "subset-locality-weights"}

// policyWeightChecks compares the weights of localities with what the policy of the cluster makes of them.
func policyWeightChecks(c *Context, report func(diag.Problem)) {
	if c.Cluster == nil || c.Cluster.Message == nil || c.Resource.Absent || !c.EndpointsUsed() {
		return
	}
	weights, first, differs := localityWeights(c)
	if differs >= 0 {
		message := "the localities of a priority have different weights, but the policy is not locality-weighted: set locality_weighted_lb_config"
		if c.Policy(diag.Envoy).LocalityWeights() {
			message = fmt.Sprintf("gRPC's bare %s ignores the weights of localities", c.Policy(diag.GRPC).Picker().Name)
		}
		report(diag.Problem{Rule: "locality-weight-ignored", Path: groupPath(differs).Field("load_balancing_weight"), Message: message})
	}
	if subset := c.Policy(diag.Envoy).Find("subset"); subset != nil && weights && c.Policy(diag.Envoy).LocalityWeights() {
		message := "inside a subset there are no locality weights without locality_weight_aware"
		if subset.Subset.LocalityWeightAware {
			message = "a subset may leave a locality empty: the weights of the others then share its traffic"
		}
		report(diag.Problem{Rule: "subset-locality-weights", Path: groupPath(first).Field("load_balancing_weight"), Message: message})
	}
	if p := c.Policy(diag.Envoy); p.Picker().Name == "random" && !p.Has("subset") {
		randomSkew(c, report)
	}
}

// localityWeights tells whether a locality with endpoints has a weight and which is the first, and finds the first whose
// weight differs from that of another of its priority; -1 when there is none.
func localityWeights(c *Context) (any bool, first, differs int) {
	first, differs = -1, -1
	type seen struct {
		weight uint32
		group  int
	}
	priorities := map[uint32]seen{}
	for i, group := range c.Resource.Assignment.GetEndpoints() {
		if len(group.GetLbEndpoints()) == 0 || group.GetLocality() == nil {
			continue
		}
		weight := group.GetLoadBalancingWeight().GetValue()
		if weight > 0 && first < 0 {
			first = i
		}
		other, ok := priorities[group.GetPriority()]
		if !ok {
			priorities[group.GetPriority()] = seen{weight, i}
			continue
		}
		if other.weight != weight && differs < 0 {
			differs = i
			if weight == 0 {
				differs = other.group // the one that is written
			}
		}
	}
	return first >= 0, first, differs
}

// randomSkew: RANDOM takes the number that chose the priority to choose the endpoint as well (random_lb.cc), so the
// residues that lead to a priority favour some endpoints. It speaks from a tenth of an even share on.
func randomSkew(c *Context, report func(diag.Problem)) {
	model, err := simulate.EnvoyModel(c.placed(), c.EnvoyVersion)
	if err != nil {
		return
	}
	type list struct {
		priority int
		class    lbenvoy.Class
		locality lbenvoy.Locality
	}
	result := model.Compute()
	weighted := c.Policy(diag.Envoy).LocalityWeights()
	counts, sums := map[list]int{}, map[list]float64{}
	of := func(e *lbenvoy.EndpointShare) list {
		l := list{priority: e.Priority}
		if !result.Priorities[e.Priority].Panic {
			l.class = e.Class
			if weighted {
				l.locality = e.Locality
			}
		}
		return l
	}
	for i := range result.Endpoints {
		if e := &result.Endpoints[i]; !e.Duplicate {
			counts[of(e)]++
			sums[of(e)] += e.Share
		}
	}
	for i := range result.Endpoints {
		e := &result.Endpoints[i]
		if e.Duplicate || sums[of(e)] == 0 {
			continue
		}
		even := sums[of(e)] / float64(counts[of(e)])
		if math.Abs(e.Share-even) > even/10 {
			report(diag.Problem{Rule: "random-priority-skew", Path: endpointPath(e.Group, e.Index), Message: fmt.Sprintf(
				"RANDOM gives this endpoint of priority %d %.2f %% of the requests, where an even split gives %.2f %%: the number that chooses the priority chooses the endpoint too",
				e.Priority, 100*e.Share, 100*even)})
			return
		}
	}
}
