package xds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// runner owns a session and its streams.
type runner struct {
	o       Options
	conn    *grpc.ClientConn // nil between a failure of the connection and the next attempt
	session *session
	links   map[string]*link     // by type URL; nil: waiting for the next attempt
	retry   map[string]time.Time // by method, when to try again
	backoff map[string]*backoff  // by method
	nacks   map[string]*nacks    // by type URL
	heard   bool                 // a response came: Unimplemented is no reason for the other service any more
	opened  int
	leds    map[string]bool // names of which it was told that LEDS is not followed
	inbox   chan incoming
	fn      func(*Event) error
}

func newRunner(o Options, names []string, ads bool, fn func(*Event) error) *runner {
	return &runner{
		o: o, session: newSession(o, names, ads), links: map[string]*link{}, retry: map[string]time.Time{},
		backoff: map[string]*backoff{}, nacks: map[string]*nacks{}, leds: map[string]bool{}, inbox: make(chan incoming), fn: fn,
	}
}

// method is a full gRPC method, with the type URLs that travel on its stream.
type method struct {
	name  string
	types []string
}

// methods are those to open, in order.
func (r *runner) methods() []method {
	n := namesOf(r.o.TransportVersion)
	kind := "Stream"
	if r.session.delta {
		kind = "Delta"
	}
	types := []string{r.session.edsURL}
	if r.session.follow {
		types = []string{r.session.cdsURL, r.session.edsURL}
	}
	if r.session.ads {
		return []method{{"/" + n.adsService + "/" + kind + "AggregatedResources", types}}
	}
	var out []method
	if r.session.follow {
		out = append(out, method{"/" + n.cdsService + "/" + kind + "Clusters", []string{r.session.cdsURL}})
	}
	return append(out, method{"/" + n.edsService + "/" + kind + "Endpoints", []string{r.session.edsURL}})
}

func (r *runner) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for _, l := range r.links {
			<-l.done
		}
		r.disconnect()
	}()
	for _, m := range r.methods() {
		r.retry[m.name] = r.o.Now()
		r.backoff[m.name] = &backoff{rand: r.o.Rand}
	}
	for {
		if err := r.reopen(ctx); err != nil {
			return endOf(err)
		}
		timer := time.NewTimer(r.wait())
		select {
		case <-ctx.Done():
			timer.Stop()
			return r.over(ctx)
		case <-timer.C:
			err = r.tick(ctx)
		case in := <-r.inbox:
			timer.Stop()
			err = r.handle(ctx, in)
		}
		if err != nil {
			return r.end(err)
		}
	}
}

// over is the end by the context. At a deadline it is said how far the connection had come, when it was never there.
func (r *runner) over(ctx context.Context) error {
	if r.conn == nil || r.heard || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	for _, l := range r.uniqueLinks() {
		failed := r.o.Dial.progress.unready(l.method)
		if failed == nil {
			continue
		}
		if err := r.fn(&Event{Kind: Closed, Time: r.o.Now(), Stream: l.id, Method: l.method, Err: failed, Retry: -1}); err != nil {
			return endOf(err)
		}
	}
	return ctx.Err()
}

// closeGrace bounds the wait for a server to end its side of a stream, so that what was queued has left by then.
const closeGrace = 250 * time.Millisecond

// end closes the streams in good manners: what is queued is still sent.
func (r *runner) end(err error) error {
	cause, stop := splitStop(err)
	if !stop {
		return err
	}
	for _, l := range r.uniqueLinks() {
		close(l.outbox)
	}
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	for _, l := range r.uniqueLinks() {
		for open := true; open; {
			select {
			case in := <-r.inbox:
				open = in.link != l || in.err == nil
			case <-l.done:
				open = false
			case <-grace.C:
				return cause
			}
		}
	}
	return cause
}

// uniqueLinks are the open streams in the order of methods.
func (r *runner) uniqueLinks() []*link {
	var out []*link
	for _, m := range r.methods() {
		if l := r.links[m.types[0]]; l != nil {
			out = append(out, l)
		}
	}
	return out
}

// wait is the time until the clock has something to do.
func (r *runner) wait() time.Duration {
	next := r.session.deadline()
	for _, m := range r.methods() {
		if at := r.retry[m.name]; r.links[m.types[0]] == nil && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, n := range r.nacks {
		if n.held != nil && (next.IsZero() || n.at.Before(next)) {
			next = n.at
		}
	}
	if next.IsZero() {
		return time.Hour
	}
	return max(next.Sub(r.o.Now()), 0)
}

// reopen starts the streams whose time has come.
func (r *runner) reopen(ctx context.Context) error {
	for _, m := range r.methods() {
		if r.links[m.types[0]] != nil || r.o.Now().Before(r.retry[m.name]) {
			continue
		}
		if r.conn == nil {
			conn, err := r.o.Dial.connect(ctx)
			if err != nil {
				return err
			}
			r.conn = conn
		}
		r.opened++
		l := &link{id: r.opened, method: m.name, types: m.types}
		if err := openLink(ctx, r.conn, &r.o.Dial, l, r.session.delta, r.inbox); err != nil {
			return err
		}
		for _, url := range m.types {
			r.links[url] = l
		}
		if err := r.fn(&Event{Kind: Opened, Time: r.o.Now(), Stream: l.id, Method: m.name}); err != nil {
			return err
		}
		r.session.opened(m.types...)
		if err := r.sendAll(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sendAll passes the session's requests to their streams. Those of a stream that is down are dropped: the session says
// them again when it is opened.
func (r *runner) sendAll(ctx context.Context) error {
	for _, out := range r.session.drain() {
		held, err := r.holdBack(out, r.o.Now())
		if err != nil {
			return err
		}
		if held {
			continue
		}
		if err := r.send(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) send(ctx context.Context, out outgoing) error {
	l := r.links[out.typeURL]
	if l == nil {
		return nil
	}
	select {
	case l.outbox <- out.msg:
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.fn(sentEvent(out, l.id, r.o.Now()))
}

func (r *runner) tick(ctx context.Context) error {
	now := r.o.Now()
	expired, stalled := r.session.tick(now)
	for _, ev := range []*Event{{Kind: Expired, Time: now, Names: expired}, {Kind: Stalled, Time: now, Names: stalled}} {
		if len(ev.Names) == 0 {
			continue
		}
		if err := r.fn(ev); err != nil {
			return err
		}
	}
	if err := r.sendHeld(ctx, now); err != nil {
		return err
	}
	return r.sendAll(ctx)
}

func (r *runner) handle(ctx context.Context, in incoming) error {
	now := r.o.Now()
	if in.err != nil {
		if ctx.Err() != nil {
			return ctx.Err() // the stream ends with its context
		}
		return r.closed(in, now)
	}
	r.heard = true
	r.backoff[in.link.method].reset()
	ev := &Event{Time: now, Stream: in.link.id, Method: in.link.method}
	stop, ok := r.session.receive(in.resp, now, ev, r.fn)
	if !ok {
		text := fmt.Sprintf("ignored a response of type %q: it was not asked for, so it is not answered", strings.TrimPrefix(in.resp.typeURL, typePrefix))
		return r.fn(&Event{Kind: Note, Time: now, Stream: in.link.id, Text: text, Ignored: true, TypeURL: in.resp.typeURL})
	}
	if err := r.sendAll(ctx); err != nil {
		return err
	}
	if err := r.noteLEDS(ev); err != nil {
		return err
	}
	if stop {
		return Stop(nil)
	}
	return nil
}

// noteLEDS tells once of each assignment with localities whose endpoints come by LEDS: they are not asked for.
func (r *runner) noteLEDS(ev *Event) error {
	for i := range ev.Resources {
		res := &ev.Resources[i]
		if res.Assignment == nil || !res.Asked || r.leds[res.Name] {
			continue
		}
		for _, group := range res.Assignment.Assignment.GetEndpoints() {
			collection := group.GetLedsClusterLocalityConfig().GetLedsCollectionName()
			if collection == "" {
				continue
			}
			r.leds[res.Name] = true
			text := fmt.Sprintf("%q has a locality whose endpoints come by LEDS from the collection %q: LEDS is not followed", res.Name, collection)
			if err := r.fn(&Event{Kind: Note, Time: ev.Time, Stream: ev.Stream, Text: text}); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// disconnect closes the connection.
func (r *runner) disconnect() {
	if r.conn != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
}

// closed is the end of a stream: the last word without Reconnect, else the begin of a wait.
func (r *runner) closed(in incoming, now time.Time) error {
	<-in.link.done
	for _, url := range in.link.types {
		delete(r.links, url)
		delete(r.nacks, url)
	}
	if len(r.links) == 0 && status.Code(in.err) == codes.Unavailable {
		r.disconnect() // gRPC would reconnect in its own time; the next attempt is made in Envoy's
	}
	cause := streamError(in.link.method, in.err)
	var failed *StreamError
	hopeless := errors.As(cause, &failed) && failed.Code == codes.Unimplemented && !r.heard && r.o.Service == ServiceAuto
	ev := &Event{Kind: Closed, Time: now, Stream: in.link.id, Method: in.link.method, Err: cause, Retry: -1}
	if r.o.Reconnect && !hopeless {
		ev.Retry = r.backoff[in.link.method].next()
		r.retry[in.link.method] = now.Add(ev.Retry)
	}
	if err := r.fn(ev); err != nil {
		return err
	}
	if ev.Retry >= 0 {
		return nil
	}
	if cause == nil {
		return &StreamError{Method: in.link.method, Code: codes.OK}
	}
	return cause
}
