package serve

import (
	"context"
	"fmt"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/peer"
)

// Client is who is at the other end of a stream.
type Client struct {
	NodeID  string
	Cluster string
	Agent   string // "envoy 1.40.0"
	Address string
}

// EventKind says what happened at the server.
type EventKind string

// The kinds of events.
const (
	Connected    EventKind = "connected"    // a stream was opened and its first request came
	Disconnected EventKind = "disconnected" // a stream ended
	Subscribed   EventKind = "subscribed"   // a request for other names than before
	Pushed       EventKind = "pushed"       // a response went out
	Acked        EventKind = "ack"
	Nacked       EventKind = "nack" // Message says why
	Fetched      EventKind = "fetched"
)

// Event is one thing that happened between the server and a client.
type Event struct {
	Kind    EventKind
	Time    time.Time
	Stream  int64
	Delta   bool
	Client  Client
	TypeURL string
	Version string
	Names   []string // asked for, Subscribed: newly; Pushed: sent
	Removed []string // Subscribed: no longer asked for; Pushed: gone
	Message string
}

// callbacks implements go-control-plane's Callbacks: it keeps the store informed of what the streams do, and tells the
// owner of the server.
type callbacks struct {
	store *store
	log   func(Event)
	now   func() time.Time
}

func (c *callbacks) open(ctx context.Context, key streamKey) error {
	st := &stream{watches: map[string]*watch{}, asked: map[string]bool{}, asking: map[string]*asking{}, sent: map[string]string{}}
	if p, ok := peer.FromContext(ctx); ok {
		st.client.Address = p.Addr.String()
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.streams[key] = st
	return nil
}

func (c *callbacks) closed(key streamKey) {
	c.store.mu.Lock()
	st := c.store.streams[key]
	delete(c.store.streams, key)
	if st != nil {
		delete(c.store.owners, st.request)
	}
	c.store.mu.Unlock()
	if st != nil && st.client.NodeID != "" {
		c.tell(Event{Kind: Disconnected, Stream: key.id, Delta: key.delta, Client: st.client})
	}
}

func (c *callbacks) tell(ev Event) {
	ev.Time = c.now()
	c.log(ev)
}

// request notes whom a request came from, and what it says: of the last response, and of what is wanted.
func (c *callbacks) request(key streamKey, owner any, node *corev3.Node, says func(*stream) []Event) {
	c.store.mu.Lock()
	st := c.store.streams[key]
	c.store.own(st, key, owner)
	connected := st.client.NodeID == "" && node.GetId() != ""
	if connected {
		st.client.NodeID, st.client.Cluster, st.client.Agent = node.GetId(), node.GetCluster(), agent(node)
	}
	events := says(st)
	for i := range events {
		ev := &events[i]
		ev.Stream, ev.Delta, ev.Client = key.id, key.delta, st.client
		if ev.Version == "" {
			ev.Version = st.sent[ev.TypeURL]
		}
	}
	client := st.client
	c.store.mu.Unlock()
	if connected {
		c.tell(Event{Kind: Connected, Stream: key.id, Delta: key.delta, Client: client})
	}
	for _, ev := range events {
		c.tell(ev)
	}
}

func agent(n *corev3.Node) string {
	out := n.GetUserAgentName()
	if v := n.GetUserAgentVersion(); v != "" {
		return out + " " + v
	}
	if v := n.GetUserAgentBuildVersion().GetVersion(); v != nil {
		return fmt.Sprintf("%s %d.%d.%d", out, v.GetMajorNumber(), v.GetMinorNumber(), v.GetPatch())
	}
	return out
}

func (c *callbacks) responded(key streamKey, nonce string, ev Event) {
	c.store.mu.Lock()
	st := c.store.streams[key]
	if st == nil {
		c.store.mu.Unlock()
		return
	}
	st.sent[ev.TypeURL] = ev.Version
	if !key.delta {
		a, _ := st.asks(ev.TypeURL)
		a.nonce, a.version = nonce, ev.Version
	}
	if ev.TypeURL == clusterURL {
		c.store.sentClusters(st)
	}
	ev.Stream, ev.Delta, ev.Client, ev.Kind = key.id, key.delta, st.client, Pushed
	c.store.mu.Unlock()
	c.tell(ev)
}

// OnStreamOpen implements sotw.Callbacks.
func (c *callbacks) OnStreamOpen(ctx context.Context, id int64, _ string) error {
	return c.open(ctx, streamKey{false, id})
}

// OnStreamClosed implements sotw.Callbacks.
func (c *callbacks) OnStreamClosed(id int64, _ *corev3.Node) { c.closed(streamKey{false, id}) }

// OnStreamRequest implements sotw.Callbacks.
func (c *callbacks) OnStreamRequest(id int64, req *discoveryv3.DiscoveryRequest) error {
	c.request(streamKey{false, id}, req, req.GetNode(), func(st *stream) []Event { return st.sotwEvents(req) })
	return nil
}

// OnStreamResponse implements sotw.Callbacks.
func (c *callbacks) OnStreamResponse(_ context.Context, id int64, _ *discoveryv3.DiscoveryRequest, resp *discoveryv3.DiscoveryResponse) {
	c.responded(streamKey{false, id}, resp.GetNonce(), Event{TypeURL: resp.GetTypeUrl(), Version: resp.GetVersionInfo(), Names: make([]string, len(resp.GetResources()))})
}

// OnDeltaStreamOpen implements delta.Callbacks.
func (c *callbacks) OnDeltaStreamOpen(ctx context.Context, id int64, _ string) error {
	return c.open(ctx, streamKey{true, id})
}

// OnDeltaStreamClosed implements delta.Callbacks.
func (c *callbacks) OnDeltaStreamClosed(id int64, _ *corev3.Node) { c.closed(streamKey{true, id}) }

// OnStreamDeltaRequest implements delta.Callbacks.
func (c *callbacks) OnStreamDeltaRequest(id int64, req *discoveryv3.DeltaDiscoveryRequest) error {
	c.request(streamKey{true, id}, req, req.GetNode(), func(*stream) []Event { return deltaEvents(req) })
	return nil
}

// OnStreamDeltaResponse implements delta.Callbacks.
func (c *callbacks) OnStreamDeltaResponse(id int64, _ *discoveryv3.DeltaDiscoveryRequest, resp *discoveryv3.DeltaDiscoveryResponse) {
	ev := Event{TypeURL: resp.GetTypeUrl(), Version: resp.GetSystemVersionInfo(), Removed: resp.GetRemovedResources()}
	for _, r := range resp.GetResources() {
		ev.Names = append(ev.Names, r.GetName())
	}
	c.responded(streamKey{true, id}, resp.GetNonce(), ev)
}

// OnFetchRequest implements rest.Callbacks.
func (c *callbacks) OnFetchRequest(ctx context.Context, req *discoveryv3.DiscoveryRequest) error {
	client := Client{NodeID: req.GetNode().GetId(), Cluster: req.GetNode().GetCluster(), Agent: agent(req.GetNode())}
	if p, ok := peer.FromContext(ctx); ok {
		client.Address = p.Addr.String()
	}
	c.tell(Event{Kind: Fetched, Client: client, TypeURL: req.GetTypeUrl(), Version: req.GetVersionInfo(), Names: req.GetResourceNames()})
	return nil
}

// OnFetchResponse implements rest.Callbacks.
func (c *callbacks) OnFetchResponse(*discoveryv3.DiscoveryRequest, *discoveryv3.DiscoveryResponse) {}
