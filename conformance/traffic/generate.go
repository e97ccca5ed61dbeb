package main

import (
	"fmt"
	"math/rand/v2"
)

// batches are the written scenarios and the random ones.
func batches(o options, port int) []*batch {
	all := written(port)
	rng := rand.New(rand.NewPCG(o.seed, 0))
	const size = 25
	left, hashes := o.scenarios, o.hashes
	for n := 0; left > 0 || hashes > 0; n++ {
		g := &generator{rng: rng, port: port}
		b := &batch{name: fmt.Sprint("random-", n), port: port}
		if n%2 == 1 {
			b.locality, b.local = tree{"zone": pick(g, "a", "b", "c")}, tree{"endpoints": g.groups(1, 4)}
		}
		for range min(size, left) {
			b.scenarios = append(b.scenarios, g.scenario(fmt.Sprintf("%s-%d", b.name, len(b.scenarios))))
		}
		left -= min(size, left)
		for range min(size, hashes) {
			b.scenarios = append(b.scenarios, g.hashScenario(fmt.Sprintf("%s-%d", b.name, len(b.scenarios))))
		}
		hashes -= min(size, hashes)
		all = append(all, b)
	}
	return all
}

type generator struct {
	rng  *rand.Rand
	port int
}

func pick[T any](g *generator, values ...T) T { return values[g.rng.IntN(len(values))] }

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// groups are localities at priorities, some without a weight, with endpoints of all kinds of health and weight.
func (g *generator) groups(priorities, most int) []any {
	healths := pick(g, []string{"HEALTHY", "UNKNOWN"}, []string{"HEALTHY", "HEALTHY", "UNHEALTHY"},
		[]string{"HEALTHY", "UNHEALTHY", "DRAINING", "DEGRADED", "TIMEOUT"}, []string{"UNHEALTHY", "DEGRADED", "DRAINING", "HEALTHY"},
		[]string{"UNHEALTHY", "UNHEALTHY", "UNHEALTHY", "HEALTHY"})
	weighted, equal := g.chance(60), g.chance(40)
	var groups []any
	for i := range 1 + g.rng.IntN(most) {
		group := tree{"priority": g.rng.IntN(priorities), "locality": tree{"zone": pick(g, "a", "b", "c", "d")}}
		if g.chance(75) {
			group["load_balancing_weight"] = 1 + g.rng.IntN(5)
		}
		var endpoints []any
		for j := range g.rng.IntN(8) {
			e := endpoint(fmt.Sprintf("127.1.%d.%d", i, j+1), g.port)
			e["health_status"] = healths[g.rng.IntN(len(healths))]
			if weighted && !equal {
				e["load_balancing_weight"] = 1 + g.rng.IntN(6)
			}
			if g.chance(70) {
				e["metadata"] = labels(tree{"version": pick(g, "1", "2"), "stage": pick(g, "prod", "dev")})
			}
			endpoints = append(endpoints, e)
		}
		group["lb_endpoints"] = endpoints
		groups = append(groups, group)
	}
	return groups
}

func endpoint(address string, port int) tree {
	return tree{"endpoint": tree{"address": tree{"socket_address": tree{"address": address, "port_value": port}}}}
}

func labels(values tree) tree { return tree{"filter_metadata": tree{"envoy.lb": values}} }

// scenario has a policy that spreads requests.
func (g *generator) scenario(name string) *scenario {
	s := &scenario{name: name, static: g.chance(30), assignment: tree{"endpoints": g.groups(3, 6)}, cluster: tree{}}
	policy := tree{}
	if g.chance(30) {
		policy["overprovisioning_factor"] = pick(g, 1, 50, 100, 120, 200)
	}
	if g.chance(20) {
		policy["weighted_priority_health"] = true
	}
	if g.chance(20) {
		policy["drop_overloads"] = []any{tree{"category": "c", "drop_percentage": tree{"numerator": g.rng.IntN(101)}}}
	}
	s.assignment["policy"] = policy
	common := tree{}
	if g.chance(50) {
		common["healthy_panic_threshold"] = tree{"value": pick(g, 0.0, 10, 29, 33.4, 57, 70, 100)}
	}
	s.cluster["common_lb_config"] = common
	if g.chance(40) {
		s.cluster["load_balancing_policy"] = g.extension()
		return s
	}
	s.cluster["lb_policy"] = pick(g, "ROUND_ROBIN", "LEAST_REQUEST", "RANDOM")
	switch g.rng.IntN(3) {
	case 0:
		common["locality_weighted_lb_config"] = tree{}
	case 1:
		common["zone_aware_lb_config"] = g.zoneAware()
	}
	if g.chance(25) {
		g.subset(s)
	}
	return s
}

func (g *generator) zoneAware() tree {
	z := tree{"min_cluster_size": pick(g, 1, 3, 6)}
	if g.chance(30) {
		z["routing_enabled"] = tree{"value": pick(g, 0, 29, 50, 100)}
	}
	if g.chance(20) {
		z["fail_traffic_on_panic"] = true
	}
	return z
}

// extension is a policy in its extension form.
func (g *generator) extension() tree {
	name := pick(g, "round_robin", "least_request", "random", "client_side_weighted_round_robin", "wrr_locality", "load_aware_locality")
	config := tree{}
	switch name {
	case "round_robin", "least_request", "random":
		locality := tree{}
		if g.chance(40) {
			locality["locality_weighted_lb_config"] = tree{}
		} else {
			z := g.zoneAware()
			if g.chance(30) {
				z["force_local_zone"] = tree{"min_size": 1 + g.rng.IntN(3)}
			}
			if g.chance(40) {
				z["locality_basis"] = "HEALTHY_HOSTS_WEIGHT"
			}
			locality["zone_aware_lb_config"] = z
		}
		config["locality_lb_config"] = locality
	case "wrr_locality":
		config["endpoint_picking_policy"] = policyList("client_side_weighted_round_robin", tree{})
	case "load_aware_locality":
		config["endpoint_picking_policy"] = policyList(pick(g, "round_robin", "least_request", "random"), tree{})
	}
	return policyList(name, config)
}

// policyMessages are the names of the messages.
func policyMessage(name string) string {
	return map[string]string{
		"round_robin": "RoundRobin", "least_request": "LeastRequest", "random": "Random", "ring_hash": "RingHash", "maglev": "Maglev",
		"client_side_weighted_round_robin": "ClientSideWeightedRoundRobin", "wrr_locality": "WrrLocality",
		"load_aware_locality": "LoadAwareLocality", "subset": "Subset",
	}[name]
}

func policyList(name string, config tree) tree {
	config["@type"] = "type.googleapis.com/envoy.extensions.load_balancing_policies." + name + ".v3." + policyMessage(name)
	return tree{"policies": []any{tree{"typed_extension_config": tree{"name": "envoy.load_balancing_policies." + name, "typed_config": config}}}}
}

func (g *generator) subset(s *scenario) {
	selectors := []any{tree{"keys": []any{"version"}}, tree{"keys": []any{"stage", "version"}}}
	if g.chance(30) {
		selectors = []any{tree{"keys": []any{"stage", "version"}, "fallback_policy": "KEYS_SUBSET", "fallback_keys_subset": []any{"stage"}}, tree{"keys": []any{"stage"}}}
	}
	config := tree{
		"fallback_policy": pick(g, "NO_FALLBACK", "ANY_ENDPOINT", "DEFAULT_SUBSET"), "default_subset": tree{"version": pick(g, "1", "9")},
		"subset_selectors": selectors, "panic_mode_any": g.chance(30),
	}
	if _, aware := s.cluster["common_lb_config"].(tree)["locality_weighted_lb_config"]; aware {
		config["locality_weight_aware"], config["scale_locality_weight"] = g.chance(60), g.chance(50)
	}
	s.cluster["lb_subset_config"] = config
	s.match = pick(g, tree{"version": "1"}, tree{"version": "2"}, tree{"version": "9"}, tree{"stage": "prod", "version": "1"}, tree{"stage": "dev", "version": "9"}, nil)
}

// hashScenario has ring_hash or maglev.
func (g *generator) hashScenario(name string) *scenario {
	s := g.scenario(name)
	s.hash = true
	delete(s.assignment["policy"].(tree), "drop_overloads")
	common := s.cluster["common_lb_config"].(tree)
	delete(common, "zone_aware_lb_config")
	delete(s.cluster, "load_balancing_policy")
	if g.chance(50) {
		s.cluster["lb_policy"] = "MAGLEV"
		s.cluster["maglev_lb_config"] = tree{"table_size": pick(g, 7, 251, 65537)}
		return s
	}
	s.cluster["lb_policy"] = "RING_HASH"
	low := 1 + g.rng.IntN(2000)
	s.cluster["ring_hash_lb_config"] = tree{"minimum_ring_size": low, "maximum_ring_size": low + g.rng.IntN(2000), "hash_function": pick(g, "XX_HASH", "MURMUR_HASH_2")}
	return s
}
