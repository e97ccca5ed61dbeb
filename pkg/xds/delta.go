package xds

import (
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

// deltaSubscription follows Envoy's NewGrpcMuxImpl and DeltaSubscriptionState: answers queue up while the type is
// paused, and changes of the names travel apart from answers.
type deltaSubscription struct {
	typeURL  string
	wildcard bool // the legacy wildcard: no name is ever sent
	names    map[string]bool
	sent     map[string]bool   // names the server knows of on this stream
	versions map[string]string // accepted ones
	answers  []deltaAnswer
	began    bool // something was sent on this stream
	active   bool // there is something to ask for, or there was
	paused   bool
}

type deltaAnswer struct {
	nonce  string
	detail *status.Status
}

func newDeltaSubscription(typeURL string, wildcard bool) *deltaSubscription {
	return &deltaSubscription{typeURL: typeURL, wildcard: wildcard, active: wildcard, names: map[string]bool{}, sent: map[string]bool{}, versions: map[string]string{}}
}

func (s *deltaSubscription) setNames(names []string) {
	now := map[string]bool{}
	for _, n := range names {
		now[n] = true
		s.active = true
	}
	for n := range s.names {
		if !now[n] {
			delete(s.versions, n) // an unsubscribed name is forgotten: a later subscription starts without a version
		}
	}
	s.names = now
}

func (s *deltaSubscription) touch() {}

func (s *deltaSubscription) open() {
	s.answers, s.began, s.sent = nil, false, map[string]bool{}
	s.active = s.wildcard || len(s.names) > 0
}

func (s *deltaSubscription) pause(on bool) { s.paused = on }

func (s *deltaSubscription) take(r *response, asked func(string) bool, nack *status.Status, answer bool) {
	if nack == nil {
		for _, item := range r.items {
			if asked(item.Name) {
				s.versions[item.Name] = item.Version
			}
		}
		for _, name := range r.removed {
			delete(s.versions, name)
		}
	}
	if answer {
		s.answers = append(s.answers, deltaAnswer{r.nonce, nack})
	}
}

func (s *deltaSubscription) holds(name string) (string, bool) {
	v, ok := s.versions[name]
	return v, ok
}

// drop forgets the version of a resource whose TTL ran out.
func (s *deltaSubscription) drop(name string) { delete(s.versions, name) }

func (s *deltaSubscription) next() (proto.Message, Ack) {
	if s.paused {
		return nil, NoAck
	}
	if len(s.answers) > 0 {
		a := s.answers[0]
		s.answers = s.answers[1:]
		ack := ACK
		if a.detail != nil {
			ack = NACK
		}
		return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: s.typeURL, ResponseNonce: a.nonce, ErrorDetail: a.detail}, ack
	}
	req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: s.typeURL}
	for _, n := range slices.Sorted(maps.Keys(s.names)) {
		if !s.sent[n] {
			req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(s.sent)) {
		if !s.names[n] {
			req.ResourceNamesUnsubscribe = append(req.ResourceNamesUnsubscribe, n)
		}
	}
	first := !s.began
	if !s.active || !first && len(req.ResourceNamesSubscribe)+len(req.ResourceNamesUnsubscribe) == 0 {
		return nil, NoAck
	}
	if first && len(s.versions) > 0 {
		req.InitialResourceVersions = maps.Clone(s.versions)
	}
	s.began = true
	s.sent = maps.Clone(s.names)
	return req, NoAck
}
