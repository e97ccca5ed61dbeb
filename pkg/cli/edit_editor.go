package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/validate"
)

// remark begins the lines that edit puts at the top of the copy in the editor and takes out again.
const remark = "#~ "

// runEditor opens a copy of the file in the user's editor until what is saved validates, or is given up.
func runEditor(ctx context.Context, env *Env, o *editOptions, t *edited) error {
	if t.isStdin() {
		return usagef("edit: standard input cannot be opened in an editor")
	}
	dir, err := os.MkdirTemp("", "edsctl-edit-")
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	copyPath := filepath.Join(dir, filepath.Base(t.name))
	kept, err := t.editLoop(ctx, env, o, copyPath)
	if kept {
		notChanged := withHint(fmt.Errorf("%s: not changed", t.name), "your edits are kept in "+copyPath)
		if err == nil { // given up
			return &codeError{exitFindings, notChanged}
		}
		return errors.Join(err, notChanged)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// editLoop lets the user edit; kept tells that the copy holds work that is not in the file.
func (t *edited) editLoop(ctx context.Context, env *Env, o *editOptions, copyPath string) (kept bool, err error) {
	text, remarks := t.data, ""
	for {
		if err := os.WriteFile(copyPath, append([]byte(remarks), text...), 0o600); err != nil {
			return !bytes.Equal(text, t.data), fmt.Errorf("edit: %w", bareError(err))
		}
		if err := openEditor(ctx, env, copyPath); err != nil {
			return copyDiffers(copyPath, t.data), err
		}
		saved, err := os.ReadFile(copyPath)
		if err != nil {
			return true, fmt.Errorf("edit: %w", bareError(err))
		}
		saved = withoutRemarks(saved)
		switch {
		case bytes.Equal(saved, t.data):
			fmt.Fprintf(env.Stderr, "%s: nothing to change\n", t.name)
			return false, nil
		case len(bytes.TrimSpace(saved)) == 0:
			fmt.Fprintf(env.Stderr, "%s: nothing was saved, so nothing is changed\n", t.name)
			return false, nil
		case remarks != "" && bytes.Equal(saved, text):
			return true, nil
		}
		text = saved
		report := t.judgeLoaded(t.load(text))
		if remarks = t.remarks(&report, text, o.allowInvalid); remarks != "" {
			continue
		}
		t.warn(&report, text)
		if err := t.write(ctx, text, o.dryRun); err != nil {
			return true, err
		}
		return false, nil
	}
}

// remarks are the findings for which a text cannot be written, as lines for the top of the copy. Empty: it can.
func (t *edited) remarks(report *validate.Report, text []byte, allowInvalid bool) string {
	bad := errorsOf(report, t.p.clients())
	if allowInvalid {
		bad = more(bad, errorsOf(t.before(), t.p.clients()))
	}
	if len(bad) == 0 {
		return ""
	}
	var b bytes.Buffer
	b.WriteString("this does not validate; save it unchanged to give up. These lines are taken out again.\n")
	// The lines above the text do not count in the positions.
	t.explain(&b, report, text, func(f *diag.Finding) bool { return bad[errorKey(f.Resource, f.Rule)] > 0 })
	lines := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
	return remark + strings.Join(lines, remark) + "\n"
}

// withoutRemarks takes out the lines that begin with the mark.
func withoutRemarks(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = slices.DeleteFunc(lines, func(line []byte) bool { return bytes.HasPrefix(line, []byte(strings.TrimSpace(remark))) })
	return bytes.Join(lines, nil)
}

func copyDiffers(path string, data []byte) bool {
	saved, err := os.ReadFile(path)
	return err != nil || !bytes.Equal(withoutRemarks(saved), data)
}

// openEditor runs the user's editor on a file, through a shell as git does: $EDITOR may hold arguments.
func openEditor(ctx context.Context, env *Env, path string) error {
	editor := env.Getenv("VISUAL")
	if editor == "" {
		editor = env.Getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = env.Stdin, env.Stdout, env.Stderr
	if err := cmd.Run(); err != nil {
		return withHint(fmt.Errorf("edit: the editor %q failed: %w", editor, err), "set VISUAL or EDITOR")
	}
	return nil
}
