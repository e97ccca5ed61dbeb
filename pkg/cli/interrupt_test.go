package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/eds"
)

// TestInterruptedWrites ends the context of runs that have read their files: nothing is written or printed, and the exit
// code is that of an interrupt.
func TestInterruptedWrites(t *testing.T) {
	t.Parallel()
	const text = "cluster_name: a\nendpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}, health_status: healthy}]}]\n"
	for name, write := range map[string]func(ctx context.Context, t *edited) error{
		"edit": func(ctx context.Context, t *edited) error {
			e, err := author.Edit(t.data, t.loaded, t.load, func(*eds.Resource) bool { return true }, author.Rename("b"))
			return errors.Join(err, t.finish(ctx, e, &editOptions{allowInvalid: true}))
		},
		"edit, difference": func(ctx context.Context, t *edited) error { return t.write(ctx, []byte("x"), true) },
		"fix": func(ctx context.Context, t *edited) error {
			_, err := t.fix(ctx)
			return err
		},
		"format": func(ctx context.Context, t *edited) error {
			_, err := t.format(ctx, &formatOptions{write: true})
			return err
		},
		"format, printed": func(ctx context.Context, t *edited) error {
			_, err := t.format(ctx, &formatOptions{})
			return err
		},
		"output file":     func(ctx context.Context, t *edited) error { return writeWhole(ctx, t.env, t.name, []byte("x")) },
		"standard output": func(ctx context.Context, t *edited) error { return writeWhole(ctx, t.env, "", []byte("x")) },
	} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		env := &Env{Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, UserConfigDir: func() (string, error) { return "", os.ErrNotExist }}
		cmd := findSub(rootFor(env, []string{"edit"}), "edit")
		cmd.SetContext(t.Context())
		opened, err := openEdited(cmd, env, inputOptions{maxBytes: 1 << 20}, &profile{}, path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if code := exitCodeOf(write(ctx, opened)); code != exitInterrupted {
			t.Errorf("%s: exit code %d", name, code)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Errorf("%s: %v, the file holds %q", name, err, data)
		}
		if stdout.Len() > 0 || stderr.Len() > 0 {
			t.Errorf("%s: stdout %q, stderr %q", name, stdout.String(), stderr.String())
		}
	}
}
