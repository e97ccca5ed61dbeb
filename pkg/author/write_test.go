//go:build !windows

package author

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childVar makes this test binary a writer: see TestMain.
const childVar = "EDSCTL_TEST_WRITE"

// TestMain lets the test binary stand for a process that writes a file again and again until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv(childVar); path != "" {
		writeForEver(path)
	}
	os.Exit(m.Run())
}

// versions are the two contents that a file changes between.
func versions() [2][]byte {
	return [2][]byte{bytes.Repeat([]byte("old "), 200_000), bytes.Repeat([]byte("new content "), 90_000)}
}

func writeForEver(path string) {
	v := versions()
	for i := 0; ; i++ {
		if err := WriteFile(context.Background(), path, v[i%2], v[(i+1)%2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("written")
	}
}

// TestWriteKilled kills a process with SIGKILL in the middle of its writes: the file is always one of the two versions.
func TestWriteKilled(t *testing.T) {
	t.Parallel()
	v := versions()
	for round := range 25 {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, v[0], 0o640); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childVar+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 8) // it has begun: kill it at some moment of one of the next writes
		if _, err := out.Read(buf); err != nil || !strings.HasPrefix(string(buf), "written") {
			t.Fatalf("the child says %q: %v", buf, err)
		}
		time.Sleep(time.Duration(round) * 700 * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, v[0]) && !bytes.Equal(got, v[1]) {
			t.Fatalf("round %d: the file has %d bytes of neither version: %v", round, len(got), err)
		}
		info, _ := os.Stat(path)
		if info.Mode().Perm() != 0o640 {
			t.Errorf("round %d: mode %v", round, info.Mode())
		}
	}
}

// TestWriteDiskFull limits the size of files as a full disk would: the old content stays, and nothing is left behind.
func TestWriteDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	old := versions()[0]
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	// The limit holds for the child only: a shell sets it.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 100; exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+path)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), syscall.EFBIG.Error()) {
		t.Fatalf("%v: %s", err, out)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, old) {
		t.Errorf("the file has %d bytes: %v", len(got), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real", "a.yaml"), filepath.Join(dir, "link.yaml")
	for _, err := range []error{os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, 0o664), os.Symlink("real/a.yaml", link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(t.Context(), link, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v", err)
	}
	got, _ := os.ReadFile(path)
	if info, _ := os.Stat(path); string(got) != "new" || info.Mode().Perm() != 0o664 {
		t.Errorf("%q, mode %v", got, info.Mode())
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 1234, 2345); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(t.Context(), path, []byte("new"), []byte("newer")); err != nil {
			t.Fatal(err)
		}
		info, _ := os.Stat(path)
		if s := info.Sys().(*syscall.Stat_t); s.Uid != 1234 || s.Gid != 2345 {
			t.Errorf("the owner is %d:%d", s.Uid, s.Gid)
		}
	}
	if err := WriteFile(t.Context(), path, []byte("what it was long ago"), []byte("x")); !errors.Is(err, ErrChanged) {
		t.Errorf("a changed file: %v", err)
	}
	before, _ := os.ReadFile(path)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WriteFile(ended, path, before, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(t.Context(), path, before, []byte("x")); err == nil || err.Error() != "the file is read-only" {
		t.Errorf("a read-only file: %v", err)
	}
	if err := WriteFile(t.Context(), dir, nil, []byte("x")); err == nil || err.Error() != "not a regular file" {
		t.Errorf("a folder: %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
