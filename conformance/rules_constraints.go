package main

// constraints of the API (PGV): the value just inside and just outside.
func constraints() []mutation {
	at := func(rule string, hit, near func(g *generator, a tree)) mutation {
		return mutation{rule, everywhere, onAssignment(hit), onAssignment(near)}
	}
	return []mutation{
		at("address-oneof-unset", func(g *generator, a tree) { g.somewhere(a, tree{}) },
			func(g *generator, a tree) { g.somewhere(a, g.socket()) }),
		at("cla-cluster-name-empty", func(g *generator, a tree) {
			if g.chance(50) {
				delete(a, "cluster_name")
			} else {
				a["cluster_name"] = ""
			}
		}, func(*generator, tree) {}),
		at("drop-overload-category-empty", func(g *generator, a tree) { setDrops(a, tree{"category": ""}) },
			func(g *generator, a tree) { setDrops(a, tree{"category": " "}) }),
		at("drop-overload-denominator-undefined", func(g *generator, a tree) {
			setDrops(a, drop(1, pick(g, 3, 7, -1, 2147483647)))
		}, func(g *generator, a tree) { setDrops(a, drop(1, pick(g, 0, 1, 2))) }),
		at("endpoint-weight-zero", func(g *generator, a tree) { g.anyEndpoint(a)["load_balancing_weight"] = 0 },
			func(g *generator, a tree) { g.anyEndpoint(a)["load_balancing_weight"] = pick(g, 1, 4294967295-200_000) }),
		at("locality-weight-zero", func(g *generator, a tree) { g.anyGroup(a)["load_balancing_weight"] = 0 },
			func(g *generator, a tree) { g.anyGroup(a)["load_balancing_weight"] = pick(g, 1, 4294967295-200_000) }),
		at("locality-priority-too-large", func(g *generator, a tree) { g.anyGroup(a)["priority"] = pick(g, 129, 4294967295) },
			func(g *generator, a tree) { g.anyGroup(a)["priority"] = 128 }),
		at("health-check-port-range", func(g *generator, a tree) { g.setHealthCheck(a, tree{"port_value": pick(g, 65536, 4294967295)}) },
			func(g *generator, a tree) { g.setHealthCheck(a, tree{"port_value": 65535}) }),
		at("internal-address-unset", func(g *generator, a tree) {
			g.setAddress(a, tree{"envoy_internal_address": pick(g, tree{}, tree{"endpoint_id": "x"})})
		}, func(g *generator, a tree) {
			g.setAddress(a, tree{"envoy_internal_address": tree{"server_listener_name": pick(g, "", "l")}})
		}),
		at("leds-config-source-unset", func(g *generator, a tree) {
			g.setLEDS(a, tree{"leds_config": tree{}, "leds_collection_name": goodCollection})
		},
			func(g *generator, a tree) { g.setLEDS(a, tree{"leds_collection_name": goodCollection}) }),
		at("metadata-empty-key", func(g *generator, a tree) {
			target := pick(g, g.anyGroup(a), g.anyEndpoint(a))
			target["metadata"] = pick(g, tree{"filter_metadata": tree{"": tree{}}}, tree{"typed_filter_metadata": tree{"": stringValue("x")}})
		}, func(g *generator, a tree) {
			target := pick(g, g.anyGroup(a), g.anyEndpoint(a))
			target["metadata"] = tree{pick(g, "filter_metadata"): tree{" ": tree{"": 1}}}
		}),
		at("named-endpoints-invalid", func(g *generator, a tree) {
			a["named_endpoints"] = tree{"a": pick(g, tree{"address": tree{}}, tree{"address": tree{"pipe": tree{}}}, tree{"health_check_config": tree{"port_value": 65536}})}
		}, func(g *generator, a tree) {
			a["named_endpoints"] = tree{pick(g, "", "a"): pick(g, tree{}, tree{"address": tree{"pipe": tree{"path": "p"}}}, tree{"address": socketAt("no ip")})}
		}),
		at("overprovisioning-factor-zero", func(g *generator, a tree) { child(a, "policy")["overprovisioning_factor"] = 0 },
			func(g *generator, a tree) { child(a, "policy")["overprovisioning_factor"] = pick(g, 1, 4294967295) }),
		at("pipe-mode-range", func(g *generator, a tree) { g.setAddress(a, pipe("/tmp/p", pick(g, 512, 4294967295))) },
			func(g *generator, a tree) { g.setAddress(a, pipe("/tmp/p", pick(g, 0, 511))) }),
		at("pipe-path-empty", func(g *generator, a tree) { g.setAddress(a, tree{"pipe": pick(g, tree{}, tree{"path": ""})}) },
			func(g *generator, a tree) { g.setAddress(a, tree{"pipe": tree{"path": pick(g, "a", " ", "@a")}}) }),
		at("socket-address-empty", func(g *generator, a tree) {
			g.somewhere(a, tree{"socket_address": pick(g, tree{"port_value": 1}, tree{"address": "", "port_value": 1})})
		},
			func(g *generator, a tree) { g.somewhere(a, socketAt(" ")) }),
		at("socket-address-port-missing", func(g *generator, a tree) { g.somewhere(a, tree{"socket_address": tree{"address": g.ip()}}) },
			func(g *generator, a tree) {
				g.somewhere(a, tree{"socket_address": tree{"address": g.ip(), "port_value": 0}})
			}),
		at("socket-address-port-range", func(g *generator, a tree) {
			g.somewhere(a, tree{"socket_address": tree{"address": g.ip(), "port_value": pick(g, 65536, 4294967295)}})
		}, func(g *generator, a tree) {
			g.somewhere(a, tree{"socket_address": tree{"address": g.ip(), "port_value": 65535}})
		}),
		at("socket-address-protocol-undefined", func(g *generator, a tree) {
			g.somewhere(a, tree{"socket_address": tree{"protocol": pick(g, 2, 7, -1), "address": g.ip(), "port_value": 1}})
		}, func(g *generator, a tree) {
			g.somewhere(a, tree{"socket_address": tree{"protocol": pick(g, 0, 1), "address": g.ip(), "port_value": 1}})
		}),
		at("stale-after-not-positive", func(g *generator, a tree) {
			child(a, "policy")["endpoint_stale_after"] = pick(g, "0s", "-1s", "-0.5s", "9223372036s", "315576000000s")
		}, func(g *generator, a tree) {
			child(a, "policy")["endpoint_stale_after"] = pick(g, "0.000000001s", "9223372035s", "1s")
		}),
	}
}

// onAssignment makes a mutation of an input from one of its assignment.
func onAssignment(edit func(g *generator, a tree)) func(g *generator, in *input) {
	return func(g *generator, in *input) { edit(g, in.assignment) }
}

// somewhere puts an address at one of the places where an endpoint has one.
func (g *generator) somewhere(a tree, address tree) {
	e := g.setAddress(a, g.socket())
	switch g.rng.IntN(4) {
	case 0:
		e["additional_addresses"] = []any{tree{"address": address}}
	case 1:
		e["health_check_config"] = tree{"address": address}
	default:
		e["address"] = address
	}
}

func (g *generator) setHealthCheck(a tree, config tree) {
	g.setAddress(a, g.socket())["health_check_config"] = config
}

// goodCollection is a name that LEDS takes.
const goodCollection = "xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x/*"

// setLEDS makes a random entry the only one whose endpoints come by LEDS: of several, Envoy takes any first.
func (g *generator) setLEDS(a tree, config tree) tree {
	l := g.anyGroup(a)
	for _, other := range a["endpoints"].([]any) {
		delete(other.(tree), "leds_cluster_locality_config")
	}
	delete(l, "lb_endpoints")
	l["leds_cluster_locality_config"] = config
	return l
}

func setDrops(a tree, drops ...any) { child(a, "policy")["drop_overloads"] = drops }

func drop(numerator, denominator any) tree {
	return tree{"category": "lb", "drop_percentage": tree{"numerator": numerator, "denominator": denominator}}
}

func pipe(path string, mode any) tree { return tree{"pipe": tree{"path": path, "mode": mode}} }

func socketAt(address string) tree {
	return tree{"socket_address": tree{"address": address, "port_value": 80}}
}

func stringValue(s string) tree {
	return tree{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": s}
}
