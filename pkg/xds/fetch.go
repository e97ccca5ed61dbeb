package xds

import (
	"context"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// Fetch watches until each name is answered once: by an assignment, by its removal, or by an error of its own. The
// tracker has what came, also when an error is returned: the context's at its deadline, or that of the connection.
func Fetch(ctx context.Context, opts Options, names []string, fn func(*Event) error) (*Tracker, error) {
	t := NewTracker(names)
	err := Watch(ctx, opts, names, func(ev *Event) error {
		err := fn(ev) // which may mark clusters as refused: their assignments are not waited for
		t.Add(ev)
		if ev.IsCDS() && ev.Kind == Received && opts.Ack == AckValid {
			t.refusedClusters, _ = splitStop(err)
		}
		if ev.Kind != Received {
			return err
		}
		if t.Done() {
			return Stop(err)
		}
		return err
	})
	return t, err
}

// deltaOf is the message of an event when it is of the delta variant.
func deltaOf(ev *Event) (*discoveryv3.DeltaDiscoveryResponse, bool) {
	m, ok := ev.Message.(*discoveryv3.DeltaDiscoveryResponse)
	return m, ok
}
