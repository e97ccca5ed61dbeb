package xds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// Watch asks a server for the assignments with the given names, or for those of all its clusters when there are none,
// and reports everything that happens to fn, one event at a time. An error that fn returns for a response refuses that
// response when Options.Ack is AckValid; an error for another event, and Stop for any, ends Watch. It returns nil after
// Stop, the context's error when that ends, a *StreamError when a stream ended and Options.Reconnect is off, and other
// errors when it could not begin.
func Watch(ctx context.Context, opts Options, names []string, fn func(*Event) error) error {
	o := opts.withDefaults()
	names, skipped := followable(names)
	for _, text := range skipped {
		if err := fn(&Event{Kind: Note, Time: o.Now(), Text: text}); err != nil {
			return endOf(err)
		}
	}
	if len(names) == 0 && len(skipped) > 0 {
		return errors.New("none of the names can be followed")
	}
	o.Node = nodeFor(o.Node, o.TransportVersion)
	switch o.Transport {
	case REST:
		return watchREST(ctx, o, names, fn)
	}
	conn, err := o.Dial.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	if o.Transport == Unary {
		return watchUnary(ctx, o, conn, names, fn)
	}
	return watchStreams(ctx, o, conn, names, fn)
}

// followable leaves out the names that need what edsctl does not do: xdstp resources are asked of other authorities, or
// by collections.
func followable(names []string) (out, skipped []string) {
	for _, n := range names {
		if isXDSTP(n) {
			skipped = append(skipped, fmt.Sprintf("%q is an xdstp name: xdstp resources are not followed", n))
			continue
		}
		out = append(out, n)
	}
	return out, skipped
}

// endOf is what Watch returns after fn returned err for an event that is no response.
func endOf(err error) error {
	if cause, stop := splitStop(err); stop {
		return cause
	}
	return err
}

// watchStreams runs the streams, with the other service in reserve when the choice is automatic.
func watchStreams(ctx context.Context, o Options, conn *grpc.ClientConn, names []string, fn func(*Event) error) error {
	ads := o.Service == ServiceADS || o.Service == ServiceAuto && len(names) == 0
	err := newRunner(o, conn, names, ads, fn).run(ctx)
	var failed *StreamError
	if o.Service != ServiceAuto || !errors.As(err, &failed) || failed.Code != codes.Unimplemented {
		return err
	}
	from, to := "EDS", "ADS"
	if ads {
		from, to = to, from
	}
	text := fmt.Sprintf("the server has no %s (%s): trying %s", from, failed.Text, to)
	if ferr := fn(&Event{Kind: Note, Time: o.Now(), Text: text}); ferr != nil {
		return endOf(ferr)
	}
	return newRunner(o, conn, names, !ads, fn).run(ctx)
}

// runner owns a session and its streams.
type runner struct {
	o       Options
	conn    *grpc.ClientConn
	session *session
	links   map[string]*link     // by type URL; nil: waiting for the next attempt
	retry   map[string]time.Time // by method, when to try again
	backoff map[string]*backoff  // by method
	heard   bool                 // a response came: Unimplemented is no reason for the other service any more
	opened  int
	inbox   chan incoming
	fn      func(*Event) error
}

func newRunner(o Options, conn *grpc.ClientConn, names []string, ads bool, fn func(*Event) error) *runner {
	return &runner{
		o: o, conn: conn, session: newSession(o, names, ads), links: map[string]*link{}, retry: map[string]time.Time{},
		backoff: map[string]*backoff{}, inbox: make(chan incoming), fn: fn,
	}
}

// methods are the full gRPC methods to open, with the type URLs that travel on each.
func (r *runner) methods() map[string][]string {
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
		return map[string][]string{"/" + n.adsService + "/" + kind + "AggregatedResources": types}
	}
	out := map[string][]string{"/" + n.edsService + "/" + kind + "Endpoints": {r.session.edsURL}}
	if r.session.follow {
		out["/"+n.cdsService+"/"+kind+"Clusters"] = []string{r.session.cdsURL}
	}
	return out
}

func (r *runner) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for _, l := range r.links {
			<-l.done
		}
	}()
	for method := range r.methods() {
		r.retry[method] = r.o.Now()
		r.backoff[method] = &backoff{rand: r.o.Rand}
	}
	for {
		if err := r.reopen(ctx); err != nil {
			return endOf(err)
		}
		timer := time.NewTimer(r.wait())
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
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

func (r *runner) uniqueLinks() []*link {
	var out []*link
	for typeURL, l := range r.links {
		if l.types[0] == typeURL {
			out = append(out, l)
		}
	}
	return out
}

// wait is the time until the clock has something to do.
func (r *runner) wait() time.Duration {
	next := r.session.deadline()
	for method, at := range r.retry {
		if r.isOpenable(method) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		return time.Hour
	}
	return max(next.Sub(r.o.Now()), 0)
}

func (r *runner) isOpenable(method string) bool {
	for m, types := range r.methods() {
		if m == method {
			return r.links[types[0]] == nil
		}
	}
	return false
}

// reopen starts the streams whose time has come.
func (r *runner) reopen(ctx context.Context) error {
	for method, types := range r.methods() {
		if r.links[types[0]] != nil || r.o.Now().Before(r.retry[method]) {
			continue
		}
		r.conn.ResetConnectBackoff()
		r.opened++
		l := &link{id: r.opened, method: method, types: types}
		if err := openLink(ctx, r.conn, &r.o.Dial, l, r.session.delta, r.inbox); err != nil {
			return err
		}
		for _, url := range types {
			r.links[url] = l
		}
		if err := r.fn(&Event{Kind: Opened, Time: r.o.Now(), Stream: l.id, Method: method}); err != nil {
			return err
		}
		r.session.opened(types...)
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
		l := r.links[out.typeURL]
		if l == nil {
			continue
		}
		select {
		case l.outbox <- out.msg:
		case <-l.done:
			continue
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := r.fn(sentEvent(out, l.id, r.o.Now())); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) tick(ctx context.Context) error {
	now := r.o.Now()
	expired, stalled := r.session.tick(now)
	for kind, names := range map[Kind][]string{Expired: expired, Stalled: stalled} {
		if len(names) == 0 {
			continue
		}
		if err := r.fn(&Event{Kind: kind, Time: now, Names: names}); err != nil {
			return err
		}
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
		return r.fn(&Event{Kind: Note, Time: now, Stream: in.link.id, Text: text})
	}
	if err := r.sendAll(ctx); err != nil {
		return err
	}
	if stop {
		return Stop(nil)
	}
	return nil
}

// closed is the end of a stream: the last word without Reconnect, else the begin of a wait.
func (r *runner) closed(in incoming, now time.Time) error {
	<-in.link.done
	for _, url := range in.link.types {
		delete(r.links, url)
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
