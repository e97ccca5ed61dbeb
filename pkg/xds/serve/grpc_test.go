package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/admin"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/wrapperspb"

	_ "google.golang.org/grpc/xds"

	"github.com/edsctl/edsctl/pkg/xds"
)

// clientEnv makes the test binary a gRPC client: the bootstrap is read when the process starts.
const clientEnv = "EDSCTL_TEST_GRPC_CLIENT"

func TestMain(m *testing.M) {
	if os.Getenv(clientEnv) != "" {
		if err := grpcClient(); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// grpcClient calls xds:///svc, serves its own client status, and prints the address of that. It ends with its input.
func grpcClient() error {
	conn, err := grpc.NewClient("xds:///svc", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		return err
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := grpc.NewServer()
	cleanup, err := admin.Register(srv)
	if err != nil {
		return err
	}
	defer cleanup()
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()
	fmt.Println("ready", lis.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// TestGRPCClient has grpc-go's own xDS client find a backend through nothing but the server: listener, route, cluster
// and assignment. Its client status is then read, with an update that it refuses.
func TestGRPCClient(t *testing.T) {
	backend, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	healthpb.RegisterHealthServer(srv, health.NewServer())
	go func() { _ = srv.Serve(backend) }()
	t.Cleanup(srv.Stop)

	a := assignment("svc", "127.0.0.1")
	a.Message.Endpoints[0].LoadBalancingWeight = wrapperspb.UInt32(1)
	a.Message.Endpoints[0].LbEndpoints[0].GetEndpoint().GetAddress().GetSocketAddress().PortSpecifier = portOf(backend)
	other := assignment("other", "127.0.0.1")
	s := start(t, Options{}, a, other)

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), clientEnv+"=1", fmt.Sprintf(`GRPC_XDS_BOOTSTRAP_CONFIG={"xds_servers":[{"server_uri":%q,"channel_creds":[{"type":"insecure"}]}],"node":{"id":"grpc1"}}`, s.addr))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	status, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !ok {
		t.Fatalf("the client did not become ready: %s", line)
	}
	if got := clientStatus(t, status, "svc"); got.Status != "ACKED" || got.Resource == nil {
		t.Errorf("the assignment's status is %+v, want ACKED", got)
	}

	bad := assignment("svc", "127.0.0.1")
	bad.Message.Endpoints[0].LoadBalancingWeight = wrapperspb.UInt32(1)
	bad.Message.Endpoints[0].LbEndpoints[0].LoadBalancingWeight = wrapperspb.UInt32(0)
	if err := s.Set([]Assignment{bad, other}); err != nil {
		t.Fatal(err)
	}
	e := &envoyProcess{t: t}
	e.until("the refusal", func() bool { return clientStatus(t, status, "svc").Status == "NACKED" })
	if got := clientStatus(t, status, "svc"); !strings.Contains(got.Error, "zero weight") {
		t.Errorf("the reason of the refusal is %q", got.Error)
	}
}

func portOf(lis net.Listener) *corev3.SocketAddress_PortValue {
	return &corev3.SocketAddress_PortValue{PortValue: uint32(lis.Addr().(*net.TCPAddr).Port)}
}

// clientStatus is what the client says of an assignment.
func clientStatus(t *testing.T, addr, name string) xds.ClientResource {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	configs, err := xds.ReadCSDS(ctx, xds.Dial{Target: addr, Plaintext: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		for _, r := range c.Resources {
			if r.Name == name && r.TypeURL == xds.AssignmentURL(xds.V3) {
				return r
			}
		}
	}
	return xds.ClientResource{}
}
