package validate_test

import (
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// TestFoundReading has texts that Envoy's readers were found to take otherwise than edsctl.
func TestFoundReading(t *testing.T) {
	t.Parallel()
	const (
		invalid  = "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap"
		cluster  = " @ static_resources.clusters[0]."
		endpoint = cluster + "load_assignment.endpoints[0].lb_endpoints[0].endpoint"
		inFile   = "in eds.yaml, Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.service.discovery.v3.DiscoveryResponse"
		claURL   = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
		cla      = `{"@type": ` + claURL + ", cluster_name: v}"
		wrapper  = `{"@type": type.googleapis.com/envoy.service.discovery.v3.Resource, name: v, resource: ` + cla
	)
	tests := []struct {
		name, file, text string
		kind             diag.VerdictKind
		rule, message    string // of Envoy; the beginning of the message
	}{
		{
			name: "a oneof member twice in JSON", file: "bootstrap.json", text: jsonSocket(`"port_value": 80, "port_value": 81`),
			kind: diag.Rejected, rule: "oneof-set-twice",
			message: invalid + cluster + "load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value: uint32, near <pos>: " +
				"'port_value' has already been set (either directly or as part of a oneof))",
		},
		{
			name: "an enum in a oneof twice in JSON", file: "bootstrap.json", text: jsonCluster(`"type": "EDS"`),
			kind: diag.Rejected, rule: "oneof-set-twice",
			message: invalid + cluster + "type: enum envoy.config.cluster.v3.Cluster.DiscoveryType, near <pos>: 'type' has already been set",
		},
		{
			name: "both spellings of a oneof member in JSON", file: "bootstrap.json", text: jsonSocket(`"port_value": 80, "portValue": 81`),
			kind: diag.Rejected, rule: "oneof-set-twice",
			message: invalid + cluster + "load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.portValue: uint32, near <pos>: 'portValue' has",
		},
		{
			name: "both spellings of a oneof member in YAML", file: "bootstrap.yaml", text: found("ring_hash_lb_config: {}, ringHashLbConfig: {}"),
			kind: diag.Rejected, rule: "oneof-set-twice",
			message: invalid + cluster + "ringHashLbConfig: message envoy.config.cluster.v3.Cluster.RingHashLbConfig, near <pos>: 'ringHashLbConfig' has already been set",
		},
		{
			name: "null after a oneof member in its other spelling", file: "bootstrap.json", text: jsonSocket(`"port_value": 80, "portValue": null`), kind: diag.Accept,
		},
		{
			name: "null before a oneof member in its other spelling", file: "bootstrap.yaml",
			text: found("ringHashLbConfig: ~, ring_hash_lb_config: {}, lb_policy: RING_HASH"), kind: diag.Accept,
		},
		{
			name: "null in the other spelling of a string", file: "bootstrap.json", text: jsonCluster(`"altStatName": null, "alt_stat_name": "a", "altStatName": null`), kind: diag.Accept,
		},
		{
			name: "null in the other spelling of the assignment", file: "bootstrap.json", text: jsonCluster(`"loadAssignment": null`), kind: diag.Accept,
		},
		{
			name: "blanks around a quoted double", file: "bootstrap.yaml", text: found(`common_lb_config: {healthy_panic_threshold: {value: "\t5\f"}}`), kind: diag.Accept,
		},
		{
			name: "a signed quoted NaN", file: "bootstrap.yaml", text: found(`common_lb_config: {healthy_panic_threshold: {value: "-nan"}}`),
			kind: diag.Rejected, rule: "cluster-constraint", message: "Value not in the range of 0..100 range.",
		},
		{
			name: "a quoted NaN with a payload", file: "bootstrap.json", text: jsonCluster(`"common_lb_config": {"healthy_panic_threshold": {"value": "nan(1)"}}`),
			kind: diag.Rejected, rule: "cluster-constraint", message: "Value not in the range of 0..100 range.",
		},
		{
			name: "a bootstrap in a list in JSON", file: "bootstrap.json", text: "[" + jsonCluster(`"alt_stat_name": "a"`) + "]",
			kind: diag.Rejected, rule: "yaml-document", message: invalid + ", near <pos>: unexpected character: '['; expected '{')",
		},
		{
			name: "a bootstrap in a list in YAML", file: "bootstrap.yaml", text: "- " + found("alt_stat_name: a"),
			kind: diag.Rejected, rule: "yaml-document", message: invalid + ", near <pos>: unexpected character: '['; expected '{')",
		},
		{
			name: "a number for the version of a Resource", file: "eds.yaml", text: "resources: [" + wrapper + ", version: 1}]",
			kind: diag.Rejected, rule: "yaml-scalar-type", message: inFile + " @ resources[0].<any>.version: string, near <pos>: unexpected character: '1'; expected '\"')",
		},
		{
			name: "a number in the aliases of a Resource", file: "eds.yaml", text: "resources: [" + wrapper + ", aliases: [a, 5]}]",
			kind: diag.Rejected, rule: "yaml-scalar-type", message: inFile + " @ resources[0].<any>.aliases[1]: string, near <pos>: unexpected character: '5'; expected '\"')",
		},
		{
			name: "a time to live of a Resource without its unit", file: "eds.yaml", text: "resources: [" + wrapper + ", ttl: 1m}]",
			kind: diag.Rejected, rule: "value-type", message: inFile + " @ resources[0].<any>.ttl: message google.protobuf.Duration, near <pos>: duration must end with a single 's')",
		},
		{
			name: "a negative time to live of a Resource", file: "eds.yaml", text: "resources: [" + wrapper + ", ttl: -1s}]",
			kind: diag.Rejected, rule: "duration-invalid", message: "Invalid duration: Expected positive duration: <dump>",
		},
		{
			name: "all fields of a Resource", file: "eds.yaml",
			text: "resources: [" + wrapper + ", version: a, ttl: 1s, aliases: [b], cache_control: {do_not_cache: true}}]", kind: diag.Accept,
		},
		{
			name: "a Resource of v2", file: "eds.yaml", text: "resources: [" + strings.Replace(wrapper, "envoy.service.discovery.v3", "envoy.api.v2", 1) + "}]",
			kind: diag.Rejected, rule: "any-type-unknown",
			message: "in eds.yaml, Unable to parse JSON as proto (INVALID_ARGUMENT: could not find @type 'type.googleapis.com/envoy.api.v2.Resource')",
		},
		{
			name: "a list in a Resource", file: "eds.yaml", text: "resources: [" + strings.Replace(wrapper, cla, "["+cla+"]", 1) + "}]",
			kind: diag.Rejected, rule: "value-type", message: inFile + " @ resources[0].<any>.resource: message google.protobuf.Any, near <pos>: unexpected character: '['; expected '{')",
		},
		{
			name: "a string for a resource", file: "eds.yaml", text: "version_info: a\nresources: a",
			kind: diag.Rejected, rule: "value-type", message: inFile + " @ resources: message google.protobuf.Any, near <pos>: unexpected character: '\"'; expected '{')",
		},
		{
			name: "an unknown key in a response without resources", file: "eds.yaml", text: "foo: 1\nresources: []",
			kind: diag.Ignored, rule: "eds-empty-update", message: "the response holds no assignment",
		},
		{
			name: "a Cluster beside an assignment", file: "eds.yaml", text: "resources: [" + cla + `, {"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: v}]`,
			kind: diag.Rejected, rule: "any-type-mismatch", message: "Unable to unpack as envoy.config.endpoint.v3.ClusterLoadAssignment: <dump>",
		},
		{
			name: "text proto on one line", file: "eds.pb_text", text: `version_info: "a" resources { [` + claURL + `] { cluster_name: "v" } }`, kind: diag.Accept,
		},
		{
			name: "a list in text proto", file: "eds.pb_text", text: "resources: [{ [" + claURL + `] { cluster_name: "v" } }]`, kind: diag.Accept,
		},
		{
			name: "text proto without resources", file: "eds.pb_text", text: "version_info: 'a'",
			kind: diag.Ignored, rule: "eds-empty-update", message: "the response holds no assignment",
		},
		{
			name: "a NUL alone in YAML", file: "eds.yaml", text: "\x00",
			kind: diag.Rejected, rule: "syntax", message: "in eds.yaml, yaml-cpp: error at line 2, column 2: unknown escape character: ",
		},
		{
			name: "a NUL alone in JSON", file: "eds.json", text: "\x00", kind: diag.Rejected, rule: "syntax",
			message: strings.Replace(inFile, "yaml", "json", 1) + ", near <pos>: unexpected character: '",
		},
		{
			name: "YAML with bytes that are no UTF-8 in a file for JSON", file: "eds.conf", text: "version_info: \"a\xffb\"\nresources: []",
			kind: diag.Rejected, rule: "syntax", message: strings.Replace(inFile, "yaml", "conf", 1) + ", near <pos>: unexpected character: 'v'; expected '{')",
		},
		{
			name: "YAML behind a byte order mark in a file for JSON", file: "eds.json", text: "\ufeffresources: []",
			kind: diag.Rejected, rule: "file-extension-mismatch", message: strings.Replace(inFile, "yaml", "json", 1) + ", near <pos>: unexpected character: '\ufffd'; expected '{')",
		},
		{
			name: "a surrogate in a string", file: "bootstrap.yaml", text: found("alt_stat_name: a\xed\xa0\x80"),
			kind: diag.Rejected, rule: "value-type", message: invalid + cluster + "alt_stat_name: string, near <pos>: Invalid UTF-8 string)",
		},
		{
			name: "a surrogate in the name of a field", file: "bootstrap.yaml", text: found("common_lb_config: {\"a\xed\xbf\xbf\": 1}"),
			kind: diag.Rejected, rule: "value-type",
			message: invalid + cluster + "common_lb_config: message envoy.config.cluster.v3.Cluster.CommonLbConfig, near <pos>: Invalid UTF-8 string)",
		},
		{
			name: "a surrogate in the name of an enum", file: "bootstrap.yaml", text: found("lb_policy: a\xed\xa0\x80"),
			kind: diag.Rejected, rule: "value-type", message: invalid + cluster + "lb_policy: enum envoy.config.cluster.v3.Cluster.LbPolicy, near <pos>: Invalid UTF-8 string)",
		},
		{
			name: "a surrogate in a string of a Struct", file: "bootstrap.yaml", text: found("metadata: {filter_metadata: {a: {b: \"\xed\xa0\x80\"}}}"),
			kind: diag.Rejected, rule: "value-type",
			message: invalid + cluster + "metadata.filter_metadata[0].<struct>[0].string_value: string, near <pos>: Invalid UTF-8 string)",
		},
		{
			name: "a surrogate in a key of a Struct", file: "bootstrap.yaml", text: found("metadata: {filter_metadata: {a: {\"\xed\xa0\x80\": b}}}"),
			kind: diag.Rejected, rule: "value-type",
			message: invalid + cluster + "metadata.filter_metadata[0].<struct>: message google.protobuf.Struct.FieldsEntry, near <pos>: Invalid UTF-8 string)",
		},
		{
			name: "a character in more bytes than it needs", file: "bootstrap.yaml", text: found("alt_stat_name: a\xc1\x81"),
			kind: diag.Rejected, rule: "value-type", message: invalid + cluster + "alt_stat_name: string, near <pos>: Invalid UTF-8 string)",
		},
		{
			name: "bytes that are no UTF-8 in a key of a map", file: "bootstrap.yaml",
			text: found("metadata: {filter_metadata: {\"a\xff\": {\"b\xc3\": c, \"\xc0\x80\": d}}}"), kind: diag.Accept,
		},
		{
			name: "UTF-16 without a byte order mark", file: "bootstrap.yaml", text: strings.Join(strings.Split(found("alt_stat_name: a"), ""), "\x00") + "\x00",
			kind: diag.Accept,
		},
		{
			name: "UTF-16 without a byte order mark, the high byte first", file: "bootstrap.yaml",
			text: "\x00" + strings.Join(strings.Split(found("alt_stat_name: a"), ""), "\x00"), kind: diag.Accept,
		},
		{name: "a bootstrap in YAML that Envoy reads as binary protobuf", file: "bootstrap.pb", text: "node: {id: a}\n" + found("alt_stat_name: a"), kind: diag.Accept},
		{
			name: "a bootstrap in JSON that Envoy reads as binary protobuf", file: "bootstrap.pb", text: jsonCluster(`"alt_stat_name": "a"`),
			kind: diag.Rejected, rule: "file-extension-mismatch",
			message: "Protobuf message (type envoy.config.bootstrap.v3.Bootstrap(root) with unknown field set {15}) has unknown fields",
		},
		{
			name: "a bootstrap in YAML that Envoy reads as text proto", file: "bootstrap.pb_text", text: found("alt_stat_name: a"),
			kind: diag.Rejected, rule: "syntax", message: "Unable to parse file \"bootstrap.pb_text\" as a text protobuf (type envoy.config.bootstrap.v3.Bootstrap)",
		},
		{
			name: "a bootstrap in YAML in a file for JSON lines", file: "bootstrap.jsonl", text: "node: {id: a}\n" + found("alt_stat_name: a"),
			kind: diag.Rejected, rule: "yaml-document", message: invalid + ", near <pos>: unexpected character: 'n'; expected '{')",
		},
		{
			name: "null alone in JSON", file: "eds.json", text: "null\n",
			kind: diag.Rejected, rule: "yaml-document", message: strings.Replace(inFile, "yaml", "json", 1) + ", near <pos>: unexpected character: 'n'; expected '{')",
		},
		{
			name: "a number in JSON that no reader takes, in a string", file: "bootstrap.json", text: jsonEndpoint(`"hostname": 05`),
			kind: diag.Rejected, rule: "syntax", message: invalid + endpoint + ".hostname: string, near <pos>: unexpected character: '0'; expected '\"')",
		},
		{
			name: "a broken list in JSON, in a string", file: "bootstrap.json", text: jsonEndpoint(`"hostname": [5,,6]`),
			kind: diag.Rejected, rule: "syntax", message: invalid + endpoint + ".hostname: string, near <pos>: unexpected character: '['; expected '\"')",
		},
		{
			name: "a broken number in JSON, in a boolean", file: "bootstrap.json", text: jsonEndpoint(`"health_check_config": {"disable_active_health_check": 05}`),
			kind: diag.Rejected, rule: "syntax", message: invalid + endpoint + ".health_check_config.disable_active_health_check: bool, near <pos>: expected 'true' or 'false')",
		},
		{
			name: "a comma too many in JSON", file: "bootstrap.json", text: jsonCluster(`"connect_timeout": 5,,`),
			kind: diag.Rejected, rule: "syntax", message: invalid + cluster + "connect_timeout: message google.protobuf.Duration, near <pos>: unexpected character: '5'; expected '\"')",
		},
		{
			name: "a wrong type before a syntax error", file: "bootstrap.json", text: jsonEndpoint(`"hostname": 5, "health_check_config": {,}`),
			kind: diag.Rejected, rule: "syntax", message: invalid + endpoint + ".hostname: string, near <pos>: unexpected character: '5'; expected '\"')",
		},
		{
			name: "a syntax error in an unknown field", file: "bootstrap.json", text: jsonEndpoint(`"x": [1,,]`),
			kind: diag.Rejected, rule: "syntax", message: invalid + endpoint + ": message envoy.config.endpoint.v3.Endpoint, near <pos>: unexpected character: ',')",
		},
		{
			name: "a syntax error for a map", file: "bootstrap.json", text: jsonCluster(`"metadata": {"filter_metadata": tru}`),
			kind: diag.Rejected, rule: "syntax",
			message: invalid + cluster + "metadata.filter_metadata: message envoy.config.core.v3.Metadata.FilterMetadataEntry, near <pos>: unexpected character: 't'; expected '{')",
		},
		{
			name: "a broken number in a Struct", file: "bootstrap.json", text: jsonCluster(`"metadata": {"filter_metadata": {"a": {"b": 05}}}`),
			kind: diag.Rejected, rule: "syntax",
			message: invalid + cluster + "metadata.filter_metadata[0].<struct>[0].number_value: double, near <pos>: number cannot have extraneous leading zero)",
		},
		{
			name: "a broken list in a Struct", file: "bootstrap.json", text: jsonCluster(`"metadata": {"filter_metadata": {"a": {"b": [,]}}}`),
			kind: diag.Rejected, rule: "syntax",
			message: invalid + cluster + "metadata.filter_metadata[0].<struct>[0].list_value.<list>[0]: message google.protobuf.Value, near <pos>: unexpected character: ',')",
		},
		{
			name: "JSON that nests too deep in a Struct", file: "bootstrap.json",
			text: jsonCluster(`"metadata": {"filter_metadata": {"a": {"b": ` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + "}}}"),
			kind: diag.Rejected, rule: "nesting-too-deep", message: invalid + cluster + "metadata.filter_metadata[0].<struct>[0].list_value.<list>[0].list_value",
		},
		{
			name: "JSON that nests too deep in an unknown field", file: "bootstrap.json", text: jsonEndpoint(`"x": ` + strings.Repeat("[", 99) + strings.Repeat("]", 99)),
			kind: diag.Rejected, rule: "nesting-too-deep", message: invalid + endpoint + ": message envoy.config.endpoint.v3.Endpoint, near <pos>: JSON content was too deeply nested)",
		},
		{
			name: "a single quote where a mapping belongs", file: "bootstrap.json", text: jsonCluster(`"metadata": 'a'`),
			kind: diag.Rejected, rule: "value-type", message: invalid + cluster + "metadata: message envoy.config.core.v3.Metadata, near <pos>: unexpected character: '''; expected '{')",
		},
		{
			name: "a value in lists inside a list", file: "bootstrap.json", text: jsonCluster(`"health_checks": [[[5]]]`),
			kind: diag.Rejected, rule: "value-type", message: invalid + cluster + "health_checks[2]: message envoy.config.core.v3.HealthCheck, near <pos>: unexpected character: '5'; expected '{')",
		},
		{
			name: "the end of the text where a list belongs", file: "bootstrap.json", text: `{"static_resources": {"clusters":`,
			kind: diag.Rejected, rule: "syntax", message: "Unable to parse JSON as proto (INVALID_ARGUMENT: unexpected EOF)",
		},
		{
			name: "the next line of YAML in a number", file: "bootstrap.yaml",
			text: found(`alt_stat_name: "a\N\_", common_lb_config: {healthy_panic_threshold: {value: "5\N"}}`), kind: diag.Accept,
		},
		{
			name: "a syntax error in a resource", file: "eds.json", text: `{"resources": [{"@type": "` + claURL + `", "cluster_name": 05}]}`,
			kind: diag.Rejected, rule: "syntax",
			message: strings.Replace(inFile, "yaml", "json", 1) + " @ resources[0]: message google.protobuf.Any, near <pos>: number cannot have extraneous leading zero)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			loaded := eds.NewLoader(eds.Options{}).Load(tt.file, []byte(tt.text), true)
			report := validate.Run(loaded.Resources, validate.Options{})
			if len(report.Resources) == 0 {
				t.Fatal("no resources")
			}
			got := report.Resources[0].Verdicts[diag.Envoy]
			if got.Kind != tt.kind || got.Rule != tt.rule || !strings.HasPrefix(got.Message, tt.message) {
				t.Errorf("verdict %+v, want %s by %s: %s", got, tt.kind, tt.rule, tt.message)
			}
		})
	}
}

// jsonCluster is a bootstrap in JSON with a cluster that has fields more.
func jsonCluster(fields string) string {
	return `{"static_resources": {"clusters": [{"name": "v", "type": "STATIC", "load_assignment": {"cluster_name": "v"}, ` + fields + "}]}}\n"
}

// jsonEndpoint is a bootstrap in JSON with an endpoint that has these fields.
func jsonEndpoint(fields string) string {
	return `{"static_resources": {"clusters": [{"name": "v", "type": "STATIC", "load_assignment": {"cluster_name": "v", "endpoints": ` +
		`[{"lb_endpoints": [{"endpoint": {` + fields + "}}]}]}}]}}\n"
}

// jsonSocket is a bootstrap in JSON with a socket address that has these fields beside its address.
func jsonSocket(fields string) string {
	return jsonEndpoint(`"address": {"socket_address": {"address": "192.0.2.1", ` + fields + "}}")
}
