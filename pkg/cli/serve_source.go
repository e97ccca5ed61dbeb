package cli

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/input"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds/serve"
)

// serveSource reads the files of serve, and keeps the last good version of every assignment.
type serveSource struct {
	env     *Env
	options *serveOptions
	args    []string
	set     func([]serve.Assignment) error
	started bool
	good    map[string]servedAssignment
	kept    map[string]keptBack // by assignment or file, as last told
	problem string              // as last told
	once    map[string]onceRead // what can be read only once, by name
	tried   map[string]bool     // where EDS files of bootstraps may be
	nothing bool                // the last reading found neither an assignment nor what may become one
}

// servedAssignment is what is served under one name.
type servedAssignment struct {
	serve.Assignment
	file string
}

// onceRead is the content of standard input or of a pipe.
type onceRead struct {
	data []byte
	err  error
}

// newServeSource returns a source that hands over what is to be served to set.
func newServeSource(env *Env, o *serveOptions, args []string, set func([]serve.Assignment) error) *serveSource {
	return &serveSource{env: env, options: o, args: args, set: set, once: map[string]onceRead{}, tried: map[string]bool{}}
}

func (s *serveSource) inputOptions() input.Options {
	return input.Options{Stdin: s.env.Stdin, Include: s.options.include, MaxBytes: s.options.maxBytes}
}

// watched is what to watch: the arguments, and the files that bootstraps among them name.
func (s *serveSource) watched() serve.Watched {
	w := serve.Watched{Files: slices.Sorted(maps.Keys(s.tried))}
	for _, arg := range s.args {
		if scope, ok := input.ScopeOf(arg, s.inputOptions()); ok {
			w.Scopes = append(w.Scopes, scope)
		} else if arg != "-" {
			w.Files = append(w.Files, arg)
		}
	}
	return w
}

// load reads all files, and serves what validates. The state says what changed against the last time; after an error
// nothing did.
func (s *serveSource) load(ctx context.Context) (render.ServeState, error) {
	files, missing := input.Find(ctx, s.args, s.inputOptions())
	if ctx.Err() != nil {
		return render.ServeState{}, ctx.Err()
	}
	if missing != nil && (!s.started || len(files) == 0) {
		return render.ServeState{}, missing
	}
	loaders := newLoaders(s.options.inputOptions)
	clear(s.tried)
	loaders.tried = func(place string) { s.tried[place] = true }
	loader := loaders.of(&s.options.profile)
	round := newServeRound(s)
	for _, f := range files {
		data, err := s.read(ctx, f)
		switch {
		case ctx.Err() != nil:
			return render.ServeState{}, ctx.Err()
		case err != nil:
			_, once := s.once[f.Name]
			round.holds = round.holds || !once
			round.unread(f.Name, err.Error())
		default:
			// A file that holds something now is one of which everything is worth a word.
			round.take(loader.Load(f.Name, data, f.Named || s.holds(f.Name)))
		}
	}
	if missing != nil {
		round.hidden(files, missing)
	}
	next := round.settle()
	problem := ""
	if missing != nil {
		problem = oneLine(missing)
	}
	if len(round.offers) == 0 && len(s.good) > 0 {
		// Everything is gone, which is seldom meant, however the paths name it.
		if problem == "" {
			problem = "no assignment found in " + quotedNames(s.args)
		}
		next, problem = s.good, problem+servedStill
		round.keepOn()
	}
	state := s.compare(next, round)
	state.Problem = problem
	if !s.started || len(state.Added)+len(state.Updated)+len(state.Removed) > 0 {
		list := make([]serve.Assignment, 0, len(next))
		for _, name := range state.Served {
			list = append(list, next[name].Assignment)
		}
		if err := s.set(list); err != nil {
			return render.ServeState{}, err
		}
	}
	s.started, s.good, s.kept, s.nothing = true, next, round.kept, !round.holds
	return state, nil
}

// reload is load for a server that runs: what goes wrong is a problem to tell, once as long as it stays the same.
func (s *serveSource) reload(ctx context.Context) render.ServeState {
	state, err := s.load(ctx)
	if ctx.Err() != nil {
		return render.ServeState{}
	}
	if err != nil {
		state = render.ServeState{Served: slices.Sorted(maps.Keys(s.good)), Problem: oneLine(err)}
		if len(s.good) > 0 {
			state.Problem += servedStill
		}
	}
	switch state.Problem {
	case s.problem:
		state.Problem = ""
	case "":
		state.ProblemOver = strings.TrimSuffix(s.problem, servedStill)
		s.problem = ""
	default:
		s.problem = state.Problem
	}
	return state
}

// servedStill ends a problem that leaves everything as it is.
const servedStill = "; what was served before goes on being served"

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// read reads a file. What is no regular file gives its bytes only once, so they are remembered.
func (s *serveSource) read(ctx context.Context, f *input.File) ([]byte, error) {
	info, err := os.Stat(f.Name)
	if f.Name != input.Stdin && (err != nil || info.Mode().IsRegular()) {
		return f.Read(ctx)
	}
	r, ok := s.once[f.Name]
	if !ok {
		r.data, r.err = f.Read(ctx)
		s.once[f.Name] = r
	}
	return r.data, r.err
}

// holds tells whether something that is served came from a file.
func (s *serveSource) holds(file string) bool { return len(s.heldBy(file)) > 0 }

// heldBy names what is served from a file.
func (s *serveSource) heldBy(file string) []string {
	var names []string
	for name, a := range s.good {
		if a.file == file {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// compare tells what changed against what was served before.
func (s *serveSource) compare(next map[string]servedAssignment, r *serveRound) render.ServeState {
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
	s.compareKept(r, &state)
	return state
}
