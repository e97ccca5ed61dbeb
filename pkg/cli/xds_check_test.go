package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/xds"
)

// TestClusterRefusals judges clusters as they come by CDS.
func TestClusterRefusals(t *testing.T) {
	t.Parallel()
	good := func(name string) *clusterv3.Cluster {
		return &clusterv3.Cluster{
			Name: name, ConnectTimeout: durationpb.New(time.Second), ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
				ResourceApiVersion: corev3.ApiVersion_V3, ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
			}},
		}
	}
	zero := good("zero")
	zero.ConnectTimeout = durationpb.New(0)
	static := &clusterv3.Cluster{Name: "static", ConnectTimeout: durationpb.New(time.Second)}
	dns := &clusterv3.Cluster{Name: "dns", ConnectTimeout: durationpb.New(time.Second), ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_LOGICAL_DNS}}
	flags := xdsCheck{validate: "on"}
	for _, f := range flags.profile.flags() {
		*f.value = f.byDefault
	}
	check := flags.newChecker(&Env{Getenv: func(string) string { return "" }}, &xds.Options{Ack: xds.AckValid})
	event := func(list ...*clusterv3.Cluster) *xds.Event {
		ev := &xds.Event{Kind: xds.Received, TypeURL: xds.ClusterURL(xds.V3)}
		for _, c := range list {
			ev.Clusters = append(ev.Clusters, xds.Cluster{Name: c.GetName(), Message: c})
		}
		return ev
	}
	ev := event(good("a"), static, dns)
	if err := check.event(ev); err != nil {
		t.Errorf("the response is refused: %v", err)
	}
	if ev.Clusters[0].Err != nil || ev.Clusters[1].Err != nil {
		t.Errorf("good clusters are refused: %v, %v", ev.Clusters[0].Err, ev.Clusters[1].Err)
	}
	if err := ev.Clusters[2].Err; err == nil || strings.Contains(err.Error(), "cluster(s)") {
		t.Errorf("a LOGICAL_DNS cluster without an endpoint: %v", err)
	}
	err := check.event(event(good("a"), zero))
	if err == nil || !strings.Contains(err.Error(), `name: "zero"`) || !strings.Contains(err.Error(), "Proto constraint validation failed (ClusterValidationError.ConnectTimeout") {
		t.Errorf("a cluster that breaks a constraint: %v", err)
	}
	zero.ConnectTimeout = durationpb.New(-time.Second)
	err = check.event(event(good("a"), zero))
	if err == nil || !strings.HasPrefix(err.Error(), "Invalid duration: Expected positive duration: goo.gle/debug") {
		t.Errorf("a cluster with a negative duration: %v", err)
	}
}

// TestFetchDuplicateName fetches a response with one name twice (case 99): both clients take it, Envoy the first copy.
func TestFetchDuplicateName(t *testing.T) {
	t.Parallel()
	resp := &discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: xds.AssignmentURL(xds.V3)}
	for i := range 2 {
		any, err := anypb.New(withEndpoints("twice", i+1, 1))
		if err != nil {
			t.Fatal(err)
		}
		resp.Resources = append(resp.Resources, any)
	}
	addr, stop := serveOnce(t, resp)
	defer stop()
	stdout, stderr, _ := runMain(t, "fetch", "twice", "--server", addr, "--plaintext", "--service", "eds", "--fail-on", "never", "-v")
	if n := strings.Count(stdout, "address: 10."); n != 1 {
		t.Errorf("%d endpoints are printed, want those of the first copy:\n%s", n, stdout)
	}
	for _, want := range []string{"[resource-duplicate-name]", "sent ACK"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, stderr)
		}
	}
	addr, stopSecond := serveOnce(t, resp)
	defer stopSecond()
	stdout, _, _ = runMain(t, "fetch", "twice", "--server", addr, "--plaintext", "--service", "eds", "--fail-on", "never", "--client", "grpc")
	if n := strings.Count(stdout, "address: 10."); n != 2 {
		t.Errorf("%d endpoints are printed for gRPC, want those of the last copy:\n%s", n, stdout)
	}
}

// TestHostileServer prints what a server says without the control characters that it may hold.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	got := connectionError(xds.Options{Dial: xds.Dial{Target: "cp:1"}}, &xds.StreamError{Code: 7, Text: "no\x1b[31m\nhint: do it"}).Error()
	if want := "cp:1: the server refuses these credentials for this node (PermissionDenied: no\ufffd[31m hint: do it)"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
}

// TestFetchBroken fetches what holds no assignment: a finding and exit code 1, as from a file.
func TestFetchBroken(t *testing.T) {
	t.Parallel()
	wrapper, err := anypb.New(&discoveryv3.Resource{Name: "a", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		body *anypb.Any
		want []string // parts of standard error
	}{
		{"bytes that are no message", &anypb.Any{TypeUrl: xds.AssignmentURL(xds.V3), Value: []byte("\x0a\x01a\xff\xff")}, []string{"[resource-not-unpackable]", "envoy: reject: Unable to unpack as envoy.config.endpoint.v3.ClusterLoadAssignment"}},
		{"text that is not UTF-8", &anypb.Any{TypeUrl: xds.AssignmentURL(xds.V3), Value: []byte("\x0a\x01a\x12\x05\x0a\x03\x0a\x01\xff")}, []string{"invalid UTF-8"}},
		{"a wrapper without a body", wrapper, []string{"[resource-without-body]", "envoy: reject: Unexpected EDS cluster (expecting a): "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			addr, stop := serveOnce(t, &discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: xds.AssignmentURL(xds.V3), Resources: []*anypb.Any{tt.body}})
			defer stop()
			stdout, stderr, code := runMain(t, "fetch", "a", "--server", addr, "--plaintext", "--service", "eds", "--timeout", "5s")
			if code != exitFindings || stdout != "" {
				t.Errorf("exit code %d, want %d; standard output %q", code, exitFindings, stdout)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("standard error lacks %q:\n%s", want, stderr)
				}
			}
		})
	}
}

// runMain runs a command line in an empty environment. It is an error when it does not end within a minute.
func runMain(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	env := Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
		UserConfigDir: func() (string, error) { return "", errors.New("none") },
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if code = Main(ctx, env, args); ctx.Err() != nil {
		t.Errorf("%q did not end", args)
	}
	return out.String(), errs.String(), code
}

// TestFetchJudgesForClient: what fetch finds counts for the client that it asks as, unless --client says otherwise.
func TestFetchJudgesForClient(t *testing.T) {
	t.Parallel()
	// grpc-go takes an address that is no IP address, Envoy does not.
	named := withEndpoints("a", 1, 1)
	named.Endpoints[0].Locality, named.Endpoints[0].LoadBalancingWeight = &corev3.Locality{Zone: "z"}, wrapperspb.UInt32(1)
	named.Endpoints[0].LbEndpoints[0].GetEndpoint().GetAddress().GetSocketAddress().Address = "host.example"
	any, err := anypb.New(named)
	if err != nil {
		t.Fatal(err)
	}
	addr, stop := serveOnce(t, &discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: xds.AssignmentURL(xds.V3), Resources: []*anypb.Any{any}})
	defer stop()
	bootstrap := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(bootstrap, fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}], "node": {"id": "n"}}`, addr), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		want int
	}{
		{[]string{"--server", addr, "--plaintext"}, exitFindings},
		{[]string{"--server", addr, "--plaintext", "--client", "grpc"}, 0},
		{[]string{"--server", addr, "--plaintext", "--as", "grpc"}, 0},
		{[]string{"--server", addr, "--plaintext", "--as", "grpc", "--client", "envoy"}, exitFindings},
		{[]string{"--bootstrap", bootstrap}, 0},
		{[]string{"--bootstrap", bootstrap, "--client", "all"}, exitFindings},
	}
	for _, tt := range tests {
		if _, stderr, code := runMain(t, append([]string{"fetch", "a"}, tt.args...)...); code != tt.want {
			t.Errorf("%q: exit code %d, want %d\n%s", tt.args, code, tt.want, stderr)
		}
	}
}
