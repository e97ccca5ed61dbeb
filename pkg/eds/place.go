package eds

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// placement is where an assignment or a cluster stands.
type placement struct {
	shape     Shape
	version   APIVersion
	where     wire
	index     int // of a cluster in its list
	response  *Response
	cluster   *Cluster
	bootstrap *Bootstrap
	problems  []diag.Problem  // found around it that concern it alone
	before    []document.Node // earlier copies of the load_assignment
}

// assignmentWire is how an assignment is wrapped on its way to Envoy by its source; i is its index in the response.
// at is set when the assignment really stands somewhere else in its document.
func (r *reader) assignmentWire(i int, at string) wire {
	source := r.opts.Source
	if source == "" {
		source = FromFile
	}
	switch source {
	case FromBootstrap:
		return wire{root: bootstrapMessage, at: "static_resources.clusters[0].load_assignment", message: assignmentMessage, depth: 4}
	case FromCDS:
		return wire{file: r.name, root: responseMessage, at: "resources[0].<any>.load_assignment", message: assignmentMessage, depth: 3, inAny: true}
	}
	w := wire{root: responseMessage, at: fmt.Sprintf("resources[%d].<any>", i), message: assignmentMessage, depth: 2, inAny: true}
	if at != "" {
		w.at = at
	}
	if source == FromFile {
		w.file = r.name
	}
	return w
}

// clusterPlace is where a Cluster stands that is not in a bootstrap.
func (r *reader) clusterPlace(shape Shape, i int) placement {
	p := placement{shape: shape, version: r.opts.APIVersion, index: i}
	if r.source(shape) == FromBootstrap {
		p.where = wire{root: bootstrapMessage, at: fmt.Sprintf("static_resources.clusters[%d]", i), message: clusterMessage, depth: 3}
		return p
	}
	p.where = wire{file: r.name, root: responseMessage, at: fmt.Sprintf("resources[%d].<any>", i), message: clusterMessage, depth: 2, inAny: true}
	return p
}

// loadAssignmentWire is where the load_assignment of a cluster stands.
func (r *reader) loadAssignmentWire(p placement) wire {
	switch r.source(p.shape) {
	case FromBootstrap, FromCDS:
		w := p.where
		w.at += ".load_assignment"
		w.message = assignmentMessage
		w.depth++
		return w
	}
	return r.assignmentWire(0, "") // --source said that it comes by EDS
}

// newDecoder makes a decoder for a message of the file.
func (r *reader) newDecoder(w wire) *decoder {
	return &decoder{schema: &r.schema, version: r.opts.EnvoyVersion, where: w}
}

// assignment decodes an assignment of any API version and upgrades it.
func (r *reader) assignment(n document.Node, p placement) *Resource {
	res := r.decodeAssignment(n, p, false)
	if res.Alternative != nil { // a mark that both spellings of a field are there
		res.Alternative = r.decodeAssignment(n, p, true)
		res.Alternative.Alternative = nil
	}
	return res
}

func (r *reader) decodeAssignment(n document.Node, p placement, firstWins bool) *Resource {
	res := r.newResource(p.shape)
	res.APIVersion, res.Node = p.version, n
	res.Response, res.Cluster, res.Bootstrap = p.response, p.cluster, p.bootstrap
	res.Problems = append(res.Problems, p.problems...)
	res.Original = NewAssignment(p.version)

	d := r.newDecoder(p.where)
	d.firstWins, d.before = firstWins, p.before
	d.typed = p.cluster == nil || p.shape == ShapeConfigDump // a load_assignment is no Any
	d.message(n, res.Original)
	res.Problems = append(res.Problems, d.problems...)
	res.Unreadable = d.hard || hasHard(p.problems) || hasHard(r.around)
	if d.bothSpellings {
		res.Alternative = res
	}
	v3, lost, err := Upgrade(res.Original)
	if err != nil { // a string that is not UTF-8 cannot come from text
		v3, _, _ = Upgrade(NewAssignment(V3))
	}
	res.Assignment = v3
	if p.version == V3 {
		res.Original = v3
	}
	for _, path := range lost {
		res.Problems = append(res.Problems, diag.Problem{
			Rule: "disable-overprovisioning-removed", Path: path, Span: res.Span(path),
			Message: "\"disable_overprovisioning\" does not exist in v3 and never had an effect in Envoy",
			Envoy:   diag.Override{Stage: "05-unknown", Message: "type envoy.config.endpoint.v3.ClusterLoadAssignment.Policy(envoy.config.endpoint.v3.ClusterLoadAssignment) with unknown field set {5}"},
		})
	}
	if p.shape == ShapeConfigDump {
		dropZeroWeights(res)
	}
	res.Name = v3.GetClusterName()
	if res.Name == "" && p.cluster != nil {
		res.Name = p.cluster.Message.GetName()
	}
	return res
}

// dropZeroWeights removes locality weights of 0 from a config_dump, where Envoy writes them for absent ones.
func dropZeroWeights(res *Resource) {
	for _, group := range res.Assignment.GetEndpoints() {
		if group.LoadBalancingWeight != nil && group.GetLoadBalancingWeight().GetValue() == 0 {
			group.LoadBalancingWeight = nil
		}
	}
}

// hasHard tells whether one of the problems makes the text unreadable.
func hasHard(ps []diag.Problem) bool {
	return slices.ContainsFunc(ps, func(p diag.Problem) bool { return isHard(p.Rule) })
}

func isHard(rule string) bool {
	switch rule {
	case "value-type", "yaml-scalar-type", "yaml-document", "oneof-set-twice", "any-type-missing", "any-type-unknown", "nesting-too-deep", "syntax":
		return true
	}
	return false
}

// decodePart decodes a part of a bootstrap, at a path in it, into m and adds its problems to those around the resources.
func (r *reader) decodePart(copies []document.Node, m protoreflect.ProtoMessage, w wire, at diag.Path) {
	last := len(copies) - 1
	if last < 0 || !copies[last].IsValid() {
		return
	}
	d := r.newDecoder(w)
	d.before = copies[:last]
	d.message(copies[last], m)
	r.addPart(d, at)
}

// addPart adds what a decoder found in a part of a bootstrap to the problems around the resources.
func (r *reader) addPart(d *decoder, at diag.Path) {
	for _, p := range d.problems {
		p.Path = diag.Path{}.Field("bootstrap").Join(at).Join(p.Path)
		r.around = append(r.around[:len(r.around):len(r.around)], p)
	}
}
