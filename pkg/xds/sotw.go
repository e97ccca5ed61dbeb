package xds

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

// subscription is the client's state for one type URL: what it wants, what it holds and what it owes an answer.
// The two variants of the protocol implement it. next returns the requests that are due, one at a time, and nil when
// there is none or the type is paused.
type subscription interface {
	// setNames tells that watches came or went: names are those that are wanted when it is called, and changes what came
	// and went since the last call, in order.
	setNames(names func() []string, changes []change)
	open()
	pause(bool)
	take(r *response, asked func(string) bool, nack *status.Status, answer bool)
	holds(name string) (version string, ok bool)
	drop(name string)
	next() (msg proto.Message, ack Ack)
}

// sotwSubscription follows Envoy's GrpcMuxImpl (source/extensions/config_subscription/grpc/grpc_mux_impl.cc): there is
// one request, built from the newest state whenever something changed, and a paused type sends it once when it is
// resumed. So an ACK that is held back and a new list of names become one message.
type sotwSubscription struct {
	typeURL string
	names   func() []string // nil: nothing was ever wanted
	version string          // last accepted, survives the stream; advances also when none of the names was in the response
	nonce   string          // last received on this stream
	detail  *status.Status
	pending bool
	owed    Ack // what the pending request answers
	paused  bool
}

// setNames asks again also when the names are the same as before: Envoy does so whenever a watch came or went.
func (s *sotwSubscription) setNames(names func() []string, _ []change) {
	s.names, s.pending = names, true
}

// open keeps the reason of a refusal that was held back: the first request has it.
func (s *sotwSubscription) open() {
	s.nonce, s.pending = "", true
	if s.owed == ACK {
		s.owed = NoAck
	}
}

func (s *sotwSubscription) pause(on bool) { s.paused = on }

func (s *sotwSubscription) take(r *response, _ func(string) bool, nack *status.Status, answer bool) {
	s.nonce = r.nonce
	if nack == nil {
		s.version = r.version
	}
	if !answer {
		return
	}
	s.pending = true
	if nack != nil {
		s.detail = nack // stays when the answer is held back and another response comes that is good
	}
	s.owed = ACK
	if s.detail != nil {
		s.owed = NACK
	}
}

// unwatched takes a response of a type of which nothing is wanted any more, as Envoy does: an empty one is accepted
// without an answer; one with resources is answered with the version from before, which refuses it without a reason.
func (s *sotwSubscription) unwatched(r *response) {
	s.nonce = r.nonce
	if len(r.items) == 0 {
		s.version = r.version
		return
	}
	s.pending = true
}

// holds is about heartbeats: in this variant the version of a resource is that of the last accepted response.
func (s *sotwSubscription) holds(string) (string, bool) { return s.version, true }

func (s *sotwSubscription) drop(string) {}

func (s *sotwSubscription) next() (proto.Message, Ack) {
	if !s.pending || s.paused {
		return nil, NoAck
	}
	req := &discoveryv3.DiscoveryRequest{TypeUrl: s.typeURL, VersionInfo: s.version, ResponseNonce: s.nonce, ErrorDetail: s.detail}
	if s.names != nil {
		req.ResourceNames = s.names()
	}
	ack := s.owed
	s.pending, s.detail, s.owed = false, nil, NoAck
	return req, ack
}
