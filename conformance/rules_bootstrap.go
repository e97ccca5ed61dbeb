package main

// bootstrapRules are about what is around the cluster.
func bootstrapRules() []mutation {
	at := func(rule string, hit, near func(g *generator, b tree)) mutation {
		edit := func(change func(g *generator, b tree)) func(*generator, *input) {
			return func(g *generator, in *input) { in.bootstrap = func(b tree) { change(g, b) } }
		}
		return mutation{rule, []route{viaBootstrap}, edit(hit), edit(near)}
	}
	addCluster := func(b tree, name string) {
		appendTo(child(b, "static_resources"), "clusters", tree{"name": name, "connect_timeout": "1s", "type": "STATIC"})
	}
	limit := func(value any) func(*generator, *input) {
		return func(_ *generator, in *input) {
			setDrops(in.assignment, drop(5, 0))
			in.bootstrap = func(b tree) {
				b["layered_runtime"] = tree{"layers": []any{tree{"name": "static", "static_layer": tree{"load_balancing_policy": tree{"drop_overload_limit": value}}}}}
			}
		}
	}
	return []mutation{
		at("cluster-name-duplicate", func(_ *generator, b tree) { addCluster(b, clusterName) }, func(_ *generator, b tree) { addCluster(b, clusterName+"2") }),
		at("local-cluster-unknown", func(g *generator, b tree) { b["cluster_manager"] = tree{"local_cluster_name": pick(g, "nope", "V")} },
			func(_ *generator, b tree) {
				addCluster(b, "local")
				b["cluster_manager"] = tree{"local_cluster_name": "local"}
			}),
		{"node-id-missing", []route{viaBootstrap}, func(g *generator, in *input) {
			in.cluster = func(c tree) { edsFrom(c, xdsCluster) }
			in.bootstrap = func(b tree) {
				if g.chance(30) {
					delete(b, "node")
				} else {
					b["node"] = tree{pick(g, "id", "cluster"): "n"}
				}
			}
		}, func(_ *generator, in *input) {
			in.cluster = func(c tree) { edsFrom(c, xdsCluster) }
			in.bootstrap = func(b tree) { b["node"] = tree{"id": "n", "cluster": "n"} }
		}},
		{"drop-overload-limit-invalid", []route{viaBootstrap}, limit(101), limit(100)},
		{"deprecated-field", []route{viaBootstrap}, func(_ *generator, in *input) { in.cluster = edsFile(tree{"path": "/dev/null"}) },
			func(_ *generator, in *input) {
				in.cluster = edsFile(tree{"path_config_source": tree{"path": "/dev/null"}})
			}},
	}
}

// edsFile makes the cluster an EDS cluster that reads a file.
func edsFile(source tree) func(tree) {
	return func(c tree) {
		delete(c, "load_assignment")
		c["type"] = "EDS"
		c["eds_cluster_config"] = tree{"eds_config": source}
	}
}
