package cli

import (
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/xds"
)

// withEndpoints is an assignment of n endpoints, the first of them with a weight.
func withEndpoints(name string, n int, weight uint32) *endpointv3.ClusterLoadAssignment {
	group := &endpointv3.LocalityLbEndpoints{}
	for i := range n {
		group.LbEndpoints = append(group.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
				SocketAddress: &corev3.SocketAddress{Address: fmt.Sprintf("10.0.0.%d", i), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 80}},
			}}}},
		})
	}
	group.LbEndpoints[0].LoadBalancingWeight = wrapperspb.UInt32(weight)
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{group}}
}

// storm sends updates of one assignment as fast as they are taken; each has another weight than the one before.
func storm(updates int) func(grpc.ServerStream) error {
	return func(st grpc.ServerStream) error {
		go func() {
			for {
				if err := st.RecvMsg(&discoveryv3.DiscoveryRequest{}); err != nil {
					return
				}
			}
		}()
		for i := range updates {
			any, err := anypb.New(withEndpoints("a", 2, uint32(i%100+1)))
			if err != nil {
				return err
			}
			n := fmt.Sprint(i + 1)
			if err := st.SendMsg(&discoveryv3.DiscoveryResponse{VersionInfo: n, Nonce: n, TypeUrl: xds.AssignmentURL(xds.V3), Resources: []*anypb.Any{any}}); err != nil {
				return err
			}
		}
		<-st.Context().Done()
		return nil
	}
}

// TestWatchStorm tells every one of many updates that come as fast as they can be sent, in their order.
func TestWatchStorm(t *testing.T) {
	const updates = 2000
	t.Parallel()
	addr, stop := serveStream(t, storm(updates))
	defer stop()
	stdout, stderr, code := runMain(t, "watch", "a", "--server", addr, "--plaintext", "--service", "eds", "--max-updates", fmt.Sprint(updates))
	if code != 0 {
		t.Fatalf("watch ends with %d: %s", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != updates {
		t.Fatalf("%d lines for %d updates", len(lines), updates)
	}
	for i, line := range lines {
		if got := strings.Fields(line); len(got) < 3 || got[2] != fmt.Sprint(i+1) {
			t.Fatalf("line %d is %q", i+1, line)
		}
	}
}
