package xds

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// replayed is one run of a recording that is being read: a session that is fed with what was received and whose
// requests go nowhere.
type replayed struct {
	session *session
}

func newReplayed(h RecordHeader) *replayed {
	o := Options{Transport: h.Transport, ResourceVersion: h.Resource, Ack: AckAlways}.withDefaults()
	if o.Transport != Delta {
		o.Transport = SotW // polls are read as responses of the same shape
	}
	s := newSession(o, h.Names, true)
	if s.follow {
		s.warm.begun = true // names are taken as they were recorded, also when their clusters are not in the file
	}
	return &replayed{session: s}
}

func (r *replayed) event(line []byte) (*Event, error) {
	var l recordLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	ev := &Event{
		Kind: l.Event, Time: l.Time, Stream: l.Stream, Method: l.Method, TypeURL: l.TypeURL, Version: l.Version, Nonce: l.Nonce,
		Names: l.Names, Dropped: l.Dropped, Ack: l.Ack, Text: l.Text, Retry: -1,
	}
	if l.Text != "" && (l.Event == Closed || l.Event == Sent) {
		ev.Err, ev.Text = errors.New(l.Text), ""
	}
	if l.Message == "" && l.Event != Received && l.Event != Sent {
		return ev, nil
	}
	data, err := base64.StdEncoding.DecodeString(l.Message)
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	if l.Event == Sent {
		return ev, r.sent(ev, data, l.Delta)
	}
	return ev, r.received(ev, data, l.Delta)
}

func (r *replayed) sent(ev *Event, data []byte, delta bool) error {
	ev.Request = &discoveryv3.DiscoveryRequest{}
	if delta {
		ev.Request = &discoveryv3.DeltaDiscoveryRequest{}
	}
	return proto.Unmarshal(data, ev.Request)
}

func (r *replayed) received(ev *Event, data []byte, delta bool) error {
	var resp *response
	if delta {
		m := &discoveryv3.DeltaDiscoveryResponse{}
		if err := proto.Unmarshal(data, m); err != nil {
			return err
		}
		resp = fromDelta(m)
	} else {
		m := &discoveryv3.DiscoveryResponse{}
		if err := proto.Unmarshal(data, m); err != nil {
			return err
		}
		resp = fromSotW(m)
	}
	if resp.typeURL == "" {
		resp.typeURL = ev.TypeURL
	}
	taken := *ev
	r.session.receive(resp, ev.Time, &taken, func(*Event) error { return nil })
	r.session.drain()
	if taken.Message != nil {
		*ev = taken
	} else {
		ev.Message = resp.message
	}
	return nil
}
