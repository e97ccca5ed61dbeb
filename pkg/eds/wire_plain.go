package eds

import (
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// plainAssignment decodes an assignment that is plain (see isPlain), as nearly all are that a control plane sends: its
// fields are then set without reflection, an endpoint is one allocation, and there is nothing to report of its fields.
// It gives up at anything else, also at bytes that are no message: proto.Unmarshal reads, or refuses, those, whatever is
// in m by then.
func plainAssignment(b []byte, m *endpointv3.ClusterLoadAssignment) bool {
	r := plainReader{rest: b, failed: new(bool)}
	for r.next() {
		switch r.number {
		case 1:
			m.ClusterName = r.text()
		case 2:
			g := &endpointv3.LocalityLbEndpoints{}
			plainGroup(r.element(), g)
			m.Endpoints = append(m.Endpoints, g)
		default:
			r.fail()
		}
	}
	return !*r.failed
}

func plainGroup(r plainReader, g *endpointv3.LocalityLbEndpoints) {
	if n := r.count(2); n > 0 {
		g.LbEndpoints = make([]*endpointv3.LbEndpoint, 0, n)
	}
	for r.next() {
		switch r.number {
		case 1:
			g.Locality = &corev3.Locality{}
			plainLocality(r.message(), g.Locality)
		case 2:
			e := &plainEndpoint{}
			e.read(r.element())
			g.LbEndpoints = append(g.LbEndpoints, &e.LbEndpoint)
		case 3:
			g.LoadBalancingWeight = &wrapperspb.UInt32Value{}
			plainWeight(r.message(), g.LoadBalancingWeight)
		case 5:
			g.Priority = uint32(r.varint())
		default:
			r.fail()
		}
	}
}

func plainLocality(r plainReader, l *corev3.Locality) {
	for r.next() {
		switch r.number {
		case 1:
			l.Region = r.text()
		case 2:
			l.Zone = r.text()
		case 3:
			l.SubZone = r.text()
		default:
			r.fail()
		}
	}
}

func plainWeight(r plainReader, w *wrapperspb.UInt32Value) {
	for r.next() {
		if r.number != 1 {
			r.fail()
			return
		}
		w.Value = uint32(r.varint())
	}
}

// plainEndpoint has room for all messages of an endpoint with a socket address.
type plainEndpoint struct {
	endpointv3.LbEndpoint
	identifier endpointv3.LbEndpoint_Endpoint
	endpoint   endpointv3.Endpoint
	address    corev3.Address
	oneof      corev3.Address_SocketAddress
	socket     corev3.SocketAddress
	port       corev3.SocketAddress_PortValue
}

func (e *plainEndpoint) read(r plainReader) {
	for r.next() {
		switch r.number {
		case 1:
			e.HostIdentifier, e.identifier.Endpoint = &e.identifier, &e.endpoint
			e.readEndpoint(r.message())
		case 2:
			e.HealthStatus = corev3.HealthStatus(r.varint())
		case 4:
			e.LoadBalancingWeight = &wrapperspb.UInt32Value{}
			plainWeight(r.message(), e.LoadBalancingWeight)
		default:
			r.fail()
		}
	}
	if e.HostIdentifier == nil {
		r.fail()
	}
}

func (e *plainEndpoint) readEndpoint(r plainReader) {
	for r.next() {
		switch r.number {
		case 1:
			e.endpoint.Address = &e.address
			e.readAddress(r.message())
		case 3:
			e.endpoint.Hostname = r.text()
		default:
			r.fail()
		}
	}
	if e.endpoint.Address == nil {
		r.fail()
	}
}

func (e *plainEndpoint) readAddress(r plainReader) {
	for r.next() {
		if r.number != 1 {
			r.fail()
			return
		}
		e.address.Address, e.oneof.SocketAddress = &e.oneof, &e.socket
		e.readSocket(r.message())
	}
	if e.address.Address == nil {
		r.fail()
	}
}

func (e *plainEndpoint) readSocket(r plainReader) {
	for r.next() {
		switch r.number {
		case 1:
			e.socket.Protocol = corev3.SocketAddress_Protocol(r.varint())
		case 2:
			e.socket.Address = r.text()
		case 3:
			e.port.PortValue = uint32(r.varint())
			e.socket.PortSpecifier = &e.port
		case 4:
			if e.socket.PortSpecifier != nil {
				r.fail()
			}
			e.socket.PortSpecifier = &corev3.SocketAddress_NamedPort{NamedPort: r.text()}
		case 6:
			e.socket.Ipv4Compat = protowire.DecodeBool(r.varint())
		default:
			r.fail()
		}
	}
}

// plainReader goes through the fields of a message. Once it or a reader of the same assignment has failed it has no more
// of them. A singular field that comes twice fails too: what that means depends on its type.
type plainReader struct {
	rest   []byte
	number protowire.Number
	wire   protowire.Type
	seen   uint32 // the numbers of singular fields that came, a bit each
	failed *bool
}

// next goes to the next field.
func (r *plainReader) next() bool {
	if *r.failed || len(r.rest) == 0 {
		return false
	}
	number, wire, n := protowire.ConsumeTag(r.rest)
	if n < 0 || number >= 32 {
		r.fail()
		return false
	}
	r.rest, r.number, r.wire = r.rest[n:], number, wire
	return true
}

func (r *plainReader) fail() { *r.failed = true }

// once fails when the field came before.
func (r *plainReader) once() {
	if r.seen&(1<<r.number) != 0 {
		r.fail()
	}
	r.seen |= 1 << r.number
}

func (r *plainReader) varint() uint64 {
	r.once()
	v, n := protowire.ConsumeVarint(r.rest)
	if n < 0 || r.wire != protowire.VarintType {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *plainReader) bytes() []byte {
	v, n := protowire.ConsumeBytes(r.rest)
	if n < 0 || r.wire != protowire.BytesType {
		r.fail()
		return nil
	}
	r.rest = r.rest[n:]
	return v
}

func (r *plainReader) text() string {
	r.once()
	v := r.bytes()
	if !utf8.Valid(v) {
		r.fail()
		return ""
	}
	return string(v)
}

// message is the reader of a singular message.
func (r *plainReader) message() plainReader {
	r.once()
	return r.element()
}

// element is the reader of one message of a list.
func (r *plainReader) element() plainReader { return plainReader{rest: r.bytes(), failed: r.failed} }

// count tells how often a field is still to come.
func (r *plainReader) count(number protowire.Number) int {
	n := 0
	for b := r.rest; len(b) > 0; {
		found, _, size := protowire.ConsumeField(b)
		if size < 0 {
			return n // next fails there
		}
		if found == number {
			n++
		}
		b = b[size:]
	}
	return n
}
