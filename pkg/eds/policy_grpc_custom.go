package eds

import (
	"encoding/json"

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

// grpcService reads one policy of a service config; ok is false when gRPC has no such policy. What its parser refuses is
// none of its business (parseGRPC).
func grpcService(registered string, text json.RawMessage, at diag.Path) (p PolicyConfig, ok bool) {
	name, ok := grpcCustom[registered]
	if !ok {
		return PolicyConfig{}, false
	}
	p = PolicyConfig{Name: name, FromExtension: true, Path: at, ConfigPath: at}
	switch name {
	case "ring_hash":
		var c struct{ MinRingSize, MaxRingSize *uint64 }
		_ = json.Unmarshal(text, &c) // a value of the wrong type stays unset
		p.LocalityWeighted, p.Hash = true, &HashConfig{Function: "XX_HASH", MinimumRingSize: c.MinRingSize, MaximumRingSize: c.MaxRingSize}
	case "least_request":
		var c struct{ ChoiceCount *uint32 }
		_ = json.Unmarshal(text, &c)
		p.ChoiceCount = c.ChoiceCount
	case "pick_first":
		var c struct{ ShuffleAddressList bool }
		_ = json.Unmarshal(text, &c)
		p.Shuffle = c.ShuffleAddressList
	case "wrr_locality":
		var c struct {
			ChildPolicy []map[string]json.RawMessage
		}
		_ = json.Unmarshal(text, &c)
		p.LocalityWeighted = true
		p.adopt(grpcServiceList(c.ChildPolicy, at.Field("childPolicy")))
	}
	return p, true
}

// grpcServiceList is the first policy of a list that gRPC has.
func grpcServiceList(list []map[string]json.RawMessage, at diag.Path) PolicyConfig {
	for i, entry := range list {
		for name, text := range entry {
			if p, ok := grpcService(name, text, at.Index(i).Field(name)); ok {
				return p
			}
		}
	}
	return PolicyConfig{}
}
