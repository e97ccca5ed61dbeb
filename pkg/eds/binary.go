package eds

import (
	"fmt"
	"regexp"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// plausibleURL is a type URL: an Any must have one for bytes to be taken for a response.
var plausibleURL = regexp.MustCompile(`^[\x21-\x7e]*/[A-Za-z_][\w.]*$`)

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
		r.addWrapper(&w, ShapeResource, &Response{Count: 1, Names: []string{w.GetName()}}, true)
	case ShapeCluster:
		r.addCluster(r.src, ShapeCluster, nil, 0)
	default:
		r.addBytes(r.src, placement{shape: ShapeAssignment, version: r.opts.APIVersion})
	}
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

// recogniseBinary guesses what bytes are.
func (r *reader) recogniseBinary() Shape {
	if looksLikeResponse(r.src) {
		return ShapeResponse
	}
	if envoyParser(r.suffix) == Binary && !looksLikeAssignment(r.src) && !looksLikeDelta(r.src) {
		return ShapeResponse // a file that Envoy would take for one
	}
	if looksLikeDelta(r.src) {
		return ShapeDeltaResponse
	}
	var a anypb.Any
	if proto.Unmarshal(r.src, &a) == nil && len(a.ProtoReflect().GetUnknown()) == 0 && plausibleURL.MatchString(a.GetTypeUrl()) {
		return ShapeAny
	}
	return ShapeAssignment
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
			return plausibleURL.MatchString(anyURL(body))
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
		if plausibleURL.MatchString(res.GetResource().GetTypeUrl()) {
			return true
		}
	}
	return len(m.GetRemovedResources()) > 0 && plausibleURL.MatchString(m.GetTypeUrl())
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
	p.GRPC.Message = "failed to unmarshal resource: proto: cannot parse invalid wire-format data"
	return p
}

// AddResponse adds the resources of a DiscoveryResponse.
func (r *reader) AddResponse(m *discoveryv3.DiscoveryResponse) {
	resp := &Response{TypeURL: m.GetTypeUrl(), Count: len(m.GetResources())}
	for _, a := range m.GetResources() {
		resp.Names = append(resp.Names, nameInAny(a))
	}
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
	resp := &Response{TypeURL: m.GetTypeUrl(), Count: len(m.GetResources()), Removed: m.GetRemovedResources()}
	for _, w := range m.GetResources() {
		resp.Names = append(resp.Names, w.GetName())
	}
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

// nameInAny is the name of a resource in a SotW response as a client takes it.
func nameInAny(a *anypb.Any) string {
	if _, ok := WrapperVersionOfURL(a.GetTypeUrl()); ok {
		var w discoveryv3.Resource
		if proto.Unmarshal(a.GetValue(), &w) == nil {
			return w.GetName()
		}
		return ""
	}
	num, typ, n := protowire.ConsumeTag(a.GetValue())
	if n < 0 || num != 1 || typ != protowire.BytesType {
		return ""
	}
	name, m := protowire.ConsumeBytes(a.GetValue()[n:])
	if m < 0 {
		return ""
	}
	return string(name)
}

// Add adds the resource in an Any.
func (r *reader) Add(a *anypb.Any, shape Shape, resp *Response) {
	url := a.GetTypeUrl()
	if _, ok := WrapperVersionOfURL(url); ok {
		var w discoveryv3.Resource
		if err := proto.Unmarshal(a.GetValue(), &w); err != nil {
			res := r.newResource(shape)
			res.Absent, res.Response = true, resp
			res.Problems = append(res.Problems, r.notUnpackable(plainError(err)))
			r.add(res)
			return
		}
		r.addWrapper(&w, shape, resp, true)
		return
	}
	version, isAssignment := VersionOfURL(url)
	if v, isCluster := ClusterVersionOfURL(url); isCluster && r.opts.Shape != ShapeResponse && !r.isEDSSource() {
		if v == V3 {
			index := 0
			if resp != nil {
				index = resp.Index
			}
			if shape == ShapeResponse {
				shape = ShapeCDS
			}
			r.addCluster(a.GetValue(), shape, resp, index)
		}
		return
	}
	if !isAssignment {
		r.foreign(a, shape, resp)
		return
	}
	p := placement{shape: shape, version: version, response: resp}
	p.problems = r.binaryURLProblems(url, shape, resp)
	r.addBytes(a.GetValue(), p)
}

// isEDSSource tells whether --source says that the input reaches Envoy as an answer to an EDS request.
func (r *reader) isEDSSource() bool {
	switch r.opts.Source {
	case FromFile, FromREST, FromSotW, FromDelta:
		return true
	}
	return false
}

// foreign adds an entry for a resource of another type.
func (r *reader) foreign(a *anypb.Any, shape Shape, resp *Response) {
	res := r.newResource(shape)
	res.Absent, res.Response = true, resp
	if a.GetTypeUrl() == "" && len(a.GetValue()) == 0 {
		own := Response{Count: 1}
		if resp != nil {
			own = *resp
		}
		own.NoBody = true
		res.Response = &own
		r.add(res)
		return
	}
	p := diag.Problem{Rule: "any-type-mismatch", Message: fmt.Sprintf("type %q is no ClusterLoadAssignment", a.GetTypeUrl())}
	p.Envoy = diag.Override{Stage: "04-unpack", Message: unpackText}
	if source := r.source(shape); source == FromSotW || source == FromDelta {
		ps := mismatchProblem(p, a.GetTypeUrl(), resp, source)
		if len(ps) == 0 { // the whole response is of that type: nobody asked for it
			r.add(res)
			return
		}
		p = ps[0]
	}
	res.Problems = append(res.Problems, p)
	r.add(res)
}

// binaryURLProblems judges the type URL of an assignment's Any.
func (r *reader) binaryURLProblems(url string, shape Shape, resp *Response) []diag.Problem {
	p := diag.Problem{Rule: "any-type-mismatch", Message: fmt.Sprintf("type %q is not that of the response", url)}
	switch source := r.source(shape); source {
	case FromSotW, FromDelta:
		return mismatchProblem(p, url, resp, source)
	}
	if v, _ := VersionOfURL(url); v != V3 {
		p.Rule, p.Hint = "v2-type", fmt.Sprintf("write %q", AssignmentURL(V3))
		p.Message = fmt.Sprintf("type %q belongs to an API that was removed in Envoy 1.18", url)
		p.Envoy = diag.Override{Stage: "02-any", Message: unpackText}
		return []diag.Problem{p}
	}
	return nil
}

// addWrapper adds the resource in a Resource message. wrapped: it stood in an Any of its own.
func (r *reader) addWrapper(w *discoveryv3.Resource, shape Shape, resp *Response, wrapped bool) {
	own := Response{Count: 1, Names: []string{w.GetName()}}
	if resp != nil {
		own = *resp
	}
	own.Wrapped, own.WrapName, own.Version = wrapped, w.GetName(), w.GetVersion()
	own.AnyURL = w.GetResource().GetTypeUrl()
	if w.GetResource() == nil {
		own.NoBody = true
		res := r.newResource(shape)
		res.Absent, res.Response, res.Name = true, &own, w.GetName()
		r.add(res)
		return
	}
	if wrapped { // the inner type is not compared with that of a SotW response
		version, ok := VersionOfURL(own.AnyURL)
		if ok {
			r.addBytes(w.GetResource().GetValue(), placement{shape: shape, version: version, response: &own})
			return
		}
	}
	r.Add(w.GetResource(), shape, &own)
}

// addCluster adds the assignment of a Cluster in binary.
func (r *reader) addCluster(b []byte, shape Shape, resp *Response, i int) {
	c := &Cluster{File: r.name, Index: i}
	c.Message = newCluster()
	res := r.newResource(shape)
	res.Cluster, res.Response = c, resp
	if err := proto.Unmarshal(b, c.Message); err != nil {
		res.Absent = true
		p := r.notUnpackable(plainError(err))
		p.Envoy.Message = strings.Replace(unpackText, "endpoint.v3.ClusterLoadAssignment", "cluster.v3.Cluster", 1)
		res.Problems = append(res.Problems, p)
		r.add(res)
		return
	}
	res.Name = edsName(c.Message)
	if la := c.Message.GetLoadAssignment(); la != nil {
		res.Assignment, res.Original = la, la
		res.Name = la.GetClusterName()
	} else {
		res.Absent = true
	}
	r.add(res)
}

// addBytes decodes an assignment from its binary form.
func (r *reader) addBytes(b []byte, p placement) {
	res := r.newResource(p.shape)
	res.APIVersion, res.Response = p.version, p.response
	res.Problems = append(res.Problems, p.problems...)
	res.Original = NewAssignment(p.version)
	r.add(res)
	if err := proto.Unmarshal(b, res.Original); err != nil {
		res.Absent = true
		res.Problems = append(res.Problems, r.notUnpackable(plainError(err)))
		res.Original = NewAssignment(V3)
		return
	}
	res.Problems = append(res.Problems, r.wireProblems(res.Original.ProtoReflect(), nil, nil)...)
	v3, lost, err := Upgrade(res.Original)
	if err != nil {
		res.Absent = true
		res.Problems = append(res.Problems, r.notUnpackable(plainError(err)))
		return
	}
	res.Assignment, res.Name = v3, v3.GetClusterName()
	for _, path := range lost {
		res.Problems = append(res.Problems, diag.Problem{
			Rule: "disable-overprovisioning-removed", Path: path,
			Message: "\"disable_overprovisioning\" does not exist in v3 and never had an effect in Envoy",
			Envoy:   diag.Override{Stage: "05-unknown", Message: unknownNumberText("envoy.config.endpoint.v3.ClusterLoadAssignment.Policy", []string{assignmentMessage}, []string{"5"})},
		})
	}
}

// wireProblems reports what Envoy says of the fields of a binary message and of those in it: numbers that it does not
// know, and deprecated fields.
func (r *reader) wireProblems(m protoreflect.Message, path diag.Path, parents []string) []diag.Problem {
	if isPlain(m) {
		return nil
	}
	var out []diag.Problem
	name := string(m.Descriptor().FullName())
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		var numbers []string
		for len(unknown) > 0 {
			num, _, n := protowire.ConsumeField(unknown)
			if n < 0 {
				break
			}
			numbers = append(numbers, fmt.Sprint(num))
			unknown = unknown[n:]
		}
		p := diag.Problem{Rule: "unknown-field", Path: path, Message: fmt.Sprintf("%s has no field with the number %s", m.Descriptor().Name(), strings.Join(numbers, ", "))}
		if strings.HasSuffix(name, "ClusterLoadAssignment.Policy") && len(numbers) == 1 && numbers[0] == "5" {
			p.Rule = "disable-overprovisioning-removed"
			p.Message = "field 5 of the policy is \"disable_overprovisioning\" of v2, which v3 does not have and Envoy never implemented"
		}
		p.Envoy = diag.Override{Stage: "05-unknown", Message: unknownNumberText(name, parents, numbers)}
		out = append(out, p)
	}
	for full, since := range newFields { // one of them so far
		fd := m.Descriptor().Fields().ByName(full.Name())
		if full.Parent() == m.Descriptor().FullName() && r.opts.EnvoyVersion < since && m.Has(fd) {
			p := diag.Problem{Rule: "unknown-field", Path: path.Field(string(fd.Name())), Message: fmt.Sprintf("%q is unknown to Envoy before 1.%d", fd.Name(), since)}
			p.Envoy = diag.Override{Stage: "05-unknown", Message: unknownNumberText(name, parents, []string{fmt.Sprint(fd.Number())})}
			out = append(out, p)
		}
	}
	parents = append(parents[:len(parents):len(parents)], name)
	known := r.schema.message(m.Descriptor()).fields
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() == nil && !known[string(fd.Name())].deprecated {
			return true
		}
		at := path.Field(string(fd.Name()))
		if known[string(fd.Name())].deprecated {
			out = append(out, deprecatedProblem(fd, at))
		}
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(k protoreflect.MapKey, mv protoreflect.Value) bool {
				out = append(out, r.wireProblems(mv.Message(), at.Key(k.String()), parents)...)
				return true
			})
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				out = append(out, r.wireProblems(v.List().Get(i).Message(), at.Index(i), parents)...)
			}
		case fd.Message() != nil && !fd.IsMap():
			out = append(out, r.wireProblems(v.Message(), at, parents)...)
		}
		return true
	})
	return out
}

func unknownNumberText(name string, parents, numbers []string) string {
	chain := "root"
	if len(parents) > 0 {
		chain = strings.Join(parents, "::")
	}
	return fmt.Sprintf("type %s(%s) with unknown field set {%s}", name, chain, strings.Join(numbers, ", "))
}
