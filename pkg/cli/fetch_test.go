package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/xds"
)

// TestFetchVersions fetches an assignment under each spelling of its type: every output of it, and of its recording, is an
// input of the other commands.
func TestFetchVersions(t *testing.T) {
	t.Parallel()
	for _, v := range xds.ResourceVersions {
		resp := sotw(xds.AssignmentURL(v), "1", "1", withEndpoints("a", 1, 1)) // all versions have the same fields here
		for _, any := range resp.GetResources() {
			any.TypeUrl = resp.GetTypeUrl()
		}
		addr, stop := serveOnce(t, resp)
		t.Cleanup(stop)
		for _, format := range []string{"yaml", "json", "textpb", "pb"} {
			t.Run(string(v)+" "+format, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				recording := filepath.Join(dir, "x.rec")
				fetched, stderr, _ := runMain(t, "fetch", "a", "--server", addr, "--plaintext", "--service", "eds", "--resource-version", string(v),
					"-o", format, "-vv", "--record", recording)
				if strings.Contains(stderr, "unable to resolve") || !strings.Contains(stderr, `"cluster_name":`) {
					t.Errorf("the messages are not shown:\n%s", stderr)
				}
				replayed, stderr, _ := runMain(t, "replay", recording, "-o", format)
				if replayed != fetched {
					t.Errorf("replay gives\n%s\n%s, fetch\n%s", replayed, stderr, fetched)
				}
				file := filepath.Join(dir, "a")
				if err := os.WriteFile(file, []byte(fetched), 0o600); err != nil {
					t.Fatal(err)
				}
				converted, stderr, code := runMain(t, "convert", file, "--to-api-version", "v3", "--to-format", "json", "--to-shape", "assignment")
				if code != 0 || !strings.Contains(converted, `"cluster_name": "a"`) {
					t.Errorf("convert ends with %d, %s:\n%s", code, stderr, converted)
				}
			})
		}
	}
}

// TestFetchUnknownType shows a message with a resource of a type that edsctl does not know.
func TestFetchUnknownType(t *testing.T) {
	t.Parallel()
	resp := sotw(xds.AssignmentURL(xds.V3), "1", "1", withEndpoints("a", 1, 1))
	resp.Resources = append(resp.Resources, &anypb.Any{TypeUrl: "type.googleapis.com/foo.Bar", Value: []byte("\x0a\x01x")})
	addr, stop := serveStream(t, play([]step{{`^eds`, resp}}))
	defer stop()
	_, stderr, _ := runMain(t, "fetch", "a", "--server", addr, "--plaintext", "--service", "eds", "-vv")
	if !strings.Contains(stderr, `"version_info":"1"`) && !strings.Contains(stderr, `"version_info": "1"`) || !strings.Contains(stderr, "/foo.Bar") {
		t.Errorf("the message is not shown:\n%s", stderr)
	}
}

// TestFetchRefusedAsWhole fetches a good assignment beside a resource of another type: Envoy takes neither, and the error says
// so, since no finding does.
func TestFetchRefusedAsWhole(t *testing.T) {
	t.Parallel()
	resp := sotw(xds.AssignmentURL(xds.V3), "1", "1", withEndpoints("a", 1, 1), &corev3.Node{Id: "x"})
	addr, stop := serveStream(t, play([]step{{`^eds`, resp}}))
	defer stop()
	recording := filepath.Join(t.TempDir(), "x.rec")
	want := "edsctl: " + addr + ": envoy refuses the response as a whole, with every assignment in it: type.googleapis.com/envoy.config.core.v3.Node " +
		"does not match the message-wide type URL type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment in DiscoveryResponse\n"
	args := []string{"fetch", "a", "--server", addr, "--plaintext", "--service", "eds", "--record", recording}
	stdout, stderr, code := runMain(t, args...)
	if code != exitFindings || !strings.HasSuffix(stderr, want) || !strings.Contains(stdout, "cluster_name: a") {
		t.Errorf("exit code %d, %s\nwant the error %s", code, stderr, want)
	}
	if _, stderr, code := runMain(t, append(args, "--fail-on", "never")...); code != 0 || strings.Contains(stderr, "edsctl: ") {
		t.Errorf("with --fail-on never: exit code %d, %s", code, stderr)
	}
}

// TestFetchTooLargeForGRPC fetches more than grpc-go 1.85 takes: its stream ended with this error, again and again.
func TestFetchTooLargeForGRPC(t *testing.T) {
	t.Parallel()
	large := withEndpoints("a", 1, 1)
	large.Endpoints[0].Locality, large.Endpoints[0].LoadBalancingWeight = &corev3.Locality{}, wrapperspb.UInt32(1)
	large.Endpoints[0].LbEndpoints[0].GetEndpoint().Hostname = strings.Repeat("x", 4<<20)
	addr, stop := serveStream(t, play([]step{{`^eds`, sotw(xds.AssignmentURL(xds.V3), "1", "1", large)}}))
	defer stop()
	args := []string{"fetch", "a", "--server", addr, "--plaintext", "--service", "eds", "--output", "table"}
	want := "grpc refuses the response as a whole, with every assignment in it: rpc error: code = ResourceExhausted desc = grpc: received message larger than max ("
	if _, stderr, code := runMain(t, append(args, "--client", "grpc")...); code != exitFindings || !strings.Contains(stderr, want) || !strings.HasSuffix(stderr, "vs. 4194304)\n") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if _, stderr, code := runMain(t, args...); code != 0 {
		t.Errorf("Envoy: exit code %d, %s", code, stderr)
	}
}
