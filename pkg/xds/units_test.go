package xds

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/edsctl/edsctl/pkg/diag"
)

func TestParseServer(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	tests := []struct {
		in, target string
		plaintext  *bool
		err        string
	}{
		{in: "localhost:18000", target: "localhost:18000"},
		{in: "[::1]:18000", target: "[::1]:18000"},
		{in: "unix:/run/xds.sock", target: "unix:/run/xds.sock", plaintext: &yes},
		{in: "http://cp", target: "cp:80", plaintext: &yes},
		{in: "https://cp", target: "cp:443", plaintext: &no},
		{in: "https://cp:8443/v3", target: "cp:8443", plaintext: &no},
		{in: "xds://cp:1", target: "cp:1"},
		{in: "dns:///cp:1", target: "dns:///cp:1"},
		{in: "localhost", err: "must be HOST:PORT"},
		{in: "ftp://cp", err: `unknown scheme "ftp"`},
		{in: "grpc://cp", err: "has no port"},
		{in: "u:p@cp:1", err: "a user or password is not accepted"},
		{in: "cp:1:2", err: "must be HOST:PORT, a URL or unix:PATH: too many colons in address"},
		{in: "https://u:p@cp", err: "a user or password is not accepted"},
		{in: "unix:", err: "needs a path"},
	}
	for _, tt := range tests {
		target, plaintext, err := ParseServer(tt.in)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "u:p") {
				t.Errorf("%s: error %v, want %q", tt.in, err, tt.err)
			}
		case err != nil || target != tt.target || !cmp.Equal(plaintext, tt.plaintext):
			t.Errorf("%s: %q, %v, %v", tt.in, target, plaintext, err)
		}
	}
}

func TestReadBootstrap(t *testing.T) {
	t.Parallel()
	node := &corev3.Node{Id: "n1", Cluster: "c1"}
	tests := []struct {
		name, text string
		want       Bootstrap
		err        string
	}{
		{
			name: "Envoy, ADS over TLS",
			text: `
node: {id: n1, cluster: c1}
dynamic_resources:
  cds_config: {ads: {}}
  ads_config:
    api_type: DELTA_GRPC
    set_node_on_first_message_only: true
    grpc_services: [{envoy_grpc: {cluster_name: cp, authority: cp.example}, initial_metadata: [{key: x-token, value: s3cret}]}]
static_resources:
  clusters:
  - name: cp
    load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: cp.example, port_value: 443}}}}]}]}
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        sni: sni.example
        common_tls_context:
          validation_context: {trusted_ca: {filename: ca.pem}}
          tls_certificates: [{certificate_chain: {filename: c.pem}, private_key: {filename: k.pem}}]
  - {name: fixed, type: EDS, eds_cluster_config: {service_name: svc, eds_config: {ads: {}}}}
`,
			want: Bootstrap{
				Node: node, NodeOnce: true, Target: "cp.example:443", CACert: "ca.pem", Cert: "c.pem", Key: "k.pem", SNI: "sni.example", Authority: "cp.example",
				Headers: []Header{{"x-token", "s3cret"}}, Transport: Delta, Service: ServiceADS, StaticClusters: []string{"cp", "fixed"}, StaticEDS: []string{"svc"}, HasCDS: true,
			},
		},
		{
			name: "Envoy in JSON and camel case, EDS over REST on a socket",
			text: `{"node":{"id":"n1","cluster":"c1"},"staticResources":{"clusters":[
{"name":"a","type":"EDS","edsClusterConfig":{"edsConfig":{"apiConfigSource":{"apiType":"REST","clusterNames":["cp"]}}}},
{"name":"cp","loadAssignment":{"endpoints":[{"lbEndpoints":[{"endpoint":{"address":{"pipe":{"path":"/run/cp.sock"}}}}]}]}}]}}`,
			want: Bootstrap{
				Node: node, Target: "unix:/run/cp.sock", Plaintext: true, Transport: REST, Service: ServiceEDS, StaticClusters: []string{"a", "cp"}, StaticEDS: []string{"a"},
			},
		},
		{
			name: "booleans and ports in every spelling",
			text: `
node: {id: n1, cluster: c1}
dynamic_resources: {ads_config: {set_node_on_first_message_only: on, grpc_services: [{envoy_grpc: {cluster_name: cp}}]}}
static_resources:
  clusters:
  - {name: cp, load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: "::1", port_value: "443"}}}}]}]}}
`,
			want: Bootstrap{Node: node, NodeOnce: true, Target: "[::1]:443", Plaintext: true, Service: ServiceADS, StaticClusters: []string{"cp"}},
		},
		{
			name: "gRPC",
			text: `{"xds_servers":[{"server_uri":"cp:1","channel_creds":[{"type":"other"},{"type":"tls","config":{"ca_certificate_file":"ca.pem"}}],
"call_creds":[{"type":"jwt_token_file","config":{"jwt_token_file":"token"}}]},{"server_uri":"two:1"}],"node":{"id":"n1","cluster":"c1"}}`,
			want: Bootstrap{
				Node: node, NodeOnce: true, Target: "cp:1", CACert: "ca.pem", TokenFile: "token", Transport: SotW, Service: ServiceADS, HasCDS: true, GRPC: true,
				Notes: []string{"the first of 2 xds_servers is asked"},
			},
		},
		{name: "no server_uri", text: `{"xds_servers":[{}]}`, err: "`server_uri` field in server config cannot be empty"},
		{name: "no servers", text: `{"xds_servers":[]}`, err: "required field `xds_servers` not found"},
		{name: "no credentials", text: `{"xds_servers":[{"server_uri":"a:1"}]}`, err: "`channel_creds` field in server config cannot be empty"},
		{name: "an assignment", text: "cluster_name: a\n", err: "is no bootstrap"},
		{name: "a list", text: "- a\n", err: "it is not a mapping"},
		{name: "a bad node", text: "node: {id: [1]}\n", err: "node: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadBootstrap([]byte(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	b := &backoff{rand: rand.New(rand.NewPCG(1, 2))}
	for _, limit := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
		if wait := b.next(); wait < 0 || wait >= limit {
			t.Errorf("waits %v, want less than %v", wait, limit)
		}
	}
	for range 100 {
		if wait := b.next(); wait >= 30*time.Second {
			t.Errorf("waits %v, more than ever", wait)
		}
	}
	b.reset()
	if wait := b.next(); wait >= 500*time.Millisecond {
		t.Errorf("after a message it waits %v", wait)
	}
}

// TestBearerToken reads the token anew for every stream, and an absent file fails before anything is sent.
func TestBearerToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	d := Dial{TokenFile: file, Headers: []Header{{"x-a", "1"}}}
	if _, err := d.headers(t.Context()); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v without the file", err)
	}
	for _, token := range []string{"one", "two\n"} {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		md, err := d.headers(t.Context())
		if err != nil || md.Get("authorization")[0] != "Bearer "+strings.TrimSpace(token) || md.Get("x-a")[0] != "1" {
			t.Errorf("headers %v, %v", md, err)
		}
	}
}

// fixedSession is a session for name a with a clock at zero.
func fixedSession(o Options) *session {
	o.Now = func() time.Time { return time.Unix(0, 0) }
	s := newSession(o.withDefaults(), []string{"a"}, false)
	s.opened(s.edsURL)
	s.drain()
	return s
}

func sotw(t *testing.T, version string, resources ...*anypb.Any) *response {
	t.Helper()
	return fromSotW(&discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: "n" + version, TypeUrl: AssignmentURL(V3), Resources: resources})
}

// TestAckModes answers a response that the callback refuses.
func TestAckModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[AckMode]string{AckAlways: "ack 1", AckValid: "nack ", AckNever: ""} {
		s := fixedSession(Options{Ack: mode})
		var ev Event
		s.receive(sotw(t, "1", anyOf(t, cla("a", "127.0.0.1"))), time.Unix(1, 0), &ev, func(*Event) error { return errors.New("no") })
		got := ""
		for _, out := range s.drain() {
			got = string(out.ack) + " " + out.msg.(*discoveryv3.DiscoveryRequest).GetVersionInfo()
		}
		if got != want {
			t.Errorf("%s: sent %q, want %q", mode, got, want)
		}
	}
}

// TestClientGRPC refuses as grpc-go does: code 3, and a heartbeat is no resource.
func TestClientGRPC(t *testing.T) {
	t.Parallel()
	s := fixedSession(Options{Ack: AckValid, Client: diag.GRPC})
	heartbeat := anyOf(t, &discoveryv3.Resource{Name: "a", Version: "1", Ttl: durationpb.New(time.Second)})
	var ev Event
	s.receive(sotw(t, "1", heartbeat), time.Unix(1, 0), &ev, func(*Event) error { return nil })
	detail := s.drain()[0].detail
	if want := `error parsing "EndpointsResource" response: top level errors: unexpected resource type: "" `; detail.GetCode() != 3 || detail.GetMessage() != want {
		t.Errorf("refused with %v", detail)
	}
}

// TestTTL lets a resource run out, and a heartbeat keep one alive.
func TestTTL(t *testing.T) {
	t.Parallel()
	s := fixedSession(Options{Ack: AckValid})
	wrapped := anyOf(t, &discoveryv3.Resource{Name: "a", Version: "x", Ttl: durationpb.New(10 * time.Second), Resource: anyOf(t, cla("a", "127.0.0.1"))})
	heartbeat := anyOf(t, &discoveryv3.Resource{Name: "a", Version: "x", Ttl: durationpb.New(10 * time.Second)})
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	var ev Event
	s.receive(sotw(t, "1", wrapped), at(0), &ev, func(*Event) error { return nil })
	ev = Event{}
	s.receive(sotw(t, "1", heartbeat), at(8), &ev, func(*Event) error { return nil })
	if !ev.Resources[0].Heartbeat {
		t.Error("the heartbeat was not recognised")
	}
	if expired, _ := s.tick(at(17)); expired != nil || s.deadline() != at(18) {
		t.Errorf("expired %v before its time, next at %v", expired, s.deadline())
	}
	if expired, _ := s.tick(at(18)); !cmp.Equal(expired, []string{"a"}) {
		t.Errorf("expired %v, want a", expired)
	}
}

// TestStalled waits for a first assignment in vain, and for one after the cluster changed (cases 94 and 101).
func TestStalled(t *testing.T) {
	t.Parallel()
	s := fixedSession(Options{})
	if _, stalled := s.tick(time.Unix(15, 0)); !cmp.Equal(stalled, []string{"a"}) {
		t.Errorf("stalled %v, want a", stalled)
	}
	o := Options{Ack: AckValid, Now: func() time.Time { return time.Unix(0, 0) }}
	s = newSession(o.withDefaults(), nil, true)
	s.opened(s.cdsURL, s.edsURL)
	receive := func(seconds int64, r *response) {
		var ev Event
		s.receive(r, time.Unix(seconds, 0), &ev, func(*Event) error { return nil })
	}
	clusters := func(version, service string) *response {
		return fromSotW(&discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: version, TypeUrl: s.cdsURL, Resources: []*anypb.Any{anyOf(t, edsCluster("a", service))}})
	}
	receive(0, clusters("1", "svc"))
	receive(1, sotw(t, "1", anyOf(t, cla("svc", "127.0.0.1"))))
	receive(2, clusters("2", "svc2"))
	if _, stalled := s.tick(time.Unix(16, 0)); stalled != nil {
		t.Errorf("stalled %v before its time", stalled)
	}
	s.drain()
	if _, stalled := s.tick(time.Unix(17, 0)); !cmp.Equal(stalled, []string{"svc2"}) {
		t.Errorf("stalled %v, want svc2", stalled)
	}
	if out := s.drain(); len(out) != 2 || out[1].typeURL != s.cdsURL || out[1].ack != ACK {
		t.Errorf("after the wait %d requests, want the shorter list and the acknowledgement of the clusters", len(out))
	}
}

// TestLEDSIsNamed tells of endpoints that are not followed.
func TestLEDSIsNamed(t *testing.T) {
	t.Parallel()
	leds := &endpointv3.ClusterLoadAssignment{ClusterName: "a", Endpoints: []*endpointv3.LocalityLbEndpoints{{
		LbConfig: &endpointv3.LocalityLbEndpoints_LedsClusterLocalityConfig{LedsClusterLocalityConfig: &endpointv3.LedsClusterLocalityConfig{LedsCollectionName: "xdstp://x/c/*"}},
	}}}
	o := testOptions(serveScript(t, answer(&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: AssignmentURL(V3), Resources: []*anypb.Any{anyOf(t, leds)}})))
	var notes []string
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := Fetch(ctx, o, []string{"a"}, func(ev *Event) error {
		if ev.Kind == Note {
			notes = append(notes, ev.Text)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "LEDS is not followed") {
		t.Errorf("notes %q", notes)
	}
}

// TestUnwatched sends assignments after the last cluster with EDS has gone: Envoy answers with its old version, and an
// empty response not at all (testdata/vectors/envoy-xds/envoy-with-go-control-plane).
func TestUnwatched(t *testing.T) {
	t.Parallel()
	for mode, want := range map[AckMode]string{AckValid: " e1 n2", AckAlways: "ack e2 n2"} {
		o := Options{Ack: mode, Now: func() time.Time { return time.Unix(0, 0) }}
		s := newSession(o.withDefaults(), nil, true)
		s.opened(s.cdsURL, s.edsURL)
		receive := func(r *response) {
			var ev Event
			s.receive(r, time.Unix(1, 0), &ev, func(*Event) error { return nil })
		}
		clusters := func(version string, list ...*anypb.Any) *response {
			return fromSotW(&discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: version, TypeUrl: s.cdsURL, Resources: list})
		}
		assignments := func(version, nonce string, list ...*anypb.Any) *response {
			return fromSotW(&discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: nonce, TypeUrl: s.edsURL, Resources: list})
		}
		receive(clusters("c1", anyOf(t, edsCluster("a", ""))))
		receive(assignments("e1", "n1", anyOf(t, cla("a", "127.0.0.1"))))
		receive(clusters("c2"))
		s.drain()
		receive(assignments("e2", "n2", anyOf(t, cla("a", "127.0.0.2"))))
		got := ""
		for _, out := range s.drain() {
			m := out.msg.(*discoveryv3.DiscoveryRequest)
			got = string(out.ack) + " " + m.GetVersionInfo() + " " + m.GetResponseNonce()
		}
		if got != want {
			t.Errorf("%s: answers with %q, want %q", mode, got, want)
		}
		receive(assignments("e3", "n3"))
		if n := len(s.drain()); (n == 0) != (mode == AckValid) {
			t.Errorf("%s: %d answers to an empty response", mode, n)
		}
	}
}
