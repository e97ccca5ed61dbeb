package serve

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	apiv2 "github.com/edsctl/edsctl/pkg/api/envoy/api/v2"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/xds"
)

// oldVersions serves older API versions by a thin layer over a v3 server: methods and type URLs are translated, the
// messages are compatible on the wire.
type oldVersions struct {
	t        *testing.T
	v3       *grpc.ClientConn
	resource xds.Version
	mu       sync.Mutex
	methods  []string
	first    []byte // the first request as it came
}

// startOld returns the address of a server that speaks old versions only.
func startOld(t *testing.T, v3 string, resource xds.Version) (*oldVersions, string) {
	t.Helper()
	conn, err := grpc.NewClient(v3, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	o := &oldVersions{t: t, v3: conn, resource: resource}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.UnknownServiceHandler(o.handle))
	go func() { _ = srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		_ = conn.Close()
	})
	return o, lis.Addr().String()
}

// newMethod is the v3 method of an old one.
func newMethod(method string) string {
	service, call, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	name := service[strings.LastIndex(service, ".")+1:]
	family := map[string]string{"EndpointDiscoveryService": "endpoint", "ClusterDiscoveryService": "cluster", "AggregatedDiscoveryService": "discovery"}[name]
	return "/envoy.service." + family + ".v3." + name + "/" + call
}

func (o *oldVersions) handle(_ any, server grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(server)
	o.mu.Lock()
	o.methods = append(o.methods, method)
	o.mu.Unlock()
	ctx, cancel := context.WithCancel(server.Context())
	defer cancel()
	client, err := o.v3.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, newMethod(method))
	if err != nil {
		return err
	}
	delta := strings.Contains(method, "Delta")
	go func() {
		for {
			var req interface {
				proto.Message
				GetTypeUrl() string
			} = &discoveryv3.DiscoveryRequest{}
			if delta {
				req = &discoveryv3.DeltaDiscoveryRequest{}
			}
			if server.RecvMsg(req) != nil {
				_ = client.CloseSend()
				return
			}
			o.note(req)
			setTypeURL(req, toV3(req.GetTypeUrl()))
			if client.SendMsg(req) != nil {
				return
			}
		}
	}()
	for {
		var resp proto.Message = &discoveryv3.DiscoveryResponse{}
		if delta {
			resp = &discoveryv3.DeltaDiscoveryResponse{}
		}
		if err := client.RecvMsg(resp); err != nil {
			return nil
		}
		o.toOld(resp)
		if err := server.SendMsg(resp); err != nil {
			return err
		}
		if strings.Contains(method, "/Fetch") {
			return nil
		}
	}
}

func (o *oldVersions) note(req proto.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		o.first, _ = proto.Marshal(req)
	}
}

func setTypeURL(m proto.Message, url string) {
	switch m := m.(type) {
	case *discoveryv3.DiscoveryRequest:
		m.TypeUrl = url
	case *discoveryv3.DeltaDiscoveryRequest:
		m.TypeUrl = url
	}
}

func toV3(url string) string {
	if strings.HasSuffix(url, ".Cluster") {
		return clusterURL
	}
	return assignmentURL
}

func (o *oldVersions) toOld(m proto.Message) {
	old := func(url string) string {
		if url == clusterURL {
			return xds.ClusterURL(o.resource)
		}
		return xds.AssignmentURL(o.resource)
	}
	each := func(list []*anypb.Any) {
		for _, a := range list {
			a.TypeUrl = old(a.TypeUrl)
		}
	}
	switch m := m.(type) {
	case *discoveryv3.DiscoveryResponse:
		m.TypeUrl = old(m.TypeUrl)
		each(m.Resources)
	case *discoveryv3.DeltaDiscoveryResponse:
		m.TypeUrl = old(m.TypeUrl)
		for _, r := range m.Resources {
			each([]*anypb.Any{r.Resource})
		}
	}
}

// TestOldVersions fetches in every older version of transport and resources, and in mixtures of them.
func TestOldVersions(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, assignment("a", "127.0.0.1"))
	tests := []struct {
		transport xds.Version
		resource  xds.Version
		api       eds.APIVersion
		eds       string // begin of the service's name
	}{
		{xds.V2, xds.V2, eds.V2, "/envoy.api.v2.EndpointDiscoveryService/"},
		{xds.V2, xds.V3, eds.V3, "/envoy.api.v2.EndpointDiscoveryService/"},
		{xds.V3, xds.V2, eds.V2, "/envoy.service.endpoint.v3.EndpointDiscoveryService/"},
		{xds.V3Alpha, xds.V3Alpha, eds.V3Alpha, "/envoy.api.v3alpha.EndpointDiscoveryService/"},
		{xds.V3AlphaLate, xds.V3AlphaLate, eds.V3Alpha, "/envoy.service.endpoint.v3alpha.EndpointDiscoveryService/"},
		{xds.V3AlphaLate, xds.V3AlphaService, eds.V3Alpha, "/envoy.service.endpoint.v3alpha.EndpointDiscoveryService/"},
	}
	for _, tt := range tests {
		for _, transport := range []xds.Transport{xds.SotW, xds.Delta, xds.Unary} {
			for _, names := range [][]string{{"a"}, nil} {
				old, addr := startOld(t, s.addr, tt.resource)
				o := options(addr)
				o.Transport, o.TransportVersion, o.ResourceVersion = transport, tt.transport, tt.resource
				o.Node.UserAgentName = "edsctl"
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				tr, err := xds.Fetch(ctx, o, names, func(*xds.Event) error { return nil })
				cancel()
				if err != nil || addressOf(tr, "a") != "127.0.0.1" {
					t.Errorf("%s/%s over %s, names %v: %q, %v", tt.transport, tt.resource, transport, names, addressOf(tr, "a"), err)
					continue
				}
				if got := tr.Answer("a").Resource.Assignment.APIVersion; got != tt.api {
					t.Errorf("%s/%s over %s: read as %s", tt.transport, tt.resource, transport, got)
				}
				if names != nil && !strings.HasPrefix(old.methods[0], tt.eds) {
					t.Errorf("%s/%s over %s: asked %q", tt.transport, tt.resource, transport, old.methods[0])
				}
				var req apiv2.DiscoveryRequest
				if transport == xds.SotW && tt.transport != xds.V3 {
					if err := proto.Unmarshal(old.first, &req); err != nil || req.GetNode().GetBuildVersion() != "edsctl" {
						t.Errorf("%s: the node is %v (%v), want a build_version", tt.transport, req.GetNode(), err)
					}
				}
			}
		}
	}
}

// TestVersionNotSpoken asks a v3 server in v2: the error says what to try.
func TestVersionNotSpoken(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, assignment("a", "127.0.0.1"))
	o := options(s.addr)
	o.TransportVersion, o.ResourceVersion = xds.V2, xds.V2
	notes := 0
	_, err := xds.Fetch(t.Context(), o, []string{"a"}, func(ev *xds.Event) error {
		if ev.Kind == xds.Note {
			notes++
		}
		return nil
	})
	failed, ok := err.(*xds.StreamError)
	if !ok {
		t.Fatalf("error %v, want a failed stream", err)
	}
	cause, hints := xds.ExplainClose(failed, o)
	if cause != "the server does not have this service" || len(hints) != 1 || !strings.Contains(hints[0], "--transport-version v3") || notes != 1 {
		t.Errorf("cause %q, hints %q, %d notes about the change of service", cause, hints, notes)
	}
}
