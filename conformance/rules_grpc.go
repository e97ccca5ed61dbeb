package main

// grpcRules are those of gRPC alone.
func grpcRules() []mutation {
	at := func(rule string, hit, near func(g *generator, a tree)) mutation {
		return mutation{rule, []route{viaGRPC}, onAssignment(hit), onAssignment(near)}
	}
	cluster := func(rule string, hit, near func(g *generator, c tree)) mutation {
		edit := func(change func(g *generator, c tree)) func(*generator, *input) {
			return func(g *generator, in *input) { in.cluster = func(c tree) { change(g, c) } }
		}
		return mutation{rule, []route{viaGRPCCluster}, edit(hit), edit(near)}
	}
	same := func(*generator, tree) {}
	two := func(first, second func(l tree)) func(g *generator, a tree) {
		return func(g *generator, a tree) {
			l, m := g.full(0, 0), g.full(1, 0)
			first(l)
			second(m)
			a["endpoints"] = []any{l, m}
		}
	}
	nothing := func(tree) {}
	address := func(text string) func(l tree) {
		return func(l tree) {
			l["lb_endpoints"].([]any)[0].(tree)["endpoint"].(tree)["address"] = socketAt(text)
		}
	}
	replaced := func(address tree) func(l tree) {
		return func(l tree) { l["lb_endpoints"].([]any)[0].(tree)["endpoint"].(tree)["address"] = address }
	}
	locality := func(zone string) func(l tree) { return func(l tree) { l["locality"] = tree{"zone": zone} } }
	return []mutation{
		at("locality-missing", func(g *generator, a tree) { delete(g.anyGroup(a), "locality") }, func(g *generator, a tree) {
			a["endpoints"] = []any{g.group(0, 0)}
			g.anyGroup(a)["locality"] = tree{}
		}),
		at("duplicate-endpoint", two(address("127.0.0.9"), address("127.0.0.9")), two(address("::1"), address("0:0:0:0:0:0:0:1"))),
		at("locality-duplicate", two(locality("a"), locality("a")), two(locality("a"), locality("A"))),
		at("priority-gap", two(nothing, func(l tree) { l["priority"] = 2 }), two(nothing, func(l tree) { l["priority"] = 1 })),
		at("address-not-socket", func(g *generator, a tree) { g.setAddress(a, pick(g, pipe("/tmp/p", 0), internal("l"))) },
			func(g *generator, a tree) { g.setAddress(a, g.socket()) }),
		cluster("grpc-cluster-type-unsupported", func(g *generator, c tree) {
			delete(c, "eds_cluster_config")
			c["type"] = pick(g, "STATIC", "STRICT_DNS", "ORIGINAL_DST")
		}, same),
		cluster("grpc-eds-config-source", func(g *generator, c tree) {
			c["eds_cluster_config"] = tree{"eds_config": tree{"path_config_source": tree{"path": "/dev/null"}}}
		}, func(g *generator, c tree) {
			c["eds_cluster_config"] = tree{"eds_config": tree{pick(g, "ads", "self"): tree{}}}
		}),
		cluster("grpc-lb-policy-unsupported", func(g *generator, c tree) { c["lb_policy"] = pick[any](g, "RANDOM", "MAGLEV", "CLUSTER_PROVIDED", 4) },
			func(g *generator, c tree) { c["lb_policy"] = pick(g, "ROUND_ROBIN", "RING_HASH", "LEAST_REQUEST") }),
		cluster("grpc-ring-hash-function", func(g *generator, c tree) {
			if g.chance(50) {
				c["lb_policy"], c["ring_hash_lb_config"] = "RING_HASH", tree{"hash_function": "MURMUR_HASH_2"}
			} else {
				usePolicy(c, extension("ring_hash", tree{"hash_function": pick(g, "DEFAULT_HASH", "MURMUR_HASH_2")}))
			}
		}, func(g *generator, c tree) {
			if g.chance(50) {
				c["lb_policy"], c["ring_hash_lb_config"] = "RING_HASH", tree{"hash_function": "XX_HASH"}
			} else {
				usePolicy(c, extension("ring_hash", tree{"hash_function": "XX_HASH"}))
			}
		}),
		cluster("grpc-xdstp-service-name", func(g *generator, c tree) { c["name"] = xdstpCluster },
			func(g *generator, c tree) {
				c["name"] = xdstpCluster
				child(c, "eds_cluster_config")["service_name"] = "x"
			}),
		cluster("cluster-constraint", func(g *generator, c tree) {
			c["lb_policy"], c["least_request_lb_config"] = "LEAST_REQUEST", tree{"choice_count": pick(g, 0, 1)}
		}, func(g *generator, c tree) {
			c["lb_policy"], c["least_request_lb_config"] = "LEAST_REQUEST", tree{"choice_count": 2}
		}),
		cluster("ring-hash-size-bounds", func(g *generator, c tree) {
			usePolicy(c, extension("ring_hash", pick(g,
				tree{"hash_function": "XX_HASH", "minimum_ring_size": 100, "maximum_ring_size": 99},
				tree{"hash_function": "XX_HASH", "maximum_ring_size": 10}, tree{"hash_function": "XX_HASH", "minimum_ring_size": 8388609})))
		}, func(g *generator, c tree) {
			usePolicy(c, extension("ring_hash", tree{"hash_function": "XX_HASH", "minimum_ring_size": 100, "maximum_ring_size": 100}))
		}),
		cluster("lb-policy-unknown", func(_ *generator, c tree) { c["load_balancing_policy"] = tree{"policies": []any{}} },
			func(_ *generator, c tree) { usePolicy(c, roundRobin) }),
		at("duplicate-internal-endpoint", two(replaced(internal("l")), replaced(internal("l"))), two(replaced(internal("l")), nothing)),
		cluster("dns-endpoint-not-socket", func(g *generator, c tree) { g.setAddress(g.dns(c), pick(g, pipe("/p", 0), internal("l"))) },
			func(g *generator, c tree) { g.dns(c) }),
		cluster("logical-dns-cardinality", func(g *generator, c tree) {
			g.dns(c)["endpoints"] = pick(g, []any{}, []any{g.full(0, 0)}, []any{g.group(0, 0), g.group(1, 0)})
		}, func(g *generator, c tree) { g.dns(c) }),
		cluster("port-zero", func(g *generator, c tree) {
			g.setAddress(g.dns(c), tree{"socket_address": tree{"address": g.ip(), "port_value": 0}})
		}, func(g *generator, c tree) {
			g.setAddress(g.dns(c), tree{"socket_address": tree{"address": g.ip(), "port_value": 1}})
		}),
		cluster("resolver-in-dns", func(g *generator, c tree) { g.setAddress(g.dns(c), resolvedBy(g.ip(), "x")) },
			func(g *generator, c tree) { g.setAddress(g.dns(c), resolvedBy(g.ip(), "")) }),
		cluster("endpoint-address-missing", func(g *generator, c tree) {
			g.dns(c)["endpoints"] = []any{tree{"lb_endpoints": []any{pick(g, tree{}, tree{"endpoint": tree{}})}}}
		}, func(g *generator, c tree) { g.dns(c) }),
		cluster("named-port", func(g *generator, c tree) {
			g.setAddress(g.dns(c), tree{"socket_address": tree{"address": g.ip(), "named_port": "http"}})
		}, func(g *generator, c tree) { g.dns(c) }),
		cluster("cluster-type-unknown", func(_ *generator, c tree) {
			delete(c, "type")
			delete(c, "eds_cluster_config")
			c["cluster_type"] = tree{"name": "my.cluster"}
		}, same),
	}
}

// dns makes the cluster one of LOGICAL_DNS and returns its assignment. Its host is an address, so nothing is resolved.
func (g *generator) dns(c tree) tree {
	delete(c, "eds_cluster_config")
	c["type"] = "LOGICAL_DNS"
	return g.single(c)
}

const xdstpCluster = "xdstp:///envoy.config.cluster.v3.Cluster/x"
