package main

import "strings"

// hosts are the checks of addresses and of the hosts that are made of endpoints.
func hosts() []mutation {
	at := func(rule string, hit, near func(g *generator, a tree)) mutation {
		return mutation{rule, everywhere, onAssignment(hit), onAssignment(near)}
	}
	additional := func(g *generator, a tree, items ...any) { g.setAddress(a, g.socket())["additional_addresses"] = items }
	hash := func(g *generator, in *input) {
		in.around = pick(g, "RING_HASH", "MAGLEV")
		in.cluster = policyOf(in.around)
	}
	return []mutation{
		at("additional-address-missing", func(g *generator, a tree) { additional(g, a, tree{}) },
			func(g *generator, a tree) { additional(g, a, tree{"address": g.socket()}) }),
		at("endpoint-address-missing", func(g *generator, a tree) {
			switch g.rng.IntN(3) {
			case 0:
				delete(g.anyEndpoint(a), "endpoint")
			case 1:
				g.anyEndpoint(a)["endpoint"] = tree{}
			default:
				delete(child(g.anyEndpoint(a), "endpoint"), "address")
			}
		}, func(g *generator, a tree) { g.setAddress(a, g.socket()) }),
		at("endpoint-name-not-implemented", func(g *generator, a tree) {
			a["named_endpoints"] = tree{"x": tree{"address": g.socket()}}
			ep := g.anyEndpoint(a)
			delete(ep, "endpoint")
			ep["endpoint_name"] = pick(g, "x", "y")
		}, func(g *generator, a tree) { a["named_endpoints"] = tree{"x": tree{"address": g.socket()}} }),
		at("endpoint-not-ip", func(g *generator, a tree) {
			g.setAddress(a, socketAt(pick(g, "backend.example.com", "127.0.0", "127.0.0.01", "0x7f000001", "[::1]", "127.0.0.1:80", "127.0.0.256", "::1::", "fe80::1%nope", " 127.0.0.1", "2001:db8::1%lo", "1", "127.0.0.1/32")))
		}, func(g *generator, a tree) {
			g.setAddress(a, socketAt(pick(g, g.ip(), "::1", "::ffff:127.0.0.1", "0:0:0:0:0:0:0:1", "::127.0.0.1", "fe80::1%lo", "::")))
		}),
		at("health-check-address-malformed", func(g *generator, a tree) {
			g.setHealthCheck(a, tree{"address": socketAt(pick(g, "h.example", "127.0.0", "[::1]"))})
		}, func(g *generator, a tree) {
			g.setHealthCheck(a, tree{"address": pick(g, socketAt(g.ip()), socketAt("::1"), tree{"pipe": tree{"path": "/tmp/hc"}})})
		}),
		at("health-check-port-on-non-ip", func(g *generator, a tree) {
			g.setAddress(a, pick(g, pipe("/tmp/p", 0), internal("l")))["health_check_config"] = tree{"port_value": 1 + g.rng.IntN(65535)}
		}, func(g *generator, a tree) {
			g.setAddress(a, pick(g, pipe("/tmp/p", 0), internal("l")))["health_check_config"] = tree{"port_value": 0}
		}),
		at("health-check-port-over-non-ip-hc-address", func(g *generator, a tree) {
			g.setHealthCheck(a, tree{"port_value": 81, "address": pick(g, pipe("/tmp/hc", 0), internal("l"))})
		}, func(g *generator, a tree) {
			g.setHealthCheck(a, pick(g, tree{"port_value": 0, "address": pipe("/tmp/hc", 0)}, tree{"port_value": 81, "address": g.socket()}))
		}),
		at("named-port", func(g *generator, a tree) {
			g.setAddress(a, tree{"socket_address": tree{"address": g.ip(), "named_port": pick(g, "http", "")}})
		}, func(g *generator, a tree) { g.setAddress(a, g.socket()) }),
		at("network-namespace-on-host", func(g *generator, a tree) { g.setAddress(a, inNamespace(g.ip())) },
			func(g *generator, a tree) { additional(g, a, tree{"address": inNamespace(g.ip())}) }),
		at("pipe-abstract-mode", func(g *generator, a tree) { g.setAddress(a, pipe("@a", 1+g.rng.IntN(511))) },
			func(g *generator, a tree) { g.setAddress(a, pick(g, pipe("@a", 0), pipe("/a@", 420))) }),
		at("pipe-embedded-nul", func(g *generator, a tree) { g.setAddress(a, pipe("/tmp/a\x00b", 0)) },
			func(g *generator, a tree) { g.setAddress(a, pipe("@a\x00b", 0)) }),
		at("pipe-path-too-long", func(g *generator, a tree) {
			g.setAddress(a, pipe(pick(g, "/", "@")+strings.Repeat("p", 107+g.rng.IntN(3)), 0))
		},
			func(g *generator, a tree) { g.setAddress(a, pipe(pick(g, "/", "@")+strings.Repeat("p", 106), 0)) }),
		at("resolver-unknown", func(g *generator, a tree) {
			g.setAddress(a, resolvedBy(g.ip(), pick(g, "my.resolver", "envoy.IP", " ")))
		},
			func(g *generator, a tree) { g.setAddress(a, resolvedBy(g.ip(), pick(g, "", "envoy.ip"))) }),
		{"local-cluster-priority", []route{viaBootstrap, viaFile}, func(g *generator, in *input) {
			beLocal(in)
			g.anyGroup(in.assignment)["priority"] = 1
		}, func(g *generator, in *input) {
			beLocal(in)
			in.assignment["endpoints"] = []any{g.group(0, 0), g.group(1, 0)}
		}},
		{"additional-address-not-ip", everywhere, func(g *generator, in *input) {
			additional(g, in.assignment, tree{"address": pick(g, pipe("/tmp/p", 0), internal("l"))})
		}, func(g *generator, in *input) { additional(g, in.assignment, tree{"address": g.socket()}) }},
		{"priority-gap-crash", []route{viaFile, viaStream, viaADS}, func(g *generator, in *input) {
			hash(g, in)
			in.assignment["endpoints"] = []any{g.full(0, 0), g.full(1, 2)}
		}, func(g *generator, in *input) {
			hash(g, in)
			in.assignment["endpoints"] = []any{g.full(0, 0), g.full(1, 1)}
		}},
		{"ring-hash-key-length", []route{viaFile, viaStream, viaADS}, func(g *generator, in *input) {
			in.around = "RING_HASH"
			g.oneKey(in.assignment, 192+g.rng.IntN(4))
		}, func(g *generator, in *input) {
			in.around = "RING_HASH"
			g.oneKey(in.assignment, pick(g, 100, 190, 197, 300))
		}},
	}
}

func beLocal(in *input) {
	in.around, in.form = "local", blockYAML
	in.bootstrap = func(b tree) { b["cluster_manager"] = tree{"local_cluster_name": clusterName} }
}

// full is an entry with endpoints of which each is in use.
func (g *generator) full(zone, priority int) tree {
	l := g.group(zone, priority)
	l["lb_endpoints"] = []any{tree{"endpoint": tree{"address": g.socket()}}, tree{"endpoint": tree{"address": g.socket()}}}
	return l
}

// oneKey makes an assignment of one endpoint with a hash key of a length.
func (g *generator) oneKey(a tree, length int) {
	l := g.full(0, 0)
	ep := l["lb_endpoints"].([]any)[0].(tree)
	ep["metadata"] = tree{"filter_metadata": tree{"envoy.lb": tree{"hash_key": strings.Repeat("k", length)}}}
	l["lb_endpoints"] = []any{ep}
	a["endpoints"] = []any{l}
}

func internal(listener string) tree {
	return tree{"envoy_internal_address": tree{"server_listener_name": listener}}
}

func inNamespace(ip string) tree {
	return tree{"socket_address": tree{"address": ip, "port_value": 80, "network_namespace_filepath": "/run/netns/a"}}
}

func resolvedBy(ip, resolver string) tree {
	return tree{"socket_address": tree{"address": ip, "port_value": 80, "resolver_name": resolver}}
}

// policyOf sets the policy of the cluster around an assignment.
func policyOf(name string) func(tree) { return func(c tree) { c["lb_policy"] = name } }
