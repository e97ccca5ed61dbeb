package main

import (
	"strings"
)

// values are what a tree says that is not in the schema, or not in its types. Text only.
func values() []mutation {
	at := func(rule string, hit, near func(g *generator, a tree)) mutation {
		return mutation{rule, text, onAssignment(hit), onAssignment(near)}
	}
	return []mutation{
		at("unknown-field", func(g *generator, a tree) {
			pick(g, a, g.anyGroup(a), g.anyEndpoint(a), child(a, "policy"))[pick(g, "unknown", "Cluster_name", "lb-endpoints", "weight")] = pick[any](g, 1, tree{}, nil)
		}, func(g *generator, a tree) {
			l := g.anyGroup(a)
			l["loadBalancingWeight"] = 3
			delete(l, "load_balancing_weight")
			g.anyEndpoint(a)["metadata"] = tree{"filterMetadata": tree{"a": tree{"unknown": 1}}}
		}),
		at("disable-overprovisioning-removed", func(g *generator, a tree) { child(a, "policy")["disable_overprovisioning"] = g.chance(50) },
			func(g *generator, a tree) { child(a, "policy")["weighted_priority_health"] = g.chance(50) }),
		at("enum-name-unknown", func(g *generator, a tree) {
			g.anyEndpoint(a)["health_status"] = pick[any](g, "BOGUS", "", " HEALTHY", "HEALTH", 3000000000)
		}, func(g *generator, a tree) {
			g.anyEndpoint(a)["health_status"] = pick[any](g, "healthy", "Degraded", "2", 5, nil)
		}),
		at("merge-key", func(g *generator, a tree) { g.anyGroup(a)["<<"] = tree{"priority": 0} },
			func(g *generator, a tree) {
				g.anyEndpoint(a)["metadata"] = tree{"filter_metadata": tree{"a": tree{"b": "<<"}}}
			}),
		at("oneof-set-twice", func(g *generator, a tree) {
			switch g.rng.IntN(3) {
			case 0:
				g.anyEndpoint(a)["endpoint_name"] = "x"
				child(g.anyEndpoint(a), "endpoint")
				for _, ep := range endpointsOf(a) {
					ep["endpoint_name"] = "x"
				}
			case 1:
				g.setAddress(a, tree{"socket_address": tree{"address": g.ip(), "port_value": 1, "named_port": "http"}})
			default:
				g.setAddress(a, tree{"socket_address": tree{"address": g.ip(), "port_value": 1}, "pipe": tree{"path": "/p"}})
			}
		}, func(g *generator, a tree) {
			g.anyEndpoint(a)["endpoint_name"] = nil
			g.setAddress(a, tree{"socket_address": tree{"address": g.ip(), "port_value": 1, "named_port": nil}, "pipe": nil})
		}),
		at("value-type", func(g *generator, a tree) {
			switch g.rng.IntN(6) {
			case 0:
				child(g.anyGroup(a), "locality")["zone"] = []any{"a"}
			case 1:
				g.anyGroup(a)["load_balancing_weight"] = pick[any](g, -1, 1.5, "x", maxWeight+1, "-1", " 5", "")
			case 2:
				child(a, "policy")["endpoint_stale_after"] = pick[any](g, "1m", "30", "500ms", ".5s", "1.s", "+1s", "1.0123456789s")
			case 3:
				setDrops(a, tree{"category": "a", "drop_percentage": 5})
			case 4:
				child(a, "policy")["weighted_priority_health"] = pick[any](g, "maybe", "", "on", 1)
			default:
				g.anyGroup(a)["priority"] = pick[any](g, 0.5, "one", []any{1})
			}
		}, func(g *generator, a tree) {
			switch g.rng.IntN(4) {
			case 0:
				g.anyGroup(a)["load_balancing_weight"] = pick[any](g, "5", raw("1.0"), raw("1e2"), "1e3", "0x10", tree{"value": 5})
			case 1:
				child(a, "policy")["endpoint_stale_after"] = pick[any](g, "0001s", "1.012345678s", tree{"seconds": 5})
			case 2:
				child(a, "policy")["weighted_priority_health"] = pick[any](g, "true", "t", "NO", "0", nil)
			default:
				setDrops(a, tree{"category": "a", "drop_percentage": tree{}})
			}
		}),
		at("any-type-unknown", func(g *generator, a tree) {
			g.anyEndpoint(a)["metadata"] = tree{"typed_filter_metadata": tree{"a": tree{"@type": "type.googleapis.com/no.such.Type"}}}
		}, func(g *generator, a tree) {
			g.anyEndpoint(a)["metadata"] = tree{"typed_filter_metadata": tree{"a": stringValue("x")}}
		}),
		at("any-type-missing", func(g *generator, a tree) {
			g.anyEndpoint(a)["metadata"] = tree{"typed_filter_metadata": tree{"a": pick(g, tree{"value": "x"}, tree{"@type": "google.protobuf.StringValue", "value": "x"})}}
		}, func(g *generator, a tree) {
			g.anyEndpoint(a)["metadata"] = tree{"typed_filter_metadata": tree{"a": pick(g, stringValue("x"), tree{})}}
		}),
		at("load-balancer-endpoints-ignored", func(g *generator, a tree) {
			l := g.anyGroup(a)
			delete(l, "lb_endpoints")
			l["load_balancer_endpoints"] = tree{"lb_endpoints": []any{g.endpoint()}}
		}, func(g *generator, a tree) { g.anyGroup(a)["load_balancer_endpoints"] = nil }),
		at("nesting-too-deep", func(g *generator, a tree) { g.anyEndpoint(a)["metadata"] = nested(100 + g.rng.IntN(100)) },
			func(g *generator, a tree) { g.anyEndpoint(a)["metadata"] = nested(1 + g.rng.IntN(15)) }),
	}
}

func endpointsOf(a tree) (out []tree) {
	groups, _ := a["endpoints"].([]any)
	for _, l := range groups {
		list, _ := l.(tree)["lb_endpoints"].([]any)
		for _, ep := range list {
			out = append(out, ep.(tree))
		}
	}
	return out
}

// nested is metadata of a depth.
func nested(depth int) tree {
	v := any(tree{"end": 1})
	for range depth {
		v = tree{"a": v}
	}
	return tree{"filter_metadata": tree{"deep": v}}
}

// texts are what is wrong with text before it is a tree.
func texts() []mutation {
	edit := func(f form, change func(g *generator, s string) string) func(*generator, *input) {
		return func(g *generator, in *input) {
			in.form = f
			in.text = func(s string) string { return change(g, s) }
		}
	}
	zone := func(f form, values ...raw) func(*generator, *input) {
		return func(g *generator, in *input) {
			in.form = f
			child(g.anyGroup(in.assignment), "locality")["sub_zone"] = pick(g, values...)
		}
	}
	same := func(*generator, *input) {}
	return []mutation{
		{"yaml-scalar-type", text, zone(blockYAML, "1", "yes", "0x1f", "012", "Off", "y", "TRUE", "!!str 1"), zone(blockYAML, "1.5", `"1"`, "nULL", "2147483648", "yES", "08", "12:30", "'no'", "~", "a b")},
		{"syntax", text, edit(blockYAML, func(g *generator, s string) string {
			return s + pick(g, "\t- a: b\n", "  a: b: c\n", "x: [\n", "y: *nope\n", "z: {a: b\n", "\"a\n")
		}), edit(blockYAML, func(g *generator, s string) string {
			return pick(g, "# comment\n", "---\n", "%YAML 1.2\n---\n", "\ufeff", "\r\n") + s + pick(g, "", "# end\n", "...\n", "\n\n")
		})},
		{"template-unrendered", text, func(g *generator, in *input) {
			in.form = blockYAML
			in.cluster, in.bootstrap = nil, nil
			g.anyEndpoint(in.assignment)["load_balancing_weight"] = pick(g, raw("{{ .Values.weight }}"), raw("{% weight %}"))
		}, func(g *generator, in *input) {
			in.form = blockYAML
			child(g.anyEndpoint(in.assignment), "endpoint")["hostname"] = pick(g, "{a}", "$", "a%b", "{ {a} }")
		}},
		{"multi-document", text, edit(blockYAML, func(g *generator, s string) string {
			return s + "---\n" + pick(g, "a: 1\n", "x: [\n", s)
		}), edit(blockYAML, func(g *generator, s string) string { return pick(g, "---\n", "") + s + pick(g, "...\n", "") })},
		{"json-bom", text, edit(jsonForm, func(_ *generator, s string) string { return "\ufeff" + s }),
			edit(blockYAML, func(_ *generator, s string) string { return "\ufeff" + s })},
		{"yaml-document", text, edit(blockYAML, func(g *generator, s string) string {
			return pick(g, "", "# nothing\n", "~\n", "text\n", "---\n---\n"+s, "12\n")
		}),
			edit(blockYAML, func(g *generator, s string) string { return pick(g, "# something\n", "\n") + s })},
		{"yaml-alias-cycle", text, func(g *generator, in *input) {
			in.form = blockYAML
			g.anyEndpoint(in.assignment)["metadata"] = tree{"filter_metadata": tree{"a": raw(pick(g, "&c {b: *c}", "&c {b: [*c]}"))}}
		}, func(g *generator, in *input) {
			in.form = blockYAML
			g.anyEndpoint(in.assignment)["metadata"] = tree{"filter_metadata": tree{"a": raw("{b: &c {d: 1}, e: *c}")}}
		}},
		{"file-extension-mismatch", text, func(g *generator, in *input) { in.form, in.extension = blockYAML, pick(g, "json", "conf") },
			func(g *generator, in *input) { in.form, in.extension = blockYAML, pick(g, "yaml", "yml") }},
		{"file-eds-wrong-shape", []route{viaFile}, func(g *generator, in *input) {
			in.form = blockYAML
			in.document = func(d tree) {
				item := d["resources"].([]any)[0].(tree)
				clear(d)
				for k, v := range item {
					if k != "@type" {
						d[k] = v
					}
				}
			}
		}, same},
		{"eds-empty-update", []route{viaFile}, func(g *generator, in *input) {
			in.document = func(d tree) { d["resources"] = pick[any](g, []any{}, nil); d["version_info"] = "1" }
		}, func(g *generator, in *input) { in.document = func(d tree) { d["version_info"] = "1" } }},
		{"eds-resource-count", []route{viaFile}, func(g *generator, in *input) {
			in.document = func(d tree) { appendTo(d, "resources", clone(d["resources"].([]any)[0])) }
		}, same},
		{"resource-without-body", []route{viaFile}, func(g *generator, in *input) {
			in.document = func(d tree) { d["resources"] = []any{pick[any](g, tree{}, nil)} }
		}, same},
		{"v2-type", []route{viaFile}, func(g *generator, in *input) {
			in.document = typed(pick(g, "envoy.api.v2.ClusterLoadAssignment", "envoy.api.v3alpha.ClusterLoadAssignment", "envoy.config.endpoint.v3alpha.ClusterLoadAssignment"))
		}, same},
		{"any-type-mismatch", []route{viaFile}, func(g *generator, in *input) {
			in.document = func(d tree) {
				d["resources"] = []any{tree{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": clusterName}}
			}
		}, same},
		{"any-type-missing", []route{viaFile}, func(g *generator, in *input) {
			in.document = func(d tree) { delete(d["resources"].([]any)[0].(tree), "@type") }
		}, func(g *generator, in *input) {
			in.document = typed("example.com/envoy.config.endpoint.v3.ClusterLoadAssignment")
		}},
	}
}

// typed gives the resource of an EDS file another type.
func typed(name string) func(tree) {
	if !strings.Contains(name, "/") {
		name = "type.googleapis.com/" + name
	}
	return func(d tree) { d["resources"].([]any)[0].(tree)["@type"] = name }
}
