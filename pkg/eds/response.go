package eds

import (
	"fmt"
	"slices"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// response reads a DiscoveryResponse or a DeltaDiscoveryResponse.
func (r *reader) response(n document.Node, shape Shape) {
	root, message := responseMessage, proto.Message(&discoveryv3.DiscoveryResponse{})
	if shape == ShapeDeltaResponse {
		root, message = deltaResponseMessage, &discoveryv3.DeltaDiscoveryResponse{}
	}
	w := wire{root: root, message: root}
	if r.source(shape) == FromFile || r.source(shape) == FromCDS {
		w.file = r.name
	}
	if look(n).kind != jsonObject {
		r.wrongRoot(n, w)
		return
	}
	lists := copies(n, "resources")
	if !has(n, responseKeys...) && !has(n, "type_url", "nonce", "canary", "control_plane", "resource_errors") && look(n).node.First().IsValid() {
		r.wrongShape(n)
		return
	}
	d := r.newDecoder(w)
	d.skip = "resources"
	d.message(n, message)
	r.around = append(r.around[:len(r.around):len(r.around)], d.problems...)

	var names, removed []string
	for _, name := range items(child(n, "removed_resources")) {
		removed = append(removed, look(name).text)
	}
	var nodes []document.Node
	var places []string
	for _, list := range lists {
		for i, item := range items(list) {
			at := fmt.Sprintf("resources[%d]", i)
			if !isSequence(list) {
				at = "resources" // a single message where a list belongs
			}
			nodes, places, names = append(nodes, item), append(places, at), append(names, itemName(item))
		}
	}
	resp := NewResponse(textOf(n, "type_url"), names, removed)
	if len(nodes) == 0 {
		res := r.newResource(shape)
		res.Absent, res.Response, res.Node = true, resp, n // a node, since Envoy read it as text
		res.Unreadable = hasHard(r.around)
		r.add(res)
		return
	}
	before := len(r.file.Resources)
	var others []int
	for i, item := range nodes {
		had := len(r.file.Resources)
		if r.item(item, shape, resp, places[i], i); len(r.file.Resources) == had {
			others = append(others, i)
		}
	}
	some := len(r.file.Resources) > before
	r.mixedTypes(nodes, shape, r.file.Resources[before:])
	if some && r.onStream(shape) || !some && (r.opts.Shape != "" || r.opts.Source == FromFile) {
		for _, i := range others {
			r.otherType(nodes[i], shape, resp, i)
		}
	}
}

// onStream tells whether a resource of the shape comes by a gRPC stream, whose resources must be of one type.
func (r *reader) onStream(shape Shape) bool {
	source := r.source(shape)
	return source == FromSotW || source == FromDelta
}

// mixedTypes reports resources of other types beside an assignment in an EDS file: all are unpacked as assignments before
// any is looked at.
func (r *reader) mixedTypes(nodes []document.Node, shape Shape, found []*Resource) {
	if len(nodes) < 2 || shape != ShapeResponse || r.source(shape) != FromFile {
		return
	}
	for _, n := range nodes {
		url, at, ok := typeURL(n)
		_, isWrapper := WrapperVersionOfURL(url)
		if !ok || isWrapper || VersionKnown(url) || unknownTypeReason(url[strings.LastIndexByte(url, '/')+1:], r.opts.EnvoyVersion) != "" {
			continue
		}
		p := diag.Problem{Rule: "any-type-mismatch", Span: at.Span(), Message: fmt.Sprintf("%q is no ClusterLoadAssignment", url)}
		p.Envoy = diag.Override{Stage: "04-unpack", Message: unpackText}
		for _, res := range found {
			if res.Shape == shape && !hasRule(res.Problems, p.Rule) {
				res.Around = append(res.Around[:len(res.Around):len(res.Around)], p)
			}
		}
		return
	}
}

// wrongRoot reports a document that is no mapping where Envoy expects a response.
func (r *reader) wrongRoot(n document.Node, w wire) {
	v := look(n)
	if v.kind != jsonArray {
		return // reported already as no mapping at all
	}
	p := diag.Problem{Rule: "yaml-document", Span: n.Span(), Message: "an EDS file must be a mapping with \"resources\", not a list"}
	p.Envoy = diag.Override{Stage: "00b-syntax", Message: w.parseText(fmt.Sprintf("invalid JSON in %s, near <pos>: unexpected character: '['; expected '{'", w.root))}
	r.broken(p)
}

// wrongShape reports an EDS file that is a mapping but no response: all its keys are unknown and it counts as empty.
func (r *reader) wrongShape(n document.Node) {
	key, _ := keyText(n.Target().First())
	p := diag.Problem{
		Rule: "file-eds-wrong-shape", Span: n.Target().First().Span(),
		Message: "an EDS file must hold a DiscoveryResponse: Envoy knows none of its keys and takes it as empty",
		Hint:    "put the assignment under \"resources\" with \"@type\": " + AssignmentURL(V3),
	}
	w := wire{root: responseMessage}
	p.Envoy.Message = w.unknownText(fmt.Sprintf("invalid JSON in %s, near <pos>: no such field: '%s'", responseMessage, key))
	res := r.newResource(ShapeResponse)
	res.Absent, res.Unreadable = true, true
	res.Problems = append(res.Problems, p)
	r.add(res)
}

// itemName is the name of a resource as a client takes it.
func itemName(n document.Node) string {
	if name := textOf(n, "name"); name != "" && child(n, "resource").IsValid() {
		return name
	}
	if inner := child(n, "resource"); inner.IsValid() {
		n = inner
	}
	if name := textOf(n, "cluster_name"); name != "" {
		return name
	}
	return textOf(n, "name")
}

// item reads one resource of a response.
func (r *reader) item(n document.Node, shape Shape, resp *Response, at string, i int) {
	own := *resp
	own.Index = i
	v := look(n)
	if v.kind == jsonNull || v.kind == jsonObject && !v.node.First().IsValid() {
		own.NoBody = true
		r.noBody(n, placement{shape: shape, response: &own})
		return
	}
	if v.kind != jsonObject {
		p := placement{shape: shape, response: &own, where: r.resourceWire(shape, at, i)}
		p.problems = []diag.Problem{noAny(v, n, p.where, at)}
		r.notRead(n, p)
		return
	}
	r.typed(n, shape, &own, at, i)
}

// noBody adds the entry for a resource without content.
func (r *reader) noBody(n document.Node, p placement) {
	res := r.newResource(p.shape)
	res.Absent, res.Response, res.Node = true, p.response, n
	res.Name = p.response.WrapName
	res.Problems = append(res.Problems, p.problems...)
	res.Unreadable = hasHard(p.problems)
	r.add(res)
}

// notRead adds the entry for a resource that Envoy's reader refuses.
func (r *reader) notRead(n document.Node, p placement) {
	res := r.newResource(p.shape)
	res.Absent, res.Response, res.Node, res.Unreadable = true, p.response, n, true
	res.Problems = p.problems
	r.add(res)
}

// noAny is the problem of a value that is no mapping where an Any belongs, at a path.
func noAny(v value, n document.Node, w wire, at string) diag.Problem {
	p := diag.Problem{Rule: "value-type", Span: n.Span(), Message: "a resource must be a mapping with \"@type\""}
	p.Envoy.Message = w.parseText(fmt.Sprintf("invalid JSON in %s @ %s: message google.protobuf.Any, near <pos>: unexpected character: '%s'; expected '{'", w.root, at, v.first()))
	return p
}

// resourceWire is how an assignment stands in a response, at a path of its list.
func (r *reader) resourceWire(shape Shape, at string, i int) wire {
	if r.source(shape) == FromCDS {
		return wire{file: r.name, root: responseMessage, at: at + ".<any>", message: assignmentMessage, depth: 2, inAny: true}
	}
	return r.assignmentWire(i, at+".<any>")
}

// typed reads a resource as an Any, a Resource wrapper or what is left of either.
func (r *reader) typed(n document.Node, shape Shape, resp *Response, at string, i int) {
	url, urlNode, ok := typeURL(n)
	w := r.resourceWire(shape, at, i)
	if resp != nil {
		resp.AnyURL = url
	}
	p := placement{shape: shape, version: V3, response: resp, where: w, index: i}
	if !ok {
		r.untyped(n, p, at)
		return
	}
	if version, isCluster := ClusterVersionOfURL(url); isCluster {
		r.typedCluster(n, p, version, url, urlNode)
		return
	}
	if _, isWrapper := WrapperVersionOfURL(url); isWrapper {
		d := r.newDecoder(w)
		d.checkTypeURL(url, urlNode)
		p.problems = d.withHint(url)
		r.wrapper(n, p, at)
		return
	}
	version, isAssignment := VersionOfURL(url)
	if !isAssignment {
		if !has(n, "cluster_name", "endpoints") {
			return // another type, none of edsctl's business
		}
		if r.ofOtherType(url, shape) {
			r.otherType(n, shape, resp, i)
			return
		}
		version = V3
	}
	p.version = version
	p.problems = r.urlProblems(url, urlNode, resp, p)
	r.add(r.assignment(n, p))
}

// ofOtherType tells whether a resource that Envoy reads as text is of a type that it knows: the keys of an assignment
// make none of it. A type that it does not know is taken for a misspelt one.
func (r *reader) ofOtherType(url string, shape Shape) bool {
	return strings.LastIndexByte(url, '/') > 0 && !r.onStream(shape) && unknownTypeReason(messageName(url), r.opts.EnvoyVersion) == ""
}

// urlProblems judges the type URL of an assignment.
func (r *reader) urlProblems(url string, at document.Node, resp *Response, p placement) []diag.Problem {
	d := r.newDecoder(p.where)
	if r.onStream(p.shape) {
		problem := diag.Problem{Rule: "any-type-mismatch", Span: at.Span(), Message: fmt.Sprintf("type %q is not that of the response", url)}
		return mismatchProblem(problem, url, resp, r.source(p.shape))
	}
	if !d.checkTypeURL(url, at) || len(d.problems) > 0 {
		return d.withHint(url)
	}
	return nil
}

// withHint adds to a finding about an old type URL the one that took its place.
func (d *decoder) withHint(url string) []diag.Problem {
	for i := range d.problems {
		d.problems[i].Path = nil
		if d.problems[i].Rule == "v2-type" {
			d.problems[i].Message = fmt.Sprintf("type %q belongs to an API that was removed in Envoy 1.18", url)
			d.problems[i].Hint = fmt.Sprintf("write %q", AssignmentURL(V3))
		}
	}
	return d.problems
}

// mismatchProblem completes the problem of an Any whose type is not that of its response, as the client of a stream
// sees it; nil when the types agree. The Resource wrapper is no mismatch.
func mismatchProblem(p diag.Problem, url string, resp *Response, source Source) []diag.Problem {
	want := AssignmentURL(V3)
	if resp != nil && resp.TypeURL != "" {
		want = resp.TypeURL
	}
	if url == want {
		return nil
	}
	if v, ok := VersionOfURL(url); ok && v != V3 {
		p.Rule = "v2-type"
		p.Hint = fmt.Sprintf("write %q", AssignmentURL(V3))
	}
	p.Envoy = diag.Override{Stage: "02-any", Message: fmt.Sprintf("%s does not match the message-wide type URL %s in DiscoveryResponse <dump>", url, want)}
	if source == FromDelta {
		p.Envoy.Message = fmt.Sprintf("type URL %s embedded in an individual Any does not match the message-wide type URL %s in DeltaDiscoveryResponse <dump>", url, want)
	}
	p.GRPC.Message = fmt.Sprintf("unexpected resource type: %q ", url)
	return []diag.Problem{p}
}

// untyped reads a resource without @type: as it stands in a DeltaDiscoveryResponse, or with a finding.
func (r *reader) untyped(n document.Node, p placement, at string) {
	inner := child(n, "resource")
	if p.shape == ShapeDeltaResponse && has(n, "resource", "name", "version") {
		r.wrapper(n, p, at)
		return
	}
	problem := diag.Problem{Rule: "any-type-missing", Span: n.Span(), Message: "the resource has no \"@type\""}
	if key := n.Target().First(); key.IsValid() {
		problem.Span = key.Span()
	}
	problem.Hint = "add \"@type\": " + AssignmentURL(V3)
	if has(n, "type_url") {
		problem.Hint = "in YAML and JSON the fields of the message stand beside its \"@type\", instead of type_url and value"
	}
	w := p.where
	problem.Envoy.Message = w.parseText(fmt.Sprintf("invalid JSON in %s @ %s: message google.protobuf.Any, near <pos>: in legacy mode, missing @type in Any is only allowed for an empty object", w.root, at))
	p.problems = append(p.problems, problem)
	if inner.IsValid() && isMapping(inner) {
		r.wrapper(n, p, at)
		return
	}
	p.version = r.opts.APIVersion
	if has(n, "load_assignment") || has(n, "name") && has(n, clusterKeys...) {
		p.where.message = clusterMessage
		r.cluster(n, p)
		return
	}
	if !has(n, "cluster_name", "endpoints") {
		r.notRead(n, p)
		return
	}
	r.add(r.assignment(n, p))
}

// wrapper reads a Resource message, or a mapping of its form.
func (r *reader) wrapper(n document.Node, p placement, at string) {
	inner := child(n, "resource")
	if p.response == nil {
		p.response = NewResponse("", []string{itemName(n)}, nil)
	}
	own := *p.response
	own.Wrapped, own.WrapName, own.Version = true, textOf(n, "name"), textOf(n, "version")
	if p.shape == ShapeDeltaResponse {
		own.Wrapped = false // its own form, no wrapper
	}
	p.response = &own
	p.problems = append(p.problems, r.wrapperProblems(n, p, at)...)
	if v := look(inner); inner.IsValid() && v.kind != jsonObject {
		p.problems = append(p.problems, noAny(v, inner, p.where, wrapperAt(p, at)+".resource"))
		r.notRead(n, p)
		return
	}
	if !inner.IsValid() || !isMapping(inner) || !look(inner).node.First().IsValid() {
		own.NoBody = true
		r.noBody(n, p)
		return
	}
	url, urlNode, ok := typeURL(inner)
	own.AnyURL = url
	p.where.at = wrapperAt(p, at) + ".resource.<any>"
	p.where.depth++
	if !ok {
		r.untyped(inner, placementWithout(p), at+".<any>.resource")
		return
	}
	if version, isCluster := ClusterVersionOfURL(url); isCluster {
		r.typedCluster(inner, p, version, url, urlNode)
		return
	}
	version, isAssignment := VersionOfURL(url)
	if !isAssignment {
		return
	}
	p.version = version
	p.problems = append(p.problems, r.urlProblems(url, urlNode, p.response, p)...)
	r.add(r.assignment(inner, p))
}

// wrapperAt is the path of a Resource message at a path of a response: in an Any, but for those of a delta response.
func wrapperAt(p placement, at string) string {
	if p.shape == ShapeDeltaResponse {
		return at
	}
	return at + ".<any>"
}

// wrapperProblems judges the fields of a Resource message but for the resource in it.
func (r *reader) wrapperProblems(n document.Node, p placement, at string) []diag.Problem {
	w := p.where
	w.message, w.at = wrapperMessage, wrapperAt(p, at)
	d := r.newDecoder(w)
	d.typed, d.skip = true, "resource"
	var m discoveryv3.Resource
	d.message(n, &m)
	for i := range d.problems {
		d.problems[i].Path = nil // those of a resource begin at the assignment
	}
	return append(d.problems, negativeTTL(&m, child(n, "ttl"))...)
}

// negativeTTL is what Envoy says of a time to live that it cannot count in milliseconds (DecodedResourceImpl).
func negativeTTL(m *discoveryv3.Resource, n document.Node) []diag.Problem {
	ttl := m.GetTtl()
	if ttl.GetSeconds() >= 0 && ttl.GetNanos() >= 0 {
		return nil
	}
	p := diag.Problem{Rule: "duration-invalid", Span: n.Span(), Message: "the time to live of a resource cannot be negative"}
	p.Envoy = diag.Override{Stage: "02-any", Message: "Invalid duration: Expected positive duration: <dump>"}
	return []diag.Problem{p}
}

// placementWithout is p for the content of a wrapper, which is no delta resource itself.
func placementWithout(p placement) placement {
	if p.shape == ShapeDeltaResponse {
		p.shape = ShapeResponse
	}
	return p
}

// typedCluster reads a Cluster in a response or alone.
func (r *reader) typedCluster(n document.Node, p placement, version APIVersion, url string, at document.Node) {
	if p.shape == ShapeResponse {
		p.shape = ShapeCDS
	}
	if p.shape == ShapeAny {
		p.shape = ShapeCluster
	}
	if src := r.opts.Source; (src == FromFile || src == FromREST || src == FromSotW || src == FromDelta) && !has(n, "load_assignment") || r.opts.Shape == ShapeResponse {
		return // said to be an EDS response: the caller reports the type
	}
	where := p.where
	p = placement{shape: p.shape, version: version, index: p.index, response: p.response, problems: p.problems, where: r.clusterPlace(p.shape, p.index).where}
	if r.source(p.shape) != FromBootstrap {
		p.where.at = where.at
	}
	d := r.newDecoder(p.where)
	if !d.checkTypeURL(url, at) || len(d.problems) > 0 {
		for i := range d.problems {
			d.problems[i].Path = nil
		}
		p.problems = append(p.problems, d.problems...)
	}
	r.cluster(n, p)
}

// otherType adds an entry for a resource whose type is none that EDS delivers.
func (r *reader) otherType(n document.Node, shape Shape, resp *Response, i int) {
	url, at, ok := typeURL(n)
	if !ok {
		return
	}
	own := Response{}
	if resp != nil {
		own = *resp
	}
	own.Index, own.AnyURL = i, url
	p := diag.Problem{Rule: "any-type-mismatch", Span: at.Span(), Message: fmt.Sprintf("%q is no ClusterLoadAssignment", url)}
	w := r.assignmentWire(i, "")
	switch source := r.source(shape); source {
	case FromSotW, FromDelta:
		ps := mismatchProblem(p, url, resp, source)
		if len(ps) == 0 {
			return
		}
		p = ps[0]
	default:
		p.Envoy = diag.Override{Stage: "04-unpack", Message: unpackText}
		if has(n, "cluster_name") {
			p.Hint = fmt.Sprintf("write %q", AssignmentURL(V3))
		}
		w.at, w.message = strings.TrimSuffix(w.at, ".<any>"), "google.protobuf.Any"
		d := r.newDecoder(w)
		d.message(n, &anypb.Any{})
		if at := slices.IndexFunc(d.problems, func(p diag.Problem) bool { return isHard(p.Rule) || p.Rule == "v2-type" }); at >= 0 {
			p = d.problems[at]
			p.Path = nil
		}
	}
	res := r.newResource(shape)
	res.Absent, res.Response, res.Node = true, &own, n
	res.Problems = append(res.Problems, p)
	r.add(res)
}

// alone reads a typed message that stands for itself: an Any with an assignment or a Cluster, or a Resource.
func (r *reader) alone(n document.Node) {
	url, _, ok := typeURL(n)
	if _, isWrapper := WrapperVersionOfURL(url); isWrapper || !ok && child(n, "resource").IsValid() {
		p := placement{shape: ShapeResource, version: V3, where: r.assignmentWire(0, "")}
		r.wrapper(n, p, "resources[0]")
		return
	}
	r.typed(n, ShapeAny, nil, "resources[0]", 0)
}
