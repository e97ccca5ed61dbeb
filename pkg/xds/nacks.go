package xds

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A state-of-the-world server may answer a NACK with the response that was refused, at once and for ever: go-control-plane's
// snapshot cache does. Envoy goes along at full speed (xds-protocol.md 4), which would be thousands of requests a second.
const (
	promptNACKs  = 10 // of one reason in a row that are sent at once
	nackDelayMin = time.Second
	nackDelayMax = 30 * time.Second
)

// nacks are the refusals in a row of one type.
type nacks struct {
	reason string
	count  int
	delay  time.Duration
	held   *outgoing // waits until at
	at     time.Time
}

// holdBack keeps a NACK that repeats too often, to be sent later. Whatever else is said of the type takes its place.
func (r *runner) holdBack(out outgoing, now time.Time) (held bool, err error) {
	n := r.nacks[out.typeURL]
	if n == nil {
		n = &nacks{}
		r.nacks[out.typeURL] = n
	}
	n.held = nil
	if out.ack != NACK {
		if out.ack == ACK {
			*n = nacks{}
		}
		return false, nil
	}
	if reason := out.detail.GetMessage(); reason != n.reason {
		*n = nacks{reason: reason}
	}
	if n.count++; n.count <= promptNACKs {
		return false, nil
	}
	first := n.delay == 0
	n.delay = min(max(2*n.delay, nackDelayMin), nackDelayMax)
	n.held, n.at = &out, now.Add(n.delay)
	if !first {
		return true, nil
	}
	text := fmt.Sprintf("the server answers every NACK of %s with the same response: from now on they are sent after %s to %s, where Envoy would send them at once",
		strings.TrimPrefix(out.typeURL, typePrefix), nackDelayMin, nackDelayMax)
	return true, r.fn(&Event{Kind: Note, Time: now, Text: text})
}

// sendHeld sends the NACKs whose time has come.
func (r *runner) sendHeld(ctx context.Context, now time.Time) error {
	for _, url := range slices.Sorted(maps.Keys(r.nacks)) {
		n := r.nacks[url]
		if n.held == nil || now.Before(n.at) {
			continue
		}
		out := *n.held
		n.held = nil
		if err := r.send(ctx, out); err != nil {
			return err
		}
	}
	return nil
}
