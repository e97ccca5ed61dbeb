package serve

import (
	"context"
	"fmt"
	"net"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const benchClients = 200

// subscribe opens streams of benchClients clients for one assignment; each tells the channel when it got a version, and
// acknowledges it.
func subscribe(b *testing.B, addr string, got chan<- string) {
	b.Helper()
	for i := range benchClients {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		st, err := endpointservice.NewEndpointDiscoveryServiceClient(conn).StreamEndpoints(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		req := &discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: "n"}, TypeUrl: assignmentURL, ResourceNames: []string{"a"}}
		if err := st.Send(req); err != nil {
			b.Fatal(i, err)
		}
		go func() {
			for {
				resp, err := st.Recv()
				if err != nil {
					return
				}
				if st.Send(&discoveryv3.DiscoveryRequest{TypeUrl: assignmentURL, ResourceNames: []string{"a"}, VersionInfo: resp.GetVersionInfo(), ResponseNonce: resp.GetNonce()}) != nil {
					return
				}
				got <- resp.GetVersionInfo()
			}
		}()
	}
}

func push(b *testing.B, addr string, set func(n int)) {
	got := make(chan string, benchClients)
	subscribe(b, addr, got)
	for range benchClients {
		<-got
	}
	n := 0
	for b.Loop() {
		n++
		set(n)
		for range benchClients {
			<-got
		}
	}
}

// BenchmarkPush pushes an update to 200 clients: at most 1.3 times BenchmarkPushBare.
func BenchmarkPush(b *testing.B) {
	s := New(Options{Log: func(Event) {}})
	if err := s.Set([]Assignment{assignment("a", "127.0.0.1")}); err != nil {
		b.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, lis) }()
	b.Cleanup(func() { cancel(); <-done })
	push(b, lis.Addr().String(), func(n int) {
		if err := s.Set([]Assignment{assignment("a", fmt.Sprintf("127.0.%d.%d", n/250%250, n%250+1))}); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkPushBare is go-control-plane's snapshot cache with its own server.
func BenchmarkPushBare(b *testing.B) {
	c := cache.NewSnapshotCache(false, cache.IDHash{}, nil)
	set := func(n int) {
		snap, err := cache.NewSnapshot(fmt.Sprint(n), map[resource.Type][]types.Resource{
			resource.EndpointType: {assignment("a", fmt.Sprintf("127.0.%d.%d", n/250%250, n%250+1)).Message},
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.SetSnapshot(context.Background(), "n", snap); err != nil {
			b.Fatal(err)
		}
	}
	set(0)
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	g := grpc.NewServer()
	endpointservice.RegisterEndpointDiscoveryServiceServer(g, server.NewServer(ctx, c, nil))
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = g.Serve(lis) }()
	b.Cleanup(g.Stop)
	push(b, lis.Addr().String(), set)
}
