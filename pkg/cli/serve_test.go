package cli

import (
	"errors"
	"os"
	"path/filepath"
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

// TestServeNothing ends at the start where no assignment is found, or none can be served and no change is waited for.
func TestServeNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	empty, comment, other := write("empty.yaml", ""), write("comment.yaml", "# nothing\n"), write("other.yaml", "foo: bar\n")
	refused := write("refused.yaml", "cluster_name: a\nendpoints: [{priority: 200}]\n")
	tests := []struct {
		args []string
		want string
	}{
		{[]string{empty}, "edsctl: serve: no assignment found in \"" + empty + "\"\nedsctl: " + empty + ": envoy reject: the document is empty [yaml-document]\n"},
		{[]string{comment, other}, "serve: no assignment found in \"" + comment + "\", \"" + other + "\"\n"},
		{[]string{dir + "/o*"}, "serve: no assignment found in \"" + dir + "/o*\"\n"},
		{[]string{"-"}, "serve: no assignment found in \"-\"\n"},
		{[]string{refused, "--no-watch"}, "serve: nothing in \"" + refused + "\" can be served, and no file is watched\nedsctl: a: envoy reject: "},
	}
	for _, tt := range tests {
		args := append([]string{"serve", "--listen", "127.0.0.1:0"}, tt.args...)
		if stdout, stderr, code := runMain(t, args...); code != exitFailure || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: exit code %d, want %d and %q:\n%s%s", tt.args, code, exitFailure, tt.want, stdout, stderr)
		}
	}
}
