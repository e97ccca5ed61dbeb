package main

import (
	"fmt"
)

// grpcScenario is one cluster with its assignment for gRPC.
type grpcScenario struct {
	name        string
	cluster     tree
	assignment  tree
	unreachable []string // addresses where nothing listens
	keyed       bool     // judged key by key
}

const lbPackage = "type.googleapis.com/envoy.extensions.load_balancing_policies."

func policies(name string, config tree) tree {
	return tree{"policies": []any{tree{"typed_extension_config": tree{"name": name, "typed_config": config}}}}
}

// grpcPolicy draws a policy that grpc-go has.
func (g *generator) grpcPolicy() tree {
	simple := func() tree {
		return pick(g,
			tree{"@type": lbPackage + "round_robin.v3.RoundRobin"},
			tree{"@type": lbPackage + "least_request.v3.LeastRequest", "choice_count": 2 + g.rng.IntN(12)},
			tree{"@type": lbPackage + "pick_first.v3.PickFirst"},
			tree{"@type": lbPackage + "client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin"})
	}
	switch g.rng.IntN(6) {
	case 0:
		return tree{"lb_policy": "LEAST_REQUEST"}
	case 1:
		return tree{"lb_policy": "RING_HASH", "ring_hash_lb_config": tree{"minimum_ring_size": pick(g, 1, 10, 64, 1024, 5000)}}
	case 2:
		return tree{"load_balancing_policy": policies("lb", simple())}
	case 3:
		return tree{"load_balancing_policy": policies("lb", tree{"@type": lbPackage + "wrr_locality.v3.WrrLocality", "endpoint_picking_policy": policies("inner", simple())})}
	default:
		return tree{"lb_policy": "ROUND_ROBIN"}
	}
}

// grpcScenario draws an assignment that gRPC takes: contiguous priorities, localities and addresses that occur once.
func (g *generator) grpcScenario(name string, refused int) *grpcScenario {
	s := &grpcScenario{name: name, cluster: g.grpcPolicy()}
	healths := pick(g, []string{"HEALTHY", "UNKNOWN"}, []string{"HEALTHY", "HEALTHY", "UNHEALTHY"},
		[]string{"HEALTHY", "UNHEALTHY", "DRAINING", "DEGRADED", "TIMEOUT"}, []string{"UNHEALTHY", "UNHEALTHY", "DEGRADED", "HEALTHY"})
	failing := pick(g, 0, 0, 20, 60)
	var groups []any
	for priority := range 1 + g.rng.IntN(3) {
		for range 1 + g.rng.IntN(3) {
			group := tree{"priority": priority, "locality": tree{"zone": fmt.Sprint("z", len(groups))}, "load_balancing_weight": 1 + g.rng.IntN(5)}
			if len(groups) > 0 && priority == 0 && g.chance(10) {
				delete(group, "load_balancing_weight")
			}
			var endpoints []any
			for range g.rng.IntN(5) {
				address := fmt.Sprintf("127.2.%d.%d", len(groups), len(endpoints)+1)
				port := g.port
				if g.chance(failing) {
					port = refused
					s.unreachable = append(s.unreachable, fmt.Sprintf("%s:%d", address, port))
				}
				e := endpoint(address, port)
				e["health_status"] = healths[g.rng.IntN(len(healths))]
				if g.chance(50) {
					e["load_balancing_weight"] = 1 + g.rng.IntN(6)
				}
				endpoints = append(endpoints, e)
			}
			group["lb_endpoints"] = endpoints
			groups = append(groups, group)
		}
	}
	s.assignment = tree{"endpoints": groups}
	if g.chance(40) {
		var drops []any
		for i := range 1 + g.rng.IntN(3) {
			drops = append(drops, tree{"category": fmt.Sprint("c", i), "drop_percentage": tree{"numerator": g.rng.IntN(60)}})
		}
		s.assignment["policy"] = tree{"drop_overloads": drops}
	}
	return s
}

// grpcHashScenario is one for ring_hash whose keys are followed.
func (g *generator) grpcHashScenario(name string, refused int) *grpcScenario {
	s := g.grpcScenario(name, refused)
	s.keyed = true
	s.cluster = tree{"lb_policy": "RING_HASH", "ring_hash_lb_config": tree{"minimum_ring_size": pick(g, 1, 10, 64, 1024, 5000)}}
	delete(s.assignment, "policy")
	return s
}
