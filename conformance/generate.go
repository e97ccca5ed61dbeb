package main

import (
	"fmt"
	"math/rand/v2"
)

// generator makes inputs. Everything random comes from rng, so that a seed tells a run.
type generator struct {
	rng       *rand.Rand
	addresses int // made so far
}

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

func pick[T any](g *generator, values ...T) T { return values[g.rng.IntN(len(values))] }

// ip makes an address that no endpoint of the run has yet, on the loopback: should a client ever connect, it stays here.
func (g *generator) ip() string {
	g.addresses++
	n := g.addresses
	return fmt.Sprintf("127.%d.%d.%d", 1+n>>16&127, n>>8&255, 1+n%250)
}

func (g *generator) socket() tree {
	return tree{"socket_address": tree{"address": g.ip(), "port_value": 1024 + g.rng.IntN(60000)}}
}

// endpoint makes a random endpoint that every client takes.
func (g *generator) endpoint() tree {
	e := tree{"address": g.socket()}
	ep := tree{"endpoint": e}
	if g.chance(20) {
		e["hostname"] = pick(g, "backend.example", "a", "")
	}
	if g.chance(15) {
		e["health_check_config"] = pick(g, tree{}, tree{"port_value": g.rng.IntN(65536)}, tree{"hostname": "h.example"}, tree{"disable_active_health_check": true})
	}
	if g.chance(10) {
		e["additional_addresses"] = []any{tree{"address": g.socket()}}
	}
	if g.chance(40) {
		ep["health_status"] = pick(g, "UNKNOWN", "HEALTHY", "UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED")
	}
	if g.chance(40) {
		ep["load_balancing_weight"] = 1 + g.rng.IntN(1000)
	}
	if g.chance(25) {
		ep["metadata"] = tree{"filter_metadata": tree{pick(g, "envoy.lb", "a"): tree{pick(g, "version", "canary", "hash_key"): pick[any](g, "v1", true, 1.5)}}}
	}
	return ep
}

// group makes a random endpoints entry that every client takes.
func (g *generator) group(zone, priority int) tree {
	l := tree{
		"locality":              tree{"region": pick(g, "r", "", "region-1"), "zone": fmt.Sprintf("z%d", zone)},
		"load_balancing_weight": 1 + g.rng.IntN(1000),
	}
	var endpoints []any
	for range g.rng.IntN(4) {
		endpoints = append(endpoints, g.endpoint())
	}
	if endpoints != nil {
		l["lb_endpoints"] = endpoints
	}
	if priority > 0 {
		l["priority"] = priority
	}
	if g.chance(10) {
		l["proximity"] = g.rng.IntN(9)
	}
	return l
}

// assignment makes a random assignment that every client takes.
func (g *generator) assignment() tree {
	a := tree{"cluster_name": clusterName}
	var groups []any
	priority := 0
	for zone := range g.rng.IntN(4) {
		if zone > 0 && g.chance(30) {
			priority++
		}
		groups = append(groups, g.group(zone, priority))
	}
	if groups != nil {
		a["endpoints"] = groups
	}
	if g.chance(40) {
		policy := tree{}
		if g.chance(50) {
			policy["overprovisioning_factor"] = 1 + g.rng.IntN(300)
		}
		if g.chance(30) {
			policy["endpoint_stale_after"] = pick(g, "60s", "0.5s", "3600s")
		}
		if g.chance(30) {
			policy["weighted_priority_health"] = g.chance(50)
		}
		if g.chance(50) {
			policy["drop_overloads"] = []any{tree{"category": "lb", "drop_percentage": tree{"numerator": g.rng.IntN(101)}}}
		}
		a["policy"] = policy
	}
	if g.chance(8) {
		a["named_endpoints"] = tree{pick(g, "a", ""): tree{"address": g.socket()}}
	}
	return a
}

// anyGroup is a random entry of an assignment, made when there is none.
func (g *generator) anyGroup(a tree) tree {
	groups, _ := a["endpoints"].([]any)
	if len(groups) == 0 {
		groups = []any{g.group(0, 0)}
		a["endpoints"] = groups
	}
	return groups[g.rng.IntN(len(groups))].(tree)
}

// anyEndpoint is a random lb_endpoints item of an assignment, made when there is none.
func (g *generator) anyEndpoint(a tree) tree {
	l := g.anyGroup(a)
	list, _ := l["lb_endpoints"].([]any)
	if len(list) == 0 {
		list = []any{g.endpoint()}
		l["lb_endpoints"] = list
	}
	return list[g.rng.IntN(len(list))].(tree)
}

// setAddress gives a random endpoint an address.
func (g *generator) setAddress(a tree, address any) tree {
	e := child(g.anyEndpoint(a), "endpoint")
	e["address"] = address
	delete(e, "health_check_config")
	delete(e, "additional_addresses")
	return e
}

// append adds items to a list field.
func appendTo(m tree, field string, items ...any) {
	list, _ := m[field].([]any)
	m[field] = append(list, items...)
}
