package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
)

type formatOptions struct {
	inputOptions
	profile
	check, diff, write bool
}

func newFormatCmd(env *Env) *cobra.Command {
	var o formatOptions
	cmd := &cobra.Command{
		Use:   "format PATH...",
		Short: "Write assignments in canonical order and style",
		Long: `Write the assignments of YAML and JSON files in canonical order and style: fields in the order of the API, two columns of
indentation, flow collections on one line or taken apart. Comments stay with their fields, and Envoy reads the same as
before. What is around the assignments (a bootstrap, a ConfigMap) stays as it is.

One file is printed; with --check, --diff or --write there may be several, and directories. --check exits 1 when a file
would change.`,
		Example: `  edsctl format envoy.yaml
  edsctl format --check deploy/
  edsctl format -w 'clusters/**/*.yaml'`,
		GroupID: groupAuthor,
		Args:    atLeastOne("path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFormat(cmd, env, &o, args)
		},
	}
	flags := cmd.Flags()
	o.inputOptions.bind(cmd)
	o.profile.bind(cmd, "input-format", "input-shape", "api-version")
	flags.BoolVar(&o.check, "check", false, "name the files that would change, and exit 1 if there is one")
	flags.BoolVar(&o.diff, "diff", false, "show what would change")
	flags.BoolVarP(&o.write, "write", "w", false, "write the files")
	noEnv(flags, "write")
	return cmd
}

func runFormat(cmd *cobra.Command, env *Env, o *formatOptions, args []string) error {
	if o.write && (o.check || o.diff) {
		return usagef("--write: cannot be combined with --check or --diff")
	}
	ctx := cmd.Context()
	v, err := newValidation(ctx, env, &validateOptions{inputOptions: o.inputOptions, profile: o.profile, flags: cmd.Flags()})
	if err != nil {
		return err
	}
	files, err := input.Find(ctx, args, input.Options{Stdin: env.Stdin, Include: o.include, Exclude: v.project.Excluded, MaxBytes: o.maxBytes})
	errs := []error{err}
	if len(files) > 1 && !o.write && !o.check && !o.diff {
		return usagef("format: several files cannot be printed: use --write, --check or --diff")
	}
	found, changed := false, false
	for _, file := range files {
		t, err := v.open(ctx, file)
		if err == nil {
			found = found || t.hasAssignment()
			var different bool
			different, err = t.format(ctx, o)
			changed = changed || different
		}
		errs = append(errs, err)
	}
	if changed && o.check {
		errs = append(errs, errFindings())
	}
	if err := errors.Join(errs...); err != nil || found {
		return err
	}
	return noneFound("format", counted(len(files), "file"))
}

func (t *edited) hasAssignment() bool {
	return slices.ContainsFunc(t.loaded.Resources, func(r *eds.Resource) bool { return !r.Absent })
}

// format writes, shows or compares the formatted text, and tells whether it differs.
func (t *edited) format(ctx context.Context, o *formatOptions) (changed bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if !t.hasAssignment() {
		for _, r := range t.loaded.Resources {
			if t.file.Named || r.Unreadable {
				return false, absentError(r)
			}
		}
		return false, nil
	}
	data, err := author.Format(t.data, t.loaded, t.load)
	if err != nil {
		if binary := t.loaded.Format == eds.Binary || t.loaded.Format == eds.TextProto; binary && !t.file.Named { // it is left alone
			return false, nil //nolint:nilerr // see above
		}
		return false, fmt.Errorf("%s: %w", t.name, err)
	}
	changed = string(data) != string(t.data)
	switch {
	case !o.check && !o.diff && !o.write, o.write && t.isStdin():
		_, err = t.env.Stdout.Write(data)
	case !changed:
	case o.diff:
		_, err = io.WriteString(t.env.Stdout, author.UnifiedDiff(t.name, t.data, data))
	case o.check:
		_, err = fmt.Fprintln(t.env.Stdout, t.name)
	default:
		if err = t.write(ctx, data, false); err == nil {
			fmt.Fprintf(t.env.Stderr, "%s: formatted\n", t.name)
		}
	}
	return changed, err
}
