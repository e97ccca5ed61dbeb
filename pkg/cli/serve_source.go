package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/validate"
	"github.com/edsctl/edsctl/pkg/xds/serve"
)

// serveSource reads the files of serve, and keeps the last good version of every assignment.
type serveSource struct {
	env     *Env
	options *serveOptions
	args    []string
	good    map[string]servedAssignment
	kept    map[string]string // why, by name or file, as last told
}

// servedAssignment is what is served under one name.
type servedAssignment struct {
	serve.Assignment
	file string
}

func newServeSource(env *Env, o *serveOptions, args []string) *serveSource {
	return &serveSource{env: env, options: o, args: args, good: map[string]servedAssignment{}, kept: map[string]string{}}
}

// paths are what is watched: standard input is not.
func (s *serveSource) paths() []string {
	return slices.DeleteFunc(slices.Clone(s.args), func(a string) bool { return a == "-" })
}

func (s *serveSource) assignments() []serve.Assignment {
	out := make([]serve.Assignment, 0, len(s.good))
	for _, name := range slices.Sorted(maps.Keys(s.good)) {
		out = append(out, s.good[name].Assignment)
	}
	return out
}

// load reads all files and takes over what validates. The state says what changed against the last time.
func (s *serveSource) load(ctx context.Context) (render.ServeState, error) {
	files, err := input.Find(ctx, s.args, input.Options{Stdin: s.env.Stdin, Include: s.options.include, MaxBytes: s.options.maxBytes})
	if err != nil && (len(files) == 0 || len(s.good) == 0) {
		return render.ServeState{}, err
	}
	next := map[string]servedAssignment{}
	kept := map[string]string{}
	loader := newLoaders(s.options.inputOptions).of(&s.options.profile)
	for _, f := range files {
		data, err := f.Read(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return render.ServeState{}, ctx.Err()
			}
			kept[f.Name] = err.Error()
			s.keepFile(f.Name, next)
			continue
		}
		s.take(f.Name, loader.Load(f.Name, data, f.Named), next, kept)
	}
	state := s.compare(next, kept)
	s.good, s.kept = next, kept
	return state, nil
}

// take judges the assignments of one file.
func (s *serveSource) take(file string, loaded *eds.File, next map[string]servedAssignment, kept map[string]string) {
	readable := 0
	for _, r := range loaded.Resources {
		if r.Absent || r.Unreadable {
			if why := s.refused(r); why != "" && !loaded.Skipped {
				kept[file] = why
			}
			continue
		}
		readable++
		a := serve.Assignment{Message: r.Assignment}
		if r.Cluster != nil && r.Cluster.Message != nil {
			a.Cluster = r.Cluster.Message
		}
		name := r.Assignment.GetClusterName()
		if other, ok := next[name]; ok {
			kept[name+" in "+file] = "the name is served from " + other.file + " already"
			continue
		}
		if why := s.refused(served(r, a)); why != "" && !s.options.force {
			kept[name] = why
			if old, ok := s.good[name]; ok {
				next[name] = old
			}
			continue
		}
		next[name] = servedAssignment{a, file}
	}
	if readable == 0 {
		s.keepFile(file, next)
	}
}

// keepFile goes on serving what a file held that cannot be read now.
func (s *serveSource) keepFile(file string, next map[string]servedAssignment) {
	for name, a := range s.good {
		if _, taken := next[name]; a.file == file && !taken {
			next[name] = a
		}
	}
}

// served is a resource as its clients will see it: over ADS, from a cluster of CDS.
func served(r *eds.Resource, a serve.Assignment) *eds.Resource {
	out := *r
	out.Source, out.Origin, out.Shape, out.Bootstrap, out.Response = eds.FromSotW, eds.OriginCDS, eds.ShapeAssignment, nil, nil
	out.Cluster = &eds.Cluster{Message: a.ServedCluster()}
	return &out
}

// refused says why one of the chosen clients would not take a resource; empty: all would.
func (s *serveSource) refused(r *eds.Resource) string {
	report := validate.Run([]*eds.Resource{r}, validate.Options{
		Clients: s.options.profile.clients(), EnvoyVersion: s.options.profile.minorVersion(), Source: r.Source, Origin: r.Origin, Getenv: s.env.Getenv,
	})
	for _, c := range s.options.profile.clients() {
		v := report.Resources[0].Verdicts[c]
		if v.Kind == diag.Accept || v.Kind == diag.NotApplicable && !r.Unreadable && !r.Absent {
			continue
		}
		for _, f := range report.Findings {
			if f.Rule == v.Rule {
				return strings.Join([]string{c.String(), string(v.Kind) + ":", f.Message, "[" + f.Rule + "]"}, " ")
			}
		}
		return c.String() + " " + string(v.Kind) + ": " + v.Message
	}
	return ""
}

// compare tells what changed against what was served before.
func (s *serveSource) compare(next map[string]servedAssignment, kept map[string]string) render.ServeState {
	state := render.ServeState{Served: slices.Sorted(maps.Keys(next))}
	for _, name := range state.Served {
		old, ok := s.good[name]
		switch {
		case !ok:
			state.Added = append(state.Added, name)
		case !proto.Equal(old.Message, next[name].Message) || !proto.Equal(old.Cluster, next[name].Cluster):
			state.Updated = append(state.Updated, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.good)) {
		if _, ok := next[name]; !ok {
			state.Removed = append(state.Removed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if s.kept[name] != kept[name] {
			_, serving := next[name]
			state.Kept = append(state.Kept, render.KeptBack{Name: name, Reason: kept[name], Serving: serving})
		}
	}
	return state
}
