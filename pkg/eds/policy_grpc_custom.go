package eds

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// grpcCustom are the policies that a TypedStruct can name, by the names under which grpc-go registers them. Those that
// edsctl does not model have their name in gRPC.
var grpcCustom = map[string]string{
	"round_robin": "round_robin", "pick_first": "pick_first", "ring_hash_experimental": "ring_hash", "least_request_experimental": "least_request",
	"weighted_round_robin": "client_side_weighted_round_robin", "xds_wrr_locality_experimental": "wrr_locality",
	"cds_experimental": "cds_experimental", "outlier_detection_experimental": "outlier_detection_experimental", "priority_experimental": "priority_experimental",
	"weighted_target_experimental": "weighted_target_experimental", "xds_cluster_impl_experimental": "xds_cluster_impl_experimental",
	"xds_cluster_manager_experimental": "xds_cluster_manager_experimental",
}

// grpcCustomPolicy reads a TypedStruct: the part of its type_url after the last slash names the policy, its value is
// the configuration as JSON (converter.go, convertCustomPolicy). ok is false when gRPC has no such policy.
func grpcCustomPolicy(config *anypb.Any, at diag.Path) (p PolicyConfig, ok bool) {
	var url string
	var value *structpb.Struct
	if messageName(config.GetTypeUrl()) == "udpa.type.v1.TypedStruct" {
		var s udpav1.TypedStruct
		_ = proto.Unmarshal(config.GetValue(), &s) // what cannot be read stays empty
		url, value = s.GetTypeUrl(), s.GetValue()
	} else {
		var s xdsv3.TypedStruct
		_ = proto.Unmarshal(config.GetValue(), &s)
		url, value = s.GetTypeUrl(), s.GetValue()
	}
	var raw any
	if value != nil {
		raw = value.AsMap()
	}
	return grpcService(messageName(url), raw, at.Field("value"), 0)
}

// grpcService reads one policy of a service config. A configuration that its parser cannot read is left to the RPCs.
func grpcService(registered string, raw any, at diag.Path, depth int) (p PolicyConfig, ok bool) {
	registered = strings.ToLower(registered)
	name, ok := grpcCustom[registered]
	if !ok || depth >= grpcMaxDepth {
		return PolicyConfig{}, false
	}
	p = PolicyConfig{Name: name, FromExtension: true, Path: at, ConfigPath: at}
	text, _ := json.Marshal(raw)
	invalid := func(field, reason string) {
		p.refuse(grpcCustomRule(name), at.Field(field), grpcInvalid(spread(text), registered, reason))
	}
	switch name {
	case "ring_hash":
		var c struct{ MinRingSize, MaxRingSize *uint64 }
		_ = json.Unmarshal(text, &c) // a value of the wrong type stays unset
		p.LocalityWeighted, p.Hash = true, &HashConfig{Function: "XX_HASH", MinimumRingSize: c.MinRingSize, MaximumRingSize: c.MaxRingSize}
		if field, reason := grpcRingSizes(&HashConfig{MinimumRingSize: new(orDefault(c.MinRingSize, 0)), MaximumRingSize: new(orDefault(c.MaxRingSize, 0))}); reason != "" {
			invalid(map[string]string{"minimum_ring_size": "minRingSize", "maximum_ring_size": "maxRingSize"}[field], reason)
		}
	case "least_request":
		var c struct{ ChoiceCount *uint32 }
		_ = json.Unmarshal(text, &c)
		p.ChoiceCount = c.ChoiceCount
		if n := orDefault(p.ChoiceCount, 2); n < 2 {
			invalid("choiceCount", fmt.Sprintf("least-request: lbConfig.choiceCount: %d, must be >= 2", n))
		}
	case "pick_first":
		var c struct{ ShuffleAddressList bool }
		_ = json.Unmarshal(text, &c)
		p.Shuffle = c.ShuffleAddressList
	case "client_side_weighted_round_robin":
		var c struct{ ErrorUtilizationPenalty float64 }
		if _ = json.Unmarshal(text, &c); c.ErrorUtilizationPenalty < 0 {
			invalid("errorUtilizationPenalty", grpcNegativePenalty)
		}
	case "wrr_locality":
		var c struct{ ChildPolicy []map[string]any }
		_ = json.Unmarshal(text, &c)
		p.LocalityWeighted = true
		if c.ChildPolicy == nil {
			invalid("childPolicy", "xds_wrr_locality: invalid LBConfig: child policy field must be set")
		}
		p.adopt(grpcServiceList(c.ChildPolicy, at.Field("childPolicy"), depth+1))
	}
	return p, true
}

const grpcNegativePenalty = "wrr: errorUtilizationPenalty must be non-negative"

// grpcCustomRule is the rule for a configuration out of its limits.
func grpcCustomRule(name string) string {
	switch name {
	case "ring_hash":
		return "ring-hash-size-bounds"
	case "wrr_locality":
		return "grpc-lb-policy-unsupported"
	}
	return "cluster-constraint"
}

// grpcServiceList is the first policy of a list that gRPC has.
func grpcServiceList(list []map[string]any, at diag.Path, depth int) PolicyConfig {
	for i, entry := range list {
		for name, raw := range entry {
			if p, ok := grpcService(name, raw, at.Index(i).Field(name), depth); ok {
				return p
			}
		}
	}
	return PolicyConfig{}
}

// spread writes JSON as grpc-go prints it, with one blank for each run of white space.
func spread(compact []byte) string {
	var out []byte
	inString := false
	for i, c := range compact {
		if c == '"' && (i == 0 || compact[i-1] != '\\') {
			inString = !inString
		}
		if inString || !slices.Contains([]byte("{}[],:"), c) {
			out = append(out, c)
			continue
		}
		switch {
		case c == '{' || c == '[':
			out = append(out, c, ' ')
		case (c == '}' || c == ']') && len(out) > 1 && out[len(out)-1] == ' ' && (compact[i-1] == '{' || compact[i-1] == '['):
			out[len(out)-1] = c
		case c == '}' || c == ']':
			out = append(out, ' ', c)
		default:
			out = append(out, c, ' ')
		}
	}
	return string(out)
}
