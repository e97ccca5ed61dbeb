package main

import (
	"fmt"
	"net"
	"sync"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// controlPlane is an ADS server that gives every client a listener, a route, a cluster and an assignment by name.
type controlPlane struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	server    *grpc.Server
	port      int
	mu        sync.Mutex
	resources map[string]map[string]*anypb.Any // by type URL and name
}

func listenControlPlane() (*controlPlane, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &controlPlane{server: grpc.NewServer(), port: listener.Addr().(*net.TCPAddr).Port, resources: map[string]map[string]*anypb.Any{}}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(c.server, c)
	go func() { _ = c.server.Serve(listener) }() // ends with Stop
	return c, nil
}

func (c *controlPlane) add(name string, m proto.Message) error {
	packed, err := anypb.New(m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resources[packed.TypeUrl] == nil {
		c.resources[packed.TypeUrl] = map[string]*anypb.Any{}
	}
	c.resources[packed.TypeUrl][name] = packed
	return nil
}

// serve makes xds:///name lead to a cluster and its assignment. keyed routes hash the header x-key.
func (c *controlPlane) serve(name string, cluster *clusterv3.Cluster, cla *endpointv3.ClusterLoadAssignment, keyed bool) error {
	action := &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name}}
	if keyed {
		action.HashPolicy = []*routev3.RouteAction_HashPolicy{{PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{
			Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: keyHeader}}}}
	}
	router, err := anypb.New(&routerv3.Router{})
	if err != nil {
		return err
	}
	manager, err := anypb.New(&hcmv3.HttpConnectionManager{
		HttpFilters: []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: router}}},
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			Name: name, VirtualHosts: []*routev3.VirtualHost{{Name: name, Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
				Action: &routev3.Route_Route{Route: action},
			}}}},
		}},
	})
	if err != nil {
		return err
	}
	if err := c.add(name, &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: manager}}); err != nil {
		return err
	}
	if err := c.add(name, cluster); err != nil {
		return err
	}
	return c.add(name, cla)
}

// StreamAggregatedResources answers what is asked for the first time of each list of names; what follows are ACKs.
func (c *controlPlane) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	answered := map[string]string{}
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		names := fmt.Sprint(request.GetResourceNames())
		if len(request.GetResourceNames()) == 0 || answered[request.GetTypeUrl()] == names {
			continue
		}
		answered[request.GetTypeUrl()] = names
		response := &discoveryv3.DiscoveryResponse{TypeUrl: request.GetTypeUrl(), VersionInfo: "1", Nonce: names}
		c.mu.Lock()
		for _, name := range request.GetResourceNames() {
			if r := c.resources[request.GetTypeUrl()][name]; r != nil {
				response.Resources = append(response.Resources, r)
			}
		}
		c.mu.Unlock()
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}
