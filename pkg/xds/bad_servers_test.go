package xds

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// scripted is an EDS server whose stream is a function.
type scripted struct {
	endpointservice.UnimplementedEndpointDiscoveryServiceServer
	stream func(endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error
}

func (s scripted) StreamEndpoints(st endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
	return s.stream(st)
}

func serveScript(t *testing.T, stream func(endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error, opts ...grpc.ServerOption) string {
	t.Helper()
	return serveGRPC(t, func(g *grpc.Server) {
		endpointservice.RegisterEndpointDiscoveryServiceServer(g, scripted{stream: stream})
	}, opts...)
}

func anyOf(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	any, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return any
}

// answer sends one response after the first request, and then waits for the client to go.
func answer(resp *discoveryv3.DiscoveryResponse) func(endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
	return func(st endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
		if _, err := st.Recv(); err != nil {
			return err
		}
		if err := st.Send(resp); err != nil {
			return err
		}
		for {
			if _, err := st.Recv(); err != nil {
				return nil
			}
		}
	}
}

// rawServer answers connections with a function.
func rawServer(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	t.Cleanup(func() { _ = lis.Close(); <-done })
	return lis.Addr().String()
}

// certificate makes a self-signed certificate and returns it with the file that holds it.
func certificate(t *testing.T, name string, until time.Time) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// TestBadServers asks servers that misbehave: each ends with one clear cause or with a timeout, and leaks nothing
// (TestMain).
func TestBadServers(t *testing.T) {
	t.Parallel()
	good := func(nonce string) *discoveryv3.DiscoveryResponse {
		return &discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: nonce, TypeUrl: AssignmentURL(V3), Resources: []*anypb.Any{anyOf(t, cla("a", "127.0.0.1"))}}
	}
	hour := time.Now().Add(time.Hour)
	trusted, ca := certificate(t, "localhost", hour)
	stranger, strangerCert := certificate(t, "stranger", hour)
	strangerKey := keyFile(t, stranger)
	expired, expiredCA := certificate(t, "localhost", time.Now().Add(-time.Hour))
	tests := []struct {
		name  string
		serve func(t *testing.T) string
		opts  func(*Options)
		// cause is what ExplainClose says; wantErr a part of the error; both empty: the deadline ends it.
		cause, wantErr string
		answered       bool
		timeout        time.Duration
	}{
		{
			name: "closes at once", cause: "the server closed the stream before everything was answered",
			serve: func(t *testing.T) string {
				return serveScript(t, func(endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error { return nil })
			},
		},
		{
			name: "refuses", cause: "the server wants credentials", wantErr: "Unauthenticated: no token",
			serve: func(t *testing.T) string {
				return serveScript(t, func(endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
					return status.Error(codes.Unauthenticated, "no token")
				})
			},
		},
		{
			name: "never answers", timeout: 200 * time.Millisecond,
			serve: func(t *testing.T) string {
				return serveScript(t, func(st endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
					<-st.Context().Done()
					return nil
				})
			},
		},
		{
			name: "garbage in the resource", answered: true,
			serve: func(t *testing.T) string {
				r := good("1")
				r.Resources = append(r.Resources, &anypb.Any{TypeUrl: AssignmentURL(V3), Value: []byte("\xff\xff")})
				return serveScript(t, answer(r))
			},
		},
		{
			name: "another type URL", timeout: 200 * time.Millisecond,
			serve: func(t *testing.T) string {
				r := good("1")
				r.TypeUrl = ClusterURL(V3)
				return serveScript(t, answer(r))
			},
		},
		{
			name: "a name twice", answered: true,
			serve: func(t *testing.T) string {
				r := good("1")
				r.Resources = append(r.Resources, anyOf(t, cla("a", "127.0.0.2")))
				return serveScript(t, answer(r))
			},
		},
		{
			name: "a response that is too large", cause: "the response is larger than the limit",
			opts: func(o *Options) { o.Dial.MaxMsgSize = 1 << 20 },
			serve: func(t *testing.T) string {
				r := good("1")
				r.Canary = true
				r.VersionInfo = strings.Repeat("x", 2<<20)
				return serveScript(t, answer(r))
			},
		},
		{
			name: "100 MB", answered: true, timeout: 2 * time.Minute, // takes long with the race detector on a busy machine
			serve: func(t *testing.T) string {
				r := good("1")
				r.Resources[0] = anyOf(t, cla("a", "127.0.0.1"))
				r.VersionInfo = strings.Repeat("x", 100<<20)
				return serveScript(t, answer(r))
			},
		},
		{
			name: "a nonce that repeats, in a storm", timeout: 300 * time.Millisecond,
			serve: func(t *testing.T) string {
				return serveScript(t, func(st endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
					for {
						r := good("same")
						r.Resources = []*anypb.Any{anyOf(t, cla("b", "127.0.0.1"))}
						if st.Send(r) != nil {
							return nil
						}
					}
				})
			},
		},
		{
			name: "TLS, asked over REST without", cause: "the server wants TLS", opts: func(o *Options) { o.Transport = REST },
			serve: func(t *testing.T) string {
				return rawServer(t, func(c net.Conn) { // net/http's words
					if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
						_, _ = io.Copy(io.Discard, r.Body)
					}
					_, _ = io.WriteString(c, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
				})
			},
		},
		{
			name: "gRPC over TLS, asked over REST without", cause: "the server closed the connection at once: it may want TLS", opts: func(o *Options) { o.Transport = REST },
			serve: func(t *testing.T) string { return serveTLS(t, trusted, good("1")) },
		},
		{
			name: "a client certificate of another authority", cause: "the server does not accept the client certificate: it may be of another authority than the server trusts",
			opts: func(o *Options) {
				o.Dial.Plaintext, o.Dial.CACert, o.Dial.ServerName, o.Dial.Cert, o.Dial.Key = false, ca, "localhost", strangerCert, strangerKey
			},
			serve: func(t *testing.T) string { return serveMutual(t, trusted, good("1")) },
		},
		{
			name: "HTTP/1 on the port", cause: "the server speaks HTTP/1, not gRPC",
			serve: func(t *testing.T) string {
				return serveHTTP(t, http.NotFoundHandler())
			},
		},
		{
			name: "closes the connection", cause: "the server closed the connection at once: it may want TLS",
			serve: func(t *testing.T) string { return rawServer(t, func(net.Conn) {}) },
		},
		{
			name: "no TLS", cause: "the server does not speak TLS", opts: func(o *Options) { o.Dial.Plaintext = false },
			serve: func(t *testing.T) string {
				return rawServer(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
			},
		},
		{
			name: "an expired certificate", cause: "the server's certificate is not valid now",
			opts:  func(o *Options) { o.Dial.Plaintext, o.Dial.CACert, o.Dial.ServerName = false, expiredCA, "localhost" },
			serve: func(t *testing.T) string { return serveTLS(t, expired, good("1")) },
		},
		{
			name: "the wrong name", cause: "the server's certificate is for another name",
			opts:  func(o *Options) { o.Dial.Plaintext, o.Dial.CACert, o.Dial.ServerName = false, ca, "other.example" },
			serve: func(t *testing.T) string { return serveTLS(t, trusted, good("1")) },
		},
		{
			name: "an unknown authority", cause: "the server's certificate is signed by an unknown authority",
			opts:  func(o *Options) { o.Dial.Plaintext, o.Dial.ServerName = false, "localhost" },
			serve: func(t *testing.T) string { return serveTLS(t, trusted, good("1")) },
		},
		{
			name: "a good certificate", answered: true,
			opts:  func(o *Options) { o.Dial.Plaintext, o.Dial.CACert, o.Dial.ServerName = false, ca, "localhost" },
			serve: func(t *testing.T) string { return serveTLS(t, trusted, good("1")) },
		},
		{
			name: "a loop of redirects", wantErr: `it redirects to "/v3/discovery:endpoints", which is not followed`,
			opts: func(o *Options) { o.Transport = REST },
			serve: func(t *testing.T) string {
				return serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
				}))
			},
		},
		{
			name: "no JSON", wantErr: "the answer is no DiscoveryResponse in JSON", opts: func(o *Options) { o.Transport = REST },
			serve: func(t *testing.T) string {
				return serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
			},
		},
		{
			name: "gRPC asked over REST", cause: "the server does not speak HTTP/1: it may be a gRPC port", opts: func(o *Options) { o.Transport = REST },
			serve: func(t *testing.T) string { return serveScript(t, answer(good("1"))) },
		},
		{
			name: "nothing listens", cause: "nothing listens there",
			serve: func(t *testing.T) string {
				addr := rawServer(t, func(net.Conn) {})
				_, port, _ := net.SplitHostPort(addr)
				return "127.0.0.2:" + port
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(tt.serve(t))
			o.Service = ServiceEDS
			if tt.opts != nil {
				tt.opts(&o)
			}
			timeout := tt.timeout
			if timeout == 0 {
				timeout = 10 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			tr, err := Fetch(ctx, o, []string{"a"}, func(*Event) error { return nil })
			if tr.Done() != tt.answered {
				t.Errorf("answered: %v, want %v (%v)", tr.Done(), tt.answered, err)
			}
			var failed *StreamError
			errors.As(err, &failed)
			switch {
			case tt.answered && err != nil:
				t.Errorf("unexpected error: %v", err)
			case tt.cause == "" && tt.wantErr == "" && !tt.answered && !errors.Is(err, context.DeadlineExceeded) && failed == nil:
				t.Errorf("error %v, want the deadline", err)
			case tt.cause != "" && failed == nil:
				t.Errorf("error %v, want a failed stream", err)
			case tt.cause != "":
				if got, _ := ExplainClose(failed, o); got != tt.cause {
					t.Errorf("cause %q of %v, want %q", got, err, tt.cause)
				}
			}
			if tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
		})
	}
}

// serveMutual serves clients with a certificate that the server's own signed.
func serveMutual(t *testing.T, cert tls.Certificate, resp *discoveryv3.DiscoveryResponse) string {
	t.Helper()
	pool := x509.NewCertPool()
	own, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(own)
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	return serveScript(t, answer(resp), grpc.Creds(credentials.NewTLS(cfg)))
}

// keyFile writes the key of a certificate.
func keyFile(t *testing.T, cert tls.Certificate) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSilentServers asks servers that take connections and go no further, for less and for more time than an attempt has: the
// stage is told in both cases.
func TestSilentServers(t *testing.T) {
	t.Parallel()
	addr := rawServer(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	const (
		noTLS   = "the server takes connections, but says nothing to the handshake of TLS"
		noHTTP2 = "the server takes connections, but says nothing in HTTP/2"
	)
	tests := []struct {
		transport Transport
		plaintext bool
		connect   time.Duration // 0: longer than the deadline
		cause     string
	}{
		{SotW, true, 0, noHTTP2},
		{SotW, false, 0, noTLS},
		{Delta, true, 100 * time.Millisecond, noHTTP2},
		{Delta, false, 100 * time.Millisecond, noTLS},
		{Unary, true, 0, noHTTP2},
		{Unary, false, 0, noTLS},
		{REST, false, 0, noTLS},
		{REST, true, 0, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s plaintext=%t connect=%s", tt.transport, tt.plaintext, tt.connect), func(t *testing.T) {
			t.Parallel()
			o := testOptions(addr)
			o.Transport, o.Service, o.Dial.Plaintext, o.Dial.ConnectTimeout = tt.transport, ServiceEDS, tt.plaintext, tt.connect
			timeout := 300 * time.Millisecond
			if tt.connect > 0 {
				timeout = 10 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			tr, err := Fetch(ctx, o, []string{"a"}, func(*Event) error { return nil })
			if tt.cause == "" {
				if got := tr.Explain(o, ""); !errors.Is(err, context.DeadlineExceeded) || len(got) != 1 || got[0].Cause != noReply {
					t.Errorf("error %v, explained by %v, want %q", err, got, noReply)
				}
				return
			}
			var failed *StreamError
			if !errors.As(tr.LastClose, &failed) {
				t.Fatalf("error %v, last end %v", err, tr.LastClose)
			}
			if got, _ := ExplainClose(failed, o); got != tt.cause {
				t.Errorf("cause %q of %v, want %q", got, failed, tt.cause)
			}
		})
	}
}

func serveTLS(t *testing.T, cert tls.Certificate, resp *discoveryv3.DiscoveryResponse) string {
	t.Helper()
	return serveScript(t, answer(resp), grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
}

// TestTokenFileAway reconnects although the file with the token is away for a moment, as while it is rotated.
func TestTokenFileAway(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	write := func() {
		if err := os.WriteFile(token, []byte("s3cret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	var streams atomic.Int32
	o := testOptions(serveScript(t, func(st endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
		if streams.Add(1) == 1 {
			return nil
		}
		return answer(&discoveryv3.DiscoveryResponse{TypeUrl: AssignmentURL(V3), VersionInfo: "1", Nonce: "1", Resources: []*anypb.Any{anyOf(t, cla("a", "127.0.0.1"))}})(st)
	}))
	o.Service, o.Dial.TokenFile, o.Reconnect = ServiceEDS, token, true
	var ends []string
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tr, err := Fetch(ctx, o, []string{"a"}, func(ev *Event) error {
		if ev.Kind != Closed {
			return nil
		}
		text := ""
		if ev.Err != nil {
			text = ev.Err.Error()
		}
		ends = append(ends, text)
		switch len(ends) {
		case 1:
			return os.Remove(token)
		case 2:
			write()
		}
		return nil
	})
	if err != nil || !tr.Done() {
		t.Errorf("error %v, answered: %t", err, tr.Done())
	}
	if len(ends) != 2 || !strings.Contains(ends[1], "token: no such file") {
		t.Errorf("the streams ended with %q, want the second for want of the token", ends)
	}
	o.Dial.TokenFile += ".none"
	if _, err := Fetch(ctx, o, []string{"a"}, func(*Event) error { return nil }); err == nil || !strings.Contains(err.Error(), "token.none: no such file") {
		t.Errorf("a file that was never there: %v", err)
	}
}
