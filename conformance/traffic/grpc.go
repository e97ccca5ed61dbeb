package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// keyHeader is the metadata whose hash a keyed route takes.
const keyHeader = "x-key"

// grpcWarmUp is how many RPCs are made before those that count: ring_hash connects only when it is picked.
const grpcWarmUp = 400

// runGRPC sends RPCs through grpc-go's own xDS client in this process.
func runGRPC(ctx context.Context, o options) (outcomes []outcome, err error) {
	backend, err := net.Listen("tcp", "0.0.0.0:0") // every address of 127.0.0.0/8
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer()
	healthv1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(backend) }() // ends with Stop
	defer server.Stop()
	refused, err := closedPort()
	if err != nil {
		return nil, err
	}
	control, err := listenControlPlane()
	if err != nil {
		return nil, err
	}
	defer control.server.Stop()
	g := &generator{rng: rand.New(rand.NewPCG(o.seed, 1)), port: backend.Addr().(*net.TCPAddr).Port}
	for i := range o.grpc + o.grpc/5 {
		s := g.grpcScenario("grpc-"+strconv.Itoa(i), refused)
		if i >= o.grpc {
			s = g.grpcHashScenario("grpc-hash-"+strconv.Itoa(i-o.grpc), refused)
		}
		if !strings.Contains(s.name, o.only) {
			continue
		}
		out, err := s.run(ctx, o, control)
		if err != nil {
			return outcomes, fmt.Errorf("%s: %w", s.name, err)
		}
		outcomes = append(outcomes, *out)
	}
	return outcomes, nil
}

// closedPort is a port where nothing listens.
func closedPort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// run predicts a scenario and makes its RPCs.
func (s *grpcScenario) run(ctx context.Context, o options, control *controlPlane) (*outcome, error) {
	cla, err := message(s.assignment, &endpointv3.ClusterLoadAssignment{})
	if err != nil {
		return nil, err
	}
	cluster, err := message(s.cluster, &clusterv3.Cluster{})
	if err != nil {
		return nil, err
	}
	cluster.Name, cla.ClusterName = s.name, s.name
	cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
	cluster.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}}
	if err := control.serve(s.name, cluster, cla, s.keyed); err != nil {
		return nil, err
	}
	out := &outcome{scenario: &scenario{name: s.name, cluster: s.cluster, assignment: s.assignment, hash: s.keyed}, counts: map[string]int{}, requests: o.grpcRequests}
	var keys []string
	if s.keyed {
		for i := range o.grpcRequests {
			keys = append(keys, "key-"+strconv.Itoa(i))
		}
	}
	if out.expected, err = s.predict(cla, cluster, keys); err != nil {
		return nil, err
	}
	return out, s.send(ctx, out, control.port, keys)
}

func (s *grpcScenario) predict(cla *endpointv3.ClusterLoadAssignment, cluster *clusterv3.Cluster, keys []string) (*simulate.Result, error) {
	options := &simulate.Options{HashKeys: keys}
	for _, address := range s.unreachable {
		change, err := simulate.ParseUnreachable("address=" + address)
		if err != nil {
			return nil, err
		}
		options.Changes = append(options.Changes, change)
	}
	r := &eds.Resource{Name: s.name, APIVersion: eds.V3, Assignment: cla, Original: cla, Source: eds.FromSotW, Origin: eds.OriginCDS, Cluster: &eds.Cluster{Message: cluster}}
	return simulate.FromResource(r, diag.GRPC, options)
}

// send makes the RPCs on one channel, one after the other.
func (s *grpcScenario) send(ctx context.Context, out *outcome, port int, keys []string) error {
	bootstrap := fmt.Sprintf(`{"xds_servers": [{"server_uri": "127.0.0.1:%d", "channel_creds": [{"type": "insecure"}]}], "node": {"id": "traffic"}}`, port)
	resolver, err := xds.NewXDSResolverWithConfigForTesting([]byte(bootstrap))
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("xds:///"+s.name, grpc.WithResolvers(resolver), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	settle(ctx, conn)
	client := healthv1.NewHealthClient(conn)
	if err := warmUp(ctx, client, out.expected.Unavailable < 1); err != nil {
		return err
	}
	for i := range out.requests {
		key := strconv.Itoa(i)
		if s.keyed {
			key = keys[i]
		}
		got, err := call(ctx, client, key)
		if err != nil {
			return err
		}
		out.counts[got]++
		if !s.keyed {
			continue
		}
		want := out.expected.Keys[i].Address
		if want == "" {
			want = unavailable
		}
		if got != want {
			out.wrong = append(out.wrong, fmt.Sprintf("%s went to %s, predicted %s", key, got, want))
		}
	}
	return nil
}

// warmUp makes RPCs that are not counted. Where some must succeed it goes on until one does: on a busy machine a channel may
// still be on its way to the endpoints that take the place of those that refuse.
func warmUp(ctx context.Context, client healthv1.HealthClient, succeeds bool) error {
	end := time.Now().Add(10 * time.Second)
	for i := 0; ; i++ {
		got, err := call(ctx, client, "warm-"+strconv.Itoa(i))
		if err != nil {
			return err
		}
		if i >= grpcWarmUp && (got != unavailable || !succeeds || time.Now().After(end)) {
			return nil
		}
	}
}

// settle waits until the channel has connected, failed or is idle again, so that nothing is counted on the way there.
func settle(ctx context.Context, conn *grpc.ClientConn) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready && state != connectivity.TransientFailure; state = conn.GetState() {
		if !conn.WaitForStateChange(ctx, state) || conn.GetState() == connectivity.Idle {
			return
		}
	}
}

// call makes one RPC and returns the address that answered, or what became of it.
func call(ctx context.Context, client healthv1.HealthClient, key string) (string, error) {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, keyHeader, key), 5*time.Second)
	defer cancel()
	var from peer.Peer
	_, err := client.Check(ctx, &healthv1.HealthCheckRequest{}, grpc.Peer(&from))
	switch {
	case err == nil:
		return from.Addr.String(), nil
	case errors.Is(ctx.Err(), context.Canceled):
		return "", ctx.Err()
	case strings.Contains(status.Convert(err).Message(), "RPC is dropped"):
		return dropped, nil
	default:
		return unavailable, nil
	}
}
