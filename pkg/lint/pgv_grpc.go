package lint

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// grpcConstraint is what grpc-go, which knows no constraints, does with what breaks one (unmarshal_eds.go).
func grpcConstraint(c *Context, rule string, path diag.Path) diag.Override {
	if o, ok := grpcLogicalDNS(c, rule, path); ok {
		return o
	}
	a := c.Resource.Assignment
	none := diag.None
	switch rule {
	case "cla-cluster-name-empty":
		return GRPCSays("empty resource name in endpoints resource")
	case "drop-overload-denominator-undefined":
		i := indexIn(path, "drop_overloads")
		if i < 0 || i >= len(a.GetPolicy().GetDropOverloads()) {
			return diag.Override{}
		}
		n := a.GetPolicy().GetDropOverloads()[i].GetDropPercentage().GetDenominator()
		return GRPCSays(fmt.Sprintf("EDS response contains a drop policy with unsupported denominator: %d", int32(n)))
	case "endpoint-weight-zero":
		if !GRPCTakesLocality(c, indexIn(path, "endpoints")) || indexIn(path, "lb_endpoints") < 0 {
			return diag.Override{Effect: &none}
		}
		return GRPCSays("EDS response contains an endpoint with zero weight: <dump>")
	case "address-oneof-unset", "internal-address-unset", "pipe-path-empty", "socket-address-empty", "socket-address-port-missing", "socket-address-port-range":
		if indexIn(path, "lb_endpoints") < 0 || !GRPCTakesLocality(c, indexIn(path, "endpoints")) || contains(path, "health_check_config") {
			return diag.Override{Effect: &none}
		}
	}
	return diag.Override{}
}

// GRPCTakesLocality tells whether grpc-go reads the i-th entry of endpoints: it skips those without a weight (step 6a
// of grpc-eds.md 1.1).
func GRPCTakesLocality(c *Context, i int) bool {
	groups := c.Resource.Assignment.GetEndpoints()
	return i >= 0 && i < len(groups) && groups[i].GetLoadBalancingWeight().GetValue() != 0
}

// indexIn is the index into the list of that name on the path; -1 when the path does not go there.
func indexIn(path diag.Path, list string) int {
	for i := 0; i+1 < len(path); i++ {
		if path[i].Name == list && !path[i].IsKey && path[i+1].Name == "" {
			return path[i+1].Index
		}
	}
	return -1
}

func contains(path diag.Path, field string) bool {
	for _, s := range path {
		if s.Name == field && !s.IsKey {
			return true
		}
	}
	return false
}

// grpcClusterConstraint is the same for a cluster: grpc-go looks at the name, at choice_count under LEAST_REQUEST
// (grpc-eds.md 11), and at outlier_detection.
func grpcClusterConstraint(c *Context, path diag.Path) diag.Override {
	m := c.Cluster.Message
	reject, none := diag.Reject, diag.None
	switch {
	case len(path) == 1 && path[0].Name == "name":
		return diag.Override{Effect: &reject, Message: "empty resource name in Cluster resource", Stage: grpcStageName}
	case path.String() == "least_request_lb_config.choice_count" && m.GetLbPolicy() == clusterv3.Cluster_LEAST_REQUEST:
		text := fmt.Sprintf("Cluster_LeastRequestLbConfig.ChoiceCount must be >= 2, got: %v", m.GetLeastRequestLbConfig().GetChoiceCount().GetValue())
		return diag.Override{Effect: &reject, Message: text, Stage: grpcStagePolicy}
	}
	if field, says, _ := grpcOutliers(m.GetOutlierDetection()); field != "" && path.String() == "outlier_detection."+field {
		return diag.Override{Effect: &reject, Message: says, Stage: grpcStageOutlier}
	}
	return diag.Override{Effect: &none}
}
