package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/xds"
)

// step is a message of a server once a request matches.
type step struct {
	await string // regular expression for requestText
	send  proto.Message
}

// requestText is a request in short: its type, its names, and the nonce that it answers.
func requestText(m proto.Message) string {
	kind := func(url string) string {
		if url == xds.ClusterURL(xds.V3) {
			return "cds"
		}
		return "eds"
	}
	switch m := m.(type) {
	case *discoveryv3.DiscoveryRequest:
		return fmt.Sprintf("%s %s nonce=%s", kind(m.GetTypeUrl()), strings.Join(m.GetResourceNames(), ","), m.GetResponseNonce())
	case *discoveryv3.DeltaDiscoveryRequest:
		return fmt.Sprintf("%s +%s -%s nonce=%s", kind(m.GetTypeUrl()), strings.Join(m.GetResourceNamesSubscribe(), ","),
			strings.Join(m.GetResourceNamesUnsubscribe(), ","), m.GetResponseNonce())
	}
	return ""
}

// play is a stream on which a server takes one step after the other, and then waits.
func play(steps []step) func(grpc.ServerStream) error {
	return func(st grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(st)
		for _, s := range steps {
			for done := false; !done; {
				var req proto.Message = &discoveryv3.DiscoveryRequest{}
				if strings.Contains(method, "/Delta") {
					req = &discoveryv3.DeltaDiscoveryRequest{}
				}
				if err := st.RecvMsg(req); err != nil {
					return err
				}
				done = regexp.MustCompile(s.await).MatchString(requestText(req))
			}
			if err := st.SendMsg(s.send); err != nil {
				return err
			}
		}
		<-st.Context().Done()
		return nil
	}
}

// sotw is a response of everything; typeURL is that of its resources.
func sotw(typeURL, version, nonce string, resources ...proto.Message) *discoveryv3.DiscoveryResponse {
	out := &discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: nonce, TypeUrl: typeURL}
	for _, r := range resources {
		any, err := anypb.New(r)
		if err != nil {
			panic(err) // a mistake in the test
		}
		out.Resources = append(out.Resources, any)
	}
	return out
}

// garbled is a response with an assignment of "a" that ends in the middle.
func garbled(version string) *discoveryv3.DiscoveryResponse {
	url := xds.AssignmentURL(xds.V3)
	return &discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: version, TypeUrl: url, Resources: []*anypb.Any{{TypeUrl: url, Value: []byte("\x0a\x01a\x12")}}}
}

// delta is a response of changes.
func delta(typeURL, version, nonce string, removed []string, resources ...proto.Message) *discoveryv3.DeltaDiscoveryResponse {
	out := &discoveryv3.DeltaDiscoveryResponse{SystemVersionInfo: version, Nonce: nonce, TypeUrl: typeURL, RemovedResources: removed}
	for i, any := range sotw(typeURL, "", "", resources...).GetResources() {
		name := ""
		switch r := resources[i].(type) {
		case *clusterv3.Cluster:
			name = r.GetName()
		case *endpointv3.ClusterLoadAssignment:
			name = r.GetClusterName()
		}
		out.Resources = append(out.Resources, &discoveryv3.Resource{Name: name, Version: version, Resource: any})
	}
	return out
}

// overADS is a cluster whose endpoints come over the same stream.
func overADS(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ResourceApiVersion: corev3.ApiVersion_V3, ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		}},
	}
}

// withHost is an assignment that Envoy refuses: its address is a host name.
func withHost(name, host string) *endpointv3.ClusterLoadAssignment {
	out := withEndpoints(name, 1, 1)
	out.Endpoints[0].LbEndpoints[0].GetEndpoint().GetAddress().GetSocketAddress().Address = host
	return out
}

// untimed are the lines of a watch without their times.
func untimed(out string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		_, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		lines = append(lines, line)
	}
	return lines
}

func TestWatchLines(t *testing.T) {
	t.Parallel()
	cds, eds := xds.ClusterURL(xds.V3), xds.AssignmentURL(xds.V3)
	failing := sotw(eds, "1", "1", withEndpoints("a", 1, 1))
	failing.ResourceErrors = []*discoveryv3.ResourceError{{
		ResourceName: &discoveryv3.ResourceName{Name: "b"}, ErrorDetail: &status.Status{Code: int32(codes.NotFound), Message: "no\nsuch \x1b[31mthing"},
	}}
	refused := []step{
		{`^eds a,bad nonce=$`, sotw(eds, "1", "1", withEndpoints("a", 1, 1), withHost("bad", "host.example"))},
		{`nonce=1$`, sotw(eds, "2", "2", withEndpoints("a", 2, 1), withHost("bad", "host.example"))},
		{`nonce=2$`, sotw(eds, "3", "3", withEndpoints("a", 1, 1), withHost("bad", "other.example"))},
		{`nonce=3$`, sotw(eds, "4", "4", withEndpoints("a", 1, 1), withEndpoints("bad", 2, 1))},
		{`nonce=4$`, sotw(eds, "5", "5", withEndpoints("a", 1, 1), withHost("bad", "other.example"))},
	}
	const refusal = `; envoy refuses it and keeps the last version; error: `
	tests := []struct {
		name  string
		args  []string
		steps []step
		want  []string // the text before each line's first finding
	}{
		{
			name: "delta", args: []string{"--transport", "delta", "--until", "size(endpoints) >= 3"},
			steps: []step{
				{`^cds`, delta(cds, "1", "1", nil, overADS("a"), overADS("b"))},
				{`^eds [+]a,b `, delta(eds, "1", "2", nil, withEndpoints("a", 2, 1), withEndpoints("b", 1, 1))},
				{`^eds .*nonce=2$`, delta(cds, "2", "3", nil, overADS("c"))},
				{`^eds [+]c `, delta(eds, "2", "4", nil, withEndpoints("c", 3, 1))},
				{`^eds .*nonce=4$`, delta(cds, "3", "5", []string{"a", "b"})},
			},
			want: []string{
				"-  1  2 clusters, 2 names for EDS", "a  1  2 endpoints", "b  1  1 endpoint", "-  2  3 clusters, 3 names for EDS", "c  2  3 endpoints",
				"-  3  1 cluster, 1 name for EDS",
			},
		},
		{
			name: "state of the world", args: []string{"--until", "size(endpoints) >= 3"},
			steps: []step{
				{`^cds`, sotw(cds, "1", "1", overADS("a"), overADS("b"))},
				{`^eds b,a nonce=$`, sotw(eds, "1", "2", withEndpoints("a", 3, 1), withEndpoints("b", 1, 1))},
				{`^eds .*nonce=2$`, sotw(cds, "2", "3", overADS("a"))},
			},
			want: []string{"-  1  2 clusters, 2 names for EDS", "a  1  3 endpoints", "b  1  1 endpoint", "-  2  1 cluster, 1 name for EDS"},
		},
		{
			name: "one more cluster in the same version", args: []string{"--max-updates", "2"},
			steps: []step{
				{`^cds`, sotw(cds, "1", "1", overADS("a"))},
				{`^eds a nonce=$`, sotw(eds, "1", "2", withEndpoints("a", 1, 1))},
				{`^eds .*nonce=2$`, sotw(cds, "1", "3", overADS("a"))},
				{`^cds .*nonce=3$`, sotw(cds, "1", "4", overADS("a"), overADS("b"))},
				{`^eds b,a nonce=2$`, sotw(eds, "2", "5", withEndpoints("a", 1, 1), withEndpoints("b", 1, 1))},
			},
			want: []string{"-  1  1 cluster, 1 name for EDS", "a  1  1 endpoint", "-  1  2 clusters, 2 names for EDS", "b  2  1 endpoint"},
		},
		{
			name: "a cluster that comes back waits for its assignment", args: []string{"--transport", "delta", "--until", "size(endpoints) >= 2"},
			steps: []step{
				{`^cds`, delta(cds, "1", "1", nil, overADS("a"), overADS("b"))},
				{`^eds [+]a,b `, delta(eds, "1", "2", nil, withEndpoints("a", 2, 1), withEndpoints("b", 1, 1))},
				{`^eds .*nonce=2$`, delta(cds, "2", "3", []string{"a"})},
				{`^cds .*nonce=3$`, delta(cds, "3", "4", []string{"b"}, overADS("a"))},
				{`^eds [+]a `, delta(eds, "3", "5", nil, withEndpoints("a", 2, 1))},
			},
			want: []string{
				"-  1  2 clusters, 2 names for EDS", "a  1  2 endpoints", "b  1  1 endpoint", "-  2  1 cluster, 1 name for EDS", "-  3  1 cluster, 1 name for EDS",
				"a  3  2 endpoints",
			},
		},
		{
			name: "what is refused is told once", args: []string{"a", "bad", "--max-updates", "7"}, steps: refused,
			want: []string{
				"a  1  1 endpoint", "bad  1  1 endpoint" + refusal, "a  2  +10.0.0.1:80; 50 % of the traffic moves", "a  3  -10.0.0.1:80; 50 % of the traffic moves",
				"bad  3  1 endpoint" + refusal, "bad  4  2 endpoints", "bad  5  +other.example:80; -10.0.0.0:80 -10.0.0.1:80" + refusal,
			},
		},
		{
			name: "what is no assignment is told once", args: []string{"a", "--max-updates", "2"},
			steps: []step{
				{`^eds`, sotw(eds, "1", "1", withEndpoints("a", 1, 1))}, {`nonce=1$`, garbled("2")}, {`nonce=2$`, garbled("3")},
				{`nonce=3$`, sotw(eds, "4", "4", withEndpoints("a", 2, 1))},
			},
			want: []string{
				"a  1  1 endpoint", "a  2  update: envoy refuses it and keeps the last version: the bytes are no ClusterLoadAssignment: cannot parse invalid wire-format data [resource-not-unpackable]",
				"a  4  +10.0.0.1:80; 50 % of the traffic moves",
			},
		},
		{
			name: "control characters", args: []string{"a", "b", "--max-updates", "2"},
			steps: []step{{`^eds`, failing}, {`nonce=1$`, sotw(eds, "2\n", "2", withEndpoints("a", 2, 1))}},
			want:  []string{"a  1  1 endpoint", "b  1  error: NotFound: no such \ufffd[31mthing", "a  2   +10.0.0.1:80; 50 % of the traffic moves"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			addr, stop := serveStream(t, play(tt.steps))
			defer stop()
			stdout, stderr, code := runMain(t, append([]string{"watch", "--server", addr, "--plaintext"}, tt.args...)...)
			got := untimed(stdout)
			for i, line := range got {
				if at := strings.Index(line, "; error: "); at >= 0 {
					got[i] = line[:at+len("; error: ")]
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || code != 0 {
				t.Errorf("exit code %d, %s(-want +got):\n%s", code, stderr, diff)
			}
		})
	}
	t.Run("first", func(t *testing.T) {
		t.Parallel()
		addr, stop := serveStream(t, play(refused))
		defer stop()
		stdout, stderr, code := runMain(t, "watch", "--server", addr, "--plaintext", "a", "bad", "--max-updates", "7", "-o", "ndjson")
		if n := strings.Count(stdout, `"first":true`); n != 2 || code != 0 {
			t.Errorf("exit code %d, %s; %d lines are the first of their name, want 2:\n%s", code, stderr, n, stdout)
		}
	})
}

// TestReplayLikeWatch replays what a watch recorded, with versions that the client refuses among them: the same lines.
func TestReplayLikeWatch(t *testing.T) {
	t.Parallel()
	eds := xds.AssignmentURL(xds.V3)
	recording := filepath.Join(t.TempDir(), "x.rec")
	addr, stop := serveStream(t, play([]step{
		{`^eds a,b nonce=$`, sotw(eds, "1", "1", withEndpoints("a", 1, 1), withEndpoints("b", 1, 1))},
		{`nonce=1$`, sotw(eds, "2", "2", withHost("a", "host.example"), withEndpoints("b", 1, 1))},
		{`nonce=2$`, garbled("3")},
		{`nonce=3$`, sotw(eds, "4", "4", withEndpoints("a", 2, 1), withEndpoints("b", 1, 1))},
	}))
	defer stop()
	watched, stderr, code := runMain(t, "watch", "a", "b", "--server", addr, "--plaintext", "--service", "eds", "--max-updates", "4", "--record", recording)
	if code != 0 {
		t.Fatalf("watch ends with %d: %s", code, stderr)
	}
	replayed, stderr, code := runMain(t, "replay", recording, "-o", "table")
	if diff := cmp.Diff(untimed(watched), untimed(replayed)); diff != "" || code != 0 || len(untimed(replayed)) != 5 {
		t.Errorf("exit code %d, %s(-watch +replay):\n%s", code, stderr, diff)
	}
	given, stderr, code := runMain(t, "replay", recording, "-o", "yaml")
	if code != 0 || strings.Count(given, "cluster_name:") != 2 || strings.Count(given, "address: 10.") != 3 {
		t.Errorf("exit code %d, %s:\n%s", code, stderr, given)
	}
}
