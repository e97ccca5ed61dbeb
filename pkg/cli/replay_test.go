package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds"
)

// recordingOf fetches a good assignment, a, and a bad one, bad, and returns the recording and the server.
func recordingOf(t *testing.T) (file, addr string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "x.rec")
	addr, stop := serveStream(t, play([]step{{`^eds`, sotw(xds.AssignmentURL(xds.V3), "1", "1", withEndpoints("a", 1, 1), withHost("bad", "host.example"))}}))
	defer stop()
	if _, stderr, code := runMain(t, "fetch", "a", "bad", "--server", addr, "--plaintext", "--service", "eds", "--record", file); code != exitFindings {
		t.Fatalf("fetch ends with %d: %s", code, stderr)
	}
	return file, addr
}

func TestReplayNames(t *testing.T) {
	t.Parallel()
	file, addr := recordingOf(t)
	tests := []struct {
		args []string
		code int
		want string // part of standard error
	}{
		{nil, exitFindings, addr + `: error: "host.example" is no IP address`},
		{[]string{"--name", "bad"}, exitFindings, addr + `: assignment "bad": envoy verdict reject`},
		{[]string{"--name", "a"}, 0, "1 assignment; envoy: 1 accept; 0 errors"},
		{[]string{"--name", "bat"}, exitFailure, "edsctl: replay: nothing of \"bat\" is in the recording\nhint: did you mean 'bad'?\n"},
		{[]string{"--name", "a", "--name", "nothing"}, exitFailure, "edsctl: replay: nothing of \"nothing\" is in the recording\nhint: it has \"a\", \"bad\"\n"},
		{[]string{"--at", "2020-01-01T00:00:00Z"}, exitFailure, "edsctl: replay: no assignment had come by 2020-01-01T00:00:00Z: the recording begins at "},
	}
	for _, tt := range tests {
		for _, format := range append(render.WatchFormats(), "yaml") {
			args := append([]string{"replay", file, "-o", format}, tt.args...)
			if _, stderr, code := runMain(t, args...); code != tt.code || !strings.Contains(stderr, tt.want) {
				t.Errorf("%q: exit code %d, want %d, and %q:\n%s", args, code, tt.code, tt.want, stderr)
			}
		}
	}
}

// full is a standard output to which nothing can be written.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestFullStandardOutput fails where the product cannot be written, in every format.
func TestFullStandardOutput(t *testing.T) {
	t.Parallel()
	file, _ := recordingOf(t)
	addr, stop := serveStream(t, play([]step{{`^eds`, sotw(xds.AssignmentURL(xds.V3), "1", "1", withEndpoints("a", 1, 1))}}))
	defer stop()
	live := []string{"a", "--server", addr, "--plaintext", "--service", "eds"}
	tests := []struct {
		args    []string
		formats []string
	}{
		{[]string{"replay", file}, append(render.WatchFormats(), "yaml", "json", "textpb", "pb")},
		{append([]string{"fetch"}, live...), render.AssignmentFormats()},
		{append([]string{"watch"}, live...), render.WatchFormats()},
	}
	for _, tt := range tests {
		for _, format := range tt.formats {
			var stderr strings.Builder
			env := Env{
				Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &stderr, Getenv: func(string) string { return "" },
				UserConfigDir: func() (string, error) { return "", errors.New("none") },
			}
			code := Main(context.WithoutCancel(t.Context()), env, append(tt.args, "-o", format))
			if code != exitFailure || !strings.Contains(stderr.String(), "no space left on device") {
				t.Errorf("%s -o %s: exit code %d, want %d: %s", tt.args[0], format, code, exitFailure, stderr.String())
			}
		}
	}
}

// TestWatchHasNoThreshold: no finding changes the exit code of a watch.
func TestWatchHasNoThreshold(t *testing.T) {
	t.Parallel()
	if _, stderr, code := runMain(t, "watch", "a", "--server", "127.0.0.1:1", "--fail-on", "info"); code != exitUsage || !strings.Contains(stderr, "--fail-on: unknown flag") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if stdout, _, _ := runMain(t, "__complete", "watch", "--fail"); strings.Contains(stdout, "--fail-on") {
		t.Errorf("completes to\n%s", stdout)
	}
}
