package eds

import (
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// readBinary reads binary protobuf. What it is must be guessed where --input-shape does not say: bytes have no names.
func (r *reader) readBinary() {
	shape := r.opts.Shape
	if shape == "" {
		shape = r.recogniseBinary()
	}
	switch shape {
	case ShapeResponse, ShapeCDS:
		r.binaryResponse()
	case ShapeDeltaResponse:
		r.binaryDelta()
	case ShapeAny:
		var a anypb.Any
		if err := proto.Unmarshal(r.src, &a); err != nil {
			r.binarySyntax(err)
			return
		}
		r.Add(&a, ShapeAny, nil)
	case ShapeResource:
		var w discoveryv3.Resource
		if err := proto.Unmarshal(r.src, &w); err != nil {
			r.binarySyntax(err)
			return
		}
		r.addWrapper(&w, ShapeResource, NewResponse("", []string{w.GetName()}, nil), true)
	case ShapeCluster:
		r.addCluster(r.src, placement{shape: ShapeCluster, version: r.opts.APIVersion})
	case ShapeBootstrap:
		r.binaryBootstrap()
	default:
		r.addBytes(r.src, placement{shape: ShapeAssignment, version: r.opts.APIVersion})
	}
	r.extension(Binary)
}

// binarySyntax reports bytes that are no message of the shape that was asked for.
func (r *reader) binarySyntax(err error) {
	p := diag.Problem{Rule: "syntax", Message: "no binary protobuf: " + plainError(err)}
	p.Envoy = diag.Override{Stage: "00b-syntax"}
	r.broken(p)
}

// plainError is a protobuf error without the blank that differs from build to build.
func plainError(err error) string {
	return strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
}

// binaryResponse reads a DiscoveryResponse. Envoy swallows the error of a .pb file that it cannot read and goes on
// with what it has got by then (MessageUtil::loadFromFile).
func (r *reader) binaryResponse() {
	var m discoveryv3.DiscoveryResponse
	err := proto.Unmarshal(r.src, &m)
	if err != nil && (r.source(ShapeResponse) != FromFile || len(r.src) == 0) {
		r.binarySyntax(err)
		return
	}
	if err != nil {
		r.damagedResponse()
		return
	}
	r.AddResponse(&m)
}

// damagedResponse reads a response up to where it is damaged.
func (r *reader) damagedResponse() {
	garbage := diag.Problem{
		Rule:    "file-eds-pb-garbage",
		Message: "the file is no DiscoveryResponse: Envoy takes a .pb file that it cannot read as empty, without an error",
	}
	for rest := r.src; len(rest) > 0; {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			break
		}
		m := protowire.ConsumeFieldValue(num, typ, rest[n:])
		if m < 0 {
			if num == 2 && typ == protowire.BytesType {
				if url, left := anyURL(cut(rest[n:])), len(cut(rest[n:])); VersionKnown(url) || left == 0 {
					res := r.newResource(ShapeResponse)
					res.Absent = true
					res.Response = &Response{Count: 1, AnyURL: url, NoBody: left == 0}
					if left > 0 {
						res.Problems = append(res.Problems, r.notUnpackable("it ends in the middle"))
					}
					r.add(res)
					return
				}
			}
			break
		}
		rest = rest[n+m:]
	}
	r.absent(garbage)
	r.file.Resources[len(r.file.Resources)-1].Unreadable = true
}

// VersionKnown tells whether a type URL is that of an assignment.
func VersionKnown(url string) bool {
	_, ok := VersionOfURL(url)
	return ok
}

func (r *reader) notUnpackable(why string) diag.Problem {
	p := diag.Problem{Rule: "resource-not-unpackable", Message: "the bytes are no ClusterLoadAssignment: " + why}
	p.Envoy.Message = unpackText
	p.GRPC.Message = grpcUnmarshalling + "proto: cannot parse invalid wire-format data"
	return p
}

// AddResponse adds the resources of a DiscoveryResponse.
func (r *reader) AddResponse(m *discoveryv3.DiscoveryResponse) {
	names := make([]string, len(m.GetResources()))
	for i, a := range m.GetResources() {
		names[i] = nameInAny(a)
	}
	resp := NewResponse(m.GetTypeUrl(), names, nil)
	if resp.Count == 0 {
		res := r.newResource(ShapeResponse)
		res.Absent, res.Response = true, resp
		r.add(res)
		return
	}
	for i, a := range m.GetResources() {
		own := *resp
		own.Index, own.AnyURL = i, a.GetTypeUrl()
		r.Add(a, ShapeResponse, &own)
	}
}

// binaryDelta reads a DeltaDiscoveryResponse.
func (r *reader) binaryDelta() {
	var m discoveryv3.DeltaDiscoveryResponse
	if err := proto.Unmarshal(r.src, &m); err != nil {
		r.binarySyntax(err)
		return
	}
	r.addDelta(&m)
}

func (r *reader) addDelta(m *discoveryv3.DeltaDiscoveryResponse) {
	names := make([]string, len(m.GetResources()))
	for i, w := range m.GetResources() {
		names[i] = w.GetName()
	}
	resp := NewResponse(m.GetTypeUrl(), names, m.GetRemovedResources())
	if resp.Count == 0 {
		res := r.newResource(ShapeDeltaResponse)
		res.Absent, res.Response = true, resp
		r.add(res)
		return
	}
	for i, w := range m.GetResources() {
		own := *resp
		own.Index = i
		r.addWrapper(w, ShapeDeltaResponse, &own, false)
	}
}
