package serve

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"
)

// splitter accepts connections and gives those that begin with HTTP/2 to gRPC and the rest to HTTP/1, so that both are
// served on one port. With TLS the protocol that was negotiated decides.
type splitter struct {
	lis        net.Listener
	tls        *tls.Config
	grpc, http *queue
	ctx        context.Context
	close      context.CancelFunc
	wg         sync.WaitGroup
}

func newSplitter(lis net.Listener, cfg *tls.Config) *splitter {
	s := &splitter{lis: lis}
	s.ctx, s.close = context.WithCancel(context.Background())
	s.grpc, s.http = newQueue(lis.Addr(), s.ctx.Done()), newQueue(lis.Addr(), s.ctx.Done())
	if cfg != nil {
		s.tls = cfg.Clone()
		s.tls.NextProtos = []string{"h2", "http/1.1"}
	}
	return s
}

// run accepts until the listener is closed.
func (s *splitter) run() error {
	defer s.wg.Wait()
	for {
		conn, err := s.lis.Accept()
		if err != nil {
			return err
		}
		s.wg.Go(func() { s.sort(conn) })
	}
}

// helloTime bounds the wait for a handshake or the first bytes.
const helloTime = 10 * time.Second

// preface is how every HTTP/2 connection begins; three bytes tell it from all methods of HTTP/1 (PUT, PATCH, POST).
const preface = "PRI"

func (s *splitter) sort(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(helloTime))
	awake := context.AfterFunc(s.ctx, func() { _ = conn.Close() }) // the end does not wait for who says nothing
	defer awake()
	isHTTP2 := false
	if s.tls != nil {
		tc := tls.Server(conn, s.tls)
		if tc.HandshakeContext(s.ctx) != nil {
			_ = conn.Close()
			return
		}
		conn, isHTTP2 = tc, tc.ConnectionState().NegotiatedProtocol == "h2"
	} else {
		head := make([]byte, len(preface))
		if _, err := io.ReadFull(conn, head); err != nil {
			_ = conn.Close()
			return
		}
		conn, isHTTP2 = &prefixed{Conn: conn, head: head}, string(head) == preface
	}
	_ = conn.SetDeadline(time.Time{})
	to := s.http
	if isHTTP2 {
		to = s.grpc
	}
	select {
	case to.conns <- conn:
	case <-s.ctx.Done():
		_ = conn.Close()
	case <-to.shut:
		_ = conn.Close()
	}
}

// prefixed gives back the bytes that were read to tell the protocol.
type prefixed struct {
	net.Conn
	head []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.head) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.head)
	p.head = p.head[n:]
	return n, nil
}

// queue is the listener of one protocol.
type queue struct {
	addr  net.Addr
	conns chan net.Conn
	done  <-chan struct{} // of the splitter
	once  sync.Once
	shut  chan struct{}
}

func newQueue(addr net.Addr, done <-chan struct{}) *queue {
	return &queue{addr: addr, conns: make(chan net.Conn), done: done, shut: make(chan struct{})}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
	case <-q.shut:
	}
	return nil, net.ErrClosed
}

func (q *queue) Close() error {
	q.once.Do(func() { close(q.shut) })
	return nil
}

func (q *queue) Addr() net.Addr { return q.addr }
