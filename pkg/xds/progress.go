package xds

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
)

// progress is how far a connection has come, to tell a server that does not take it from one that does not answer. nil
// keeps nothing.
type progress struct{ at atomic.Int32 }

// The stages of a connection.
const (
	dialing   int32 = iota
	connected       // to the transport: the handshake of TLS begins, if there is one
	secured         // by TLS, or not to be
	ready           // for requests
)

func (p *progress) reach(stage int32) {
	if p != nil {
		p.at.Store(stage)
	}
}

// The parts of error texts by which ExplainClose knows the stage; they are those of gRPC.
const (
	inDial      = "error while dialing"
	inHandshake = "authentication handshake failed"
	inPreface   = "error reading server preface"
	inSilence   = "no answer in time"
)

// unready says which answer is waited for on the way to a connection; nil: it is there.
func (p *progress) unready(method string) *StreamError {
	if p == nil {
		return nil
	}
	var stage string
	switch p.at.Load() {
	case dialing:
		stage = inDial
	case connected:
		stage = inHandshake
	case secured:
		stage = inPreface
	default:
		return nil
	}
	return &StreamError{Method: method, Code: codes.DeadlineExceeded, Text: stage + ": " + inSilence}
}

// tracedCredentials tell how far gRPC has come.
type tracedCredentials struct {
	credentials.TransportCredentials
	progress *progress
}

func (c tracedCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c.progress.reach(connected)
	secure, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if err == nil {
		c.progress.reach(secured)
	}
	return secure, info, err
}

func (c tracedCredentials) Clone() credentials.TransportCredentials {
	return tracedCredentials{c.TransportCredentials.Clone(), c.progress}
}

// traced is a context for one request of net/http, which tells how far it has come.
func (p *progress) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { p.reach(dialing) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				p.reach(connected)
			}
		},
		GotConn: func(httptrace.GotConnInfo) { p.reach(ready) },
	})
}
