package eds

import (
	"fmt"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
)

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
		r.addTypedCluster(a, shape, resp, v)
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

// addTypedCluster adds the resources of a Cluster in an Any.
func (r *reader) addTypedCluster(a *anypb.Any, shape Shape, resp *Response, version APIVersion) {
	p := placement{shape: shape, version: version, response: resp, text: r.resourceText(shape, resp)}
	if resp != nil {
		p.index = resp.Index
	}
	switch shape {
	case ShapeResponse:
		p.shape = ShapeCDS
	case ShapeAny:
		p.shape = ShapeCluster
	}
	if version != V3 {
		p.problems = r.binaryURLProblems(a.GetTypeUrl(), p.shape, resp)
		for i := range p.problems {
			p.problems[i].Envoy.Message = clusterText(p.problems[i].Envoy.Message)
			p.problems[i].Hint = fmt.Sprintf("write %q", ClusterURL(V3))
		}
	}
	r.addCluster(a.GetValue(), p)
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
		if n := r.resourceText(shape, resp); n != nil && len(n.fields) > 0 { // no type of this name is found
			text := r.textProblem(p.Rule, p.Message, n.fields[0].nameSpan(), r.textRoot(shape))
			p.Span, p.Envoy = text.Span, text.Envoy
		}
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

// addBytes decodes an assignment from its binary form.
func (r *reader) addBytes(b []byte, p placement) *Resource {
	if p.text == nil {
		p.text = r.resourceText(p.shape, p.response)
	}
	res := r.newResource(p.shape)
	res.APIVersion, res.Response = p.version, p.response
	res.Cluster, res.Bootstrap, res.text = p.cluster, p.bootstrap, p.text
	res.Problems = append(res.Problems, p.problems...)
	r.add(res)
	res.Original = NewAssignment(p.version)
	if m, ok := res.Original.(*endpointv3.ClusterLoadAssignment); ok && plainAssignment(b, m) {
		res.Assignment, res.Name = m, m.GetClusterName()
		return res
	}
	if err := proto.Unmarshal(b, res.Original); err != nil {
		res.Absent = true
		p := r.notUnpackable(plainError(err))
		p.GRPC.Message = grpcUnmarshalling + GRPCError(err)
		res.Problems = append(res.Problems, p)
		res.Original = NewAssignment(V3)
		return res
	}
	res.Problems = append(res.Problems, r.wireProblems(res.Original.ProtoReflect(), nil, p.parents)...)
	v3, lost, err := Upgrade(res.Original)
	if err != nil {
		res.Absent = true
		res.Problems = append(res.Problems, r.notUnpackable(plainError(err)))
		return res
	}
	res.Assignment, res.Name = v3, v3.GetClusterName()
	for _, path := range lost {
		res.Problems = append(res.Problems, diag.Problem{
			Rule: "disable-overprovisioning-removed", Path: path,
			Message: "\"disable_overprovisioning\" does not exist in v3 and never had an effect in Envoy",
			Envoy:   diag.Override{Stage: "05-unknown", Message: unknownNumberText("envoy.config.endpoint.v3.ClusterLoadAssignment.Policy", []string{assignmentMessage}, []string{"5"})},
		})
	}
	return res
}
