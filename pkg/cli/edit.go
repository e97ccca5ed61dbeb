package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
	"github.com/edsctl/edsctl/pkg/selector"
	"github.com/edsctl/edsctl/pkg/validate"
)

type editOptions struct {
	inputOptions
	profile
	name         string
	all          bool
	locality     bool
	prune        bool
	dryRun       bool
	allowInvalid bool
}

func newEditCmd(env *Env) *cobra.Command {
	var o editOptions
	cmd := &cobra.Command{
		Use:   "edit FILE [VERB ARG...]",
		Short: "Change an assignment in its file, and nothing else in the file",
		Long: `Change the assignment in a file: YAML or JSON, alone or in a response, a cluster, a bootstrap or a ConfigMap. Comments,
order, quotes, blank lines and line ends stay as they are. The file is written only if the result validates, in one go: at
any moment the old or the new file is there. "-" edits standard input and writes standard output.

` + editVerbsHelp() + `

See 'edsctl help selectors' for SELECTOR. A PLACE is priority=N, region=R, zone=Z, sub_zone=S, locality=R/Z/S, joined
with ",". Without a verb the file is opened in $VISUAL or $EDITOR, again and again with the findings as comments, until it
validates or is left unchanged.`,
		Example: `  edsctl edit envoy.yaml drain address=192.0.2.7
  edsctl edit envoy.yaml --name backend set-weight zone=a 3
  edsctl edit envoy.yaml add 192.0.2.9:8080,weight=2,zone=a,priority=1
  edsctl edit envoy.yaml move zone=b priority=1 --dry-run
  edsctl edit envoy.yaml`,
		GroupID:           groupAuthor,
		Args:              usage(checkEditArgs),
		ValidArgsFunction: completeEdit,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEdit(cmd, env, &o, args)
		},
	}
	flags := cmd.Flags()
	o.inputOptions.bindFile(cmd)
	o.profile.bind(cmd)
	flags.StringVar(&o.name, "name", "", "name of the one assignment to edit")
	flags.BoolVar(&o.all, "all", false, "edit every assignment of the file in which the selector matches")
	flags.BoolVar(&o.locality, "locality", false, "set-weight, scale-weights: change the weights of the localities")
	flags.BoolVar(&o.prune, "prune", false, "remove, move: take out localities that are left without endpoints")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the difference and write nothing")
	flags.BoolVar(&o.allowInvalid, "allow-invalid", false, "write a result that does not validate, if it is no worse than before")
	noEnv(flags, "allow-invalid", "dry-run")
	completeFlag(cmd, "name", completeNames(env))
	return cmd
}

func checkEditArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("no file given")
	}
	if len(args) == 1 {
		return nil
	}
	for _, arg := range args[1:] {
		if err := author.CheckText(arg); err != nil {
			return err
		}
	}
	var names []string
	for _, v := range editVerbs() {
		if v.name == args[1] {
			return v.check(args[2:])
		}
		names = append(names, v.name)
	}
	return withHint(fmt.Errorf("unknown verb %q: must be one of %s", args[1], strings.Join(names, ", ")), didYouMean(args[1], names, "")...)
}

// checkEditFlags refuses flags that a verb, or an edit without one, does not look at.
func checkEditFlags(flags *pflag.FlagSet, verb []string) error {
	if len(verb) == 0 {
		return refuseFlags(flags, "has no effect without a verb", "all", "name", "locality", "prune")
	}
	var unused []string
	for flag, verbs := range map[string][]string{"locality": {"set-weight", "scale-weights"}, "prune": {"remove", "move"}} {
		if !slices.Contains(verbs, verb[0]) {
			unused = append(unused, flag)
		}
	}
	slices.Sort(unused)
	return refuseFlags(flags, "has no effect on "+verb[0], unused...)
}

func completeEdit(_ *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		return nil, cobra.ShellCompDirectiveDefault
	case len(args) > 1:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, v := range editVerbs() {
		if strings.HasPrefix(v.name, prefix) {
			out = append(out, cobra.CompletionWithDesc(v.name, v.help))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func runEdit(cmd *cobra.Command, env *Env, o *editOptions, args []string) error {
	if o.all && o.name != "" {
		return usagef("--all: cannot be combined with --name")
	}
	if err := checkEditFlags(cmd.Flags(), args[1:]); err != nil {
		return err
	}
	t, err := openEdited(cmd, env, o.inputOptions, &o.profile, args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		return runEditor(cmd.Context(), env, o, t)
	}
	defer exitSoon(cmd.Context(), env)() // there is no editor to wait for
	verb, err := parseVerb(o, args[1], args[2:])
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", args[1], err))
	}
	pick, err := o.pick(t)
	if err != nil {
		return err
	}
	edited, err := author.Edit(t.data, t.loaded, t.load, pick, verb)
	if none := new(selector.NoMatchError); errors.As(err, &none) {
		return usageError(fmt.Errorf("%s: %w", t.name, err))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return t.finish(cmd.Context(), edited, o)
}

// finish checks, shows and writes what came of an edit.
func (t *edited) finish(ctx context.Context, e *author.Edited, o *editOptions) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if string(e.Data) == string(t.data) {
		fmt.Fprintf(t.env.Stderr, "%s: nothing to change\n", t.name)
		if t.isStdin() {
			_, err := t.env.Stdout.Write(t.data)
			return err
		}
		return nil
	}
	if err := t.accept(e.File, e.Data, o.allowInvalid); err != nil {
		return err
	}
	if o.dryRun && ctx.Err() == nil {
		t.describe(e.Changes)
	}
	err := t.write(ctx, e.Data, o.dryRun)
	if err == nil && !o.dryRun { // it is done now
		t.describe(e.Changes)
	}
	return err
}

// describedChanges is how many changes of an assignment are named one by one.
const describedChanges = 20

// describe says what changed.
func (t *edited) describe(changes []author.Change) {
	for _, c := range changes {
		for i, m := range c.Messages {
			if i == describedChanges && len(c.Messages) > i+1 {
				fmt.Fprintf(t.env.Stderr, "%s: and %s more\n", c.Name, counted(len(c.Messages)-i, "change"))
				break
			}
			fmt.Fprintf(t.env.Stderr, "%s: %s\n", c.Name, m)
		}
	}
}

// pick chooses the assignments that are edited: the one with the name, all, or the only one.
func (o *editOptions) pick(t *edited) (func(*eds.Resource) bool, error) {
	var names []string
	chosen := map[*eds.Resource]bool{}
	var first error
	for _, r := range t.loaded.Resources {
		switch {
		case r.Absent:
			if first == nil {
				first = absentError(r)
			}
			continue
		case r.Followed:
			continue
		}
		names = append(names, r.Name)
		if o.name == "" || r.Name == o.name || r.Cluster != nil && r.Cluster.Message.GetName() == o.name {
			chosen[r] = true
		}
	}
	switch {
	case len(names) == 0 && first != nil:
		return nil, first
	case len(names) == 0:
		return nil, fmt.Errorf("%s: the file holds no assignment of its own", t.name)
	case len(chosen) == 0:
		return nil, noSuchName(o.name, names)
	case len(chosen) > 1 && o.name == "" && !o.all:
		return nil, withHint(usagef("%s holds %s: say which with --name, or --all", t.name, counted(len(names), "assignment")), "they are "+someNames(names))
	}
	// A later pass has resources of its own: they are told apart by their names, in the same order.
	picked := map[string]bool{}
	for r := range chosen {
		picked[r.Name] = true
	}
	before := map[string]bool{}
	for _, r := range t.loaded.Resources {
		before[r.Name] = true
	}
	return func(r *eds.Resource) bool {
		return !r.Absent && !r.Followed && (picked[r.Name] || !before[r.Name]) // renamed by a pass before
	}, nil
}

// shownNames is how many names an error lists.
const shownNames = 12

func someNames(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > shownNames {
		return strings.Join(names[:shownNames], ", ") + fmt.Sprintf(" and %d more", len(names)-shownNames)
	}
	return strings.Join(names, ", ")
}

// noSuchName is the error of a --name that fits none of the names.
func noSuchName(name string, names []string) error {
	hints := didYouMean(name, names, "")
	if hints == nil {
		hints = []string{"there is " + someNames(names)}
	}
	return withHint(fmt.Errorf("--name: no assignment is called %q", name), hints...)
}

// edited is a file that is being edited.
type edited struct {
	env    *Env
	v      *validation
	p      profile
	file   *input.File
	name   string
	data   []byte
	loaded *eds.File
	load   author.Load
	report *validate.Report // on the file as it was, once it was asked for
}

// openEdited reads a file that is to be edited.
func openEdited(cmd *cobra.Command, env *Env, in inputOptions, p *profile, name string) (*edited, error) {
	ctx := cmd.Context()
	v, err := newValidation(ctx, env, &validateOptions{inputOptions: in, profile: *p, flags: cmd.Flags()})
	if err != nil {
		return nil, err
	}
	files, err := input.Find(ctx, []string{name}, input.Options{Stdin: env.Stdin, MaxBytes: in.maxBytes})
	if err != nil {
		return nil, err
	}
	if len(files) != 1 || !files[0].Named {
		return nil, usagef("%s: give one file", name)
	}
	return v.open(ctx, files[0])
}

func (v *validation) open(ctx context.Context, file *input.File) (*edited, error) {
	p, err := v.options.profile.with(v.project.For(file.Name), v.options.flags, v.flagRules)
	if err != nil {
		return nil, err
	}
	t := &edited{env: v.env, v: v, p: p, file: file, name: file.Name}
	if t.data, err = file.Read(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	loader := v.loaders.of(&p)
	t.load = func(data []byte) *eds.File { return loader.Load(file.Name, data, file.Named) }
	t.loaded = t.load(t.data)
	return t, nil
}

func (t *edited) isStdin() bool { return t.name == input.Stdin }

// write puts the new text into the file, or shows the difference.
func (t *edited) write(ctx context.Context, data []byte, diff bool) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case diff:
		_, err := io.WriteString(t.env.Stdout, author.UnifiedDiff(t.name, t.data, data))
		return err
	case t.isStdin():
		_, err := t.env.Stdout.Write(data)
		return err
	}
	if err := author.WriteFile(ctx, t.name, t.data, data); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}
