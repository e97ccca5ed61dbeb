package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/render"
)

// target is one --output: a format and where it goes; no file is standard output.
type target struct{ format, file string }

// stdoutName as the name of an output file is standard output.
const stdoutName = "-"

// targetsVar declares --output, repeatable. The default is the first format on standard output.
func targetsVar(cmd *cobra.Command, targets *[]target, formats []string, help string) {
	*targets = []target{{format: formats[0]}}
	l := &targetList{list[target]{items: targets, kind: "FORMAT[=FILE]", texts: formats[:1], parse: func(s string) (target, error) {
		format, file, hasFile := strings.Cut(s, "=")
		if err := oneOf(format, formats); err != nil {
			return target{}, err
		}
		if hasFile && file == "" {
			return target{}, fmt.Errorf("%q names no file", s)
		}
		if file == stdoutName {
			file = ""
		}
		return target{format, file}, nil
	}}, false}
	cmd.Flags().VarP(l, "output", "o", help+": "+strings.Join(formats, ", "))
	completeFlag(cmd, "output", cobra.FixedCompletions(words(formats), cobra.ShellCompDirectiveNoFileComp))
}

// targetList is a list whose first value takes the place of the default.
type targetList struct {
	list[target]
	given bool
}

func (l *targetList) Set(s string) error {
	if !l.given {
		l.given = true
		return l.Replace([]string{s})
	}
	return l.Append(s)
}

func (l *targetList) Append(s string) error {
	if err := l.list.Append(s); err != nil {
		return err
	}
	items := *l.items
	last := items[len(items)-1]
	for _, other := range items[:len(items)-1] {
		if other.file == last.file && last.file == "" {
			return fmt.Errorf("goes to standard output, as %q does: give one of them a file, FORMAT=FILE", other.format)
		}
		if other.file == last.file {
			return fmt.Errorf("goes to the same file as %q", other.format)
		}
	}
	return nil
}

func (l *targetList) Replace(texts []string) error {
	*l.items, l.texts = nil, nil
	for _, s := range texts {
		if err := l.Append(s); err != nil {
			return err
		}
	}
	return nil
}

// writeTargets writes a result to every target. Files are written beside their place and put there when all of them
// are complete, so that a failure or an interrupt leaves what was there.
func writeTargets(ctx context.Context, env *Env, targets []target, write func(w io.Writer, format string, o render.Options) error, options func(target) render.Options) error {
	var pending []*author.Pending
	defer func() {
		for _, f := range pending {
			_ = f.Cleanup() // a no-op for those that are in their place
		}
	}()
	for _, t := range targets {
		if t.file == "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writeFile(t, &pending, write, options(t)); err != nil {
			return fmt.Errorf("%s: %w", t.file, bareError(err))
		}
	}
	if err := ctx.Err(); err != nil { // what was interrupted leaves what was there
		return err
	}
	for _, f := range pending {
		if err := f.CloseAtomicallyReplace(); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), bareError(err))
		}
	}
	for _, t := range targets {
		if t.file == "" {
			if err := write(env.Stdout, t.format, options(t)); err != nil {
				return fmt.Errorf("standard output: %w", bareError(err))
			}
		}
	}
	return nil
}

// writeFile writes one target to a pending file. What is no regular file (a device, a pipe) is written as it is.
func writeFile(t target, pending *[]*author.Pending, write func(io.Writer, string, render.Options) error, o render.Options) error {
	path := t.file
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if link, err := os.Readlink(path); err == nil { // to a file that does not exist yet
		if path = link; !filepath.IsAbs(link) {
			path = filepath.Join(filepath.Dir(t.file), link)
		}
	}
	info, err := os.Stat(path)
	exists := err == nil
	switch {
	case exists && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return joinClose(write(f, t.format, o), f)
	case exists && info.Mode().Perm()&0o222 == 0:
		return errors.New("the file is read-only")
	}
	f, err := author.NewPending(path)
	if err != nil {
		return err
	}
	*pending = append(*pending, f)
	if exists {
		// Only root gives files away: what others may write, such as a report of root's, becomes theirs.
		if err := author.KeepOwner(f, info); err != nil && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("keep the owner: %w", bareError(err))
		}
	}
	return write(f, t.format, o)
}

// simulatedFiles are the files of what is simulated.
func simulatedFiles(all []simulated) []string {
	files := make([]string, len(all))
	for i := range all {
		files[i] = all[i].File
	}
	return files
}

// overInput refuses a report in the place of a file that it is about. names are files and what else stands for inputs.
func overInput(targets []target, names []string) error {
	for _, t := range targets {
		to, err := os.Stat(t.file)
		if t.file == "" || err != nil || !to.Mode().IsRegular() {
			continue
		}
		for _, name := range names {
			if from, err := os.Stat(name); err == nil && os.SameFile(from, to) {
				return usagef("-o %s=%s: would write over the input %s", t.format, t.file, name)
			}
		}
	}
	return nil
}

func joinClose(err error, f io.Closer) error {
	if closeErr := f.Close(); err == nil {
		return closeErr
	}
	return err
}

// bareError takes operation and path off an error of package os: the caller names the file.
func bareError(err error) error {
	if pathErr, ok := err.(*fs.PathError); ok {
		return pathErr.Err
	}
	return err
}

// writeWhole writes bytes to a file, atomically, or to standard output when none or "-" is named.
func writeWhole(ctx context.Context, env *Env, file string, data []byte) error {
	if file == stdoutName {
		file = ""
	}
	write := func(w io.Writer, _ string, _ render.Options) error {
		_, err := w.Write(data)
		return err
	}
	return writeTargets(ctx, env, []target{{file: file}}, write, func(target) render.Options { return render.Options{} })
}
