//go:build !windows

package cli

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/edsctl/edsctl/pkg/render"
)

func TestTargetKeepsOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	path := filepath.Join(t.TempDir(), "out.json")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 1234, 2345); err != nil {
		t.Skip(err)
	}
	write := func(w io.Writer, _ string, _ render.Options) error {
		_, err := io.WriteString(w, "new")
		return err
	}
	env := &Env{Stdout: io.Discard}
	if err := writeTargets(t.Context(), env, []target{{"json", path}}, write, func(target) render.Options { return render.Options{} }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 1234 || s.Gid != 2345 || info.Mode().Perm() != 0o640 || string(data) != "new" || err != nil {
		t.Errorf("%d:%d %s %q %v", s.Uid, s.Gid, info.Mode(), data, err)
	}
}
