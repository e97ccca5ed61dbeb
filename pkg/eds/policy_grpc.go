package eds

import (
	"fmt"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	wrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	pickfirstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
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
	p, cause := grpcList(m.GetLoadBalancingPolicy(), clusterPath("load_balancing_policy"), 0)
	if cause != nil {
		p = PolicyConfig{FromExtension: true, Path: cause.Path}
		p.Refusals = []Refusal{*cause}
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

// grpcList is the first policy of a list that gRPC knows, or the reason to refuse the cluster.
func grpcList(list *clusterv3.LoadBalancingPolicy, at diag.Path, depth int) (PolicyConfig, *Refusal) {
	if depth >= grpcMaxDepth {
		return PolicyConfig{}, &Refusal{Rule: "grpc-lb-policy-unsupported", Path: at, Message: "error converting LoadBalancingPolicy <dump> exceeds max depth supported: 16 layers <dump>"}
	}
	for i, item := range list.GetPolicies() {
		config := item.GetTypedExtensionConfig().GetTypedConfig()
		path := at.Field("policies").Index(i).Field("typed_extension_config.typed_config")
		p, cause, ok := grpcExtension(config, path, depth)
		if cause != nil || ok {
			return p, cause
		}
	}
	return PolicyConfig{}, &Refusal{Rule: "grpc-lb-policy-unsupported", Path: at, Message: grpcConverting + "no supported policy found in policy list +<dump>"}
}

const grpcConverting = "error converting LoadBalancingPolicy <dump> in response: <dump>: "

// grpcExtension converts one entry; ok is false when gRPC passes over it. It compares type URLs as text.
func grpcExtension(config *anypb.Any, at diag.Path, depth int) (PolicyConfig, *Refusal, bool) {
	url, _ := strings.CutPrefix(config.GetTypeUrl(), "type.googleapis.com/")
	if url == config.GetTypeUrl() {
		return PolicyConfig{}, nil, false
	}
	if strings.HasSuffix(url, ".TypedStruct") {
		p, ok := grpcCustomPolicy(config, at)
		return p, nil, ok
	}
	inner, message, _ := policyConfig(config, NewestEnvoy)
	p := PolicyConfig{Name: policyTypes[inner].name, FromExtension: true, Path: at, ConfigPath: at}
	switch c := message.(type) {
	case *wrrlocalityv3.WrrLocality:
		child, cause := grpcList(c.GetEndpointPickingPolicy(), at.Field("endpoint_picking_policy"), depth+1)
		if cause != nil {
			return p, cause, true
		}
		for i := range child.Refusals {
			child.Refusals[i].Message = grpcNested(child.Refusals[i].Message)
		}
		p.LocalityWeighted = true
		p.adopt(child)
	case *ringhashv3.RingHash:
		p.LocalityWeighted = true
		p.Hash = &HashConfig{Function: c.GetHashFunction().String(), MinimumRingSize: optional(c.GetMinimumRingSize()), MaximumRingSize: optional(c.GetMaximumRingSize())}
		if c.GetHashFunction() != ringhashv3.RingHash_XX_HASH {
			return p, &Refusal{Rule: "grpc-ring-hash-function", Path: at.Field("hash_function"), Message: grpcConverting + fmt.Sprintf("unsupported ring_hash hash function %v", c.GetHashFunction())}, true
		}
		if field, text := grpcRingSizes(p.Hash); text != "" {
			p.refuse("ring-hash-size-bounds", at.Field(field), grpcInvalid(p.grpcJSON(), "ring_hash_experimental", text))
		}
	case *leastrequestv3.LeastRequest:
		p.ChoiceCount = optional(c.GetChoiceCount())
		if n := orDefault(p.ChoiceCount, 2); n < 2 {
			p.refuse("cluster-constraint", at.Field("choice_count"), grpcInvalid(p.grpcJSON(), "least_request_experimental", fmt.Sprintf("least-request: lbConfig.choiceCount: %d, must be >= 2", n)))
		}
	case *wrrv3.ClientSideWeightedRoundRobin:
		if penalty := c.GetErrorUtilizationPenalty(); penalty != nil && penalty.GetValue() < 0 {
			p.refuse("cluster-constraint", at.Field("error_utilization_penalty"), grpcInvalid("<dump>", "weighted_round_robin", grpcNegativePenalty))
		}
	case *pickfirstv3.PickFirst:
		p.Shuffle = c.GetShuffleAddressList()
	default:
		return p, nil, p.Name == "round_robin"
	}
	return p, nil, true
}

// grpcInvalid is the text for a converted configuration that the policy does not take.
func grpcInvalid(json, policy, reason string) string {
	return fmt.Sprintf("JSON generated from xDS LB policy registry: [ { %q: %s } ] is invalid: error parsing loadBalancingConfig for policy %q: %s", policy, json, policy, reason)
}

// grpcNested is the text of grpcInvalid for a policy inside wrr_locality.
func grpcNested(text string) string {
	rest, ok := strings.CutPrefix(text, "JSON generated from xDS LB policy registry: [ ")
	if !ok {
		return text
	}
	json, reason, _ := strings.Cut(rest, " ] is invalid: ")
	compact := strings.ReplaceAll(json, " ", "") // there are no blanks inside its strings
	return grpcInvalid(fmt.Sprintf(`{ "childPolicy": [ %s ] }`, json), "xds_wrr_locality_experimental",
		fmt.Sprintf(`xds_wrr_locality: invalid LBConfig: {"childPolicy":[%s]}, error: %s`, compact, reason))
}

// grpcJSON is the converted configuration, with one blank for each run of white space.
func (p *PolicyConfig) grpcJSON() string {
	var fields []string
	add := func(name string, v uint64) {
		if v != 0 {
			fields = append(fields, fmt.Sprintf("%q: %d", name, v))
		}
	}
	if p.Hash != nil {
		minimum, maximum := p.Hash.RingSizes()
		add("minRingSize", minimum)
		add("maxRingSize", maximum)
	} else {
		add("choiceCount", uint64(orDefault(p.ChoiceCount, 2)))
	}
	if len(fields) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}
