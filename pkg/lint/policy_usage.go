package lint

import (
	"fmt"
	"math"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	lbenvoy "github.com/edsctl/edsctl/pkg/lb/envoy"
)

var policyUsageRules = []string{"grpc-least-request-choice-count", "grpc-wrr-ring-hash", "lb-config-unused", "percent-truncated"}

// policyUsageChecks reports what is written about the policy of a cluster and does not count, or not as written.
func policyUsageChecks(c *Context, report func(diag.Problem)) {
	if c.Cluster == nil || c.Cluster.Message == nil {
		return
	}
	m := c.Cluster.Message
	configUnused(c, m, report)
	percents(c, m, report)
	g := c.Policy(diag.GRPC)
	if p := g.Find("ring_hash"); p != nil && g.Has("wrr_locality") {
		report(diag.Problem{Rule: "grpc-wrr-ring-hash", Path: p.Path, Message: "gRPC never connects with ring_hash inside wrr_locality: ring_hash weights localities by itself"})
	}
	if p := g.Find("least_request"); p != nil && p.ChoiceCount != nil && *p.ChoiceCount > eds.GRPCMaxChoiceCount {
		report(diag.Problem{Rule: "grpc-least-request-choice-count", Path: p.ConfigPath.Field("choice_count"),
			Message: fmt.Sprintf("gRPC lowers choice_count from %d to %d", *p.ChoiceCount, eds.GRPCMaxChoiceCount)})
	}
}

// lbConfigs are the fields of the oneof lb_config with the policy that reads them.
var lbConfigs = map[string]clusterv3.Cluster_LbPolicy{
	"round_robin_lb_config": clusterv3.Cluster_ROUND_ROBIN, "least_request_lb_config": clusterv3.Cluster_LEAST_REQUEST,
	"ring_hash_lb_config": clusterv3.Cluster_RING_HASH, "maglev_lb_config": clusterv3.Cluster_MAGLEV, "original_dst_lb_config": clusterv3.Cluster_CLUSTER_PROVIDED,
}

func configUnused(c *Context, m *clusterv3.Cluster, report func(diag.Problem)) {
	say := func(field, message string) {
		report(diag.Problem{Rule: "lb-config-unused", Path: inCluster(field), Message: message})
	}
	written := ""
	if fd := m.ProtoReflect().WhichOneof(m.ProtoReflect().Descriptor().Oneofs().ByName("lb_config")); fd != nil {
		written = string(fd.Name())
	}
	if m.GetLoadBalancingPolicy() != nil {
		if policy := m.GetLbPolicy(); policy != clusterv3.Cluster_ROUND_ROBIN && policy != clusterv3.Cluster_LOAD_BALANCING_POLICY_CONFIG && c.ClusterType() != TypeOriginalDst {
			say("lb_policy", fmt.Sprintf("lb_policy %s has no effect beside load_balancing_policy", policy))
		}
		if written != "" && written != "original_dst_lb_config" {
			say(written, written+" has no effect beside load_balancing_policy")
		}
		return
	}
	if policy, ok := lbConfigs[written]; ok && m.GetLbPolicy() != policy {
		say(written, fmt.Sprintf("%s has no effect: lb_policy is %s", written, m.GetLbPolicy()))
	}
}

// percents reports percentages that become another whole number (ProtobufPercentHelper::convertPercent).
func percents(c *Context, m *clusterv3.Cluster, report func(diag.Problem)) {
	check := func(value *float64, at diag.Path, zero string) {
		if value == nil || *value < 0 || *value > 100 || math.IsNaN(*value) {
			return
		}
		whole := lbenvoy.TruncatePercent(*value)
		if float64(whole) == *value {
			return
		}
		message := fmt.Sprintf("%g %% becomes %d %%", *value, whole)
		switch {
		case whole == 0:
			message += ", " + zero
			if *value < 1 {
				message += fmt.Sprintf(": percentages are 0 to 100, is %g meant?", *value*100)
			}
		case *value == math.Trunc(*value):
			message += " in Envoy's arithmetic"
		}
		report(diag.Problem{Rule: "percent-truncated", Path: at, Message: message})
	}
	check(c.Policy(diag.Envoy).HealthyPanicThreshold, inCluster("common_lb_config.healthy_panic_threshold.value"), "which switches panic off")
	for p := c.Policy(diag.Envoy); p != nil; p = p.Child {
		if p.ZoneAware.Path != nil {
			check(p.ZoneAware.RoutingEnabled, p.ZoneAware.Path.Field("routing_enabled.value"), "which switches zone-aware routing off")
			return
		}
	}
}
