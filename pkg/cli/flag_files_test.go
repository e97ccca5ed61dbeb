//go:build !windows

package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/edsctl/edsctl/pkg/xds"
)

// fifo makes a named pipe.
func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	return name
}

// TestFlagFiles names pipes to which nobody writes and devices without an end: each run ends with an error that names the
// file, in time.
func TestFlagFiles(t *testing.T) {
	t.Parallel()
	addr, stop := serveStream(t, play([]step{{`^eds`, sotw(xds.AssignmentURL(xds.V3), "1", "1", withEndpoints("a", 1, 1))}}))
	t.Cleanup(stop)
	pipe, unread := fifo(t), fifo(t) // of which the first is read
	zero, none := "/dev/zero", filepath.Join(t.TempDir(), "none")
	other := filepath.Join(t.TempDir(), "eds.yaml")
	if err := os.WriteFile(other, []byte("cluster_name: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fetch := func(more ...string) []string {
		return append([]string{"fetch", "a", "--service", "eds", "--timeout", "200ms", "--server", addr}, more...)
	}
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"fetch", "a", "--timeout", "200ms", "--bootstrap", pipe}, "read the bootstrap: " + pipe + ": nothing came in time"},
		{[]string{"fetch", "a", "--bootstrap", none}, "read the bootstrap: " + none + ": no such file or directory"},
		{fetch("--plaintext", "--bearer-token-file", pipe), "read the bearer token: " + pipe + ": nothing came in time"},
		{fetch("--plaintext", "--bearer-token-file", zero, "--timeout", "30s"), "read the bearer token: " + zero + ": more than 1048576 bytes"},
		{fetch("--plaintext", "--bearer-token-file", pipe, "--transport", "rest"), "read the bearer token: " + pipe + ": nothing came in time"},
		{fetch("--plaintext", "--bearer-token-file", pipe, "--transport", "unary"), "read the bearer token: " + pipe + ": nothing came in time"},
		{fetch("--cacert", pipe), "read the CA certificate: " + pipe + ": nothing came in time"},
		{fetch("--cacert", zero, "--transport", "rest", "--timeout", "30s"), "read the CA certificate: " + zero + ": more than 1048576 bytes"},
		{fetch("--cert", pipe, "--key", zero), "read the client certificate: " + pipe + ": nothing came in time"},
		{fetch("--plaintext", "--record", unread), "open the recording " + unread + ": nobody reads the pipe"},
		{fetch("--plaintext", "--record", other), other + ": the file is there and is no recording of edsctl\nhint: give --record a new file"},
		{[]string{"watch", "a", "--server", addr, "--plaintext", "--record", other}, other + ": the file is there and is no recording of edsctl"},
		{[]string{"replay", none}, "edsctl: " + none + ": no such file or directory"},
		{[]string{"replay", other}, "edsctl: " + other + ": line 1: this is no recording of edsctl"},
		{[]string{"replay", zero}, "edsctl: " + zero + ": more than 268435456 bytes"},
		{[]string{"serve", other, "--cert", zero, "--key", zero}, "read the server's certificate: " + zero + ": more than 1048576 bytes"},
		{[]string{"serve", other, "--cert", none, "--key", zero}, "read the server's certificate: " + none + ": no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			if _, stderr, code := runMain(t, tt.args...); code != exitFailure || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit code %d, want %d, and %q:\n%s", code, exitFailure, tt.want, stderr)
			}
		})
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "cluster_name: a\n" {
		t.Errorf("the file that is no recording now holds %q, %v", data, err)
	}
}

// TestFlagFilesOnce reads a pipe as often as asked, as with --bearer-token-file <(command) and a second stream.
func TestFlagFilesOnce(t *testing.T) {
	t.Parallel()
	pipe, files := fifo(t), newFlagFiles(10)
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, []byte("token"), 0) }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 2 {
		if data, err := files.read(ctx, pipe); err != nil || string(data) != "token" {
			t.Errorf("reads %q, %v", data, err)
		}
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}
