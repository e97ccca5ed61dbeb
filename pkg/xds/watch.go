package xds

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
)

// Watch asks a server for the assignments with the given names, or for those of all its clusters when there are none,
// and reports everything that happens to fn, one event at a time. An error that fn returns for a response refuses that
// response when Options.Ack is AckValid; an error for another event, and Stop for any, ends Watch. It returns nil after
// Stop, the context's error when that ends, a *StreamError when a stream ended and Options.Reconnect is off, and other
// errors when it could not begin.
func Watch(ctx context.Context, opts Options, names []string, fn func(*Event) error) error {
	o := opts.withDefaults()
	o.Dial.secrets = newSecrets(&o.Dial)
	return o.Dial.secrets.hideError(watch(ctx, o, names, o.Dial.secrets.hiding(fn)))
}

func watch(ctx context.Context, o Options, names []string, fn func(*Event) error) error {
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
	case Unary:
		return watchUnary(ctx, o, names, fn)
	}
	return watchStreams(ctx, o, names, fn)
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
func watchStreams(ctx context.Context, o Options, names []string, fn func(*Event) error) error {
	ads := o.Service == ServiceADS || o.Service == ServiceAuto && len(names) == 0
	err := newRunner(o, names, ads, fn).run(ctx)
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
	return newRunner(o, names, !ads, fn).run(ctx)
}
