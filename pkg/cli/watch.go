package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/simulate/assertion"
	"github.com/edsctl/edsctl/pkg/xds"
)

type watchOptions struct {
	xdsFlags
	xdsCheck
	maxUpdates int
	duration   time.Duration
	until      string
	output     string
	verbose    int
	record     string
	admin      string
	csds       string
}

func newWatchCmd(env *Env) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch [NAME...]",
		Short: "Show the changes of assignments as a control plane sends them",
		Long: `Subscribe to the assignments with the given names, or to those of all clusters, and print a line for every change:
what changed, and which part of the traffic goes elsewhere because of it. Connections that end are made anew.

It runs until Ctrl-C, --for, --max-updates or --until end it, all with exit code 0.`,
		Example: `  edsctl watch backend --server 127.0.0.1:18000 --plaintext
  edsctl watch --bootstrap envoy.yaml -o ndjson | jq .
  edsctl watch --admin http://127.0.0.1:9901
  edsctl watch backend --server 127.0.0.1:18000 --plaintext --until 'size(endpoints) >= 3' --for 60s`,
		GroupID: groupLive,
		RunE:    func(cmd *cobra.Command, args []string) error { return runWatch(cmd, env, &o, args) },
	}
	o.xdsFlags.bind(cmd)
	o.xdsCheck.bind(cmd)
	fs := cmd.Flags()
	fs.IntVar(&o.maxUpdates, "max-updates", 0, "end after so many changes of assignments; 0: no limit")
	fs.DurationVar(&o.duration, "for", 0, "end after this time; 0: no limit")
	fs.StringVar(&o.until, "until", "", "end when this CEL expression holds for every assignment (fields of simulate's JSON, and share(SELECTOR))")
	fs.CountVarP(&o.verbose, "verbose", "v", "tell what is sent and received; twice: whole messages")
	fs.StringVar(&o.record, "record", "", "append every message to this file, for edsctl replay")
	noEnv(fs, "record")
	fs.StringVar(&o.admin, "admin", "", "watch a running Envoy through its admin interface at this URL or HOST:PORT, every --refresh-delay")
	fs.StringVar(&o.csds, "csds", "", "watch a gRPC client through its client status service at HOST:PORT, every --refresh-delay")
	noProject(fs, "admin", "csds")
	outputVar(cmd, &o.output, render.WatchFormats())
	return cmd
}

func runWatch(cmd *cobra.Command, env *Env, o *watchOptions, names []string) error {
	until, err := compileUntil(o.until)
	if err != nil {
		return err
	}
	say := newRemarks(env, cmd, o.verbose)
	client, opts, err := o.clientSource(env, names)
	if err != nil {
		return err
	}
	if client == nil {
		var notes []string
		if opts, notes, err = o.options(env); err != nil {
			return err
		}
		for _, n := range notes {
			say.note(n)
		}
		if len(names) == 0 {
			names = o.fixed
		}
	}
	opts.Reconnect = true
	recorder, err := openRecording(o.record, opts, names)
	if err != nil {
		return err
	}
	w := &watching{
		say: say, check: o.newChecker(env, &opts), recorder: recorder, until: until, left: o.maxUpdates,
		held: map[string]*heldAssignment{}, names: names, env: env, format: o.output, live: client != nil,
		options: render.Options{Color: useColor(cmd, env, env.Stdout)},
	}
	ctx := cmd.Context()
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	if client != nil {
		err = pollClient(ctx, client, opts, o.refresh, w.event)
	} else {
		err = xds.Watch(ctx, opts, names, w.event)
	}
	err = errors.Join(w.writeErr, recorder.Close(), endOfWatch(opts, err))
	if err != nil && cmd.Context().Err() != nil && w.writeErr == nil {
		return nil
	}
	return err
}

// endOfWatch makes nothing of the ends that the user chose.
func endOfWatch(opts xds.Options, err error) error {
	var failed *xds.StreamError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &failed):
		return connectionError(opts, failed)
	}
	return err
}

func compileUntil(expr string) ([]*assertion.Assertion, error) {
	if expr == "" {
		return nil, nil
	}
	until, err := assertion.Compile([]string{expr})
	if err != nil {
		return nil, usagef("--until: %w", err)
	}
	return until, nil
}

// watching is a watch on its way.
type watching struct {
	say      *remarks
	check    *checker
	recorder *xds.Recorder
	until    []*assertion.Assertion
	left     int                        // updates until the end; 0: no limit
	held     map[string]*heldAssignment // the newest that the client takes
	names    []string                   // of the user; empty: of the clusters
	only     []string                   // names to show; empty: all
	followed []string                   // names that the clusters ask for
	clusters string                     // version of CDS that was told last
	down     bool                       // the connection is, and that was told
	live     bool                       // a client is watched: it took what it has
	env      *Env
	format   string
	options  render.Options
	writeErr error
}

func (w *watching) event(ev *xds.Event) error {
	if err := w.recorder.Record(ev); err != nil && w.writeErr == nil {
		w.writeErr = err
	}
	w.say.event(ev)
	refused := w.check.event(ev)
	var done bool
	switch ev.Kind {
	case xds.Received:
		done = w.received(ev)
	case xds.Expired, xds.Stalled, xds.Closed, xds.Opened:
		w.connection(ev)
	}
	switch {
	case w.writeErr != nil, done:
		return xds.Stop(refused)
	case ev.Kind == xds.Received:
		return refused
	}
	return nil
}

// connection tells of the stream's fate; a reconnect is told once.
func (w *watching) connection(ev *xds.Event) {
	switch ev.Kind {
	case xds.Closed:
		if w.down {
			return
		}
		w.down = true
		w.write(&render.WatchLine{Event: "disconnected", Time: ev.Time, Text: closeText(ev)})
	case xds.Opened:
		if w.format == "ndjson" {
			w.write(&render.WatchLine{Event: "connecting", Time: ev.Time, Text: ev.Method})
		}
	default:
		for _, name := range ev.Names {
			w.write(&render.WatchLine{Event: string(ev.Kind), Time: ev.Time, Name: name, Text: waitText(ev.Kind)})
		}
	}
}

func waitText(kind xds.Kind) string {
	if kind == xds.Expired {
		return "its TTL ran out; Envoy keeps the endpoints"
	}
	return "no assignment came in time: Envoy goes on with the last one, or without endpoints"
}

func closeText(ev *xds.Event) string {
	if ev.Err == nil {
		return "the server closed the stream; reconnecting"
	}
	return strings.Join(strings.Fields(ev.Err.Error()), " ") + "; reconnecting"
}

// received tells what a response changes, and whether that was the last that the user wants to see.
func (w *watching) received(ev *xds.Event) (done bool) {
	if w.down {
		w.down = false
		w.write(&render.WatchLine{Event: "connected", Time: ev.Time, Text: ev.Method})
	}
	if ev.IsCDS() {
		w.clusterChange(ev)
		return false
	}
	for i := range ev.Resources {
		r := &ev.Resources[i]
		if !r.Asked || r.Assignment == nil || w.isSecond(ev, i) || !w.shows(r.Name) {
			continue
		}
		if w.update(ev, r) {
			return true
		}
	}
	for _, name := range ev.Removed {
		w.write(&render.WatchLine{Event: "removed", Time: ev.Time, Name: name, Version: ev.Version, Text: "the server says that it does not exist; Envoy keeps its endpoints"})
		delete(w.held, name)
	}
	for _, e := range ev.Errors {
		w.write(&render.WatchLine{Event: "error", Time: ev.Time, Name: e.Name, Version: ev.Version, Text: e.Code.String() + ": " + e.Message})
	}
	return w.holds()
}

// shows tells whether the user wants to see a name.
func (w *watching) shows(name string) bool { return len(w.only) == 0 || slices.Contains(w.only, name) }

// isSecond tells whether a name was in the response before: Envoy keeps the first.
func (w *watching) isSecond(ev *xds.Event, i int) bool {
	return slices.ContainsFunc(ev.Resources[:i], func(r xds.Resource) bool { return r.Asked && r.Name == ev.Resources[i].Name })
}

func (w *watching) update(ev *xds.Event, r *xds.Resource) (done bool) {
	old := w.held[r.Name]
	held := hold(r.Assignment, w.check.client)
	change := compareAssignments(old, held, w.check.options)
	if old != nil && change.IsEmpty() {
		w.held[r.Name] = held
		return false
	}
	line := &render.WatchLine{
		Event: "update", Time: ev.Time, Name: r.Name, Version: r.Version, First: old == nil, Change: &change, Report: w.check.newest(r.Name),
	}
	if !w.live && w.check.refuses(r.Name) {
		line.Refused, change.Moved = w.check.client.String(), 0 // the client goes on with what it has
	} else {
		w.held[r.Name] = held
	}
	w.write(line)
	if w.left > 0 {
		w.left--
		return w.left == 0
	}
	return false
}

func (w *watching) clusterChange(ev *xds.Event) {
	if ev.Version == w.clusters && ev.Version != "" {
		return
	}
	w.clusters = ev.Version
	line := &render.WatchLine{Event: "clusters", Time: ev.Time, Version: ev.Version}
	if len(ev.Removed) == 0 {
		w.followed = nil
	}
	for _, c := range ev.Clusters {
		if c.IsEDS() && c.Err == nil {
			w.followed = append(w.followed, c.Service)
			continue
		}
		why := c.Why
		if c.Err != nil {
			why = c.Err.Error()
		}
		line.NotEDS = append(line.NotEDS, fmt.Sprintf("%s: %s", c.Name, why))
	}
	slices.Sort(w.followed)
	w.followed = slices.Compact(w.followed)
	line.Text = fmt.Sprintf("%s, %s for EDS", counted(len(ev.Clusters), "cluster"), counted(len(w.followed), "name"))
	w.write(line)
}

// holds tells whether --until is true of every assignment, all of which must have come.
func (w *watching) holds() bool {
	if w.until == nil {
		return false
	}
	names := w.names
	if len(names) == 0 {
		names = w.followed
	}
	for _, name := range names {
		held := w.held[name]
		if held == nil || held.traffic == nil {
			return false
		}
		outcomes, err := assertion.Evaluate(w.until, held.traffic)
		if err != nil || !outcomes[0].Holds {
			return false
		}
	}
	return len(names) > 0
}

func (w *watching) write(line *render.WatchLine) {
	if w.writeErr == nil {
		w.writeErr = render.Watch(w.env.Stdout, w.format, line, w.options)
	}
}
