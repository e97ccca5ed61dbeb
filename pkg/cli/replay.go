package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/input"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds"
)

type replayOptions struct {
	xdsCheck
	names   []string
	at      string
	output  string
	verbose int
}

func newReplayCmd(env *Env) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Show a recording of watch or fetch, and validate it anew",
		Long: `Read a recording that watch or fetch made with --record, and show its changes as watch did, with what validation
says of each assignment. With an output for assignments (yaml, json, textpb, pb) print the newest version of each
instead, or that of the time --at, as input for validate, simulate and diff.`,
		Example: `  edsctl replay incident.rec
  edsctl replay incident.rec -o ndjson --name backend
  edsctl replay incident.rec --at 2026-03-01T10:00:00Z -o yaml | edsctl simulate -`,
		GroupID: groupLive,
		Args:    exactlyOne("recording"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runReplay(cmd, env, &o, args[0]) },
	}
	o.xdsCheck.bind(cmd)
	o.bindFailOn(cmd)
	fs := cmd.Flags()
	listVar(fs, &o.names, "name", "NAME", "show only this assignment (repeatable)", func(s string) (string, error) { return s, nil })
	fs.StringVar(&o.at, "at", "", "leave out what came after this time (RFC 3339)")
	fs.CountVarP(&o.verbose, "verbose", "v", "show every message; twice: whole messages")
	outputVar(cmd, &o.output, append(render.WatchFormats(), "yaml", "json", "textpb", "pb"))
	return cmd
}

func runReplay(cmd *cobra.Command, env *Env, o *replayOptions, path string) error {
	var until time.Time
	if o.at != "" {
		var err error
		if until, err = time.Parse(time.RFC3339, o.at); err != nil {
			return usagef("--at: value %q: must be a time like 2026-03-01T10:00:00Z", o.at)
		}
	}
	in, closeFile, err := openInput(cmd.Context(), env, path)
	if err != nil {
		return err
	}
	defer closeFile()
	asLines := slices.Contains(render.WatchFormats(), o.output)
	r := &replaying{
		watching: watching{
			say: newRemarks(env, cmd, o.verbose), check: o.newChecker(env, &xds.Options{}), env: env, format: o.output,
			options: render.Options{Color: useColor(cmd, env, env.Stdout)}, only: o.names, replayed: true,
		},
		versions: map[string]render.Assignment{}, came: map[string]bool{},
	}
	r.check.shows = r.shows
	if !asLines {
		r.env = &Env{Stdout: io.Discard}
		r.format = render.WatchFormats()[0]
	}
	runs := 0
	err = xds.ReadRecording(in, func(h xds.RecordHeader) error {
		if runs++; runs == 1 {
			r.begin = h.Time
		}
		r.check.server = h.Server
		r.clusters = followedClusters{} // each run asks for them anew
		if r.say.verbose > 0 {
			r.say.note(fmt.Sprintf("run %d: %s over %s from %q at %s", runs, h.Transport, h.Service, h.Server, h.Time.Format(time.RFC3339)))
		}
		return nil
	}, func(ev *xds.Event) error {
		if !until.IsZero() && ev.Time.After(until) {
			return xds.Stop(nil)
		}
		r.keep(ev)
		if _, done := r.see(ev); done { // that the client refuses a response is no reason to stop reading
			return xds.Stop(nil)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if runs == 0 {
		return fmt.Errorf("%s: the recording is empty", path)
	}
	if !asLines {
		r.writeErr = render.Assignments(env.Stdout, o.output, r.newest(), render.Options{})
	}
	if r.writeErr != nil {
		return r.writeErr
	}
	return errors.Join(r.missing(until), r.check.report(r.say))
}

// openInput opens a recording. Pipes and devices are read as a whole, within the limit of a document.
func openInput(ctx context.Context, env *Env, path string) (io.Reader, func(), error) {
	if path == "-" {
		return env.Stdin, func() {}, nil
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		data, err := input.ReadFile(ctx, path, input.DefaultMaxBytes)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		return bytes.NewReader(data), func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, bareError(err))
	}
	return f, func() { _ = f.Close() }, nil
}

// replaying is a watch over a recording.
type replaying struct {
	watching
	begin    time.Time // of the first run
	versions map[string]render.Assignment
	order    []string
	came     map[string]bool // names that the recording tells something of
}

// missing is the error for names that the recording tells nothing of, and for a time by which nothing had come; until is
// zero for the end.
func (r *replaying) missing(until time.Time) error {
	by, names := "", slices.Sorted(maps.Keys(r.came))
	if !until.IsZero() {
		by = " by " + until.Format(time.RFC3339)
		if len(names) == 0 {
			return fmt.Errorf("replay: no assignment had come%s: the recording begins at %s", by, r.begin.Format(time.RFC3339))
		}
	}
	var errs []error
	for _, name := range r.only {
		if r.came[name] {
			continue
		}
		hints := didYouMean(name, names, "")
		if len(hints) == 0 && len(names) > 0 {
			hints = []string{"it has " + quotedNames(names)}
		}
		errs = append(errs, withHint(fmt.Errorf("replay: nothing of %q is in the recording%s", name, by), hints...))
	}
	return errors.Join(errs...)
}

// note remembers the names that an event tells something of.
func (r *replaying) note(ev *xds.Event) {
	var names []string
	switch {
	case ev.Kind == xds.Received && !ev.IsCDS():
		names = slices.Clone(ev.Removed)
		for i := range ev.Resources {
			if ev.Resources[i].Asked {
				names = append(names, ev.Resources[i].Name)
			}
		}
		for _, e := range ev.Errors {
			names = append(names, e.Name)
		}
	case ev.Kind == xds.Expired || ev.Kind == xds.Stalled:
		names = ev.Names
	}
	for _, name := range names {
		r.came[name] = true
	}
}

// keep stores the newest version of each name.
func (r *replaying) keep(ev *xds.Event) {
	r.note(ev)
	if ev.Kind != xds.Received {
		return
	}
	for res := range r.shown(ev) {
		if res.Assignment == nil {
			continue
		}
		if _, ok := r.versions[res.Name]; !ok {
			r.order = append(r.order, res.Name)
		}
		r.versions[res.Name] = render.Assignment{Name: res.Name, Version: res.Version, TypeURL: res.Any.GetTypeUrl(), Resource: res.Assignment, Wire: res.Any.GetValue()}
	}
}

func (r *replaying) newest() []render.Assignment {
	slices.Sort(r.order)
	out := make([]render.Assignment, 0, len(r.order))
	for _, name := range r.order {
		out = append(out, r.versions[name])
	}
	return out
}
