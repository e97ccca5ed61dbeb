package xds

import (
	"context"
	"errors"
	"io"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// link is one bidirectional stream and the goroutines that serve it. Everything that comes goes to the inbox of its
// owner; what is to be sent goes through outbox, so that a server that does not read cannot block the owner.
type link struct {
	id     int
	method string
	types  []string // type URLs that travel on it
	outbox chan proto.Message
	cancel context.CancelFunc
	done   chan struct{} // closed when both goroutines have ended
}

// incoming is a message or the end of a stream.
type incoming struct {
	link *link
	resp *response
	err  error // io.EOF for a clean end; resp is nil
}

// outboxSize bounds the requests that wait for a server that does not read.
const outboxSize = 4096

// firstStream is the number of the first stream of a run.
const firstStream = 1

// openLink starts a stream. Errors of the attempt arrive in the inbox like the end of a stream, but for headers that cannot
// be had for the first stream, since then the file with the token is wrong; later it may be away for a moment.
func openLink(ctx context.Context, conn *grpc.ClientConn, d *Dial, l *link, delta bool, inbox chan<- incoming) error {
	// A deadline would travel to the server, which then ends the stream by itself; Envoy's streams have none.
	parent := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	detach := context.AfterFunc(parent, cancel)
	l.cancel = func() {
		detach()
		cancel()
	}
	md, headerErr := d.headers(parent)
	if headerErr != nil && l.id == firstStream {
		l.cancel()
		return headerErr
	}
	at := d.progress // the next connection has another
	l.outbox = make(chan proto.Message, outboxSize)
	l.done = make(chan struct{})
	go func() {
		defer close(l.done)
		defer l.cancel()
		deliver := func(in incoming) bool {
			select {
			case inbox <- in:
				return true
			case <-ctx.Done():
				return false
			}
		}
		if headerErr != nil {
			deliver(incoming{link: l, err: headerErr})
			return
		}
		stream, err := conn.NewStream(metadata.NewOutgoingContext(ctx, md), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, l.method)
		if err != nil {
			deliver(incoming{link: l, err: err})
			return
		}
		at.reach(ready)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			send(ctx, stream, l.outbox)
		}()
		for {
			resp, err := receiveOne(stream, delta)
			if !deliver(incoming{link: l, resp: resp, err: err}) || err != nil {
				break
			}
		}
		l.cancel()
		<-sent
	}()
	return nil
}

// send writes what the outbox holds until it is closed, which half-closes the stream, or the stream ends.
func send(ctx context.Context, stream grpc.ClientStream, outbox <-chan proto.Message) {
	for {
		select {
		case <-ctx.Done():
			return
		case msg, ok := <-outbox:
			if !ok {
				_ = stream.CloseSend()
				return
			}
			if stream.SendMsg(msg) != nil {
				return // the reader learns why
			}
		}
	}
}

func receiveOne(stream grpc.ClientStream, delta bool) (*response, error) {
	if delta {
		m := &discoveryv3.DeltaDiscoveryResponse{}
		if err := stream.RecvMsg(m); err != nil {
			return nil, err
		}
		return fromDelta(m), nil
	}
	m := &discoveryv3.DiscoveryResponse{}
	if err := stream.RecvMsg(m); err != nil {
		return nil, err
	}
	return fromSotW(m), nil
}

// streamError is the reason of a stream's end in the words of this package; nil for a clean one.
func streamError(method string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	st := status.Convert(err)
	return &StreamError{Method: method, Code: st.Code(), Text: st.Message()}
}
