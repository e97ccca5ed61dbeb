package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/xds"
)

// clientState reads what a client of control planes has: a running Envoy's admin interface, or a gRPC process's client
// status. Versions are those of the resources; Envoy does not tell any.
type clientState func(ctx context.Context) ([]xds.Resource, error)

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
	read := func(ctx context.Context) ([]xds.Resource, error) { return adminResources(ctx, d, names) }
	if o.csds != "" {
		read = func(ctx context.Context) ([]xds.Resource, error) { return csdsResources(ctx, d, names) }
	}
	return read, xds.Options{Dial: d, Transport: xds.REST}, nil
}

func adminResources(ctx context.Context, d xds.Dial, names []string) ([]xds.Resource, error) {
	admin, err := xds.ReadAdmin(ctx, d, names)
	if err != nil {
		return nil, err
	}
	var out []xds.Resource
	for _, a := range admin.Assignments {
		out = append(out, heldBy(a.Resource.Name, "", a.Resource))
	}
	return out, nil
}

func csdsResources(ctx context.Context, d xds.Dial, names []string) ([]xds.Resource, error) {
	configs, err := xds.ReadCSDS(ctx, d)
	if err != nil {
		return nil, err
	}
	var out []xds.Resource
	for _, c := range configs {
		for _, r := range c.Resources {
			if r.Resource != nil && (len(names) == 0 || slices.Contains(names, r.Name)) {
				out = append(out, heldBy(r.Name, r.Version, r.Resource))
			}
		}
	}
	return out, nil
}

func heldBy(name, version string, r *eds.Resource) xds.Resource {
	return xds.Resource{Name: name, Version: version, Asked: true, Assignment: r, Any: &anypb.Any{TypeUrl: xds.AssignmentURL(xds.V3)}}
}

// pollClient reads a client again and again and reports what it finds as if it had been sent.
func pollClient(ctx context.Context, read clientState, o xds.Options, every time.Duration, fn func(*xds.Event) error) error {
	down := false
	for n := 1; ; n++ {
		resources, err := read(ctx)
		ev := &xds.Event{Kind: xds.Received, Time: time.Now(), Stream: n, Method: o.Dial.Target, TypeURL: xds.AssignmentURL(xds.V3), Resources: resources}
		var failed *xds.StreamError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &failed) && n > 1:
			ev = &xds.Event{Kind: xds.Closed, Time: ev.Time, Stream: n, Method: o.Dial.Target, Err: failed, Retry: every}
		case err != nil:
			return err
		}
		if !down || ev.Kind == xds.Received {
			if err := fn(ev); err != nil {
				return nil // only the wish to end
			}
		}
		down = ev.Kind == xds.Closed
		timer := time.NewTimer(every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}
