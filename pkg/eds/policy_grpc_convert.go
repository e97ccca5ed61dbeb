package eds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	wrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	pickfirstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// grpcConverted is a policy as grpc-go's converters give it to its parsers (xdslbregistry/converter).
type grpcConverted struct {
	config json.RawMessage // [{"name": {...}}]
	policy PolicyConfig
	at     diag.Path         // of its typed_config
	fields map[string]string // its fields by their names in JSON; nil for a TypedStruct
	child  *grpcConverted    // of wrr_locality
}

// locate is the path in the cluster of a path in the configuration.
func (c *grpcConverted) locate(config diag.Path) diag.Path {
	switch {
	case c.fields == nil:
		return c.at.Field("value").Join(config)
	case len(config) == 0:
		return c.at
	case c.child != nil && len(config) > 2:
		return c.child.locate(config[3:]) // childPolicy[0].name
	}
	return c.at.Field(c.fields[config[0].Name])
}

// grpcConvertList converts the first policy of a list that gRPC knows, or tells why it cannot (ConvertToServiceConfig).
func grpcConvertList(list *clusterv3.LoadBalancingPolicy, at diag.Path, depth int) (*grpcConverted, *Refusal) {
	refusal := &Refusal{Rule: "grpc-lb-policy-unsupported", Path: at}
	if depth >= grpcMaxDepth {
		refusal.Message = "lb policy <dump> exceeds max depth supported: 16 layers"
		return nil, refusal
	}
	for i, item := range list.GetPolicies() {
		path := at.Field("policies").Index(i).Field("typed_extension_config.typed_config")
		c, cause := grpcConvert(item.GetTypedExtensionConfig().GetTypedConfig(), path, depth)
		if c != nil || cause != nil {
			return c, cause
		}
	}
	refusal.Message = "no supported policy found in policy list +<dump>"
	return nil, refusal
}

const grpcTypes = "type.googleapis.com/"

// grpcConvert converts one entry; both results are nil when gRPC passes over it. It compares type URLs as text.
func grpcConvert(config *anypb.Any, at diag.Path, depth int) (*grpcConverted, *Refusal) {
	inner, ok := strings.CutPrefix(config.GetTypeUrl(), grpcTypes)
	if !ok {
		return nil, nil
	}
	c := &grpcConverted{at: at, fields: map[string]string{}}
	c.policy = PolicyConfig{Name: policyTypes[inner].name, FromExtension: true, Path: at, ConfigPath: at}
	refuse := func(rule, field, message string) (*grpcConverted, *Refusal) {
		path := at
		if field != "" {
			path = at.Field(field)
		}
		return nil, &Refusal{Rule: rule, Path: path, Message: message}
	}
	decoded := func(m proto.Message) string { return grpcDecode(config.GetValue(), m) }
	switch inner {
	case policyPackage + "round_robin.v3.RoundRobin":
		c.config = grpcEntry("round_robin", []byte("{}"))
	case policyPackage + "pick_first.v3.PickFirst":
		var m pickfirstv3.PickFirst
		if text := decoded(&m); text != "" {
			return refuse("cluster-constraint", "", text)
		}
		c.policy.Shuffle = m.GetShuffleAddressList()
		c.config = grpcEntry("pick_first", grpcJSON(pfConfig{ShuffleAddressList: c.policy.Shuffle}))
	case policyPackage + "least_request.v3.LeastRequest":
		var m leastrequestv3.LeastRequest
		if text := decoded(&m); text != "" {
			return refuse("cluster-constraint", "", text)
		}
		count := orDefault(optional(m.GetChoiceCount()), 2)
		if count != 0 { // the converter leaves a 0 out, and the default counts
			c.policy.ChoiceCount = optional(m.GetChoiceCount())
		}
		c.fields["choiceCount"] = "choice_count"
		c.config = grpcEntry("least_request_experimental", grpcJSON(grpcLeastRequest{ChoiceCount: count}))
	case policyPackage + "ring_hash.v3.RingHash":
		var m ringhashv3.RingHash
		if text := decoded(&m); text != "" {
			return refuse("cluster-constraint", "", text)
		}
		if m.GetHashFunction() != ringhashv3.RingHash_XX_HASH {
			return refuse("grpc-ring-hash-function", "hash_function", fmt.Sprintf("unsupported ring_hash hash function %v", m.GetHashFunction()))
		}
		h := &HashConfig{Function: m.GetHashFunction().String(), MinimumRingSize: optional(m.GetMinimumRingSize()), MaximumRingSize: optional(m.GetMaximumRingSize())}
		c.policy.LocalityWeighted, c.policy.Hash = true, h
		c.fields["minRingSize"], c.fields["maxRingSize"] = "minimum_ring_size", "maximum_ring_size"
		minimum, maximum := h.RingSizes()
		c.config = grpcEntry("ring_hash_experimental", grpcJSON(grpcRingHash{MinRingSize: minimum, MaxRingSize: maximum}))
	case policyPackage + "client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin":
		var m wrrv3.ClientSideWeightedRoundRobin
		if text := decoded(&m); text != "" {
			return refuse("cluster-constraint", "", text)
		}
		text, err := json.Marshal(weightedRoundRobin(&m))
		if err != nil {
			return refuse("cluster-constraint", "error_utilization_penalty", "error marshaling JSON for type *converter.wrrLBConfig: "+err.Error())
		}
		c.fields["errorUtilizationPenalty"] = "error_utilization_penalty"
		c.config = grpcEntry("weighted_round_robin", text)
	case policyPackage + "wrr_locality.v3.WrrLocality":
		var m wrrlocalityv3.WrrLocality
		if text := decoded(&m); text != "" {
			return refuse("cluster-constraint", "", text)
		}
		child, cause := grpcConvertList(m.GetEndpointPickingPolicy(), at.Field("endpoint_picking_policy"), depth+1)
		if cause != nil {
			cause.Message = "error converting endpoint picking policy: " + cause.Message + " for <dump>"
			return nil, cause
		}
		c.policy.LocalityWeighted = true
		c.policy.adopt(child.policy)
		c.child = child
		c.config = grpcEntry("xds_wrr_locality_experimental", grpcJSON(map[string]json.RawMessage{"childPolicy": child.config}))
	case "xds.type.v3.TypedStruct":
		var m xdsv3.TypedStruct
		if text := decoded(&m); text != "" {
			return refuse("cluster-constraint", "", text)
		}
		return grpcCustomPolicy(m.GetTypeUrl(), m.GetValue(), at)
	case "udpa.type.v1.TypedStruct":
		var m udpav1.TypedStruct
		if text := decoded(&m); text != "" {
			return refuse("cluster-constraint", "", text)
		}
		return grpcCustomPolicy(m.GetTypeUrl(), m.GetValue(), at)
	default:
		return nil, nil
	}
	return c, nil
}

// grpcDecode decodes the message of an Any and tells what grpc-go says when it cannot; empty when it can.
func grpcDecode(b []byte, m proto.Message) string {
	if err := proto.Unmarshal(b, m); err != nil {
		return grpcUnmarshalling + GRPCError(err)
	}
	return ""
}

const grpcUnmarshalling = "failed to unmarshal resource: "

// GRPCError is the text of an error of protobuf with single plain blanks: they differ from build to build.
func GRPCError(err error) string {
	return strings.ReplaceAll(strings.ReplaceAll(err.Error(), "\u00a0", " "), "  ", " ")
}

// grpcCustomPolicy converts a TypedStruct: the part of its type_url after the last slash names the policy, in the case in
// which it is registered, and its value is the configuration as JSON (convertCustomPolicy).
func grpcCustomPolicy(url string, value *structpb.Struct, at diag.Path) (*grpcConverted, *Refusal) {
	registered := messageName(url)
	if grpcCustom[registered] == "" {
		return nil, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, &Refusal{Rule: "cluster-constraint", Path: at.Field("value"), Message: fmt.Sprintf("error converting custom lb policy %s: %s for <dump>", GRPCError(err), url)}
	}
	p, _ := grpcService(registered, text, at.Field("value"))
	return &grpcConverted{config: grpcEntry(registered, text), policy: p, at: at}, nil
}

// weightedRoundRobin is the configuration that the converter writes.
func weightedRoundRobin(m *wrrv3.ClientSideWeightedRoundRobin) wrrLBConfig {
	seconds := func(d *durationpb.Duration) grpcDuration { return grpcDuration(d.AsDuration()) }
	return wrrLBConfig{
		EnableOOBLoadReport: m.GetEnableOobLoadReport().GetValue(), OOBReportingPeriod: seconds(m.GetOobReportingPeriod()), BlackoutPeriod: seconds(m.GetBlackoutPeriod()),
		WeightExpirationPeriod: seconds(m.GetWeightExpirationPeriod()), WeightUpdatePeriod: seconds(m.GetWeightUpdatePeriod()),
		ErrorUtilizationPenalty: float64(m.GetErrorUtilizationPenalty().GetValue()),
	}
}

func grpcEntry(name string, config []byte) json.RawMessage {
	return fmt.Appendf(nil, "[{%q: %s}]", name, config)
}

// grpcJSON writes a value that has nothing in it that JSON cannot have.
func grpcJSON(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// grpcPretty writes JSON as grpc-go prints it, with one blank for each run of white space.
func grpcPretty(config []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, config, "", "") != nil {
		return string(config)
	}
	return strings.ReplaceAll(out.String(), "\n", " ")
}
