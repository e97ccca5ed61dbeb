package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/xds"
)

// clientState reads what a client of control planes has: a running Envoy's admin interface, or a gRPC process's client
// status. Versions are those of the resources; Envoy does not tell any.
type clientState func(ctx context.Context) (*clientHolds, error)

// clientHolds is what a client has at one time.
type clientHolds struct {
	resources []xds.Resource
	eds       []string          // names of those that come by EDS
	called    map[string]string // the name of an assignment by what a user may call it: that name, or its cluster's
	refused   []xds.NamedError  // what it does not take, and why
}

func (h *clientHolds) add(r xds.Resource, isEDS bool, alias string) {
	if h.called == nil {
		h.called = map[string]string{}
	}
	h.resources = append(h.resources, r)
	if isEDS {
		h.eds = append(h.eds, r.Name)
	}
	if _, taken := h.called[alias]; !taken {
		h.called[alias] = r.Name
	}
	h.called[r.Name] = r.Name
}

// clientSource is the client that the flags name; nil: none, a management server is asked.
func (o *watchOptions) clientSource(env *Env, names []string) (clientState, xds.Options, error) {
	flag, server := "--admin", o.admin
	switch {
	case o.admin != "" && o.csds != "":
		return nil, xds.Options{}, usagef("--admin and --csds exclude each other")
	case o.csds != "":
		flag, server = "--csds", o.csds
	case o.admin == "":
		return nil, xds.Options{}, nil
	}
	d, err := o.plainDial(env, flag, server)
	if err != nil {
		return nil, xds.Options{}, err
	}
	read, client := func(ctx context.Context) (*clientHolds, error) { return adminHolds(ctx, d, names) }, diag.Envoy
	if o.csds != "" {
		read, client = func(ctx context.Context) (*clientHolds, error) { return csdsHolds(ctx, d, names) }, diag.GRPC
	}
	return read, xds.Options{Dial: d, Transport: xds.REST, Client: client}, nil
}

func adminHolds(ctx context.Context, d xds.Dial, names []string) (*clientHolds, error) {
	admin, err := xds.ReadAdmin(ctx, d, names)
	if err != nil {
		return nil, err
	}
	out := &clientHolds{}
	for i := range admin.Assignments {
		a := &admin.Assignments[i]
		held := heldBy(a.Resource.Name, "", a.Resource)
		held.Inline = !a.IsEDS()
		out.add(held, a.IsEDS(), a.Cluster)
	}
	return out, nil
}

func csdsHolds(ctx context.Context, d xds.Dial, names []string) (*clientHolds, error) {
	configs, err := xds.ReadCSDS(ctx, d)
	if err != nil {
		return nil, err
	}
	out := &clientHolds{}
	for _, c := range configs {
		for _, r := range c.Resources {
			if len(names) > 0 && !slices.Contains(names, r.Name) {
				continue
			}
			if r.Resource != nil {
				out.add(heldBy(r.Name, r.Version, r.Resource), true, r.Name)
			}
			if r.Error != "" {
				text := fmt.Sprintf("the client refuses version %q: %s", r.FailedVersion, r.Error)
				out.refused = append(out.refused, xds.NamedError{Name: r.Name, Code: codes.InvalidArgument, Message: text})
			}
		}
	}
	return out, nil
}

func heldBy(name, version string, r *eds.Resource) xds.Resource {
	return xds.Resource{Name: name, Version: version, Asked: true, Assignment: r, Any: &anypb.Any{TypeUrl: xds.AssignmentURL(xds.V3)}}
}

// pollTimeout is how long a client may take to answer.
const pollTimeout = 15 * time.Second

// clientPoll reads a client again and again and reports what it finds as if it had been sent.
type clientPoll struct {
	read  clientState
	from  string // where it is read from
	every time.Duration
	asked []string // by the user; empty: all
	polls int
	held  []string // names of the last poll, sorted
	// refused is what the client did not take at the last poll.
	refused []xds.NamedError
}

// run polls until the watch is done.
func (p *clientPoll) run(ctx context.Context, w *watching) error {
	down := false
	for {
		p.polls++
		pollCtx, cancel := context.WithTimeout(ctx, pollTimeout)
		holds, err := p.read(pollCtx)
		cancel()
		var events []*xds.Event
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			w.names = p.until(holds)
			events = p.compare(holds)
		case p.polls == 1:
			return err
		case !down:
			events = append(events, &xds.Event{Kind: xds.Closed, Err: err, Retry: p.every})
		}
		down = err != nil
		for _, ev := range events {
			ev.Time, ev.Stream, ev.Method = time.Now(), p.polls, p.from
			if _, done := w.see(ev); done { // what the client refuses is no reason to end: it has it
				return nil
			}
		}
		timer := time.NewTimer(p.every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// until are the names that --until is about.
func (p *clientPoll) until(holds *clientHolds) []string {
	if len(p.asked) == 0 {
		return holds.eds
	}
	names := slices.Clone(p.asked)
	for i, name := range names {
		if called, ok := holds.called[name]; ok {
			names[i] = called
		}
	}
	return names
}

// compare makes events of a poll: what is there, what is gone since the last one, and at first what never was.
func (p *clientPoll) compare(holds *clientHolds) []*xds.Event {
	var names []string
	for _, r := range holds.resources {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	ev := &xds.Event{Kind: xds.Received, TypeURL: xds.AssignmentURL(xds.V3), Resources: holds.resources}
	for _, name := range slices.Compact(p.held) {
		if _, found := slices.BinarySearch(names, name); !found {
			ev.Removed = append(ev.Removed, name)
		}
	}
	p.held = names
	for _, e := range holds.refused {
		if !slices.Contains(p.refused, e) {
			ev.Errors = append(ev.Errors, e)
		}
	}
	p.refused = holds.refused
	events := []*xds.Event{ev}
	if p.polls > 1 {
		return events
	}
	absent := slices.DeleteFunc(slices.Clone(p.asked), func(name string) bool { return holds.called[name] != "" })
	if len(absent) > 0 {
		events = append(events, &xds.Event{Kind: xds.Stalled, TypeURL: ev.TypeURL, Names: absent})
	}
	return events
}
