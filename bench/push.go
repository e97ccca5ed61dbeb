package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"text/tabwriter"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/edsctl/edsctl/pkg/xds/serve"
)

const (
	pushClients = 200
	pushes      = 40 // of each server; the least counts
)

// pusher is a server to which an assignment can be given.
type pusher struct {
	addr string
	set  func(*endpointv3.ClusterLoadAssignment) error
}

// pushAgainstBare measures the time from a new assignment to the last of 200 clients that has it, taking turns.
func pushAgainstBare(ctx context.Context, w *tabwriter.Writer, _ options) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	servers := [2]func(context.Context) (pusher, error){edsctlPusher, barePusher}
	var sides [2]pusher
	var got [2]chan string
	for i, start := range servers {
		var err error
		if sides[i], err = start(ctx); err != nil {
			return 0, err
		}
		got[i] = make(chan string, pushClients)
		if err := subscribe(ctx, sides[i].addr, got[i]); err != nil {
			return 0, err
		}
	}
	var best [2]time.Duration
	for n := range pushes {
		for i, side := range sides {
			begin := time.Now()
			if err := side.set(endpoints("a", uint32(n+2))); err != nil {
				return 0, err
			}
			for range pushClients {
				select {
				case <-got[i]:
				case <-time.After(time.Minute):
					return 0, errors.New("a client got no update within a minute")
				}
			}
			if took := time.Since(begin); n == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	return row{name: pushRow}.print(w, "", best[0].Seconds(), best[1].Seconds(), "%.4g s", 1.3), nil
}

// subscribe opens the streams of all clients for one assignment and waits until each has its first version. Later each
// tells the channel when it got a version, and acknowledges it.
func subscribe(ctx context.Context, addr string, got chan<- string) error {
	first := make(chan error, pushClients)
	for range pushClients {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		stream, err := endpointservice.NewEndpointDiscoveryServiceClient(conn).StreamEndpoints(ctx)
		if err != nil {
			return err
		}
		req := &discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: "n"}, TypeUrl: assignmentURL, ResourceNames: []string{"a"}}
		if err := stream.Send(req); err != nil {
			return err
		}
		go func() {
			for n := 0; ; n++ {
				resp, err := stream.Recv()
				if err == nil {
					err = stream.Send(&discoveryv3.DiscoveryRequest{
						TypeUrl: assignmentURL, ResourceNames: []string{"a"}, VersionInfo: resp.GetVersionInfo(), ResponseNonce: resp.GetNonce(),
					})
				}
				if n == 0 {
					first <- err
				}
				if err != nil {
					return
				}
				if n > 0 {
					got <- resp.GetVersionInfo()
				}
			}
		}()
	}
	for range pushClients {
		if err := <-first; err != nil {
			return err
		}
	}
	return nil
}

func edsctlPusher(ctx context.Context) (pusher, error) {
	s := serve.New(serve.Options{Log: func(serve.Event) {}})
	set := func(m *endpointv3.ClusterLoadAssignment) error { return s.Set([]serve.Assignment{{Message: m}}) }
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return pusher{}, err
	}
	go func() { _ = s.Serve(ctx, lis) }()
	return pusher{lis.Addr().String(), set}, set(endpoints("a", 1))
}

// barePusher is go-control-plane's snapshot cache with its own server.
func barePusher(ctx context.Context) (pusher, error) {
	snapshots := cache.NewSnapshotCache(false, cache.IDHash{}, nil)
	set := func(m *endpointv3.ClusterLoadAssignment) error {
		version := fmt.Sprint(m.GetEndpoints()[0].GetLbEndpoints()[0].GetLoadBalancingWeight().GetValue())
		snapshot, err := cache.NewSnapshot(version, map[resource.Type][]types.Resource{resource.EndpointType: {m}})
		if err != nil {
			return err
		}
		return snapshots.SetSnapshot(ctx, "n", snapshot)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return pusher{}, err
	}
	srv := grpc.NewServer()
	endpointservice.RegisterEndpointDiscoveryServiceServer(srv, server.NewServer(ctx, snapshots, nil))
	context.AfterFunc(ctx, srv.Stop)
	go func() { _ = srv.Serve(lis) }()
	return pusher{lis.Addr().String(), set}, set(endpoints("a", 1))
}
