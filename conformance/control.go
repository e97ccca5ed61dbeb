package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservicev3 "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// The type URLs that the streams speak of.
const (
	assignmentURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	clusterURL    = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	wrapperURL    = "type.googleapis.com/envoy.service.discovery.v3.Resource"
)

// control is a management server that says what it is told to, and tells what it is answered.
type control struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	endpointservicev3.UnimplementedEndpointDiscoveryServiceServer

	server *grpc.Server
	port   int

	mu      sync.Mutex
	streams map[string]*stream // by the header "stream" that the client sends
	changed chan struct{}      // closed, and replaced, when a stream starts
}

// stream is one open stream.
type stream struct {
	send     func(*discoveryv3.DiscoveryResponse) error
	requests chan *discoveryv3.DiscoveryRequest
	done     <-chan struct{}
	nonce    int
	asked    map[string]bool // type URLs of the requests so far
}

func startControl() (*control, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &control{
		server: grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20)), port: listener.Addr().(*net.TCPAddr).Port,
		streams: map[string]*stream{}, changed: make(chan struct{}),
	}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(c.server, c)
	endpointservicev3.RegisterEndpointDiscoveryServiceServer(c.server, c)
	go func() { _ = c.server.Serve(listener) }() // ends with Stop
	return c, nil
}

func (c *control) stop() { c.server.Stop() }

// StreamAggregatedResources serves ADS.
func (c *control) StreamAggregatedResources(s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return c.serve(s)
}

// StreamEndpoints serves EDS.
func (c *control) StreamEndpoints(s endpointservicev3.EndpointDiscoveryService_StreamEndpointsServer) error {
	return c.serve(s)
}

type discoveryStream interface {
	Context() context.Context
	Send(*discoveryv3.DiscoveryResponse) error
	Recv() (*discoveryv3.DiscoveryRequest, error)
}

func (c *control) serve(s discoveryStream) error {
	name := ""
	if md, ok := metadata.FromIncomingContext(s.Context()); ok && len(md.Get("stream")) > 0 {
		name = md.Get("stream")[0]
	}
	st := &stream{send: s.Send, requests: make(chan *discoveryv3.DiscoveryRequest, 1000), done: s.Context().Done(), asked: map[string]bool{}}
	c.mu.Lock()
	c.streams[name] = st
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	for {
		r, err := s.Recv()
		if err != nil {
			return err
		}
		select {
		case st.requests <- r:
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}
}

// stream waits for the stream of a name that is open now.
func (c *control) stream(ctx context.Context, name string) (*stream, error) {
	for {
		c.mu.Lock()
		s, changed := c.streams[name], c.changed
		c.mu.Unlock()
		if s != nil {
			select {
			case <-s.done: // that of a client before
			default:
				return s, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for stream %q: %w", name, ctx.Err())
		}
	}
}

// answer is what a client says to a response.
type answer struct {
	message string // of the NACK
	nack    bool
	none    bool // no answer in time
	ended   bool // the stream ended instead
}

// push sends a response when the client has asked for a type, and waits for the answer to it.
func (s *stream) push(r *discoveryv3.DiscoveryResponse, asked string, patience time.Duration) answer {
	for !s.asked[asked] {
		if a, ok := s.next("", 20*time.Second); ok {
			return a
		}
	}
	s.nonce++
	r.Nonce = strconv.Itoa(s.nonce)
	r.VersionInfo = r.Nonce
	if s.send(r) != nil {
		return answer{ended: true}
	}
	return s.wait(r.Nonce, patience)
}

// wait takes requests until one answers the response with a nonce.
func (s *stream) wait(nonce string, patience time.Duration) answer {
	for deadline := time.Now().Add(patience); ; {
		if a, ok := s.next(nonce, time.Until(deadline)); ok {
			return a
		}
	}
}

// next takes one request. It tells whether the wait for the answer to a nonce is over.
func (s *stream) next(nonce string, patience time.Duration) (answer, bool) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case r := <-s.requests:
		s.asked[r.TypeUrl] = true
		return answer{nack: r.ErrorDetail != nil, message: r.ErrorDetail.GetMessage()}, nonce != "" && r.ResponseNonce == nonce
	case <-s.done:
		return answer{ended: true}, true
	case <-timeout.C:
		return answer{none: true}, true
	}
}

// xds is the static cluster that leads to the server.
func (c *control) xds() tree {
	return tree{
		"name": xdsCluster, "type": "STATIC", "connect_timeout": "5s",
		"typed_extension_protocol_options": tree{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": tree{
			"@type":                "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
			"explicit_http_config": tree{"http2_protocol_options": tree{}},
		}},
		"load_assignment": tree{"cluster_name": xdsCluster, "endpoints": []any{tree{"lb_endpoints": []any{tree{"endpoint": tree{"address": loopback(c.port)}}}}}},
	}
}

// source is a config source of the API type GRPC whose stream has a name.
func source(stream string) tree {
	return tree{"api_type": "GRPC", "transport_api_version": "V3", "grpc_services": []any{
		tree{"envoy_grpc": tree{"cluster_name": xdsCluster}, "initial_metadata": []any{tree{"key": "stream", "value": stream}}},
	}}
}
