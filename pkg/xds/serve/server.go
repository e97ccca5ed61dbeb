package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/rest/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Options of a server.
type Options struct {
	TLS *tls.Config // nil: plaintext
	// Log is told what happens; nil: nobody is. It is called by many goroutines, one at a time.
	Log func(Event)
	Now func() time.Time // nil: the system's clock
}

// Server is a management server. Set gives it something to serve, at any time; Serve answers clients.
type Server struct {
	opts  Options
	store *store
	grpc  *grpc.Server
	http  *http.Server
	stop  context.CancelFunc // ends the streams
}

// New returns a server that serves nothing yet.
func New(opts Options) *Server {
	var mu sync.Mutex
	log := func(ev Event) {
		if opts.Log == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		opts.Log(ev)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{opts: opts, store: newStore(), stop: stop}
	calls := &callbacks{store: s.store, log: log, now: opts.Now}
	quiet := quietLogger{}
	named := []string{assignmentURL, routeURL} // an empty list of these means none, never all: Envoy's last EDS cluster is gone
	h := &handlers{
		sotw:  sotw.NewServer(ctx, s.store, calls, sotw.WithOrderedADS(), sotw.WithLogger(quiet), sotw.DeactivateLegacyWildcardForTypes(named)),
		delta: delta.NewServer(ctx, s.store, calls, delta.WithLogger(quiet), delta.DeactivateLegacyWildcardForTypes(named)),
		rest:  rest.NewServer(s.store, calls),
	}
	s.grpc = grpc.NewServer(
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.MaxRecvMsgSize(64<<20),
	)
	h.register(s.grpc)
	s.http = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	return s
}

// Set replaces what is served and pushes what changed. Two assignments or two
// clusters of one name are an error, and nothing changes.
func (s *Server) Set(list []Assignment) error {
	next, err := build(list)
	if err != nil {
		return err
	}
	s.store.set(next)
	return nil
}

// Serve answers on a listener, gRPC and REST on the same port, until the context ends. Then the streams are closed, so
// that the clients can finish what they do and go elsewhere.
func (s *Server) Serve(ctx context.Context, lis net.Listener) error {
	split := newSplitter(lis, s.opts.TLS)
	errs := make(chan error, 3)
	go func() { errs <- s.grpc.Serve(split.grpc) }()
	go func() { errs <- s.http.Serve(split.http) }()
	go func() { errs <- split.run() }()
	var first error
	waiting := 3
	select {
	case <-ctx.Done():
	case first = <-errs:
		waiting--
	}
	_ = lis.Close()
	s.stop()
	s.drain()
	split.close()
	for range waiting {
		<-errs
	}
	if ctx.Err() != nil || errors.Is(first, net.ErrClosed) {
		return nil
	}
	return first
}

// drainTime bounds the wait for clients at the end.
const drainTime = 2 * time.Second

func (s *Server) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	_ = s.http.Shutdown(ctx)
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
	}
}

func identity() *corev3.ControlPlane { return &corev3.ControlPlane{Identifier: "edsctl serve"} }

// quietLogger drops go-control-plane's log: what matters comes as events.
type quietLogger struct{}

func (quietLogger) Debugf(string, ...any) {}
func (quietLogger) Infof(string, ...any)  {}
func (quietLogger) Warnf(string, ...any)  {}
func (quietLogger) Errorf(string, ...any) {}
