package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/xds"
)

// benchAssignment has n endpoints.
func benchAssignment(name string, n int) *endpointv3.ClusterLoadAssignment {
	group := &endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Region: "r", Zone: "z"}, LoadBalancingWeight: wrapperspb.UInt32(1)}
	for i := range n {
		group.LbEndpoints = append(group.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
				SocketAddress: &corev3.SocketAddress{Address: fmt.Sprintf("10.0.%d.%d", i/256, i%256), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 8080}},
			}}}},
		})
	}
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{group}}
}

// benchServer answers every request of a stream with one response.
type benchServer struct {
	endpointservice.UnimplementedEndpointDiscoveryServiceServer
	response *discoveryv3.DiscoveryResponse
}

func (s *benchServer) StreamEndpoints(st endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
	if _, err := st.Recv(); err != nil {
		return err
	}
	if err := st.Send(s.response); err != nil {
		return err
	}
	for {
		if _, err := st.Recv(); err != nil {
			return nil
		}
	}
}

// startBench serves count assignments of ten endpoints and returns the address and the names.
func startBench(b *testing.B, count int) (string, []string) {
	b.Helper()
	resp := &discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: xds.AssignmentURL(xds.V3)}
	var names []string
	for i := range count {
		name := fmt.Sprintf("cluster-%05d", i)
		any, err := anypb.New(benchAssignment(name, 10))
		if err != nil {
			b.Fatal(err)
		}
		resp.Resources = append(resp.Resources, any)
		names = append(names, name)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := grpc.NewServer(grpc.MaxSendMsgSize(1<<30), grpc.MaxRecvMsgSize(1<<30))
	endpointservice.RegisterEndpointDiscoveryServiceServer(srv, &benchServer{response: resp})
	go func() { _ = srv.Serve(lis) }()
	b.Cleanup(srv.Stop)
	return lis.Addr().String(), names
}

const benchAssignments = 10_000

// BenchmarkFetchBare is the floor: a stream read, with every assignment unmarshalled and checked by ValidateAll.
func BenchmarkFetchBare(b *testing.B) {
	addr, names := startBench(b, benchAssignments)
	for b.Loop() {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		st, err := endpointservice.NewEndpointDiscoveryServiceClient(conn).StreamEndpoints(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := st.Send(&discoveryv3.DiscoveryRequest{TypeUrl: xds.AssignmentURL(xds.V3), ResourceNames: names}); err != nil {
			b.Fatal(err)
		}
		resp, err := st.Recv()
		if err != nil {
			b.Fatal(err)
		}
		for _, any := range resp.GetResources() {
			cla := &endpointv3.ClusterLoadAssignment{}
			if err := any.UnmarshalTo(cla); err != nil {
				b.Fatal(err)
			}
			if err := cla.ValidateAll(); err != nil {
				b.Fatal(err)
			}
		}
		cancel()
		_ = conn.Close()
	}
}

// BenchmarkFetch is edsctl's fetch with validation: at most 1.3 times BenchmarkFetchBare.
func BenchmarkFetch(b *testing.B) {
	addr, names := startBench(b, benchAssignments)
	flags := xdsCheck{validate: "on"}
	for _, f := range flags.profile.flags() {
		*f.value = f.byDefault
	}
	for b.Loop() {
		o := xds.Options{Dial: xds.Dial{Target: addr, Plaintext: true}, Service: xds.ServiceEDS, Node: &corev3.Node{Id: "n"}}
		check := flags.newChecker(&Env{Getenv: func(string) string { return "" }}, &o)
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		tr, err := xds.Fetch(ctx, o, names, check.event)
		cancel()
		if err != nil || !tr.Done() {
			b.Fatal(err)
		}
	}
}

// stormServer sends updates of one assignment, at a rate or as fast as they are taken.
type stormServer struct {
	endpointservice.UnimplementedEndpointDiscoveryServiceServer
	updates int
	every   time.Duration
	ended   chan time.Time // when the last update was sent
}

func (s *stormServer) StreamEndpoints(st endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
	if _, err := st.Recv(); err != nil {
		return err
	}
	go func() {
		for {
			if _, err := st.Recv(); err != nil {
				return
			}
		}
	}()
	next := time.Now()
	for i := range s.updates {
		cla := benchAssignment("a", 10)
		cla.Endpoints[0].LbEndpoints[0].LoadBalancingWeight = wrapperspb.UInt32(uint32(i%100 + 1))
		any, err := anypb.New(cla)
		if err != nil {
			return err
		}
		n := fmt.Sprint(i)
		if err := st.Send(&discoveryv3.DiscoveryResponse{VersionInfo: n, Nonce: n, TypeUrl: xds.AssignmentURL(xds.V3), Resources: []*anypb.Any{any}}); err != nil {
			return err
		}
		if s.every > 0 {
			next = next.Add(s.every)
			time.Sleep(time.Until(next))
		}
	}
	s.ended <- time.Now()
	<-st.Context().Done()
	return nil
}

// watchStorm runs the command watch against a storm and returns the heap after it.
func watchStorm(tb testing.TB, s *stormServer) {
	tb.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	srv := grpc.NewServer()
	endpointservice.RegisterEndpointDiscoveryServiceServer(srv, s)
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()
	env := Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" },
		UserConfigDir: func() (string, error) { return "", errors.New("none") },
	}
	args := []string{"watch", "a", "--server", lis.Addr().String(), "--plaintext", "--service", "eds", "--max-updates", fmt.Sprint(s.updates)}
	if code := Main(tb.Context(), env, args); code != 0 {
		tb.Fatalf("watch ends with %d", code)
	}
}

// BenchmarkWatchStorm takes updates as fast as they come. The heap afterwards must not depend on how many there were.
func BenchmarkWatchStorm(b *testing.B) {
	for _, updates := range []int{10_000, 40_000} {
		b.Run(fmt.Sprint(updates), func(b *testing.B) {
			for b.Loop() {
				watchStorm(b, &stormServer{updates: updates, ended: make(chan time.Time, 1)})
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MB")
			b.ReportMetric(float64(updates)*float64(b.N)/b.Elapsed().Seconds(), "updates/s")
		})
	}
}

// BenchmarkWatchKeepsUp sends a thousand updates a second and reports how long after the last one all are told.
func BenchmarkWatchKeepsUp(b *testing.B) {
	for b.Loop() {
		s := &stormServer{updates: 3000, every: time.Millisecond, ended: make(chan time.Time, 1)}
		watchStorm(b, s)
		b.ReportMetric(time.Since(<-s.ended).Seconds(), "s-late")
	}
}

// TestWatchStorm tells every one of many updates that come as fast as they can be sent.
func TestWatchStorm(t *testing.T) {
	watchStorm(t, &stormServer{updates: 2000, ended: make(chan time.Time, 1)})
}
