package eds

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
)

// grpcMaxDepth is the number of nested lists that grpc-go reads (xdslbregistry.go, ConvertToServiceConfig; A51).
const grpcMaxDepth = 16

// GRPCMaxChoiceCount is what grpc-go lowers a greater choice_count to (leastrequest.go, ParseConfig; A48).
const GRPCMaxChoiceCount = 10

// GRPCPolicy reads the policy of a cluster as grpc-go 1.85 does (unmarshal_cds.go and xdslbregistry/converter; A52).
// lb_policy is checked even where load_balancing_policy wins. A refusal that is Late is none of the cluster: gRPC takes
// it and the assignment, and then fails every RPC. m may be nil.
func GRPCPolicy(m *clusterv3.Cluster) PolicyConfig {
	legacy := grpcLegacy(m)
	if m.GetLoadBalancingPolicy() == nil {
		return legacy
	}
	c, cause := grpcConvertList(m.GetLoadBalancingPolicy(), clusterPath("load_balancing_policy"), 0)
	var p PolicyConfig
	switch {
	case cause != nil:
		cause.Message = "error converting LoadBalancingPolicy <dump> in response: <dump>: " + cause.Message
		p = PolicyConfig{FromExtension: true, Path: cause.Path}
		p.Refusals = []Refusal{*cause}
	default:
		p = c.policy
		if err := parseGRPCList(c.config); err != nil {
			p.refuse(err.rule, c.locate(err.at), fmt.Sprintf("JSON generated from xDS LB policy registry: %s is invalid: %s", grpcPretty(c.config), err.text))
		} else if at, crash := grpcCrashBelow("", c.config); crash {
			p.Refusals = append(p.Refusals, Refusal{Rule: "cluster-constraint", Path: c.locate(at[3:]), Crash: true, Message: grpcPanic})
		}
	}
	var early []Refusal
	for _, r := range legacy.Refusals {
		if !r.Late {
			early = append(early, r)
		}
	}
	p.Refusals = append(early, p.Refusals...)
	return p
}

// grpcLegacy reads lb_policy.
func grpcLegacy(m *clusterv3.Cluster) PolicyConfig {
	p := PolicyConfig{Path: clusterPath("lb_policy"), ConfigPath: clusterPath("lb_policy")}
	switch m.GetLbPolicy() {
	case clusterv3.Cluster_ROUND_ROBIN:
		p.Name, p.LocalityWeighted = "wrr_locality", true
		p.Child = &PolicyConfig{Name: "round_robin", Path: p.Path, ConfigPath: clusterPath("round_robin_lb_config")}
	case clusterv3.Cluster_RING_HASH:
		c := m.GetRingHashLbConfig()
		// The weights of localities count in ring_hash, whatever the cluster says (A113).
		p.Name, p.LocalityWeighted, p.ConfigPath = "ring_hash", true, clusterPath("ring_hash_lb_config")
		p.Hash = &HashConfig{Function: c.GetHashFunction().String(), MinimumRingSize: optional(c.GetMinimumRingSize()), MaximumRingSize: optional(c.GetMaximumRingSize())}
		if c.GetHashFunction() != clusterv3.Cluster_RingHashLbConfig_XX_HASH {
			p.refuse("grpc-ring-hash-function", p.ConfigPath.Field("hash_function"), fmt.Sprintf("unsupported ring_hash hash function %v in response: <dump>", c.GetHashFunction()))
		} else if field, text := grpcRingSizes(p.Hash); text != "" {
			p.Refusals = append(p.Refusals, Refusal{Rule: "ring-hash-size-bounds", Path: p.ConfigPath.Field(field), Late: true,
				Message: `error unmarshalling xDS LB Policy: error parsing loadBalancingConfig for policy "ring_hash_experimental": ` + text})
		}
	case clusterv3.Cluster_LEAST_REQUEST:
		p.Name, p.ConfigPath = "least_request", clusterPath("least_request_lb_config")
		p.ChoiceCount = optional(m.GetLeastRequestLbConfig().GetChoiceCount())
		if n := orDefault(p.ChoiceCount, 2); n < 2 {
			p.refuse("cluster-constraint", p.ConfigPath.Field("choice_count"), fmt.Sprintf("Cluster_LeastRequestLbConfig.ChoiceCount must be >= 2, got: %d", n))
		}
	default:
		p.refuse(grpcUnexpectedPolicy(m), p.Path, fmt.Sprintf("unexpected lbPolicy %v in response: <dump>", m.GetLbPolicy()))
	}
	return p
}

// grpcUnexpectedPolicy is the rule for a value of lb_policy that gRPC refuses: that of Envoy where Envoy refuses it too.
func grpcUnexpectedPolicy(m *clusterv3.Cluster) string {
	if m.GetLbPolicy() == clusterv3.Cluster_LOAD_BALANCING_POLICY_CONFIG && m.GetLoadBalancingPolicy() == nil {
		return "lb-policy-config-missing"
	}
	return "grpc-lb-policy-unsupported"
}

// grpcRingSizes is the reason for which ring_hash's own parser refuses sizes (balancer/ringhash/config.go), and the
// field; both empty when it takes them. A 0 is the default of the policy: 1024 and 4096.
func grpcRingSizes(h *HashConfig) (field, reason string) {
	const upper = 8 << 20
	minimum, maximum := h.RingSizes()
	if minimum > upper {
		return "minimum_ring_size", fmt.Sprintf("min_ring_size value of %d is greater than max supported value %d for this field", minimum, upper)
	}
	if maximum > upper {
		return "maximum_ring_size", fmt.Sprintf("max_ring_size value of %d is greater than max supported value %d for this field", maximum, upper)
	}
	if minimum == 0 {
		minimum = 1024
	}
	if maximum == 0 {
		maximum = 4096
	}
	if minimum <= maximum {
		return "", ""
	}
	field = "minimum_ring_size"
	if h.MinimumRingSize == nil {
		field = "maximum_ring_size"
	}
	return field, fmt.Sprintf("min %d is greater than max %d", minimum, maximum)
}
