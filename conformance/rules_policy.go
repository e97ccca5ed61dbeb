package main

const maxWeight = 4294967295

// sums are the limits of weights.
func sums() []mutation {
	around := func(rule string, fill func(g *generator, a tree, last int)) mutation {
		return mutation{rule, everywhere, func(g *generator, in *input) {
			in.around = pick(g, "RING_HASH", "MAGLEV")
			in.cluster = policyOf(in.around)
			fill(g, in.assignment, 1+g.rng.IntN(3))
		}, func(g *generator, in *input) {
			in.around = pick(g, "RING_HASH", "MAGLEV")
			in.cluster = policyOf(in.around)
			fill(g, in.assignment, 0)
		}}
	}
	return []mutation{
		around("host-weight-sum-overflow", func(g *generator, a tree, over int) {
			l := g.full(0, 0)
			hosts := l["lb_endpoints"].([]any)
			hosts[0].(tree)["load_balancing_weight"] = maxWeight - 7
			hosts[1].(tree)["load_balancing_weight"] = 7 + over
			a["endpoints"] = []any{l, g.full(1, 1)}
		}),
		around("locality-weight-sum-overflow", func(g *generator, a tree, over int) {
			first, second := g.full(0, 0), g.full(1, 0)
			first["load_balancing_weight"], second["load_balancing_weight"] = maxWeight-7, 7+over
			a["endpoints"] = []any{first, second, g.full(2, 1)}
		}),
	}
}

// policies are the checks of drops and of LEDS.
func policies() []mutation {
	at := func(rule string, routes []route, hit, near func(g *generator, a tree)) mutation {
		return mutation{rule, routes, onAssignment(hit), onAssignment(near)}
	}
	return []mutation{
		at("drop-overloads-multiple", everywhere, func(g *generator, a tree) {
			setDrops(a, drop(1, 0), drop(2, 0))
			if g.chance(30) {
				appendTo(child(a, "policy"), "drop_overloads", drop(0, 0))
			}
		}, func(g *generator, a tree) {
			if g.chance(50) {
				setDrops(a)
			} else {
				setDrops(a, drop(1, 0))
			}
		}),
		at("drop-overload-over-100", everywhere, func(g *generator, a tree) {
			d := g.rng.IntN(3)
			setDrops(a, drop([]int{100, 10_000, 1_000_000}[d]+pick(g, 1, 50, 4_000_000_000), d))
		}, func(g *generator, a tree) {
			d := g.rng.IntN(3)
			setDrops(a, drop([]int{100, 10_000, 1_000_000}[d]-pick(g, 0, 1), d))
		}),
		at("leds-and-endpoints", byEDS, func(g *generator, a tree) {
			g.setLEDS(a, tree{"leds_collection_name": goodCollection})["lb_endpoints"] = []any{g.endpoint()}
		}, func(g *generator, a tree) {
			g.setLEDS(a, tree{"leds_collection_name": goodCollection})["lb_endpoints"] = []any{}
		}),
		at("leds-collection-name-invalid", byEDS, func(g *generator, a tree) {
			g.setLEDS(a, tree{"leds_config": tree{"ads": tree{}}, "leds_collection_name": pick(g, "", "no-url", "x/y", "ftp://a/b")})
		}, func(g *generator, a tree) { g.setLEDS(a, tree{"leds_collection_name": goodCollection}) }),
		at("leds-unsupported-source", byEDS, func(g *generator, a tree) {
			config := tree{"leds_collection_name": goodCollection}
			if g.chance(50) {
				config["leds_config"] = tree{"self": tree{}}
			}
			g.setLEDS(a, config)
		}, func(g *generator, a tree) { delete(g.anyGroup(a), "leds_cluster_locality_config") }),
		at("leds-static-cluster", clusters, func(g *generator, a tree) {
			g.setLEDS(a, tree{"leds_config": tree{"ads": tree{}}, "leds_collection_name": goodCollection})
		}, func(g *generator, a tree) { delete(g.anyGroup(a), "leds_cluster_locality_config") }),
		at("eds-cluster-name-mismatch", []route{viaFile}, func(g *generator, a tree) { a["cluster_name"] = pick(g, "other", "V", "v ") },
			func(*generator, tree) {}),
		at("resource-name-not-watched", []route{viaStream, viaADS}, func(g *generator, a tree) { a["cluster_name"] = pick(g, "other", "V", "v ") },
			func(*generator, tree) {}),
	}
}
