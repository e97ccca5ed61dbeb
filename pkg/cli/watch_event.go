package cli

import (
	"iter"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/simulate/assertion"
	"github.com/edsctl/edsctl/pkg/xds"
)

// watching is a watch on its way.
type watching struct {
	say      *remarks
	check    *checker
	recorder *xds.Recorder
	until    []*assertion.Assertion
	left     int                 // updates until the end; 0: no limit
	states   map[string]*watched // by name
	names    []string            // that --until is about: those of the user, or what a client holds; empty: of the clusters
	only     []string            // names to show; empty: all
	clusters followedClusters
	down     bool // the connection is, and that was told
	live     bool // a client is watched: it took what it has
	replayed bool // from a recording, which does not tell whether there was another attempt
	env      *Env
	format   string
	options  render.Options
	writeErr error
}

// watched is what is known of a name.
type watched struct {
	held    *heldAssignment // the newest that the client takes; nil: none
	refused *eds.Resource   // the newest, when the client does not take it
	broken  *string         // the bytes of the newest, when they are no assignment
	told    bool            // a version was: the next one is not the first
}

func (w *watching) state(name string) *watched {
	s := w.states[name]
	if s == nil {
		if w.states == nil {
			w.states = map[string]*watched{}
		}
		s = &watched{}
		w.states[name] = s
	}
	return s
}

// event is what xds.Watch calls.
func (w *watching) event(ev *xds.Event) error {
	refused, done := w.see(ev)
	switch {
	case done:
		return xds.Stop(refused)
	case ev.Kind == xds.Received:
		return refused
	}
	return nil
}

// see takes an event and writes its lines. refused is why the client refuses a response; done: it was the last event that
// the user wants to see.
func (w *watching) see(ev *xds.Event) (refused error, done bool) {
	if err := w.recorder.Record(ev); err != nil && w.writeErr == nil {
		w.writeErr = err
	}
	w.say.event(ev)
	refused = w.check.event(ev)
	switch ev.Kind {
	case xds.Received:
		done = w.received(ev)
	case xds.Expired, xds.Stalled, xds.Closed, xds.Opened:
		w.connection(ev)
	}
	return refused, done || w.writeErr != nil
}

// received tells what a response changes, and whether that was the last that the user wants to see.
func (w *watching) received(ev *xds.Event) (done bool) {
	if w.down {
		w.down = false
		w.write(&render.WatchLine{Event: "connected", Time: ev.Time, Text: ev.Method})
	}
	if ev.IsCDS() {
		w.clusterChange(ev)
		return w.holds() // one that did not hold may be gone
	}
	for r := range w.shown(ev) {
		switch {
		case r.Assignment != nil:
			if w.update(ev, r) {
				return true
			}
		case r.Broken != nil && !r.Heartbeat:
			w.broken(ev, r)
		}
	}
	for _, name := range ev.Removed {
		if w.shows(name) && !w.isUnfollowed(name) {
			w.write(&render.WatchLine{Event: "removed", Time: ev.Time, Name: name, Version: ev.Version, Text: w.removedText()})
		}
		delete(w.states, name)
	}
	for _, e := range ev.Errors {
		if w.shows(e.Name) {
			w.write(&render.WatchLine{Event: "error", Time: ev.Time, Name: e.Name, Version: ev.Version, Text: e.Code.String() + ": " + e.Message})
		}
	}
	return w.holds()
}

// shows tells whether the user wants to see a name.
func (w *watching) shows(name string) bool { return len(w.only) == 0 || slices.Contains(w.only, name) }

// shown are the resources that were asked for, that the client keeps, and that the user wants to see.
func (w *watching) shown(ev *xds.Event) iter.Seq[*xds.Resource] {
	return func(yield func(*xds.Resource) bool) {
		for i := range ev.Resources {
			r := &ev.Resources[i]
			if r.Asked && !r.Passed && w.shows(r.Name) && !yield(r) {
				return
			}
		}
	}
}

// broken tells of a resource that holds no assignment, once as long as it stays the same.
func (w *watching) broken(ev *xds.Event, r *xds.Resource) {
	s := w.state(r.Name)
	body := string(r.Any.GetValue())
	if s.broken != nil && *s.broken == body {
		return
	}
	s.broken, s.refused = &body, nil
	line := &render.WatchLine{
		Event: "update", Time: ev.Time, Name: r.Name, Version: r.Version, Refused: w.check.client.String(), Report: w.check.newest(r.Name),
	}
	line.Text = line.Refused + " refuses it and keeps the last version"
	if line.Report != nil && len(line.Report.Findings) > 0 {
		f := line.Report.Findings[0]
		line.Text += ": " + f.Message + " [" + f.Rule + "]"
	}
	w.write(line)
}

func (w *watching) update(ev *xds.Event, r *xds.Resource) (done bool) {
	s := w.state(r.Name)
	s.broken = nil
	refused := !w.live && w.check.refuses(r.Name)
	if refused && s.refused != nil && proto.Equal(s.refused.Original, r.Assignment.Original) {
		return false // a server repeats it with every change of another one
	}
	next := hold(r.Assignment, w.check.client)
	change := compareAssignments(s.held, next, w.check.options)
	line := &render.WatchLine{
		Event: "update", Time: ev.Time, Name: r.Name, Version: r.Version, First: !s.told, Change: &change, Report: w.check.newest(r.Name),
	}
	if refused {
		s.refused = r.Assignment
		line.Refused, change.Moved = w.check.client.String(), 0 // the client goes on with what it has
	} else {
		same := s.held != nil && change.IsEmpty()
		s.held, s.refused = next, nil
		if same {
			return false
		}
	}
	s.told = true
	w.write(line)
	if w.left > 0 {
		w.left--
		return w.left == 0
	}
	return false
}

// holds tells whether --until is true of every assignment, all of which must have come.
func (w *watching) holds() bool {
	if w.until == nil {
		return false
	}
	names := w.names
	if len(names) == 0 {
		names = w.clusters.services()
	}
	for _, name := range names {
		s := w.states[name]
		if s == nil || s.held == nil || s.held.traffic == nil {
			return false
		}
		outcomes, err := assertion.Evaluate(w.until, s.held.traffic)
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
