package serve

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/xds"
)

func assignment(name, address string) Assignment {
	return Assignment{Message: &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
		Locality: &corev3.Locality{Zone: "z"},
		LbEndpoints: []*endpointv3.LbEndpoint{{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
				SocketAddress: &corev3.SocketAddress{Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 80}},
			}}}},
		}},
	}}}}
}

// running is a server under test with the events that it told.
type running struct {
	*Server
	addr   string
	mu     sync.Mutex
	events []Event
}

func start(t *testing.T, opts Options, list ...Assignment) *running {
	t.Helper()
	r := &running{}
	opts.Log = func(ev Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, ev)
	}
	r.Server = New(opts)
	if err := r.Set(list); err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = lis.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, lis) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return r
}

func options(addr string) xds.Options {
	return xds.Options{Dial: xds.Dial{Target: addr, Plaintext: true}, Node: &corev3.Node{Id: "n1", Cluster: "c"}, Ack: xds.AckValid}
}

func addressOf(tr *xds.Tracker, name string) string {
	a := tr.Answer(name)
	switch {
	case a == nil:
		return "unanswered"
	case a.Removed:
		return "removed"
	}
	return a.Resource.Assignment.Assignment.GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
}

// TestServesEveryTransport fetches what is served in every way that edsctl knows.
func TestServesEveryTransport(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, assignment("a", "127.0.0.1"), assignment("b", "127.0.0.2"))
	for _, transport := range xds.Transports {
		for _, service := range xds.Services {
			for _, names := range [][]string{nil, {"a"}, {"b", "a"}} {
				o := options(s.addr)
				o.Transport, o.Service = transport, service
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				tr, err := xds.Fetch(ctx, o, names, func(*xds.Event) error { return nil })
				cancel()
				if err != nil {
					t.Errorf("%s %s %v: %v", transport, service, names, err)
					continue
				}
				want := map[string]string{"a": "127.0.0.1", "b": "127.0.0.2"}
				if len(names) == 1 {
					delete(want, "b")
				}
				got := map[string]string{}
				for _, name := range tr.Names() {
					got[name] = addressOf(tr, name)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %s %v (-want +got):\n%s", transport, service, names, diff)
				}
			}
		}
	}
}
