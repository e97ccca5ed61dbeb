package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFetchRESTLikeValidate fetches bodies over REST and validates the same bodies as files: the same rules fire, with the
// same exit code, and what is printed has nothing but what could be read.
func TestFetchRESTLikeValidate(t *testing.T) {
	t.Parallel()
	const head = `{"version_info":"1","resources":[`
	const typed = `{"@type":"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment","cluster_name":"a"`
	const endpoints = `,"endpoints":[{"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"1.2.3.4","port_value":80}}}}]}]`
	tests := []struct{ name, body string }{
		{"good", head + typed + endpoints + `}]}`},
		{"an unknown field", head + typed + endpoints + `,"foo":1}]}`},
		{"an unknown field around the resource", head + typed + endpoints + `}],"foo":1}`},
		{"no @type", head + `{"cluster_name":"a"` + endpoints + `}]}`},
		{"two of a name", head + typed + endpoints + `},` + typed + `}]}`},
		{"a key twice", head + typed + `,"cluster_name":"a"` + endpoints + `}]}`},
		{"a value out of range", head + typed + `,"endpoints":[{"priority":200}]}]}`},
		{"what only Envoy reads", head + typed + `,"endpoints":[{"lb_endpoints":[{"health_status":"draining"}]}]}]}`},
	}
	for _, tt := range tests {
		for _, unknown := range []string{"default", "strict", "ignore"} {
			t.Run(tt.name+" "+unknown, func(t *testing.T) {
				t.Parallel()
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.body) }))
				defer srv.Close()
				file := filepath.Join(t.TempDir(), "body.json")
				if err := os.WriteFile(file, []byte(tt.body), 0o600); err != nil {
					t.Fatal(err)
				}
				validated, _, wantCode := runMain(t, "validate", "--source", "rest", "--unknown-fields", unknown, file)
				stdout, stderr, code := runMain(t, "fetch", "a", "--server", srv.URL, "--transport", "rest", "--unknown-fields", unknown)
				if diff := cmp.Diff(rulesIn(validated), rulesIn(stderr)); diff != "" || code != wantCode {
					t.Errorf("exit code %d, want %d; rules (-validate +fetch):\n%s%s", code, wantCode, diff, stderr)
				}
				if strings.Contains(stdout, "foo") || !strings.Contains(stdout, "cluster_name: a") {
					t.Errorf("prints\n%s", stdout)
				}
			})
		}
	}
}

// rulesIn are the rules of the findings in a text, each once.
func rulesIn(text string) []string {
	rules := regexp.MustCompile(`\[[a-z-]+\]`).FindAllString(text, -1)
	slices.Sort(rules)
	return slices.Compact(rules)
}
