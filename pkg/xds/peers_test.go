package xds

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cla is an assignment of one endpoint.
func cla(name, address string) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
		HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
			SocketAddress: &corev3.SocketAddress{Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 80}},
		}}}},
	}}}}}
}

// edsCluster is a cluster with EDS over ADS.
func edsCluster(name, service string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(time.Second), ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{ServiceName: service, EdsConfig: &corev3.ConfigSource{
			ResourceApiVersion: corev3.ApiVersion_V3, ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		}},
	}
}

// serveGRPC runs a gRPC server until the test ends and returns its address.
func serveGRPC(t *testing.T, register func(*grpc.Server), opts ...grpc.ServerOption) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(opts...)
	register(srv)
	go func() { _ = srv.Serve(lis) }()
	t.Cleanup(srv.Stop)
	return lis.Addr().String()
}

func newControlPlane(ctx context.Context, c cache.Cache) server.Server {
	return server.NewServer(ctx, c, nil)
}

// serveCache runs go-control-plane's server on a cache.
func serveCache(t *testing.T, c cache.Cache) string {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	srv := newControlPlane(ctx, c)
	return serveGRPC(t, func(g *grpc.Server) {
		discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, srv)
		endpointservice.RegisterEndpointDiscoveryServiceServer(g, srv)
		clusterservice.RegisterClusterDiscoveryServiceServer(g, srv)
	})
}

// snapshotCache holds clusters a and b (its service is svc-b) and their assignments, for node n1.
func snapshotCache(t *testing.T, ads bool) cache.SnapshotCache {
	t.Helper()
	c := cache.NewSnapshotCache(ads, cache.IDHash{}, nil)
	snap, err := cache.NewSnapshot("1", map[resource.Type][]types.Resource{
		resource.ClusterType: {edsCluster("a", ""), edsCluster("b", "svc-b"), &clusterv3.Cluster{
			Name: "st", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, LoadAssignment: cla("st", "127.0.0.9"),
		}},
		resource.EndpointType: {cla("a", "127.0.0.1"), cla("svc-b", "127.0.0.2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetSnapshot(context.Background(), "n1", snap); err != nil {
		t.Fatal(err)
	}
	return c
}

// linearCache holds the assignments a and svc-b, for every node.
func linearCache(*testing.T) cache.Cache {
	return cache.NewLinearCache(resource.EndpointType, cache.WithInitialResources(map[string]types.Resource{
		"a": cla("a", "127.0.0.1"), "svc-b": cla("svc-b", "127.0.0.2"),
	}))
}

// TestFetchFromLinearCache asks for some of what a linear cache has, and for more than it has.
func TestFetchFromLinearCache(t *testing.T) {
	t.Parallel()
	for _, transport := range []Transport{SotW, Delta} {
		o := testOptions(serveCache(t, linearCache(t)))
		o.Transport = transport
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		tr, err := Fetch(ctx, o, []string{"nope", "svc-b"}, func(*Event) error { return nil })
		cancel()
		if diff := cmp.Diff(map[string]string{"nope": "unanswered", "svc-b": "127.0.0.2"}, summary(tr)); diff != "" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v (-want +got):\n%s", transport, err, diff)
		}
	}
}

// TestNACKLoop refuses what a snapshot cache sends: it is sent again at once, and a fetch ends all the same.
func TestNACKLoop(t *testing.T) {
	t.Parallel()
	o := testOptions(serveCache(t, snapshotCache(t, false)))
	o.Service = ServiceEDS
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	responses := 0
	tr, err := Fetch(ctx, o, []string{"a"}, func(ev *Event) error {
		if ev.Kind == Received {
			responses++
			return errors.New("refused")
		}
		return nil
	})
	if err != nil || summary(tr)["a"] != "127.0.0.1" || responses != 1 {
		t.Errorf("%v after %d responses, %v", summary(tr), responses, err)
	}
}

// TestNACKsSlowDown refuses what a snapshot cache sends again and again: a few times at once, then seldom, and it is told.
func TestNACKsSlowDown(t *testing.T) {
	t.Parallel()
	o := testOptions(serveCache(t, snapshotCache(t, false)))
	o.Service = ServiceEDS
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var sent []time.Time
	var notes []string
	err := Watch(ctx, o, []string{"a"}, func(ev *Event) error {
		switch {
		case ev.Kind == Note:
			notes = append(notes, ev.Text)
		case ev.Kind == Sent && ev.Ack == NACK:
			if sent = append(sent, ev.Time); len(sent) == promptNACKs+2 {
				return Stop(nil)
			}
		case ev.Kind == Received:
			return errors.New("refused")
		}
		return nil
	})
	if err != nil || len(sent) != promptNACKs+2 {
		t.Fatalf("%d NACKs, error %v", len(sent), err)
	}
	for i, want := range []time.Duration{nackDelayMin, 2 * nackDelayMin} {
		if got := sent[promptNACKs+i].Sub(sent[promptNACKs+i-1]); got < want {
			t.Errorf("NACK %d comes %s after the one before, want %s", promptNACKs+i+1, got, want)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "the server answers every NACK of envoy.config.endpoint.v3.ClusterLoadAssignment with the same response") {
		t.Errorf("notes %q", notes)
	}
}

func testOptions(addr string) Options {
	return Options{Dial: Dial{Target: addr, Plaintext: true}, Node: &corev3.Node{Id: "n1", Cluster: "c"}, Ack: AckValid}
}

// summary is what a fetch ended with: name to address of its only endpoint, or what else was answered.
func summary(tr *Tracker) map[string]string {
	out := map[string]string{}
	for _, name := range tr.Names() {
		switch a := tr.Answer(name); {
		case a == nil:
			out[name] = "unanswered"
		case a.Removed:
			out[name] = "removed"
		case a.Error != nil:
			out[name] = a.Error.String()
		case a.Resource.Assignment == nil:
			out[name] = "undecodable"
		default:
			out[name] = a.Resource.Assignment.Assignment.GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
		}
	}
	return out
}

// TestFetchFromGoControlPlane fetches over every transport and service from real go-control-plane servers.
func TestFetchFromGoControlPlane(t *testing.T) {
	t.Parallel()
	both := map[string]string{"a": "127.0.0.1", "svc-b": "127.0.0.2"}
	tests := []struct {
		name      string
		ads       bool // mode of the cache
		transport Transport
		service   Service
		names     []string
		want      map[string]string
		timeout   time.Duration
	}{
		{name: "sotw eds names", transport: SotW, service: ServiceEDS, names: []string{"a", "svc-b"}, want: both},
		{name: "sotw ads names", transport: SotW, service: ServiceADS, names: []string{"a", "svc-b"}, want: both},
		{name: "sotw ads from cds", transport: SotW, service: ServiceADS, want: both},
		{name: "sotw ads from cds, ads cache", ads: true, transport: SotW, service: ServiceADS, want: both},
		{name: "sotw auto from cds, ads cache", ads: true, transport: SotW, want: both},
		{name: "sotw eds from cds", transport: SotW, service: ServiceEDS, want: both},
		{name: "delta eds names", transport: Delta, service: ServiceEDS, names: []string{"svc-b", "a"}, want: both},
		{name: "delta ads from cds", transport: Delta, service: ServiceADS, want: both},
		{name: "delta auto names", transport: Delta, names: []string{"a"}, want: map[string]string{"a": "127.0.0.1"}},
		{name: "unary names", transport: Unary, names: []string{"a"}, want: map[string]string{"a": "127.0.0.1"}},
		{name: "unary from cds", transport: Unary, want: both},
		{name: "rest names", transport: REST, names: []string{"a"}, want: map[string]string{"a": "127.0.0.1"}},
		{name: "rest from cds, ads cache", ads: true, transport: REST, want: both},
		{
			name: "a subset of an ads cache is silence", ads: true, transport: SotW, service: ServiceADS, names: []string{"a"},
			want: map[string]string{"a": "unanswered"}, timeout: 300 * time.Millisecond,
		},
		{
			name: "an unknown name", transport: Delta, service: ServiceADS, names: []string{"a", "nope"},
			want: map[string]string{"a": "127.0.0.1", "nope": "unanswered"}, timeout: 300 * time.Millisecond,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := snapshotCache(t, tt.ads)
			addr := ""
			if tt.transport == REST {
				addr = serveGateway(t, c)
			} else {
				addr = serveCache(t, c)
			}
			o := testOptions(addr)
			o.Transport, o.Service = tt.transport, tt.service
			timeout := tt.timeout
			if timeout == 0 {
				timeout = 10 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			tr, err := Fetch(ctx, o, tt.names, func(*Event) error { return nil })
			if err != nil && (tt.timeout == 0 || !errors.Is(err, context.DeadlineExceeded)) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summary(tr)); diff != "" {
				t.Errorf("fetched (-want +got):\n%s", diff)
			}
		})
	}
}

// serveGateway runs go-control-plane's REST gateway.
func serveGateway(t *testing.T, c cache.Cache) string {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	gw := &server.HTTPGateway{Server: server.NewServer(ctx, c, nil)}
	return serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, code, err := gw.ServeHTTP(r)
		if err != nil {
			http.Error(w, err.Error(), code)
			return
		}
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}))
}

func serveHTTP(t *testing.T, h http.Handler) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(lis) }()
	t.Cleanup(func() { _ = srv.Close() })
	return lis.Addr().String()
}
