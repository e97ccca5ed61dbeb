package xds

import (
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// session is the state of one client towards one server over all its streams: pure, driven by its owner. Messages and
// the clock go in (opened, receive, tick), requests come out of drain in the order in which Envoy sends them.
type session struct {
	delta    bool
	ads      bool // clusters and endpoints share a stream: the ACK of CDS waits for warming clusters
	follow   bool // the names come from CDS
	client   diag.Client
	ack      AckMode
	node     *corev3.Node
	nodeOnce bool

	loader         *eds.Loader
	edsURL, cdsURL string
	eds, cds       subscription    // cds is nil unless follow
	warm           *warming        // the clusters of CDS; nil unless follow
	fixed          map[string]bool // names, unless follow
	ttl            map[string]time.Time
	waiting        map[string]bool // fixed names of which nothing came yet
	patience       time.Time       // when waiting is reported; zero: it was
	greeted        map[string]bool // type URLs after which the stream has had its node
	out            []outgoing
}

// outgoing is one request to send, on the stream of its type.
type outgoing struct {
	typeURL string
	msg     proto.Message
	ack     Ack
	detail  *status.Status
}

func newSession(o Options, names []string, ads bool) *session {
	s := &session{
		delta: o.Transport == Delta, ads: ads, follow: len(names) == 0, client: o.Client, ack: o.Ack, node: o.Node, nodeOnce: o.NodeOnce,
		edsURL: AssignmentURL(o.ResourceVersion), cdsURL: ClusterURL(o.ResourceVersion),
		fixed: map[string]bool{}, ttl: map[string]time.Time{}, greeted: map[string]bool{},
		waiting: map[string]bool{}, patience: o.Now().Add(o.FetchTimeout),
	}
	for _, name := range names {
		s.fixed[name], s.waiting[name] = true, true
	}
	source := eds.FromSotW
	if s.delta {
		source = eds.FromDelta
	}
	s.loader = newLoader(o, source, s.follow, "", "")
	s.eds = s.subscription(s.edsURL, false)
	if s.follow {
		s.cds = s.subscription(s.cdsURL, true)
		s.warm = newWarming(o.FetchTimeout, o.StaticClusters, o.Now())
		s.warm.settled = s.afterWarming // one by one: Envoy sends a request for each
	} else {
		changes := make([]change, len(names))
		for i, name := range names {
			changes[i] = change{name, true}
		}
		s.eds.setNames(func() []string { return slices.Clone(names) }, changes)
	}
	return s
}

func (s *session) subscription(url string, wildcard bool) subscription {
	if s.delta {
		return newDeltaSubscription(url, wildcard)
	}
	return &sotwSubscription{typeURL: url}
}

// opened starts the exchange on a new stream that carries the given types: in the order of their first subscription,
// with what was accepted before and without nonces.
func (s *session) opened(typeURLs ...string) {
	for _, url := range typeURLs {
		delete(s.greeted, s.streamOf(url))
	}
	for _, url := range typeURLs {
		switch {
		case url == s.cdsURL && s.follow:
			s.cds.open()
			s.flush(s.cds)
		case url == s.edsURL && (!s.follow || s.warm.begun):
			s.eds.open()
			s.flush(s.eds)
		}
	}
}

// streamOf names the stream of a type: one for all in ADS.
func (s *session) streamOf(typeURL string) string {
	if s.ads {
		return ""
	}
	return typeURL
}

// flush moves what a subscription has to say into out.
func (s *session) flush(sub subscription) {
	for {
		msg, ack := sub.next()
		if msg == nil {
			return
		}
		s.emit(msg, ack)
	}
}

func (s *session) emit(msg proto.Message, ack Ack) {
	o := outgoing{msg: msg, ack: ack}
	var node **corev3.Node
	switch m := msg.(type) {
	case *discoveryv3.DiscoveryRequest:
		o.typeURL, o.detail, node = m.GetTypeUrl(), m.GetErrorDetail(), &m.Node
	case *discoveryv3.DeltaDiscoveryRequest:
		o.typeURL, o.detail, node = m.GetTypeUrl(), m.GetErrorDetail(), &m.Node
	}
	if stream := s.streamOf(o.typeURL); !s.nodeOnce || !s.greeted[stream] {
		s.greeted[stream] = true
		*node = s.node
	}
	s.out = append(s.out, o)
}

// drain returns the requests that are due and forgets them.
func (s *session) drain() []outgoing {
	out := s.out
	s.out = nil
	return out
}

// wants tells whether a name is subscribed.
func (s *session) wants(name string) bool {
	if !s.follow {
		return s.fixed[name]
	}
	return s.warm.wants(name)
}

// receive takes a response: it fills the event, asks check what it thinks of it, and queues the answer. A type that
// nobody subscribed gets neither: ok is false.
func (s *session) receive(r *response, now time.Time, ev *Event, check func(*Event) error) (stop, ok bool) {
	isCDS := s.follow && r.typeURL == s.cdsURL
	switch {
	case isCDS:
	case r.typeURL != s.edsURL:
		return false, false
	case s.follow && !s.warm.begun:
		// Envoy answers some of them, with a request that lacks its type_url: only what it keeps of them is of use.
		if state, ok := s.eds.(*sotwSubscription); ok && s.warm.applied && s.asEnvoy() {
			state.unwatched(r)
		}
		return false, false
	}
	sub := s.eds
	asked := s.wants
	if isCDS {
		sub, asked = s.cds, func(string) bool { return true }
	} else {
		r.decode(s.loader)
		if s.follow {
			r.surround(s.warm)
		}
	}
	s.fill(r, ev, asked, sub)
	refused := s.refuse(r)
	if isCDS {
		return s.receiveCDS(r, refused, now, ev, check), true
	}
	if ev.Refused = refused; refused == nil && s.client == diag.GRPC {
		ev.Refused = tooLargeGRPC(r) // its stream would end, without a NACK
	}
	nack, stop := splitStop(check(ev))
	if state, ok := s.eds.(*sotwSubscription); ok && s.follow && len(s.warm.watches) == 0 && s.asEnvoy() {
		state.unwatched(r) // a server that takes the answer for a NACK may loop: so only where Envoy is to be followed
		s.flush(s.eds)
		return stop, true
	}
	if _, early := nack.(*DecodeError); refused == nil && !early {
		refused = s.refuseNames(r)
	}
	refused = earlier(refused, nack)
	accepted := refused == nil || s.ack != AckValid
	if !s.delta {
		s.eds.pause(true)
	}
	if accepted || s.client == diag.GRPC {
		s.taken(r, now)
	} else if s.follow {
		s.warm.failed()
		s.afterWarming()
	}
	s.eds.take(r, asked, s.status(refused), s.ack != AckNever)
	s.eds.pause(false)
	s.flush(s.eds)
	return stop, true
}

// asEnvoy tells whether Envoy is to be followed in what no server should depend on.
func (s *session) asEnvoy() bool { return s.ack == AckValid && s.client == diag.Envoy }

// taken applies the good news of an EDS response: clusters that waited for it are warm, timers start anew.
func (s *session) taken(r *response, now time.Time) {
	names := map[string]bool{}
	for i := range r.items {
		item := &r.items[i]
		if !item.Asked {
			continue
		}
		names[item.Name] = true
		delete(s.ttl, item.Name)
		if item.TTL > 0 {
			s.ttl[item.Name] = now.Add(item.TTL)
		}
	}
	for _, name := range r.removed {
		names[name] = true
	}
	for name := range names {
		delete(s.waiting, name)
	}
	if s.follow {
		s.warm.answered(names)
		s.afterWarming()
	}
}

// afterWarming updates the names and lets a CDS answer go that waited for the last warming cluster.
func (s *session) afterWarming() {
	if changes, changed := s.warm.changed(); changed {
		s.eds.setNames(s.warm.names, changes)
		s.flush(s.eds)
	}
	s.cds.pause(s.ads && s.warm.holdsBack())
	s.flush(s.cds)
}

func (s *session) receiveCDS(r *response, refused error, now time.Time, ev *Event, check func(*Event) error) (stop bool) {
	var clusters []Cluster
	for _, item := range r.items {
		if item.Any != nil {
			clusters = append(clusters, readCluster(item))
		}
	}
	markDuplicates(clusters)
	ev.Clusters = clusters
	whole := refused != nil
	if !whole {
		refused = refuseClusters(clusters)
	}
	ev.Refused = refused
	nack, stop := splitStop(check(ev)) // which may mark clusters as refused
	if !whole {
		refused = refuseClusters(clusters)
	}
	if nack != nil && s.ack == AckValid {
		if !whole {
			refused = nil // clusters are applied when all of them are decoded
		}
		whole, refused = true, earlier(refused, nack)
	}
	if whole {
		s.warm.clustersOver()
	} else {
		s.eds.pause(true)
		s.warm.update(clusters, r, now)
		if s.warm.letsGo() && s.delta { // in state of the world a type is paused while its response is applied
			s.cds.pause(false)
			s.flush(s.cds)
		}
		s.eds.pause(false)
	}
	if changes, changed := s.warm.changed(); changed {
		s.eds.setNames(s.warm.names, changes)
	}
	s.flush(s.eds)
	s.cds.pause(s.ads && s.warm.holdsBack())
	s.cds.take(r, func(string) bool { return true }, s.status(refused), s.ack != AckNever)
	s.flush(s.cds)
	return stop
}

// status is the error_detail for a refusal; nil when the response is accepted, by its merit or by --ack.
func (s *session) status(refused error) *status.Status {
	if refused == nil || s.ack != AckValid {
		return nil
	}
	if s.client == diag.GRPC {
		return &status.Status{Code: int32(codes.InvalidArgument), Message: refused.Error()}
	}
	return &status.Status{Code: int32(codes.Internal), Message: truncateDetail(refused.Error())}
}

func (s *session) fill(r *response, ev *Event, asked func(string) bool, sub subscription) {
	ev.Kind, ev.TypeURL, ev.Version, ev.Nonce, ev.ControlPlane = Received, r.typeURL, r.version, r.nonce, r.controlPlane
	ev.Message, ev.Removed, ev.Errors = r.message, r.removed, r.errors
	for i := range r.items {
		item := &r.items[i]
		item.Asked = asked(item.Name)
		if held, ok := sub.holds(item.Name); item.Heartbeat && (!ok || held != item.Version) {
			item.Heartbeat = false // no body, and no version that is held: Envoy decodes an empty message
		}
	}
	markPassed(r.items, s.client)
	ev.Resources = r.items
}

// isHeartbeat tells whether a body-less resource was recognised as one.
func (s *session) isHeartbeat(item *Resource) bool { return item.Heartbeat }

// newLoader returns a decoder for the assignments that a server sends; format and shape are those of text.
func newLoader(o Options, source eds.Source, follow bool, format eds.Format, shape eds.Shape) *eds.Loader {
	origin := eds.OriginBootstrap
	if follow {
		origin = eds.OriginCDS
	}
	return eds.NewLoader(eds.Options{Format: format, Shape: shape, Source: source, Origin: origin, EnvoyVersion: o.EnvoyVersion})
}
