package eds

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
)

// grpcPanic is what the Go runtime prints.
const grpcPanic = "panic: runtime error: invalid memory address or nil pointer dereference"

// grpcChild is an entry of targets or children.
type grpcChild struct{ ChildPolicy, Config json.RawMessage }

// grpcCrash finds a policy that grpc-go's parsers take and that ends its process when it is used: one without the policy
// inside, which nothing checks (UpdateClientConnState of each), or a cluster_impl without its cluster. The place is that in
// the configuration.
func grpcCrash(name string, text []byte) (at diag.Path, crash bool) {
	var c struct {
		Cluster     string
		ChildPolicy json.RawMessage
		Targets     map[string]grpcChild
		Children    map[string]grpcChild
		Priorities  []string
	}
	_ = json.Unmarshal(text, &c) // the parser took it
	switch name {
	case "xds_wrr_locality_experimental", "outlier_detection_experimental":
		return grpcCrashBelow("childPolicy", c.ChildPolicy)
	case "xds_cluster_impl_experimental":
		if at, crash := grpcCrashBelow("childPolicy", c.ChildPolicy); crash || c.Cluster != "" {
			return at, crash
		}
		return diag.Path{}.Field("cluster"), true
	case "weighted_target_experimental":
		for _, key := range slices.Sorted(maps.Keys(c.Targets)) {
			if at, crash := grpcCrashBelow("childPolicy", c.Targets[key].ChildPolicy); crash {
				return diag.Path{}.Field("targets").Field(key).Join(at), true
			}
		}
	case "xds_cluster_manager_experimental":
		for _, key := range slices.Sorted(maps.Keys(c.Children)) {
			if at, crash := grpcCrashBelow("childPolicy", c.Children[key].ChildPolicy); crash {
				return diag.Path{}.Field("children").Field(key).Join(at), true
			}
		}
	case "priority_experimental":
		for i, key := range c.Priorities {
			config := c.Children[key].Config
			if i > 0 && !isAbsent(config) {
				continue // it starts only when those before it fail
			}
			if at, crash := grpcCrashBelow("config", config); crash {
				return diag.Path{}.Field("children").Field(key).Join(at), true
			}
		}
	}
	return nil, false
}

// grpcCrashBelow looks at the first known policy of a list, which must be there.
func grpcCrashBelow(field string, list json.RawMessage) (at diag.Path, crash bool) {
	at = diag.Path{}.Field(field)
	if isAbsent(list) {
		return at, true
	}
	var entries intermediateBalancerConfig
	_ = json.Unmarshal(list, &entries)
	for i, entry := range entries {
		for name, config := range entry {
			if grpcCustom[name] != "" {
				inner, crash := grpcCrash(name, config)
				return at.Index(i).Field(name).Join(inner), crash
			}
		}
	}
	return nil, false
}

func isAbsent(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }
