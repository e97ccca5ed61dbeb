package xds

import (
	"errors"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// sentEvent describes a request that was sent.
func sentEvent(out outgoing, stream int, now time.Time) *Event {
	ev := &Event{Kind: Sent, Time: now, Stream: stream, TypeURL: out.typeURL, Ack: out.ack, Request: out.msg}
	switch m := out.msg.(type) {
	case *discoveryv3.DiscoveryRequest:
		ev.Names, ev.Version, ev.Nonce = m.GetResourceNames(), m.GetVersionInfo(), m.GetResponseNonce()
	case *discoveryv3.DeltaDiscoveryRequest:
		ev.Names, ev.Dropped, ev.Nonce = m.GetResourceNamesSubscribe(), m.GetResourceNamesUnsubscribe(), m.GetResponseNonce()
	}
	if out.detail != nil {
		ev.Err = errors.New(out.detail.GetMessage())
	}
	return ev
}
