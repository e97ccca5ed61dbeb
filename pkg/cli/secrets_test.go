package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/edsctl/edsctl/pkg/xds"
)

// echoed is what a server says when it repeats the credentials of a stream.
func echoed(st grpc.ServerStream) string {
	md, _ := metadata.FromIncomingContext(st.Context())
	return strings.Join(append(md.Get("authorization"), md.Get("x-key")...), " ")
}

// TestEchoedSecrets asks servers that repeat the token and the headers in every text of theirs: neither is printed or recorded.
func TestEchoedSecrets(t *testing.T) {
	t.Parallel()
	denied := func(st grpc.ServerStream) error {
		return grpcstatus.Error(codes.PermissionDenied, "denied "+echoed(st))
	}
	answered := func(st grpc.ServerStream) error {
		if err := st.RecvMsg(&discoveryv3.DiscoveryRequest{}); err != nil {
			return err
		}
		said := echoed(st)
		m := sotw(xds.AssignmentURL(xds.V3), said, said, withEndpoints("a", 1, 0))
		m.ControlPlane = &corev3.ControlPlane{Identifier: said}
		m.ResourceErrors = []*discoveryv3.ResourceError{{
			ResourceName: &discoveryv3.ResourceName{Name: "b"}, ErrorDetail: &status.Status{Code: int32(codes.Internal), Message: said},
		}}
		if err := st.SendMsg(m); err != nil {
			return err
		}
		return st.RecvMsg(&discoveryv3.DiscoveryRequest{})
	}
	rest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Get("authorization") + " " + r.Header.Get("x-key")
		if strings.HasSuffix(r.Header.Get("x-mode"), "status") {
			http.Error(w, strings.Repeat("x", 190)+said, http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, strings.TrimPrefix(r.Header.Get("authorization"), "Bearer "))
	}))
	t.Cleanup(rest.Close)
	streams := func(run func(grpc.ServerStream) error) []string {
		addr, stop := serveStream(t, run)
		t.Cleanup(stop)
		return []string{"--server", addr, "--plaintext", "--service", "eds"}
	}
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	secrets := []string{"tokentokentokentokentokentokentokentoken", "SEKRET2"}
	if err := os.WriteFile(token, []byte(secrets[0]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asREST := []string{"--server", rest.URL, "--transport", "rest"}
	tests := []struct {
		name string
		args []string
		want string // what takes the place of the secrets
	}{
		{"fetch", append([]string{"fetch"}, streams(denied)...), "PermissionDenied: denied Bearer *** ***"},
		{"fetch of an answer", append([]string{"fetch", "--ack", "valid"}, streams(answered)...), "Internal: Bearer *** ***"},
		{"watch", append([]string{"watch", "-o", "ndjson", "--for", "1s"}, streams(denied)...), `denied Bearer *** ***`},
		{"watch of an answer", append([]string{"watch", "-o", "ndjson", "--max-updates", "1", "-v"}, streams(answered)...), `"version_info":"Bearer *** ***"`},
		{"REST status", append([]string{"fetch", "-H", "x-mode: status"}, asREST...), "Bearer ***"},
		{"REST body", append([]string{"fetch", "-H", "x-mode: body"}, asREST...), "the answer is no DiscoveryResponse in JSON"},
		{"diff", []string{"diff", "xds://" + streams(denied)[1] + "/a", "-", "--plaintext"}, "denied Bearer *** ***"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			recording := filepath.Join(dir, fmt.Sprint(i))
			args := append(tt.args, "--bearer-token-file", token, "-H", "x-key: "+secrets[1])
			if tt.name != "diff" {
				args = append(args, "a", "b", "-vv", "--record", recording)
			}
			stdout, stderr, _ := runMain(t, args...)
			if !strings.Contains(stdout+stderr, tt.want) {
				t.Errorf("lacks %q:\n%s%s", tt.want, stdout, stderr)
			}
			for _, s := range append(secrets, secrets[0][:20]) {
				if strings.Contains(stdout+stderr+recorded(t, recording), s) {
					t.Errorf("%q is in\n%s%s%s", s, stdout, stderr, recorded(t, recording))
				}
			}
		})
	}
}

// recorded is a recording with its messages decoded; empty: there is none.
func recorded(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		var event struct{ Message string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		message, err := base64.StdEncoding.DecodeString(event.Message)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(line)
		out.Write(message)
	}
	return out.String()
}
