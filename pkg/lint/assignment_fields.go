package lint

import (
	"fmt"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

var assignmentRules = []string{
	"eds-no-endpoints", "named-endpoints-ignored", "overprovisioning-below-100", "stale-after-removes", "stale-after-sub-millisecond",
	"weighted-priority-health",
}

// assignmentChecks reports fields of the assignment itself and of its policy.
func assignmentChecks(c *Context, report func(diag.Problem)) {
	a := c.Resource.Assignment
	root := diag.Path{}
	if c.ClusterType() == eds.TypeEDS && c.EndpointsUsed() && isEmpty(c) {
		report(diag.Problem{
			Rule: "eds-no-endpoints", Path: root.Field("endpoints"), Message: "the assignment has no endpoints: Envoy removes those that it has",
		})
	}
	if n := len(a.GetNamedEndpoints()); n > 0 {
		report(diag.Problem{
			Rule: "named-endpoints-ignored", Path: root.Field("named_endpoints"), Message: fmt.Sprintf("named_endpoints (%d) are used by no client: list them in lb_endpoints", n),
		})
	}
	policy := a.GetPolicy()
	if f := policy.GetOverprovisioningFactor(); f != nil && f.GetValue() > 0 && f.GetValue() < 100 {
		report(diag.Problem{
			Rule: "overprovisioning-below-100", Path: root.Field("policy.overprovisioning_factor"),
			Message: fmt.Sprintf("with an overprovisioning_factor of %d a fully healthy priority counts as %d %% available and the rest spills over", f.GetValue(), f.GetValue()),
		})
	}
	if policy.GetWeightedPriorityHealth() {
		report(diag.Problem{
			Rule: "weighted-priority-health", Path: root.Field("policy.weighted_priority_health"),
			Message: "weighted_priority_health changes the loads of priorities only, neither locality weights nor panic",
		})
	}
	staleAfterChecks(c, report)
}

// isEmpty tells whether an assignment has no endpoint and gets none by LEDS.
func isEmpty(c *Context) bool {
	for _, g := range c.Resource.Assignment.GetEndpoints() {
		if len(g.GetLbEndpoints()) > 0 || g.GetLedsClusterLocalityConfig() != nil {
			return false
		}
	}
	return true
}

// staleAfterChecks reports an endpoint_stale_after that Envoy takes (eds.cc, onAssignmentTimeout).
func staleAfterChecks(c *Context, report func(diag.Problem)) {
	d := c.Resource.Assignment.GetPolicy().GetEndpointStaleAfter()
	if d == nil || isZero(d) || DurationError(d) != "" {
		return
	}
	p := diag.Problem{Path: diag.Path{}.Field("policy.endpoint_stale_after")}
	if d.GetSeconds() == 0 && d.GetNanos() < 1e6 {
		p.Rule, p.Message = "stale-after-sub-millisecond", fmt.Sprintf("endpoint_stale_after is %s: less than a millisecond means never", d.AsDuration())
	} else {
		p.Rule = "stale-after-removes"
		p.Message = fmt.Sprintf("when no new assignment comes for %s, Envoy removes all endpoints", d.AsDuration())
	}
	report(p)
}
