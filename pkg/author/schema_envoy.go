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
		return []schema{within("drop_overloads", schema{"if": schema{"type": "array"}, "then": schema{"maxItems": 1, "items": dropRules()}, "else": dropRules()})}
	case "envoy.config.cluster.v3.Cluster":
		return clusterRules()
	}
	return nil
}

// dropRules bound the numerator by the denominator: no more than all requests can be dropped.
func dropRules() schema {
	denominator := func(name string, number int) schema {
		return schema{"required": []string{"denominator"}, "properties": schema{"denominator": oneValue(name, number)}}
	}
	atMost := func(limit int) schema {
		return within("numerator", integer(0, float64(limit), bounds{}))
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
func clusterRules() []schema {
	ofType := func(name string, number int) schema {
		return schema{"required": []string{"type"}, "properties": schema{"type": oneValue(name, number)}}
	}
	static := schema{"anyOf": []schema{ofType("STATIC", 0), {"allOf": []schema{absent("type"), absent("cluster_type")}}}}
	onlyOne := schema{"if": schema{"type": "array"}, "then": schema{"minItems": 1, "maxItems": 1}}
	group := schema{"allOf": []schema{{"if": schema{"type": "object"}, "then": present("lb_endpoints")}, within("lb_endpoints", onlyOne)}}
	single := schema{"allOf": []schema{present("endpoints"), within("endpoints", schema{"allOf": []schema{onlyOne, each(group)}})}}
	noResolver := inEndpoints(within("address", within("socket_address", within("resolver_name", schema{"maxLength": 0}))))
	return []schema{
		{"if": static, "then": schema{"allOf": []schema{absent("eds_cluster_config"), within("load_assignment", schema{"allOf": []schema{ipHosts(), noLEDS()}})}}},
		{"if": ofType("STRICT_DNS", 1), "then": schema{"allOf": []schema{absent("eds_cluster_config"), within("load_assignment", noResolver)}}},
		{"if": ofType("LOGICAL_DNS", 2), "then": schema{"allOf": []schema{
			absent("eds_cluster_config"), present("load_assignment"),
			within("load_assignment", schema{"allOf": []schema{single, noResolver}}),
		}}},
		{"if": ofType("EDS", 3), "then": schema{"allOf": []schema{
			present("eds_cluster_config"), within("eds_cluster_config", schema{"if": schema{"type": "object"}, "then": present("eds_config")}),
		}}},
		{"if": ofType("ORIGINAL_DST", 4), "then": schema{"allOf": []schema{absent("load_assignment"), absent("eds_cluster_config")}}},
	}
}

// inEndpoints applies a schema to each endpoint of an assignment.
func inEndpoints(inner schema) schema {
	return within("endpoints", each(within("lb_endpoints", each(within("endpoint", inner)))))
}

// ipHosts: where nothing is resolved, each endpoint has an address, which is an IP address with a number for a port, a pipe
// or an internal one (endpoint-address-missing, endpoint-name-not-implemented, endpoint-not-ip, named-port,
// resolver-unknown, network-namespace-on-host, health-check-port-on-non-ip).
func ipHosts() schema {
	octet := "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
	ip := schema{"pattern": `^((` + octet + `\.){3}` + octet + `|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%[^%]+)?)$`}
	socket := []schema{within("address", ip), absent("named_port"), within("resolver_name", schema{"enum": []any{"", "envoy.ip", nil}})}
	additional := schema{"allOf": []schema{within("socket_address", schema{"allOf": socket}), within("pipe", pipeRules())}}
	address := schema{"allOf": []schema{additional, within("socket_address", within("network_namespace_filepath", schema{"maxLength": 0}))}}
	noIP := schema{"anyOf": []schema{
		{"required": []string{"address"}, "properties": schema{"address": present("pipe")}},
		{"required": []string{"address"}, "properties": schema{"address": present("envoy_internal_address")}},
	}}
	checked := within("health_check_config", within("address", within("socket_address", within("address", ip))))
	port := within("health_check_config", schema{"if": absent("address"), "then": within("port_value", schema{"enum": []any{0, "0", nil}})})
	endpoint := schema{"allOf": []schema{
		{"if": schema{"type": "object"}, "then": present("address")}, within("address", address),
		within("additional_addresses", each(schema{"allOf": []schema{present("address"), within("address", additional)}})), checked, {"if": noIP, "then": port},
	}}
	return within("endpoints", each(within("lb_endpoints", each(schema{"allOf": []schema{
		{"not": schema{"type": "null"}}, {"if": schema{"type": "object"}, "then": present("endpoint")}, within("endpoint", endpoint),
	}}))))
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
func noLEDS() schema { return within("endpoints", each(absent("leds_cluster_locality_config"))) }

// edsAssignment is an assignment that comes by EDS, whose addresses nothing resolves.
func (b *schemaBuilder) edsAssignment() schema {
	if b.version != eds.V3 {
		return b.assignment()
	}
	both := schema{"if": present("leds_cluster_locality_config"), "then": absent("lb_endpoints")} // leds-and-endpoints
	return schema{"allOf": []schema{b.assignment(), ipHosts(), within("endpoints", each(both))}}
}
