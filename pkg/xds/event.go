package xds

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/eds"
)

// Kind of an Event.
type Kind string

// The kinds of events, in the order of a stream's life.
const (
	Opened   Kind = "open"     // a stream was opened (gRPC), Method says which
	Sent     Kind = "request"  // a request was sent: Request, Names, Ack
	Received Kind = "response" // a response came: Message and all that was read out of it
	Expired  Kind = "expired"  // the TTL of Names ran out
	Stalled  Kind = "stalled"  // Names have waited for their first assignment, or for one after a change of their cluster, in vain
	Closed   Kind = "close"    // a stream ended: Err, Retry
	Note     Kind = "note"     // something to tell the user: Text
)

// Ack is what a request answers.
type Ack string

// The answers. NoAck: the request answers nothing.
const (
	NoAck Ack = ""
	ACK   Ack = "ack"
	NACK  Ack = "nack"
)

// Event is one thing that happened between edsctl and a server. Only the fields of its kind are set.
type Event struct {
	Kind   Kind
	Time   time.Time
	Stream int    // number of the stream, in order of opening, from 1; REST and unary: of the exchange
	Method string // Opened: the full gRPC method, or the URL of a poll

	TypeURL      string // of the message
	Version      string // version_info of the message; in delta system_version_info
	Nonce        string
	ControlPlane string // control_plane.identifier of a response

	Names   []string      // Sent: names asked for (SotW) or newly asked for (delta); Expired, Stalled: the names
	Dropped []string      // Sent, delta: names unsubscribed
	Ack     Ack           // Sent
	Request proto.Message // Sent

	Message   proto.Message // Received: *DiscoveryResponse or *DeltaDiscoveryResponse, as it came
	Resources []Resource    // Received
	Removed   []string      // Received, delta: names that are gone or never were, of both fields
	Errors    []NamedError  // Received: resource_errors
	Clusters  []Cluster     // Received, CDS: what each cluster is
	Refused   error         // Received: what the client's own checks of the response as a whole refuse, before the callback's

	Err   error         // Closed: why, nil for a clean end; Sent with NACK: the reason
	Retry time.Duration // Closed: wait before the next attempt; negative: there is none
	Text  string        // Note

	Ignored bool // Note: a response came of a type, TypeURL, that was not asked for
}

// IsCDS tells whether a message event is about clusters.
func (e *Event) IsCDS() bool {
	for _, v := range ResourceVersions {
		if e.TypeURL == ClusterURL(v) {
			return true
		}
	}
	return false
}

// IsDelta tells whether a response is of the delta variant: one that holds changes only.
func (e *Event) IsDelta() bool {
	_, delta := deltaOf(e)
	return delta
}

// Resource is one resource of a response.
type Resource struct {
	Name      string     // as the client takes it: the wrapper's name, else cluster_name
	Version   string     // of the wrapper in delta, else the response's version_info
	Any       *anypb.Any // the inner message; nil in a heartbeat
	Wrapped   bool
	TTL       time.Duration // 0: none
	Heartbeat bool          // no body and the version that is held: only the timer is restarted
	Asked     bool          // its name is subscribed
	Inline    bool          // of a running Envoy: the assignment of a cluster without EDS, which no control plane has sent
	Passed    bool          // the name occurs twice, and this is not the copy that the client keeps
	// Assignment is the decoded resource, nil for a heartbeat and for a type that is none.
	Assignment *eds.Resource
	// Broken stands for a resource without an assignment, for what there is to report of it; nil when there is one. Of a
	// heartbeat it means nothing.
	Broken *eds.Resource
	// Err says why the body could not be decoded.
	Err error
}

// NamedError is one entry of resource_errors.
type NamedError struct {
	Name    string
	Code    codes.Code
	Message string
}

func (e NamedError) String() string { return fmt.Sprintf("%s: %s: %s", e.Name, e.Code, e.Message) }

// Stop ends Watch without an error once the response that it was returned for is answered; nack, which may be nil, is
// why the response is refused.
func Stop(nack error) error { return &stopError{nack} }

type stopError struct{ nack error }

func (e *stopError) Error() string {
	if e.nack == nil {
		return "stop"
	}
	return e.nack.Error()
}

// splitStop separates the wish to end from the reason to refuse.
func splitStop(err error) (nack error, stop bool) {
	var s *stopError
	if errors.As(err, &s) {
		return s.nack, true
	}
	return err, false
}

// StreamError is why a stream or an exchange ended; Status is its gRPC code (Unknown for others), HTTP its status when
// it was a poll.
type StreamError struct {
	Method string
	Code   codes.Code
	HTTP   int
	Text   string
}

func (e *StreamError) Error() string {
	if e.HTTP != 0 {
		return fmt.Sprintf("HTTP status %d: %s", e.HTTP, e.Text)
	}
	if e.Code == codes.OK {
		return "the server closed the stream"
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Text)
}
