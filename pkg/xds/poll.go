package xds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"

	"github.com/edsctl/edsctl/pkg/eds"
)

// pollState is the client's state for one type that is polled: a request has no nonce and no error_detail, so a refusal
// shows only in that the version stays (http_subscription_impl.cc).
type pollState struct {
	typeURL string
	version string
}

func (p *pollState) request(node *corev3.Node, names []string) *discoveryv3.DiscoveryRequest {
	names = slices.Clone(names)
	slices.Sort(names)
	return &discoveryv3.DiscoveryRequest{VersionInfo: p.version, Node: node, ResourceNames: names, TypeUrl: p.typeURL}
}

// take keeps the version of an answer that is not refused, also of one without any resource.
func (p *pollState) take(r *response, refused error, always bool) {
	if refused == nil || always {
		p.version = r.version
	}
}

// poller asks again and again: for the clusters first, when no names are given, then for their assignments.
type poller struct {
	o                Options
	names            []string
	follow           bool
	edsPath, cdsPath string // what ask is called with
	ask              func(ctx context.Context, path string, req *discoveryv3.DiscoveryRequest) (*response, error)
	eds, cds         pollState
	byName           map[string]*pollState // REST: Envoy polls for each cluster on its own
	clusters         *warming
	exchanges        int
	fn               func(*Event) error
	loader           *eds.Loader
}

func newPoller(o Options, names []string, fn func(*Event) error) *poller {
	p := &poller{
		o: o, names: names, follow: len(names) == 0, fn: fn, byName: map[string]*pollState{},
		eds: pollState{typeURL: AssignmentURL(o.ResourceVersion)}, cds: pollState{typeURL: ClusterURL(o.ResourceVersion)},
	}
	source := eds.FromSotW
	if o.Transport == REST {
		source = eds.FromREST
	}
	p.loader = newLoader(o, source, p.follow, "", "")
	if p.follow {
		p.clusters = newWarming(o.FetchTimeout, o.StaticClusters, o.Now())
	}
	return p
}

func (p *poller) run(ctx context.Context) error {
	wait := &backoff{rand: p.o.Rand}
	for {
		err := p.round(ctx)
		delay := p.o.RefreshDelay + time.Duration(p.o.Rand.Int64N(int64(p.o.RefreshDelay)))
		switch cause, stop := splitStop(err); {
		case stop:
			return cause
		case isOver(ctx, err):
			return ctx.Err()
		case err == nil:
			wait.reset()
		case !p.o.Reconnect || !isStreamError(err):
			return err
		default:
			delay = max(delay, wait.next())
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// isUnready tells whether no connection came up.
func isUnready(err error) bool {
	var failed *StreamError
	return errors.As(err, &failed) && failed.Code == codes.DeadlineExceeded && strings.HasSuffix(failed.Text, inSilence)
}

// isOver tells whether the context has ended and err, if any, tells no more than that.
func isOver(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (err == nil || isStreamError(err) || errors.Is(err, ctx.Err()))
}

func isStreamError(err error) bool {
	var failed *StreamError
	return errors.As(err, &failed)
}

// round polls every type once. A failure that is worth another round is a *StreamError and has been reported.
func (p *poller) round(ctx context.Context) error {
	if p.follow {
		if err := p.exchange(ctx, p.cdsPath, &p.cds, nil); err != nil {
			return err
		}
		p.names = p.clusters.names()
		wanted := setOf(p.names)
		maps.DeleteFunc(p.byName, func(name string, _ *pollState) bool { return !wanted[name] }) // a cluster that comes back is a new one
		if len(p.names) == 0 {
			return nil
		}
	}
	if p.o.Transport != REST {
		return p.exchange(ctx, p.edsPath, &p.eds, p.names)
	}
	for _, name := range p.names {
		state := p.byName[name]
		if state == nil {
			state = &pollState{typeURL: p.eds.typeURL}
			p.byName[name] = state
		}
		if err := p.exchange(ctx, p.edsPath, state, []string{name}); err != nil {
			return err
		}
	}
	return nil
}

func (p *poller) exchange(ctx context.Context, path string, state *pollState, names []string) error {
	p.exchanges++
	req := state.request(p.o.Node, names)
	report := func(ev *Event) error {
		ev.Time, ev.Stream, ev.Method = p.o.Now(), p.exchanges, path
		return p.fn(ev)
	}
	if err := report(&Event{Kind: Sent, TypeURL: state.typeURL, Names: req.GetResourceNames(), Version: state.version, Request: req}); err != nil {
		return asStop(err)
	}
	callCtx, cancel := context.WithTimeout(ctx, p.o.RequestTimeout)
	defer cancel()
	resp, err := p.ask(callCtx, path, req)
	if err != nil {
		if isOver(ctx, err) && (!isUnready(err) || !errors.Is(ctx.Err(), context.DeadlineExceeded)) {
			return ctx.Err()
		}
		retry := time.Duration(-1)
		if p.o.Reconnect && isStreamError(err) {
			retry = p.o.RefreshDelay
		}
		if ferr := report(&Event{Kind: Closed, Err: err, Retry: retry}); ferr != nil {
			return asStop(ferr)
		}
		return err
	}
	if resp == nil {
		return nil
	}
	return p.receive(resp, state, names, report)
}

// receive judges an answer as Envoy does: everything in it goes to the subscriber, asked for or not.
func (p *poller) receive(r *response, state *pollState, names []string, report func(*Event) error) error {
	if r.typeURL == "" {
		r.typeURL = state.typeURL // Envoy reads the answer as what it asked for
	}
	isCDS := state == &p.cds
	if !isCDS {
		r.decode(p.loader)
		if p.follow {
			r.surround(p.clusters)
		}
	}
	ev := &Event{Kind: Received, TypeURL: r.typeURL, Version: r.version, Nonce: r.nonce, ControlPlane: r.controlPlane, Message: r.message, Errors: r.errors}
	asked := setOf(names)
	for i := range r.items {
		r.items[i].Asked = isCDS || asked[r.items[i].Name]
	}
	markPassed(r.items, p.o.Client)
	ev.Resources = r.items
	whole := refuseSotW(r)
	ev.Refused = whole
	if isCDS {
		for _, item := range r.items {
			ev.Clusters = append(ev.Clusters, readCluster(item))
		}
		markDuplicates(ev.Clusters)
		if whole == nil {
			ev.Refused = refuseClusters(ev.Clusters)
		}
	}
	nack, stop := splitStop(report(ev)) // which may mark clusters as refused
	nack = earlier(whole, nack)
	switch {
	case isCDS:
		if nack == nil || whole == nil && p.o.Ack != AckValid {
			p.clusters.update(ev.Clusters, r, p.o.Now())
			nack = refuseClusters(ev.Clusters)
		}
	case nack == nil:
		nack = refusePoll(r, names)
	}
	state.take(r, nack, p.o.Ack != AckValid)
	if stop {
		return Stop(nil)
	}
	return nil
}

func setOf(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, name := range names {
		out[name] = true
	}
	return out
}

// refusePoll is what a cluster that polls for its one name says of the answer (eds.cc, onConfigUpdate).
func refusePoll(r *response, names []string) error {
	if len(names) != 1 || len(r.items) == 0 {
		return nil
	}
	if len(r.items) > 1 {
		return fmt.Errorf("Unexpected EDS resource length: %d", len(r.items))
	}
	if got := r.items[0].Name; got != names[0] {
		return fmt.Errorf("Unexpected EDS cluster (expecting %s): %s", names[0], got)
	}
	return nil
}

// asStop makes an error of the callback end the polling, whatever its kind.
func asStop(err error) error {
	if _, stop := splitStop(err); stop {
		return err
	}
	return Stop(err)
}
