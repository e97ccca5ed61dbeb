package xds

import (
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

// deltaSubscription follows Envoy's NewGrpcMuxImpl and DeltaSubscriptionState: answers queue up while the type is
// paused, and the first of them carries what else there is to say.
type deltaSubscription struct {
	typeURL        string
	wildcard       bool // the legacy wildcard: no name is ever sent
	names          map[string]bool
	added, removed map[string]bool   // what the server has to be told of the names
	versions       map[string]string // accepted ones
	answers        []deltaAnswer
	began          bool // something was sent on this stream
	paused         bool
}

type deltaAnswer struct {
	nonce  string
	detail *status.Status
}

func newDeltaSubscription(typeURL string, wildcard bool) *deltaSubscription {
	return &deltaSubscription{
		typeURL: typeURL, wildcard: wildcard, names: map[string]bool{}, added: map[string]bool{}, removed: map[string]bool{}, versions: map[string]string{},
	}
}

// setNames keeps the last change of each name, since the user of a name that went and came back has to be reminded of its
// resource. An unsubscribed name is forgotten: a later subscription starts without a version.
func (s *deltaSubscription) setNames(_ func() []string, changes []change) {
	for _, c := range changes {
		if c.watched {
			s.names[c.name], s.added[c.name] = true, true
			delete(s.removed, c.name)
			continue
		}
		delete(s.names, c.name)
		delete(s.added, c.name)
		delete(s.versions, c.name)
		s.removed[c.name] = true
	}
}

func (s *deltaSubscription) open() { s.answers, s.began = nil, false }

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
	due := len(s.added)+len(s.removed) > 0 || !s.began && (s.wildcard || len(s.names) > 0)
	if s.paused || !due && len(s.answers) == 0 {
		return nil, NoAck
	}
	req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: s.typeURL}
	if !s.began { // a new server may know nothing: it is told everything
		s.began = true
		s.added = maps.Clone(s.names)
		clear(s.removed)
		if len(s.versions) > 0 {
			req.InitialResourceVersions = maps.Clone(s.versions)
		}
	}
	req.ResourceNamesSubscribe = slices.Sorted(maps.Keys(s.added))
	req.ResourceNamesUnsubscribe = slices.Sorted(maps.Keys(s.removed))
	clear(s.added)
	clear(s.removed)
	if len(s.answers) == 0 {
		return req, NoAck
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	req.ResponseNonce, req.ErrorDetail = a.nonce, a.detail
	if a.detail != nil {
		return req, NACK
	}
	return req, ACK
}
