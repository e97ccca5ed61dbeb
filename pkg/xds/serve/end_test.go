package serve

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// TestEndWithMuteClient ends a server to which somebody is connected who says nothing.
func TestEndWithMuteClient(t *testing.T) {
	t.Parallel()
	cert, _, _ := pair(t)
	for name, opts := range map[string]Options{"plaintext": {}, "TLS": {TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			accepted := &acceptances{Listener: lis, came: make(chan struct{}, 1)}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- New(opts).Serve(ctx, accepted) }()
			conn, err := net.Dial("tcp", lis.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			<-accepted.came
			cancel()
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(helloTime / 2):
				t.Error("the server waits for a client that says nothing")
				<-done
			}
		})
	}
}

// acceptances tells of each connection that was accepted.
type acceptances struct {
	net.Listener
	came chan struct{}
}

func (a *acceptances) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	if err == nil {
		a.came <- struct{}{}
	}
	return conn, err
}

// TestOwnersAreForgotten sends requests that go-control-plane passes over, since their nonce is not the newest: it never
// asks the store for them.
func TestOwnersAreForgotten(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	calls := &callbacks{store: s.store, log: func(Event) {}, now: time.Now}
	if err := calls.OnStreamOpen(t.Context(), 1, ""); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		req := &discoveryv3.DiscoveryRequest{TypeUrl: assignmentURL, ResponseNonce: "old", Node: &corev3.Node{Id: "n1"}}
		if err := calls.OnStreamRequest(1, req); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.store.owners); n != 1 {
		t.Errorf("%d requests are remembered of one stream", n)
	}
	calls.OnStreamClosed(1, nil)
	if n := len(s.store.owners); n != 0 {
		t.Errorf("%d requests are remembered of no stream", n)
	}
}
