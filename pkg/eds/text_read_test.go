package eds

import (
	"reflect"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
)

// textSeeds are texts of several shapes, in the layouts that text protobuf allows.
var textSeeds = []string{
	"", "# nothing\n", "name: 'a' \"b\" type: STATIC, connect_timeout < seconds: 1; nanos: -0x0 >", "name\n:\n\"\\x41\\101\\u00e9\\n\"",
	"health_checks: [{ timeout { seconds: 1 } }, < >] health_checks {}", "health_checks: []", "lb_policy: 2 hosts { a: [1, 2] b: - 1 }",
	"metadata { filter_metadata { key: \"a\" value { fields { key: \"b\" value { number_value: -inf } } } } }",
	"load_assignment { endpoints { priority: 3 lb_endpoints { load_balancing_weight { value: 07 } } } }",
	"typed_extension_protocol_options { key: \"k\" value { [ type.googleapis.com / foo.Bar ] { a { b: 1 } } } } type: EDS",
	"transport_socket { name: \"tls\" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] { sni: \"a\" } } }",
	"name: \"a\" [x.y]: 1", "1: 2", "name: [\"a\"]", "name \"a\"", "a {", "a }", "a: [1", "[a/b] {}", "-", "a: -", "'", "name: \"a\nb\"", "a: [{}] b", "name: \"\\",
}

// FuzzText compares text protobuf with prototext: what that reads is read to the same message, and where the text has no
// Any of a type that is not linked nothing else is.
func FuzzText(f *testing.F) {
	for _, s := range textSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, m := range []proto.Message{&clusterv3.Cluster{}, &discoveryv3.DiscoveryResponse{}} {
			want, got := m, proto.Clone(m)
			wantErr, err := prototext.Unmarshal(src, want), UnmarshalText(src, got)
			if wantErr == nil && (err != nil || !proto.Equal(want, got)) {
				t.Errorf("%q: %v\ngot  %v\nwant %v", src, err, got, want)
			}
			if wantErr != nil && err == nil && !strings.Contains(wantErr.Error(), "unable to resolve") {
				t.Errorf("%q is read as %v, want %v", src, got, wantErr)
			}
		}
	})
}

// TestTextPlaces: errors and values are where they are written, also behind an Any that is replaced by its bytes.
func TestTextPlaces(t *testing.T) {
	t.Parallel()
	const head = "static_resources {\n  clusters {\n    name: \"a\"\n    typed_extension_protocol_options { key: \"x\" value { [type.googleapis.com/foo.Bar] {\n      y: 1 } } } "
	for text, want := range map[string]string{
		"é: 1":                         "1:1 unexpected character 'é'",
		"static_resources { x: 1 }":    "1:20 unknown field: x",
		head + "foo: 1 } }":            "5:18 unknown field: foo",
		head + "\n lb_policy: 'é' } }": "6:13 invalid value for enum type: 'é'",
	} {
		file := NewLoader(Options{Format: TextProto, Shape: ShapeBootstrap}).Load("a.pb_text", []byte(text), true)
		p := file.Resources[0].Problems[0]
		if got := p.Span.Start.String() + " " + p.Message; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	text := head + "load_assignment {\n  cluster_name: \"a\" endpoints { lb_endpoints: [{}, { metadata { filter_metadata { key: \"m\" value {} } } }] } } } }"
	res := NewLoader(Options{}).Load("a.pb_text", []byte(text), true).Resources[0]
	for path, want := range map[string]diag.Path{
		"6:17": diag.Path{}.Field("cluster_name"),
		"6:52": diag.Path{}.Field("endpoints").Index(0).Field("lb_endpoints").Index(1),
		"6:98": diag.Path{}.Field("endpoints").Index(0).Field("lb_endpoints").Index(1).Field("metadata.filter_metadata").Key("m"),
		"3:11": diag.Path{}.Field("cluster.name"),
		"1:18": diag.Path{}.Field("bootstrap.static_resources"),
	} {
		if got := res.Span(want).Start.String(); got != path {
			t.Errorf("%s is at %s, want %s", want, got, path)
		}
	}
}

// TestTextUnlinked: what edsctl looks at in an Any of a type that is not linked is the same in YAML and in text proto.
func TestTextUnlinked(t *testing.T) {
	t.Parallel()
	const tls = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	tests := []struct{ yaml, text string }{
		{"sni: a", `sni: "a"`},
		{"common_tls_context: {}", "common_tls_context {}"},
		{"common_tls_context: {tls_params: {}}", "common_tls_context { tls_params {} }"},
		{"common_tls_context: {validation_context: {ca_certificate_provider_instance: {instance_name: a}}}", `common_tls_context { validation_context { ca_certificate_provider_instance { instance_name: "a" } } }`},
		{"common_tls_context: {validation_context: {require_signed_certificate_timestamp: true}}", `common_tls_context { validation_context { require_signed_certificate_timestamp { value: true } } }`},
		{"common_tls_context: {tls_certificates: [{}]}", "common_tls_context { tls_certificates: [{}] }"},
		{"common_tls_context: {combined_validation_context: {default_validation_context: {verify_certificate_hash: [a]}}}", `common_tls_context { combined_validation_context { default_validation_context { verify_certificate_hash: "a" } } }`},
	}
	on := func(string) bool { return true }
	for _, tt := range tests {
		yaml := "name: a\nload_assignment: {cluster_name: a}\ntransport_socket: {name: envoy.transport_sockets.tls, typed_config: {\"@type\": type.googleapis.com/" + tls + ", " + tt.yaml + "}}\n"
		text := "name: \"a\" load_assignment { cluster_name: \"a\" } transport_socket { name: \"envoy.transport_sockets.tls\" typed_config { [type.googleapis.com/" + tls + "] { " + tt.text + " } } }"
		want := ReadGRPCSecurity(NewLoader(Options{}).Load("a.yaml", []byte(yaml), true).Resources[0].Cluster, on)
		got := ReadGRPCSecurity(NewLoader(Options{}).Load("a.pb_text", []byte(text), true).Resources[0].Cluster, on)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", tt.text, got, want)
		}
	}
	const http = "typed_extension_protocol_options { key: \"" + HTTPOptionsName + "\" value { [type.googleapis.com/" + HTTPOptionsName + "] { explicit_http_config { http2_protocol_options {} } " +
		"common_http_protocol_options { max_requests_per_connection { value: 5 } } } } }"
	c := NewLoader(Options{}).Load("a.pb_text", []byte("name: \"a\" load_assignment { cluster_name: \"a\" } "+http), true).Resources[0].Cluster
	want := HTTPOptions{Upstream: true, Explicit: true, Protocol: true, HTTP2: true, MaxRequests: true}
	if got, ok := c.HTTPOptions(); !ok || got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
