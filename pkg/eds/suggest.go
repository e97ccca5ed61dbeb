package eds

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/diag"
)

// replacedNames says what took the place of v2 names that v3 no longer has, by message and field.
var replacedNames = map[protoreflect.FullName]map[string]string{
	"envoy.config.cluster.v3.Cluster": {
		"hosts":                             `use "load_assignment" with "endpoints"`,
		"tls_context":                       `use "transport_socket" with an UpstreamTlsContext`,
		"extension_protocol_options":        `use "typed_extension_protocol_options"`,
		"drain_connections_on_host_removal": `use "ignore_health_on_host_removal"`,
	},
	"envoy.config.endpoint.v3.ClusterLoadAssignment.Policy": {
		"disable_overprovisioning": "delete it: Envoy never implemented it",
	},
	"envoy.config.core.v3.TransportSocket": {"config": `use "typed_config"`},
	"envoy.config.core.v3.HealthCheck.HttpHealthCheck": {
		"use_http2":    `use "codec_client_type: HTTP2"`,
		"service_name": `use "service_name_matcher"`,
	},
	"envoy.config.core.v3.HealthCheck.CustomHealthCheck": {"config": `use "typed_config"`},
	"envoy.config.core.v3.ApiConfigSource":               {"cluster_name": `use "cluster_names" or "grpc_services"`},
}

// commonMistakes are words that people write for a field of another name, by message.
var commonMistakes = map[protoreflect.FullName]map[string]string{
	"envoy.config.core.v3.SocketAddress":           {"port": "port_value"},
	"envoy.config.endpoint.v3.LbEndpoint":          {"weight": "load_balancing_weight", "health": "health_status", "status": "health_status"},
	"envoy.config.endpoint.v3.LocalityLbEndpoints": {"weight": "load_balancing_weight"},
}

// suggestField returns the name of the field of md that key was most likely meant to be, in the spelling style of key.
func suggestField(md protoreflect.MessageDescriptor, key string) (string, bool) {
	if name, ok := commonMistakes[md.FullName()][key]; ok {
		return name, true
	}
	normal := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
	}
	want := normal(key)
	best, bestDistance := "", 1+len(want)/3 // at most a third of the letters may differ
	fds := md.Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		if d := diag.Distance(want, normal(string(fd.Name()))); d < bestDistance {
			best, bestDistance = string(fd.Name()), d
			if key != strings.ToLower(key) && !strings.ContainsAny(key, "_-") && fd.JSONName() != string(fd.Name()) {
				best = fd.JSONName()
			}
		}
	}
	return best, best != ""
}

// holder returns the field of md in whose message a key is a field, when there is just one: then the key stands a level
// too far out. The overrides of health checks have fields of other messages, and are seldom what was meant.
func holder(md protoreflect.MessageDescriptor, key string) (string, bool) {
	found := ""
	fds := md.Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		if fd.Message() == nil || fd.IsMap() || fd.Name() == "health_check_config" || classify(fd.Message().FullName()) != notWellKnown {
			continue
		}
		inner := fd.Message().Fields()
		if inner.ByTextName(key) == nil && inner.ByJSONName(key) == nil {
			continue
		}
		if found != "" {
			return "", false
		}
		found = string(fd.Name())
	}
	return found, found != ""
}

// nearest returns the candidate closest to word whatever their case, or "" when none is near.
func nearest(word string, candidates []string) string {
	upper := make([]string, len(candidates))
	for i, c := range candidates {
		upper[i] = strings.ToUpper(c)
	}
	best, _ := diag.Nearest(strings.ToUpper(word), upper)
	if i := slices.Index(upper, best); i >= 0 {
		return candidates[i]
	}
	return ""
}
