package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// TestDiffHostileSides prints sides without the control characters that they may hold.
func TestDiffHostileSides(t *testing.T) {
	t.Parallel()
	addr, _ := serveAdmin(t, []adminPoll{{held: []*endpointv3.ClusterLoadAssignment{withEndpoints("a", 1, 1)}}})
	_, stderr, code := runMain(t, "diff", "admin://"+addr+"/no\x1b[31m\nbody", "admin://"+addr)
	_, missing, _ := strings.Cut(stderr, addr)
	tests := []struct{ name, got, want string }{
		{"server", (&diffOptions{timeout: 15 * time.Second}).noAnswer("cp:1/a\x1b[31m\nb", []string{"a\x1b[31m\nb"}).Error(), `xds://cp:1/a` + "\ufffd" + `[31m b: no answer for "a\x1b[31m\nb" within 15s`},
		{
			"admin", fmt.Sprintf("%d %s", code, missing),
			"4 /no\ufffd[31m body: Envoy has no active cluster for \"no\\x1b[31m\\nbody\"\n",
		},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	_, stderr, code = runMain(t, "diff", "gone\x1b.yaml", "gone\x1b.yaml")
	if strings.Contains(stderr, "\x1b") || !strings.Contains(stderr, "gone\ufffd.yaml") || code != exitFailure {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}
