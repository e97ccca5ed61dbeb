package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"

	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	listenerservice "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	routeservice "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/rest/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// handlers connect the discovery services that are served with go-control-plane's servers.
type handlers struct {
	sotw  sotw.Server
	delta delta.Server
	rest  rest.Server
}

func (h *handlers) register(s *grpc.Server) {
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s, aggregated{h: h})
	clusterservice.RegisterClusterDiscoveryServiceServer(s, clusters{h: h})
	endpointservice.RegisterEndpointDiscoveryServiceServer(s, endpoints{h: h})
	listenerservice.RegisterListenerDiscoveryServiceServer(s, listeners{h: h})
	routeservice.RegisterRouteDiscoveryServiceServer(s, routes{h: h})
}

// fetch answers a unary call. That nothing changed is an error there, as with go-control-plane.
func (h *handlers) fetch(ctx context.Context, req *discoveryv3.DiscoveryRequest, url string) (*discoveryv3.DiscoveryResponse, error) {
	req.TypeUrl = url
	resp, err := h.rest.Fetch(ctx, req)
	if err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	return resp, nil
}

type aggregated struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	h *handlers
}

func (a aggregated) StreamAggregatedResources(s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return a.h.sotw.StreamHandler(s, "")
}

func (a aggregated) DeltaAggregatedResources(s discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return a.h.delta.DeltaStreamHandler(s, "")
}

type clusters struct {
	clusterservice.UnimplementedClusterDiscoveryServiceServer
	h *handlers
}

func (c clusters) StreamClusters(s clusterservice.ClusterDiscoveryService_StreamClustersServer) error {
	return c.h.sotw.StreamHandler(s, clusterURL)
}

func (c clusters) DeltaClusters(s clusterservice.ClusterDiscoveryService_DeltaClustersServer) error {
	return c.h.delta.DeltaStreamHandler(s, clusterURL)
}

func (c clusters) FetchClusters(ctx context.Context, req *discoveryv3.DiscoveryRequest) (*discoveryv3.DiscoveryResponse, error) {
	return c.h.fetch(ctx, req, clusterURL)
}

type endpoints struct {
	endpointservice.UnimplementedEndpointDiscoveryServiceServer
	h *handlers
}

func (e endpoints) StreamEndpoints(s endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
	return e.h.sotw.StreamHandler(s, assignmentURL)
}

func (e endpoints) DeltaEndpoints(s endpointservice.EndpointDiscoveryService_DeltaEndpointsServer) error {
	return e.h.delta.DeltaStreamHandler(s, assignmentURL)
}

func (e endpoints) FetchEndpoints(ctx context.Context, req *discoveryv3.DiscoveryRequest) (*discoveryv3.DiscoveryResponse, error) {
	return e.h.fetch(ctx, req, assignmentURL)
}

type listeners struct {
	listenerservice.UnimplementedListenerDiscoveryServiceServer
	h *handlers
}

func (l listeners) StreamListeners(s listenerservice.ListenerDiscoveryService_StreamListenersServer) error {
	return l.h.sotw.StreamHandler(s, listenerURL)
}

func (l listeners) DeltaListeners(s listenerservice.ListenerDiscoveryService_DeltaListenersServer) error {
	return l.h.delta.DeltaStreamHandler(s, listenerURL)
}

type routes struct {
	routeservice.UnimplementedRouteDiscoveryServiceServer
	h *handlers
}

func (r routes) StreamRoutes(s routeservice.RouteDiscoveryService_StreamRoutesServer) error {
	return r.h.sotw.StreamHandler(s, routeURL)
}

func (r routes) DeltaRoutes(s routeservice.RouteDiscoveryService_DeltaRoutesServer) error {
	return r.h.delta.DeltaStreamHandler(s, routeURL)
}

// maxBody bounds the body of a poll: an Envoy's has some 77 kB.
const maxBody = 16 << 20

// ServeHTTP answers polls as go-control-plane's gateway does.
func (h *handlers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	url := map[string]string{"/v3/discovery:endpoints": assignmentURL, "/v3/discovery:clusters": clusterURL}[path.Clean(r.URL.Path)]
	if url == "" {
		http.Error(w, "no endpoint", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "cannot read body", http.StatusBadRequest)
		return
	}
	req := &discoveryv3.DiscoveryRequest{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, req); err != nil {
		http.Error(w, "cannot parse JSON body: "+err.Error(), http.StatusBadRequest)
		return
	}
	req.TypeUrl = url
	resp, err := h.rest.Fetch(r.Context(), req)
	var skip *types.SkipFetchError
	switch {
	case errors.As(err, &skip):
		w.WriteHeader(http.StatusNotModified)
		return
	case err != nil:
		http.Error(w, "fetch error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(resp)
	if err != nil {
		http.Error(w, "marshal error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}
