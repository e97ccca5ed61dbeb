package main

import "fmt"

// written are scenarios of what random ones seldom meet.
func written(port int) []*batch {
	return []*batch{{name: "written", port: port, scenarios: append(subsets(port), holes(port)...)}}
}

// hosts makes endpoints of one group from pairs of health and labels.
func hosts(port, group int, specs ...any) []any {
	var endpoints []any
	for i := 0; i < len(specs); i += 2 {
		e := endpoint(fmt.Sprintf("127.1.%d.%d", group, i/2+1), port)
		e["health_status"] = specs[i]
		if l, ok := specs[i+1].(tree); ok {
			e["metadata"] = labels(l)
		}
		endpoints = append(endpoints, e)
	}
	return endpoints
}

func subsets(port int) []*scenario {
	a, b := tree{"v": "a"}, tree{"v": "b"}
	mixed := tree{"endpoints": []any{
		tree{"locality": tree{"zone": "a"}, "lb_endpoints": hosts(port, 0, "UNHEALTHY", a, "HEALTHY", a, "HEALTHY", b, "HEALTHY", nil)},
		tree{"locality": tree{"zone": "b"}, "priority": 1, "lb_endpoints": hosts(port, 1, "HEALTHY", a, "HEALTHY", a, "HEALTHY", tree{"v": []any{"a", "c"}}, "HEALTHY", tree{"v": "c", "w": "x"})},
	}}
	legacy := func(name string, config tree, match tree) *scenario {
		return &scenario{name: name, cluster: tree{"lb_policy": "ROUND_ROBIN", "lb_subset_config": config}, assignment: mixed, match: match}
	}
	extension := func(name string, config tree, match tree) *scenario {
		config["subset_lb_policy"] = policyList("round_robin", tree{})
		return &scenario{name: name, cluster: tree{"load_balancing_policy": policyList("subset", config)}, assignment: mixed, match: match}
	}
	v := tree{"keys": []any{"v"}}
	return []*scenario{
		legacy("subset-single-host-unhealthy", tree{"subset_selectors": []any{tree{"keys": []any{"v"}, "single_host_per_subset": true}}}, a),
		legacy("subset-single-host-of-lower-priority", tree{"list_as_any": true, "subset_selectors": []any{tree{"keys": []any{"v"}, "single_host_per_subset": true}}}, tree{"v": "c"}),
		legacy("subset-list-as-any", tree{"list_as_any": true, "subset_selectors": []any{v}}, tree{"v": "c"}),
		legacy("subset-list-as-value", tree{"subset_selectors": []any{v}}, tree{"v": []any{"a", "c"}}),
		legacy("subset-default-list-as-any", tree{"list_as_any": true, "fallback_policy": "DEFAULT_SUBSET", "default_subset": tree{"v": "c"}, "subset_selectors": []any{v}}, tree{"v": "z"}),
		legacy("subset-panic-mode-any", tree{"panic_mode_any": true, "fallback_policy": "DEFAULT_SUBSET", "default_subset": tree{"v": "none"}, "subset_selectors": []any{v}}, tree{"v": "z"}),
		legacy("subset-selector-fallback-hidden", tree{"fallback_policy": "NO_FALLBACK", "subset_selectors": []any{tree{"keys": []any{"v", "w"}},
			tree{"keys": []any{"v"}, "fallback_policy": "ANY_ENDPOINT"}}}, tree{"v": "z"}),
		legacy("subset-selector-fallback", tree{"fallback_policy": "NO_FALLBACK", "subset_selectors": []any{tree{"keys": []any{"v"}, "fallback_policy": "ANY_ENDPOINT"},
			tree{"keys": []any{"v", "w"}}}}, tree{"v": "z"}),
		legacy("subset-keys-fallback", tree{"subset_selectors": []any{tree{"keys": []any{"v", "w"}, "fallback_policy": "KEYS_SUBSET", "fallback_keys_subset": []any{"v"}}, v}}, tree{"v": "a", "w": "z"}),
		legacy("subset-metadata-fallback-list", tree{"metadata_fallback_policy": "FALLBACK_LIST", "subset_selectors": []any{v}},
			tree{"fallback_list": []any{tree{"v": "z"}, tree{"v": "b"}}}),
		legacy("subset-metadata-fallback-list-off", tree{"fallback_policy": "ANY_ENDPOINT", "subset_selectors": []any{v}},
			tree{"v": "a", "fallback_list": []any{tree{"v": "b"}}}),
		extension("subset-redundant-keys", tree{"allow_redundant_keys": true, "subset_selectors": []any{v}}, tree{"v": "a", "other": "1"}),
		extension("subset-redundant-keys-off", tree{"subset_selectors": []any{v}, "fallback_policy": "ANY_ENDPOINT"}, tree{"v": "a", "other": "1"}),
		{name: "subset-hole", match: a, cluster: tree{"lb_policy": "ROUND_ROBIN", "lb_subset_config": tree{"subset_selectors": []any{v}}},
			assignment: tree{"policy": tree{"overprovisioning_factor": 1}, "endpoints": []any{
				tree{"locality": tree{"zone": "a"}, "lb_endpoints": hosts(port, 0, "UNHEALTHY", a, "UNHEALTHY", a, "HEALTHY", b)},
				tree{"locality": tree{"zone": "a"}, "priority": 1, "lb_endpoints": hosts(port, 1, "UNHEALTHY", a, "UNHEALTHY", a)},
				tree{"locality": tree{"zone": "a"}, "priority": 2, "lb_endpoints": hosts(port, 2, "HEALTHY", a, "HEALTHY", a, "HEALTHY", a, "UNHEALTHY", a)},
			}}},
	}
}

// holes are assignments whose scores are all 0 though not every priority is in panic.
func holes(port int) []*scenario {
	assignment := tree{"policy": tree{"overprovisioning_factor": 1}, "endpoints": []any{
		tree{"locality": tree{"zone": "a"}, "lb_endpoints": hosts(port, 0, "UNHEALTHY", nil, "UNHEALTHY", nil)},
		tree{"locality": tree{"zone": "a"}, "priority": 1, "lb_endpoints": hosts(port, 1, "UNHEALTHY", nil, "UNHEALTHY", nil)},
		tree{"locality": tree{"zone": "a"}, "priority": 2, "lb_endpoints": hosts(port, 2, "HEALTHY", nil, "HEALTHY", nil, "HEALTHY", nil, "UNHEALTHY", nil)},
	}}
	var all []*scenario
	for _, static := range []bool{false, true} {
		for _, policy := range []string{"ROUND_ROBIN", "LEAST_REQUEST", "RANDOM", "RING_HASH", "MAGLEV"} {
			all = append(all, &scenario{name: fmt.Sprintf("hole-%s-static-%v", policy, static), static: static,
				cluster: tree{"lb_policy": policy}, assignment: assignment, hash: policy == "RING_HASH" || policy == "MAGLEV"})
		}
		aware := policyList("load_aware_locality", tree{"endpoint_picking_policy": policyList("round_robin", tree{})})
		all = append(all, &scenario{name: fmt.Sprintf("hole-load-aware-static-%v", static), static: static, cluster: tree{"load_balancing_policy": aware}, assignment: assignment})
	}
	return all
}
