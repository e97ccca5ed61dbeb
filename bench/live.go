package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// What the live rows measure.
const (
	fetchedAssignments = 10_000
	stormUpdates       = 10_000
	stormEvery         = time.Millisecond
	fewUpdates         = 100_000
	manyUpdates        = 1_000_000
	mebibyte           = 1 << 20
)

const assignmentURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// live measures fetch, watch and serve against servers and clients on loopback.
func live(ctx context.Context, w *tabwriter.Writer, o options, p programs) (missed int, err error) {
	for _, r := range []struct {
		name string
		run  func() (missed int, err error)
	}{
		{fetchRow, func() (int, error) { return fetchAgainstBare(ctx, w, o, p) }},
		{stormRow, func() (int, error) { return storm(ctx, w, p) }},
		{memoryRow, func() (int, error) { return memoryOfUpdates(ctx, w, p) }},
		{pushRow, func() (int, error) { return pushAgainstBare(ctx, w, o) }},
	} {
		if !o.wants(r.name) {
			continue
		}
		o.begins(r.name)
		n, err := r.run()
		if err != nil {
			return missed, fmt.Errorf("%s: %w", r.name, err)
		}
		missed += n
	}
	return missed, nil
}

const (
	fetchRow  = "fetch of 10,000 assignments of 10 endpoints, against a stream read, unmarshal and ValidateAll"
	stormRow  = "watch of 1,000 updates a second for 10 s, time behind at the end"
	memoryRow = "watch of a million updates, memory above that after 100,000"
	pushRow   = "serve of an update to 200 clients, against bare go-control-plane"
)

// endpoints is an assignment of ten endpoints, the first of them with a weight.
func endpoints(name string, weight uint32) *endpointv3.ClusterLoadAssignment {
	group := &endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Region: "r", Zone: "z"}, LoadBalancingWeight: wrapperspb.UInt32(1)}
	for i := range 10 {
		group.LbEndpoints = append(group.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
				SocketAddress: &corev3.SocketAddress{Address: fmt.Sprintf("10.0.0.%d", i), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 8080}},
			}}}},
		})
	}
	group.LbEndpoints[0].LoadBalancingWeight = wrapperspb.UInt32(weight)
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{group}}
}

// scripted is a management server whose every stream runs a function after its first request.
type scripted struct {
	endpointservice.UnimplementedEndpointDiscoveryServiceServer
	run func(endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error
}

func (s *scripted) StreamEndpoints(stream endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return s.run(stream)
}

// listen serves EDS on loopback until stop is called.
func listen(service endpointservice.EndpointDiscoveryServiceServer) (addr string, stop func(), err error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := grpc.NewServer(grpc.MaxRecvMsgSize(16 * mebibyte))
	endpointservice.RegisterEndpointDiscoveryServiceServer(srv, service)
	go func() { _ = srv.Serve(lis) }()
	return lis.Addr().String(), srv.Stop, nil
}

// drain receives until the client goes away, and hands what it gets to fn.
func drain(stream endpointservice.EndpointDiscoveryService_StreamEndpointsServer, fn func(*discoveryv3.DiscoveryRequest)) {
	for {
		req, err := stream.Recv()
		if err != nil {
			return
		}
		fn(req)
	}
}

func fetchAgainstBare(ctx context.Context, w *tabwriter.Writer, o options, p programs) (int, error) {
	resp := &discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: assignmentURL}
	names := make([]string, fetchedAssignments)
	for i := range names {
		names[i] = fmt.Sprintf("cluster-%05d", i)
		any, err := anypb.New(endpoints(names[i], 1))
		if err != nil {
			return 0, err
		}
		resp.Resources = append(resp.Resources, any)
	}
	addr, stop, err := listen(&scripted{run: func(stream endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
		if err := stream.Send(resp); err != nil {
			return err
		}
		drain(stream, func(*discoveryv3.DiscoveryRequest) {})
		return nil
	}})
	if err != nil {
		return 0, err
	}
	defer stop()
	fetch := append(command{p.edsctl, "fetch", "--server", addr, "--plaintext", "--service", "eds", "-o", "pb"}, names...)
	bare := append(command{p.baseline, "stream", addr}, names...)
	a, b, err := compare(ctx, 2*o.runs, fetch, bare)
	if err != nil {
		return 0, err
	}
	return row{name: fetchRow}.print(w, "", a.seconds, b.seconds, "%.4g s", 1.3), nil
}

// updates sends one assignment again and again, each time with another weight.
func updates(stream endpointservice.EndpointDiscoveryService_StreamEndpointsServer, n int, every time.Duration) error {
	next := time.Now()
	for i := range n {
		any, err := anypb.New(endpoints("a", uint32(i%100+1)))
		if err != nil {
			return err
		}
		version := strconv.Itoa(i + 1)
		resp := &discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: version, TypeUrl: assignmentURL, Resources: []*anypb.Any{any}}
		if err := stream.Send(resp); err != nil {
			return err
		}
		if every > 0 {
			next = next.Add(every)
			time.Sleep(time.Until(next))
		}
	}
	return nil
}

// watch starts edsctl watch, which ends after a number of updates.
func watch(ctx context.Context, p programs, addr string, n int) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, p.edsctl, "watch", "a", "--server", addr, "--plaintext", "--service", "eds", "--max-updates", strconv.Itoa(n))
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	return cmd, cmd.Start()
}

func storm(ctx context.Context, w *tabwriter.Writer, p programs) (int, error) {
	ended := make(chan time.Time, 1)
	addr, stop, err := listen(&scripted{run: func(stream endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
		go drain(stream, func(*discoveryv3.DiscoveryRequest) {})
		if err := updates(stream, stormUpdates, stormEvery); err != nil {
			return err
		}
		ended <- time.Now()
		<-stream.Context().Done()
		return nil
	}})
	if err != nil {
		return 0, err
	}
	defer stop()
	cmd, err := watch(ctx, p, addr, stormUpdates)
	if err != nil {
		return 0, err
	}
	if err := cmd.Wait(); err != nil {
		return 0, err
	}
	late := time.Since(<-ended)
	return row{name: stormRow}.print(w, "", late.Seconds(), 1, "%.3g s", 1), nil
}

// memoryOfUpdates reads the resident memory of watch when it has acknowledged few and many updates.
func memoryOfUpdates(ctx context.Context, w *tabwriter.Writer, p programs) (int, error) {
	var cmd *exec.Cmd
	started := make(chan struct{})
	var early, late float64
	var failed error
	read := func(into *float64) {
		<-started
		v, err := resident(cmd.Process.Pid)
		*into, failed = v, errors.Join(failed, err)
	}
	var reading sync.WaitGroup
	looked := make(chan struct{}) // at the process after all updates but the last
	addr, stop, err := listen(&scripted{run: func(stream endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
		reading.Go(func() {
			drain(stream, func(req *discoveryv3.DiscoveryRequest) {
				switch req.GetResponseNonce() {
				case strconv.Itoa(fewUpdates):
					read(&early)
				case strconv.Itoa(manyUpdates):
					read(&late)
					close(looked)
				}
			})
		})
		if err := updates(stream, manyUpdates, 0); err != nil {
			return err
		}
		select {
		case <-looked: // the update with which watch ends comes only now, so that there is a process to look at
			if err := updates(stream, 1, 0); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
		<-stream.Context().Done()
		return nil
	}})
	if err != nil {
		return 0, err
	}
	defer stop()
	if cmd, err = watch(ctx, p, addr, manyUpdates+1); err != nil {
		return 0, err
	}
	close(started)
	if err := cmd.Wait(); err != nil {
		return 0, err
	}
	reading.Wait()
	if failed != nil {
		return 0, failed
	}
	return row{name: memoryRow}.print(w, "", max(0, late-early)/mebibyte, 10, "%.3g MiB", 1), nil
}

// resident is the resident memory of a process in bytes.
func resident(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kib * 1024, err
		}
	}
	return 0, errors.New("no VmRSS")
}
