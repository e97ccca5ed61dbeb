package lint

import (
	"fmt"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	lbenvoy "github.com/edsctl/edsctl/pkg/lb/envoy"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// zoneAware reports the condition for which zone-aware routing is not active although the bootstrap names a local
// cluster, or the cluster has a zone_aware_lb_config (load_balancer_impl.cc, earlyExitNonLocalityRouting).
func zoneAware(c *Context, report func(diag.Problem)) {
	if c.Cluster == nil || c.Cluster.Message == nil || c.Resource.Absent || !c.EndpointsUsed() || len(c.Resource.Assignment.GetEndpoints()) == 0 {
		return
	}
	config := zoneConfig(c)
	local := c.Bootstrap != nil && c.Bootstrap.LocalClusterName != ""
	if !local && (config == nil || c.Bootstrap == nil) || local && c.Bootstrap.LocalClusterName == c.ClusterName() {
		return
	}
	reason := zoneReason(c, config, local)
	if reason == "" {
		return
	}
	at := diag.Path{}.Field("bootstrap.cluster_manager.local_cluster_name")
	if config != nil {
		at = config.ZoneAware.Path
	}
	report(diag.Problem{Rule: "zone-aware-inactive", Path: at, Message: fmt.Sprintf("there is no zone-aware routing in cluster %q: %s", c.ClusterName(), reason)})
}

// zoneConfig is the policy with a zone_aware_lb_config; nil when there is none.
func zoneConfig(c *Context) *eds.PolicyConfig {
	for p := c.Policy(diag.Envoy); p != nil; p = p.Child {
		if p.ZoneAware.Path != nil {
			return p
		}
	}
	return nil
}

func zoneReason(c *Context, config *eds.PolicyConfig, local bool) string {
	policy := c.Policy(diag.Envoy)
	switch name := policy.Picker().Name; name {
	case "round_robin", "least_request", "random":
	default:
		if config == nil {
			return "" // a policy that never routes by zone
		}
		return name + " does not route by zone"
	}
	switch {
	case !local:
		return "the bootstrap names no local_cluster_name"
	case policy.LocalityWeights():
		return "locality-weighted load balancing is on"
	case c.Bootstrap.NodeLocality == nil:
		return "node.locality is not set"
	case c.Bootstrap.Assignments[c.Bootstrap.LocalClusterName] == nil:
		return "" // the endpoints of the local cluster are not known
	}
	model, err := simulate.EnvoyModel(c.placed(), c.EnvoyVersion)
	if err != nil {
		return ""
	}
	result := model.Compute().ZoneAware
	switch {
	case result.Mode == lbenvoy.ZoneNone:
		return zoneWords(c, result.Reason)
	case (result.Mode == lbenvoy.ZoneDirect || result.Mode == lbenvoy.ZoneResidual) && result.EnabledPercent == 0:
		return "routing_enabled is 0 %"
	}
	return ""
}

// zoneWords explains what the model names in short.
func zoneWords(c *Context, reason string) string {
	switch reason {
	case "one upstream locality":
		return "priority 0 has fewer than 2 localities"
	case "one local locality":
		return fmt.Sprintf("the local cluster %q has fewer than 2 localities", c.Bootstrap.LocalClusterName)
	case "no local host in own locality":
		return fmt.Sprintf("the local cluster %q has no endpoint in the node's locality", c.Bootstrap.LocalClusterName)
	case "cluster too small":
		least := uint64(lbenvoy.DefaultMinClusterSize)
		for p := c.Policy(diag.Envoy); p != nil; p = p.Child {
			if p.ZoneAware.MinClusterSize != nil {
				least = *p.ZoneAware.MinClusterSize
			}
		}
		return fmt.Sprintf("priority 0 has fewer healthy endpoints than min_cluster_size, %d", least)
	}
	return reason
}
