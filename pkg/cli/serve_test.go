package cli

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds/serve"
)

// TestServeFullStandardOutput goes on without a log, and says so once.
func TestServeFullStandardOutput(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	log := &serveLog{env: &Env{Stdout: full{}, Stderr: &stderr}, format: "ndjson"}
	log.state(render.ServeState{Served: []string{"a"}})
	log.event(serve.Event{})
	if err := log.failed(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("ends with %v", err)
	}
	if want := "note: what happens cannot be told any more, serving goes on: no space left on device\n"; stderr.String() != want {
		t.Errorf("says %q, want %q", stderr.String(), want)
	}
}
