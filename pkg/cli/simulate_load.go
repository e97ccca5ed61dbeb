package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
	"github.com/edsctl/edsctl/pkg/simulate"
	"github.com/edsctl/edsctl/pkg/validate"
)

// simulated is an assignment to simulate, and how its file is read and judged.
type simulated struct {
	*eds.Resource
	profile profile
	judging validate.Options
}

// options are those of the run with the verdicts of this resource's profile.
func (r *simulated) options(o *simulateOptions, shared *simulate.Options) *simulate.Options {
	out := *shared
	out.EnvoyVersion = r.profile.minorVersion()
	out.MetadataMatch = o.matchFor(r.Assignment)
	out.Check = func(judged *eds.Resource) [len(diag.Clients)]diag.Verdict {
		return verdictsOf(judged, r.Source, r.judging)
	}
	return &out
}

// verdictsOf judges one resource. A source that was asked for does not hold for one that the simulation took elsewhere.
func verdictsOf(r *eds.Resource, source eds.Source, judging validate.Options) [len(diag.Clients)]diag.Verdict {
	if r.Source != source {
		judging.Source, judging.Origin = "", ""
	}
	return validate.Run([]*eds.Resource{r}, judging).Resources[0].Verdicts
}

// validation are the options with which validate would read the same files.
func (o *simulateOptions) validation(cmd *cobra.Command) *validateOptions {
	return &validateOptions{inputOptions: o.inputOptions, profile: o.profile, clusterFile: o.clusterFile, flags: cmd.Flags()}
}

// loadSimulated reads the assignments that the arguments name. A file that cannot be read, a file that was named and
// holds none, and a run that finds none at all are errors.
func loadSimulated(cmd *cobra.Command, env *Env, o *simulateOptions, args []string) ([]simulated, error) {
	v, err := newValidation(cmd.Context(), env, o.validation(cmd))
	if err != nil {
		return nil, err
	}
	files, err := input.Find(cmd.Context(), args, input.Options{
		Stdin: env.Stdin, Include: o.include, Exclude: v.project.Excluded, MaxBytes: o.maxBytes,
	})
	errs := []error{err}
	var out []simulated
	followed := map[string]bool{}
	for _, file := range files {
		found, names, err := v.loadSimulated(cmd.Context(), file)
		errs = append(errs, err)
		out = append(out, found...)
		for _, name := range names {
			if name != file.Name {
				followed[name] = true
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	// A file that a bootstrap names was read with it, and with its cluster.
	out = slices.DeleteFunc(out, func(r simulated) bool { return followed[r.File] && r.Bootstrap == nil })
	return named(cmd, out, o.name, args)
}

func (v *validation) loadSimulated(ctx context.Context, file *input.File) (found []simulated, followed []string, err error) {
	p, err := v.options.profile.with(v.project.For(file.Name), v.options.flags, v.flagRules)
	if err != nil {
		return nil, nil, err
	}
	data, err := file.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	loaded := v.loaders.of(&p).Load(file.Name, data, file.Named)
	v.surround(loaded.Resources, &p)
	var errs []error
	unreadable := false
	for _, r := range loaded.Resources {
		if r.Absent && (r.Unreadable || !simulate.WithoutEndpoints(r)) {
			errs = append(errs, absentError(r))
			unreadable = unreadable || r.Unreadable
			continue
		}
		found = append(found, simulated{r, p, v.judging(&p, 1)})
	}
	if unreadable || len(found) == 0 && !loaded.Skipped {
		return nil, nil, errors.Join(errs...)
	}
	return found, loaded.Followed, nil
}

// absentError says why a file yields no assignment.
func absentError(r *eds.Resource) error {
	if len(r.Problems) == 0 {
		return fmt.Errorf("%s: the file holds no assignment", r.File)
	}
	p, place := r.Problems[0], r.File
	if p.Span.IsKnown() {
		place += ":" + p.Span.Start.String()
	}
	name := r.File
	if name == input.Stdin {
		name = "-"
	}
	return withHint(fmt.Errorf("%s: %s", place, p.Message), fmt.Sprintf("run 'edsctl validate %s' for all that is wrong with it", name))
}

// named keeps the assignments with a name; all when it is empty.
func named(cmd *cobra.Command, all []simulated, name string, args []string) ([]simulated, error) {
	if len(all) == 0 {
		return nil, noneFound(cmd.Name(), counted(len(args), "path"))
	}
	if name == "" {
		return all, nil
	}
	var names []string
	var out []simulated
	for _, r := range all {
		names = append(names, r.Name)
		if r.called(name) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, noSuchName(name, names)
	}
	return out, nil
}

// called tells whether a user means the assignment by a name: its own or that of its cluster.
func (r *simulated) called(name string) bool {
	return r.Name == name || r.Cluster != nil && r.Cluster.Message.GetName() == name
}

// loadFile reads the assignments of one file, without what is around it.
func loadFile(ctx context.Context, env *Env, o *simulateOptions, name string) ([]*eds.Resource, error) {
	files, err := input.Find(ctx, []string{name}, input.Options{Stdin: env.Stdin, MaxBytes: o.maxBytes})
	if err != nil {
		return nil, err
	}
	var out []*eds.Resource
	for _, file := range files {
		data, err := file.Read(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		for _, r := range newLoaders(o.inputOptions).of(&o.profile).Load(file.Name, data, true).Resources {
			if r.Absent {
				return nil, absentError(r)
			}
			out = append(out, r)
		}
	}
	return out, nil
}
