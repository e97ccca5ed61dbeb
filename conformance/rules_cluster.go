package main

import (
	"fmt"
	"strings"
)

// clusterRules are about the cluster around an assignment.
func clusterRules() []mutation {
	at := func(rule string, hit, near func(g *generator, c tree)) mutation {
		edit := func(change func(g *generator, c tree)) func(*generator, *input) {
			return func(g *generator, in *input) { in.cluster = func(c tree) { change(g, c) } }
		}
		return mutation{rule, clusters, edit(hit), edit(near)}
	}
	return []mutation{
		at("cluster-constraint", func(g *generator, c tree) {
			switch g.rng.IntN(6) {
			case 0:
				c["connect_timeout"] = "0s"
			case 1:
				c["lb_policy"] = 4
			case 2:
				c["lb_policy"], c["ring_hash_lb_config"] = "RING_HASH", tree{"minimum_ring_size": 8388609}
			case 3:
				c["lb_policy"], c["least_request_lb_config"] = "LEAST_REQUEST", tree{"choice_count": pick(g, 0, 1)}
			case 4:
				c["common_lb_config"] = tree{"healthy_panic_threshold": tree{"value": pick(g, raw("100.1"), raw("-1"))}}
			default:
				c["lb_policy"], c["maglev_lb_config"] = "MAGLEV", tree{"table_size": 5000012}
			}
		}, func(g *generator, c tree) {
			switch g.rng.IntN(6) {
			case 0:
				c["connect_timeout"] = "0.000000001s"
			case 1:
				c["lb_policy"] = 3
			case 2:
				c["lb_policy"], c["ring_hash_lb_config"] = "RING_HASH", tree{"minimum_ring_size": 8}
			case 3:
				c["lb_policy"], c["least_request_lb_config"] = "LEAST_REQUEST", tree{"choice_count": 2}
			case 4:
				c["common_lb_config"] = tree{"healthy_panic_threshold": tree{"value": pick(g, 100, 0)}}
			default:
				c["lb_policy"], c["maglev_lb_config"] = "MAGLEV", tree{"table_size": 65537}
			}
		}),
		at("duration-invalid", func(g *generator, c tree) { c["connect_timeout"] = pick(g, "-1s", "-0.001s", "9223372036s") },
			func(g *generator, c tree) { c["connect_timeout"] = pick(g, "0.001s", "3600s") }),
		at("cluster-type-no-load-assignment", func(_ *generator, c tree) { c["type"], c["lb_policy"] = "ORIGINAL_DST", "CLUSTER_PROVIDED" },
			func(_ *generator, c tree) {
				c["type"], c["lb_policy"] = "ORIGINAL_DST", "CLUSTER_PROVIDED"
				delete(c, "load_assignment")
			}),
		at("cluster-type-unknown", func(g *generator, c tree) {
			delete(c, "type")
			c["cluster_type"] = tree{"name": pick(g, "my.cluster", "envoy.clusters.none", "envoy.clusters.Static")}
		}, func(g *generator, c tree) {
			delete(c, "type")
			c["cluster_type"] = tree{"name": pick(g, "envoy.cluster.static", "envoy.cluster.strict_dns")}
		}),
		at("eds-cluster-without-config", func(g *generator, c tree) {
			if g.chance(50) {
				c["eds_cluster_config"] = tree{"eds_config": tree{"ads": tree{}}}
				return
			}
			delete(c, "load_assignment")
			c["type"] = "EDS"
			if g.chance(50) {
				c["eds_cluster_config"] = tree{"service_name": "x"}
			}
		}, func(*generator, tree) {}),
		// Over CDS a cluster comes without the bootstrap that would tell which clusters there are.
		inBootstrap(at("eds-source-cluster-unknown", func(g *generator, c tree) { edsFrom(c, pick(g, "nope", clusterName)) },
			func(_ *generator, c tree) { edsFrom(c, xdsCluster) })),
		at("transport-api-version-v2", func(g *generator, c tree) { edsFrom(c, xdsCluster)["transport_api_version"] = "V2" },
			func(g *generator, c tree) { edsFrom(c, xdsCluster)["transport_api_version"] = pick(g, "V3", "AUTO") }),
		at("lb-policy-cluster-provided", func(g *generator, c tree) {
			if g.chance(50) {
				c["lb_policy"] = "CLUSTER_PROVIDED"
				return
			}
			delete(c, "load_assignment")
			c["type"], c["lb_policy"] = "ORIGINAL_DST", pick(g, "RANDOM", "ROUND_ROBIN")
		}, func(_ *generator, c tree) {
			delete(c, "load_assignment")
			c["type"], c["lb_policy"] = "ORIGINAL_DST", "CLUSTER_PROVIDED"
		}),
		at("lb-policy-config-missing", func(_ *generator, c tree) { c["lb_policy"] = "LOAD_BALANCING_POLICY_CONFIG" },
			func(g *generator, c tree) { c["lb_policy"] = "LOAD_BALANCING_POLICY_CONFIG"; usePolicy(c, roundRobin) }),
		at("lb-policy-conflict", func(g *generator, c tree) {
			usePolicy(c, roundRobin)
			switch g.rng.IntN(3) {
			case 0:
				c["lb_subset_config"] = tree{"fallback_policy": "ANY_ENDPOINT", "subset_selectors": []any{tree{"keys": []any{"a"}}}}
			default:
				c["common_lb_config"] = pick(g, tree{"zone_aware_lb_config": tree{}}, tree{"locality_weighted_lb_config": tree{}}, tree{"consistent_hashing_lb_config": tree{}})
			}
		}, func(g *generator, c tree) {
			usePolicy(c, roundRobin)
			c["common_lb_config"] = tree{"healthy_panic_threshold": tree{"value": 20}}
		}),
		at("lb-policy-unknown", func(_ *generator, c tree) { c["load_balancing_policy"] = tree{"policies": []any{}} },
			func(_ *generator, c tree) { usePolicy(c, roundRobin) }),
		at("wrr-locality-child", func(g *generator, c tree) { usePolicy(c, wrrLocality(pick(g, roundRobin, leastRequest))) },
			func(_ *generator, c tree) { usePolicy(c, wrrLocality(clientSideWRR)) }),
		at("use-hostname-for-hashing-type", func(g *generator, c tree) {
			c["common_lb_config"] = tree{"consistent_hashing_lb_config": tree{"use_hostname_for_hashing": true}}
		}, func(g *generator, c tree) {
			c["common_lb_config"] = tree{"consistent_hashing_lb_config": tree{"use_hostname_for_hashing": false}}
		}),
		at("maglev-table-size-not-prime", func(g *generator, c tree) {
			c["lb_policy"], c["maglev_lb_config"] = "MAGLEV", tree{"table_size": pick(g, 0, 4, 65536, 9)}
		}, func(g *generator, c tree) {
			c["lb_policy"], c["maglev_lb_config"] = "MAGLEV", tree{"table_size": pick(g, 2, 3, 65537, 7)}
		}),
		at("maglev-table-size-one", func(g *generator, c tree) {
			c["lb_policy"], c["maglev_lb_config"] = "MAGLEV", tree{"table_size": 1}
			child(c, "load_assignment")["endpoints"] = []any{g.full(0, 0)}
		}, func(g *generator, c tree) {
			c["lb_policy"], c["maglev_lb_config"] = "MAGLEV", tree{"table_size": 2}
			child(c, "load_assignment")["endpoints"] = []any{g.full(0, 0)}
		}),
		at("ring-hash-size-bounds", func(g *generator, c tree) {
			c["lb_policy"] = "RING_HASH"
			c["ring_hash_lb_config"] = pick(g, tree{"minimum_ring_size": 100, "maximum_ring_size": 99}, tree{"maximum_ring_size": 1023}, tree{"maximum_ring_size": 0})
		}, func(g *generator, c tree) {
			c["lb_policy"] = "RING_HASH"
			c["ring_hash_lb_config"] = pick(g, tree{"minimum_ring_size": 100, "maximum_ring_size": 100}, tree{"maximum_ring_size": 1024})
		}),
		at("hash-policy-empty", func(g *generator, c tree) { hashPolicies(g, c, tree{}) },
			func(g *generator, c tree) { hashPolicies(g, c, tree{"header": tree{"header_name": "x"}}) }),
		at("logical-dns-cardinality", func(g *generator, c tree) {
			c["type"] = "LOGICAL_DNS"
			l := g.full(0, 0)
			child(c, "load_assignment")["endpoints"] = pick(g, []any{l}, []any{}, []any{g.group(0, 0), g.group(1, 0)})
		}, func(g *generator, c tree) { c["type"] = "LOGICAL_DNS"; g.single(c) }),
		at("resolver-in-dns", func(g *generator, c tree) {
			c["type"] = pick(g, "STRICT_DNS", "LOGICAL_DNS")
			g.setAddress(g.single(c), resolvedBy(g.ip(), pick(g, "envoy.ip", "x")))
		}, func(g *generator, c tree) {
			c["type"] = pick(g, "STRICT_DNS", "LOGICAL_DNS")
			g.setAddress(g.single(c), resolvedBy(g.ip(), ""))
		}),
		at("socket-address-port-missing", func(g *generator, c tree) {
			c["type"] = pick(g, "STRICT_DNS", "LOGICAL_DNS")
			g.setAddress(g.single(c), tree{"socket_address": tree{"address": g.ip()}})
		}, func(g *generator, c tree) {
			c["type"] = pick(g, "STRICT_DNS", "LOGICAL_DNS")
			g.setAddress(g.single(c), pick(g, tree{"socket_address": tree{"address": g.ip(), "named_port": "x"}}, pipe("/p", 0), internal("l")))
		}),
		at("drop-overloads-multiple", func(g *generator, c tree) { onEDS(c); setDrops(child(c, "load_assignment"), drop(1, 0), drop(1, 0)) },
			func(g *generator, c tree) { onEDS(c); setDrops(child(c, "load_assignment"), drop(1, 0)) }),
	}
}

func inBootstrap(m mutation) mutation {
	m.routes = []route{viaBootstrap}
	return m
}

// xdsCluster is the static cluster that leads to the management server.
const xdsCluster = "xds"

// edsFrom makes the cluster an EDS cluster with a gRPC source.
func edsFrom(c tree, cluster string) tree {
	delete(c, "load_assignment")
	c["type"] = "EDS"
	source := tree{"api_type": "GRPC", "transport_api_version": "V3", "grpc_services": []any{tree{"envoy_grpc": tree{"cluster_name": cluster}}}}
	// While a cluster waits for its endpoints, Envoy acknowledges no other: it must not wait for long.
	c["eds_cluster_config"] = tree{"eds_config": tree{"resource_api_version": "V3", "api_config_source": source, "initial_fetch_timeout": "0.02s"}}
	return source
}

func onEDS(c tree) {
	assignment := c["load_assignment"]
	edsFrom(c, xdsCluster)
	c["load_assignment"] = assignment
}

// single gives the cluster an assignment of one endpoint.
func (g *generator) single(c tree) tree {
	a := child(c, "load_assignment")
	l := g.full(0, 0)
	l["lb_endpoints"] = l["lb_endpoints"].([]any)[:1]
	a["endpoints"] = []any{l}
	return a
}

// The extensions of load balancing.
var (
	roundRobin    = extension("round_robin", nil)
	leastRequest  = extension("least_request", nil)
	clientSideWRR = extension("client_side_weighted_round_robin", nil)
)

func wrrLocality(picking tree) tree {
	return extension("wrr_locality", tree{"endpoint_picking_policy": tree{"policies": []any{picking}}})
}

// extension is an item of load_balancing_policy.policies.
func extension(name string, config tree) tree {
	words := strings.Split(name, "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	message := tree{"@type": fmt.Sprintf("type.googleapis.com/envoy.extensions.load_balancing_policies.%s.v3.%s", name, strings.Join(words, ""))}
	for k, v := range config {
		message[k] = v
	}
	return tree{"typed_extension_config": tree{"name": "envoy.load_balancing_policies." + name, "typed_config": message}}
}

func usePolicy(c tree, policies ...any) { c["load_balancing_policy"] = tree{"policies": policies} }

func hashPolicies(g *generator, c tree, entry tree) {
	usePolicy(c, extension(pick(g, "ring_hash", "maglev"), tree{"consistent_hashing_lb_config": tree{"hash_policy": []any{entry}}}))
	child(c, "load_assignment")["endpoints"] = []any{g.full(0, 0)}
}
