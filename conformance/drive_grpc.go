package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
)

const listenerURL = "type.googleapis.com/envoy.config.listener.v3.Listener"

// driveGRPC puts each response to a channel of grpc-go, which has an xDS client and an ADS stream of its own. The
// channels never connect to an endpoint.
func driveGRPC(ctx context.Context, cases []*testCase) error {
	server, err := startGRPCControl(cases)
	if err != nil {
		return err
	}
	defer server.server.Stop()
	config := fmt.Sprintf(`{"xds_servers": [{"server_uri": "127.0.0.1:%d", "channel_creds": [{"type": "insecure"}]}], "node": {"id": "n"}, "authorities": {"": {}}}`, server.port)
	resolver, err := xds.NewXDSResolverWithConfigForTesting([]byte(config))
	if err != nil {
		return err
	}
	work := make(chan int)
	errs := make(chan error, len(cases))
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range work {
				if err := server.drive(ctx, i, grpc.WithResolvers(resolver)); err != nil {
					errs <- fmt.Errorf("%s: %w", cases[i].id, err)
				}
			}
		})
	}
	for i := range cases {
		work <- i
	}
	close(work)
	workers.Wait()
	close(errs)
	return <-errs
}

// grpcControl serves each channel the resources around its case, and the case itself. The name of the channel's
// listener is the number of the case.
type grpcControl struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer

	server *grpc.Server
	port   int
	cases  []*testCase
	done   []chan struct{} // closed when the client has answered
}

func startGRPCControl(cases []*testCase) (*grpcControl, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &grpcControl{server: grpc.NewServer(), port: listener.Addr().(*net.TCPAddr).Port, cases: cases}
	for range cases {
		s.done = append(s.done, make(chan struct{}))
	}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s.server, s)
	go func() { _ = s.server.Serve(listener) }() // ends with Stop
	return s, nil
}

var errNoConnection = errors.New("no endpoint is connected to")

func (s *grpcControl) drive(ctx context.Context, i int, resolver grpc.DialOption) error {
	refuse := func(context.Context, string) (net.Conn, error) { return nil, errNoConnection }
	channel, err := grpc.NewClient("xds:///"+strconv.Itoa(i), resolver, grpc.WithContextDialer(refuse), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer channel.Close()
	channel.Connect()
	select {
	case <-s.done[i]:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Second):
		return errors.New("grpc-go did not ask for the resource within 10 s")
	}
}

// StreamAggregatedResources answers one channel.
func (s *grpcControl) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	var c *testCase
	number := 0
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		if request.TypeUrl == listenerURL && c == nil && len(request.ResourceNames) > 0 {
			if number, err = strconv.Atoi(request.ResourceNames[0]); err != nil {
				return err
			}
			c = s.cases[number]
		}
		if request.ResponseNonce != "" {
			if c != nil && request.ResponseNonce == "case" && request.TypeUrl == c.response.TypeUrl {
				c.observed = observed{verdict: "accept"}
				if request.ErrorDetail != nil {
					c.observed = observed{verdict: "reject", message: grpcMessage(request.ErrorDetail.Message)}
				}
				close(s.done[number])
				<-stream.Context().Done() // until the channel is closed
				return nil
			}
			continue
		}
		response, err := around(c, request)
		if err != nil {
			return err
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

// grpcMessage leaves the frame of a NACK away: whose response it was, and which resource.
func grpcMessage(s string) string {
	_, rest, ok := strings.Cut(s, " response: ")
	if !ok {
		return s
	}
	if named, ok := strings.CutPrefix(rest, "resource "); ok {
		_, rest, _ = strings.Cut(named, ": ")
	}
	return strings.TrimPrefix(strings.TrimSpace(rest), "top level errors: ")
}

// around is what a channel is sent on its way to the case, or the case.
func around(c *testCase, request *discoveryv3.DiscoveryRequest) (*discoveryv3.DiscoveryResponse, error) {
	if request.TypeUrl == c.response.TypeUrl {
		c.response.Nonce, c.response.VersionInfo = "case", "1"
		return c.response, nil
	}
	var resource proto.Message
	switch request.TypeUrl {
	case listenerURL:
		manager, err := anypb.New(&managerv3.HttpConnectionManager{
			RouteSpecifier: &managerv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
				VirtualHosts: []*routev3.VirtualHost{{Domains: []string{"*"}, Routes: []*routev3.Route{{
					Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
					Action: &routev3.Route_Route{Route: &routev3.RouteAction{
						ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: routedCluster(c)},
					}},
				}}}},
			}},
			HttpFilters: []*managerv3.HttpFilter{{Name: "router", ConfigType: &managerv3.HttpFilter_TypedConfig{TypedConfig: router()}}},
		})
		if err != nil {
			return nil, err
		}
		resource = &listenerv3.Listener{Name: request.ResourceNames[0], ApiListener: &listenerv3.ApiListener{ApiListener: manager}}
	case clusterURL:
		cluster := &clusterv3.Cluster{}
		if err := decode(edsCluster(clusterName, "", tree{"ads": tree{}}), cluster); err != nil {
			return nil, err
		}
		resource = cluster
	default: // the endpoints of a cluster that is a case: nobody waits for them
		return &discoveryv3.DiscoveryResponse{TypeUrl: request.TypeUrl, VersionInfo: "1", Nonce: "none"}, nil
	}
	packed, err := anypb.New(resource)
	return &discoveryv3.DiscoveryResponse{TypeUrl: request.TypeUrl, VersionInfo: "1", Nonce: "around", Resources: []*anypb.Any{packed}}, err
}

// routedCluster is the name of the cluster that is asked for.
func routedCluster(c *testCase) string {
	cluster := &clusterv3.Cluster{}
	if c.route == viaGRPCCluster && proto.Unmarshal(c.response.Resources[0].Value, cluster) == nil && cluster.Name != "" {
		return cluster.Name
	}
	return clusterName
}

func router() *anypb.Any {
	packed, err := anypb.New(&routerv3.Router{})
	if err != nil {
		panic(err) // an empty message
	}
	return packed
}
