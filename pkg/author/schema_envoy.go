package author

import (
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/eds"
)

// What Envoy refuses although the API's constraints allow it, as far as a schema can say it. Each rule has a page.

// within applies a schema to a field, given in snake_case, in either spelling.
func within(name string, inner schema) schema {
	return schema{"properties": schema{name: inner, camelCase(name): inner}}
}

// each applies a schema to the elements of a list, or to the one that stands for a list.
func each(inner schema) schema {
	return schema{"if": schema{"type": "array"}, "then": schema{"items": inner}, "else": schema{"if": schema{"type": "object"}, "then": inner}}
}

func absent(name string) schema { return schema{"not": present(name)} }

// extra are the rules of Envoy about messages of v3.
func (b *schemaBuilder) extra(md protoreflect.MessageDescriptor) []schema {
	if b.version != eds.V3 {
		return nil
	}
	switch md.FullName() {
	case "envoy.config.endpoint.v3.ClusterLoadAssignment.Policy": // drop-overloads-multiple, drop-overload-over-100
		drop := b.def("drop", dropRules)
		return []schema{within("drop_overloads", schema{"if": schema{"type": "array"}, "then": schema{"maxItems": 1, "items": drop}, "else": drop})}
	case "envoy.config.cluster.v3.Cluster":
		return b.clusterRules()
	}
	return nil
}

// dropRules bound the numerator by the denominator: no more than all requests can be dropped.
func dropRules() schema {
	denominator := func(name string, number int) schema {
		return schema{"required": []string{"denominator"}, "properties": schema{"denominator": oneValue(name, number)}}
	}
	atMost := func(limit int) schema {
		return schema{"properties": schema{"numerator": integer(0, float64(limit), bounds{})}}
	}
	return within("drop_percentage", schema{
		"if": denominator("MILLION", 2), "then": atMost(1_000_000),
		"else": schema{"if": denominator("TEN_THOUSAND", 1), "then": atMost(10_000), "else": schema{
			"if": schema{"anyOf": []schema{absent("denominator"), denominator("HUNDRED", 0)}}, "then": atMost(100),
		}},
	})
}

// oneValue is one value of an enum: by name in any case, by number, or by a number in a string.
func oneValue(name string, number int) schema {
	return schema{"anyOf": []schema{{"enum": []any{number}}, {"type": "string", "pattern": "^(" + anyCase(name)[0] + "|" + strconv.Itoa(number) + ")$"}}}
}

// clusterRules are about what a cluster's type needs and refuses.
func (b *schemaBuilder) clusterRules() []schema {
	ofType := func(name string, number int) schema {
		return schema{"required": []string{"type"}, "properties": schema{"type": oneValue(name, number)}}
	}
	static := schema{"anyOf": []schema{ofType("STATIC", 0), {"allOf": []schema{absent("type"), absent("cluster_type")}}}}
	noConfig := schema{"not": b.has("eds_cluster_config")}
	noResolver := b.inEndpoints("noResolver", within("address", within("socket_address", within("resolver_name", schema{"maxLength": 0}))))
	return []schema{
		{"if": static, "then": schema{"allOf": []schema{noConfig, within("load_assignment", schema{"allOf": []schema{b.ipHosts(), b.noLEDS()}})}}},
		{"if": ofType("STRICT_DNS", 1), "then": schema{"allOf": []schema{noConfig, within("load_assignment", noResolver)}}},
		{"if": ofType("LOGICAL_DNS", 2), "then": schema{"allOf": []schema{
			noConfig, b.has("load_assignment"), within("load_assignment", schema{"allOf": []schema{b.singleHost(), noResolver}}),
		}}},
		{"if": ofType("EDS", 3), "then": schema{"allOf": []schema{
			b.has("eds_cluster_config"), within("eds_cluster_config", schema{"if": schema{"type": "object"}, "then": present("eds_config")}),
		}}},
		{"if": ofType("ORIGINAL_DST", 4), "then": schema{"allOf": []schema{absent("load_assignment"), noConfig}}},
	}
}

// singleHost: there is one locality with one endpoint.
func (b *schemaBuilder) singleHost() schema {
	return b.def("host.single", func() schema {
		onlyOne := schema{"if": schema{"type": "array"}, "then": schema{"minItems": 1, "maxItems": 1}}
		group := b.def("host.single.locality", func() schema {
			return schema{"allOf": []schema{{"if": schema{"type": "object"}, "then": present("lb_endpoints")}, within("lb_endpoints", onlyOne)}}
		})
		return schema{"allOf": []schema{present("endpoints"), within("endpoints", schema{"allOf": []schema{onlyOne, each(group)}})}}
	})
}

// inEndpoints applies a schema to each endpoint of an assignment.
func (b *schemaBuilder) inEndpoints(name string, inner schema) schema {
	name = "host." + name
	return b.def(name, func() schema {
		endpoint := b.def(name+".endpoint", func() schema { return inner })
		host := b.def(name+".host", func() schema { return within("endpoint", endpoint) })
		return within("endpoints", each(b.def(name+".locality", func() schema { return within("lb_endpoints", each(host)) })))
	})
}

// ipHosts: where nothing is resolved, each endpoint has an address, which is an IP address with a number for a port, a pipe
// or an internal one (endpoint-address-missing, endpoint-name-not-implemented, endpoint-not-ip, named-port,
// resolver-unknown, network-namespace-on-host, health-check-port-on-non-ip).
func (b *schemaBuilder) ipHosts() schema {
	return b.def("host.ip", func() schema {
		host := b.def("host.ip.host", func() schema {
			return schema{"allOf": []schema{
				{"not": schema{"type": "null"}}, {"if": schema{"type": "object"}, "then": present("endpoint")}, within("endpoint", b.ipEndpoint()),
			}}
		})
		return within("endpoints", each(b.def("host.ip.locality", func() schema { return within("lb_endpoints", each(host)) })))
	})
}

func (b *schemaBuilder) ipEndpoint() schema {
	return b.def("host.ip.endpoint", func() schema {
		noIP := schema{"anyOf": []schema{
			{"required": []string{"address"}, "properties": schema{"address": b.has("pipe")}},
			{"required": []string{"address"}, "properties": schema{"address": b.has("envoy_internal_address")}},
		}}
		address := b.def("host.ip.address", func() schema {
			return schema{"allOf": []schema{b.ipAddress(), within("socket_address", within("network_namespace_filepath", schema{"maxLength": 0}))}}
		})
		checked := b.def("host.ip.healthCheck", func() schema { return within("address", within("socket_address", within("address", ipText()))) })
		port := schema{"if": absent("address"), "then": within("port_value", schema{"enum": []any{0, "0", nil}})}
		return schema{"allOf": []schema{
			{"if": schema{"type": "object"}, "then": present("address")}, within("address", address),
			within("additional_addresses", each(schema{"allOf": []schema{present("address"), within("address", b.ipAddress())}})),
			within("health_check_config", checked), {"if": noIP, "then": within("health_check_config", port)},
		}}
	})
}

// ipText is an IP address; of version 6 only the characters are checked.
func ipText() schema {
	octet := "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
	return schema{"pattern": `^((` + octet + `\.){3}` + octet + `|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%[^%]+)?)$`}
}

// ipAddress is an address that needs no resolver.
func (b *schemaBuilder) ipAddress() schema {
	return b.def("host.ip.anyAddress", func() schema {
		socket := b.def("host.ip.socket", func() schema {
			return schema{"allOf": []schema{within("address", ipText()), absent("named_port"), within("resolver_name", schema{"enum": []any{"", "envoy.ip", nil}})}}
		})
		return schema{"allOf": []schema{within("socket_address", socket), within("pipe", pipeRules())}}
	})
}

// pipeRules are those of the socket that a path names (pipe-path-too-long, pipe-embedded-nul, pipe-abstract-mode).
func pipeRules() schema {
	abstract := schema{"required": []string{"path"}, "properties": schema{"path": schema{"type": "string", "pattern": "^@"}}}
	return schema{"allOf": []schema{
		within("path", schema{"maxLength": 107, "pattern": `^(@.*|[^\x00]*)$`}),
		{"if": abstract, "then": within("mode", schema{"enum": []any{0, "0", nil}})},
	}}
}

// noLEDS: endpoints come by LEDS to EDS clusters only (leds-static-cluster).
func (b *schemaBuilder) noLEDS() schema {
	return within("endpoints", each(schema{"not": b.has("leds_cluster_locality_config")}))
}

// edsAssignment is an assignment that comes by EDS, whose addresses nothing resolves.
func (b *schemaBuilder) edsAssignment() schema {
	if b.version != eds.V3 {
		return b.assignment()
	}
	return b.def("edsAssignment", func() schema {
		both := schema{"if": b.has("leds_cluster_locality_config"), "then": absent("lb_endpoints")} // leds-and-endpoints
		return schema{"allOf": []schema{b.assignment(), b.ipHosts(), within("endpoints", each(both))}}
	})
}
