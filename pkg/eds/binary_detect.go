package eds

import (
	"slices"
	"strings"
	"unicode"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// plausibleURL is a type URL: an Any must have one for bytes to be taken for a response.
var plausibleURL = pattern(`^[\x21-\x7e]*/[A-Za-z_][\w.]*$`)

// recogniseBinary guesses what bytes are.
func (r *reader) recogniseBinary() Shape {
	if looksLikeResponse(r.src) {
		return ShapeResponse
	}
	if looksLikeBootstrap(r.src) {
		return ShapeBootstrap
	}
	if envoyParser(r.suffix) == Binary && !looksLikeAssignment(r.src) && !looksLikeDelta(r.src) {
		return ShapeResponse // a file that Envoy would take for one
	}
	if looksLikeDelta(r.src) {
		return ShapeDeltaResponse
	}
	var a anypb.Any
	if proto.Unmarshal(r.src, &a) == nil && len(a.ProtoReflect().GetUnknown()) == 0 && plausibleURL().MatchString(a.GetTypeUrl()) {
		return ShapeAny
	}
	return ShapeAssignment
}

// isWire tells whether bytes are those of some message, or at least begin like a response. What is neither is damaged
// text in a file that Envoy takes for text.
func isWire(src []byte) bool {
	if looksLikeResponse(src) {
		return true
	}
	for rest := src; len(rest) > 0; {
		_, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return false
		}
		rest = rest[n:]
	}
	return true
}

// looksLikeResponse tells whether bytes begin like a DiscoveryResponse: at least one Any with a plausible type URL.
func looksLikeResponse(src []byte) bool {
	for rest := src; len(rest) > 0; {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 || typ != protowire.BytesType || num > 7 {
			return false
		}
		body, m := protowire.ConsumeBytes(rest[n:])
		if num == 2 {
			if m < 0 {
				body = cut(rest[n:])
			}
			return plausibleURL().MatchString(anyURL(body))
		}
		if m < 0 {
			return false
		}
		rest = rest[n+m:]
	}
	return false
}

// cut is the content of a length-delimited field that is longer than the bytes that are left; nothing when its length
// is not there in full.
func cut(b []byte) []byte {
	_, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return nil
	}
	return b[n:]
}

// anyURL is the type URL at the beginning of the bytes of an Any.
func anyURL(b []byte) string {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 || num != 1 || typ != protowire.BytesType {
		return ""
	}
	url, m := protowire.ConsumeBytes(b[n:])
	if m < 0 {
		return ""
	}
	return string(url)
}

// looksLikeDelta tells whether bytes are a DeltaDiscoveryResponse with a resource in it.
func looksLikeDelta(src []byte) bool {
	var m discoveryv3.DeltaDiscoveryResponse
	if proto.Unmarshal(src, &m) != nil || len(m.ProtoReflect().GetUnknown()) > 0 {
		return false
	}
	for _, res := range m.GetResources() {
		if plausibleURL().MatchString(res.GetResource().GetTypeUrl()) {
			return true
		}
	}
	return len(m.GetRemovedResources()) > 0 && plausibleURL().MatchString(m.GetTypeUrl())
}

// looksLikeAssignment tells whether bytes are an assignment with a name.
func looksLikeAssignment(src []byte) bool {
	m := NewAssignment(V3)
	if proto.Unmarshal(src, m) != nil || len(m.ProtoReflect().GetUnknown()) > 0 {
		return false
	}
	v3, _, err := Upgrade(m)
	return err == nil && v3.GetClusterName() != ""
}

// looksLikeBootstrap tells whether bytes are those of a bootstrap, as far as they go: something of it stands in
// static_resources or dynamic_resources, its first cluster has a name, and no field is of another kind than its own.
func looksLikeBootstrap(src []byte) bool {
	src, _ = salvage(src, outlineType(bootstrapOutline()), 0)
	root := unlinkedMessage{wire: src}
	o, fits := bootstrapOutline(), true
	eachField(src, func(number protowire.Number, kind protowire.Type, _ []byte) bool {
		if slices.ContainsFunc(o.fields, func(f outlineField) bool { return f.number == number }) {
			_, fits = o.numbered(number, kind)
		}
		return fits
	})
	if !fits {
		return false
	}
	static, isStatic := root.message(wireField("static_resources"))
	if clusters := static.list(unlinkedField{number: 2}); len(clusters) > 0 {
		return isCluster(clusters[0].wire)
	}
	if listeners := static.list(unlinkedField{number: 1}); len(listeners) > 0 {
		return isPrintable(listeners[0].text(unlinkedField{number: 1}))
	}
	_, hasNode := root.message(wireField("node"))
	_, hasAdmin := root.message(wireField("admin"))
	dynamic, isDynamic := root.message(wireField("dynamic_resources"))
	return isDynamic && !isStatic && len(dynamic.wire) > 0 && (hasNode || hasAdmin)
}

// isCluster tells whether bytes are a Cluster with a name or at least an assignment, in which the fields that it knows are
// of their kinds.
func isCluster(b []byte) bool {
	c := newCluster()
	if proto.Unmarshal(b, c) != nil || !isPrintable(c.GetName()) && (c.GetName() != "" || c.GetLoadAssignment() == nil) {
		return false
	}
	fds := c.ProtoReflect().Descriptor().Fields()
	return eachField(c.ProtoReflect().GetUnknown(), func(number protowire.Number, _ protowire.Type, _ []byte) bool {
		if fds.ByNumber(number) != nil {
			b = nil
		}
		return true
	}) && b != nil
}

func isPrintable(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}
