package eds

import (
	"cmp"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// maxEmbedding is how many texts inside texts are looked into.
const maxEmbedding = 3

// documents reads the documents of a text. broken: it goes on with something that is none.
func (r *reader) documents(docs []*document.Document, broken bool) (first Shape) {
	r.file.Docs = append(r.file.Docs, docs...)
	if len(docs) == 0 || !docs[0].Root.IsValid() || isScalarRoot(docs[0].Root) {
		r.noMapping(docs)
	}
	first = r.firstShape(docs, broken)
	for i, doc := range docs {
		if !doc.Root.IsValid() {
			continue
		}
		before := len(r.file.Resources)
		outer := r.around
		if i == 0 {
			r.document(doc, first)
		} else if r.document(doc, r.shapeOf(doc)); first.readByEnvoy() && doc.Format == document.YAML {
			r.laterDocument(doc, before)
		}
		r.around = outer
	}
	r.markTemplate(docs)
	return first
}

// firstShape is the shape of the first document. Envoy reads no other of a YAML file, so one that shows nothing of its
// own, such as a bootstrap's node, is what the rest of the file is.
func (r *reader) firstShape(docs []*document.Document, broken bool) Shape {
	if len(docs) == 0 || !docs[0].Root.IsValid() {
		return noShape
	}
	root := docs[0].Root
	first := r.shapeOf(docs[0])
	if first != noShape || docs[0].Format != document.YAML || !isMapping(root) {
		return first
	}
	for _, doc := range docs[1:] {
		if shape := r.shapeOf(doc); doc.Root.IsValid() && shape.readByEnvoy() {
			return shape
		}
	}
	if broken && (r.rootMessage() == bootstrapMessage || onlyKeys(root, BootstrapFields()...)) {
		return ShapeBootstrap
	}
	return noShape
}

// readByEnvoy tells whether Envoy itself reads files of the shape.
func (s Shape) readByEnvoy() bool {
	switch s {
	case ShapeBootstrap, ShapeResponse, ShapeDeltaResponse, ShapeCDS:
		return true
	}
	return false
}

// laterDocument marks the resources of a document that Envoy never reads, those from before on. Without any, what it
// holds is lost to the others.
func (r *reader) laterDocument(doc *document.Document, before int) {
	span := doc.Span()
	span.End = diag.Position{Line: span.Start.Line, Column: span.Start.Column + len("---")}
	p := unseen(span)
	found := r.file.Resources[before:]
	if len(found) == 0 && isMapping(doc.Root) && doc.Root.First().IsValid() {
		r.tail(p)
		return
	}
	for i, res := range found {
		if i == 0 {
			res.Problems = append([]diag.Problem{p}, res.Problems...)
		} else {
			res.Around = append([]diag.Problem{p}, res.Around...)
		}
	}
}

// unseen is the problem of what follows the first document.
func unseen(at diag.Span) diag.Problem {
	p := diag.Problem{
		Rule: "multi-document", Span: at,
		Message: "Envoy reads only the first document of a YAML file: what follows is not seen",
	}
	p.Envoy = diag.Override{Stage: "00b-syntax"}
	return p
}

// tail reports what follows the first document, where no resource of its own can carry the problem.
func (r *reader) tail(p diag.Problem) {
	if len(r.file.Resources) == 0 {
		r.broken(p)
		return
	}
	p.Envoy.Stage = "-" // it does not touch those that were read
	for _, res := range r.file.Resources {
		res.Around = append(res.Around[:len(res.Around):len(res.Around)], p)
	}
}

func isScalarRoot(n document.Node) bool { return n.Target().Kind() == document.Scalar }

// noMapping reports a file that is empty or a bare scalar, if it is meant as an Envoy file.
func (r *reader) noMapping(docs []*document.Document) {
	isJSON := len(docs) > 0 && docs[0].Format == document.JSON || r.suffix != "" && envoyParser(r.suffix) == JSON
	if !r.named || r.depth > 0 {
		return
	}
	p := diag.Problem{Rule: "yaml-document", Message: "the document is no mapping"}
	if len(docs) == 0 || !docs[0].Root.IsValid() || look(docs[0].Root).kind == jsonNull {
		p.Message = "the document is empty"
	}
	if len(docs) > 0 && docs[0].Root.IsValid() {
		p.Span = docs[0].Root.Span()
	}
	w := wire{root: r.rootMessage()}
	if w.root == responseMessage && r.source("") != FromREST {
		w.file = r.name
	}
	text := "Unable to convert YAML as JSON: " + string(r.src[:min(len(r.src), 200)])
	if w.file != "" {
		text = "in " + w.file + ", " + text
	}
	if isJSON {
		text = w.parseText(jsonErrorText(w.root, "", cmp.Or(notAnObject(r.src), "unexpected EOF")))
	}
	p.Envoy = diag.Override{Stage: "00b-syntax", Message: text}
	r.broken(p)
}

// shapeOf is the shape of a document, as given or by its keys.
func (r *reader) shapeOf(doc *document.Document) Shape {
	shape := r.opts.Shape
	if shape == "" || r.depth > 0 {
		shape = recognise(doc.Root)
	}
	if shape == noShape && r.opts.Source == FromFile && r.named && r.depth == 0 && !r.isMarked() {
		return ShapeResponse // said to be an EDS file
	}
	return shape
}

// document reads the assignments of one document.
func (r *reader) document(doc *document.Document, shape Shape) {
	root := doc.Root
	if has(root, "format_version") && isMapping(root) {
		return // a report of edsctl's own, from an earlier run in the same folder
	}
	r.scan(root, shape)
	if shape == ShapeList && r.opts.Shape == "" {
		r.listedBootstrap(root)
	}
	r.shape(root, shape)
}

// listedBootstrap reports a bootstrap that stands in a list, where Envoy wants the message itself.
func (r *reader) listedBootstrap(list document.Node) {
	for _, item := range items(list) {
		if recognise(item) != ShapeBootstrap {
			continue
		}
		p := diag.Problem{Rule: "yaml-document", Span: list.Span(), Message: "a bootstrap must be a mapping, not a list"}
		w := wire{root: bootstrapMessage}
		p.Envoy = diag.Override{Stage: "00b-syntax", Message: w.parseText(jsonErrorText(w.root, "", "unexpected character: '['; expected '{'"))}
		r.around = append(r.around[:len(r.around):len(r.around)], p)
		return
	}
}

// shape reads a node that is known to be of a shape.
func (r *reader) shape(n document.Node, shape Shape) {
	switch shape {
	case ShapeBootstrap:
		r.bootstrap(n)
	case ShapeResponse, ShapeDeltaResponse, ShapeCDS:
		r.response(n, shape)
	case ShapeConfigDump:
		r.configDump(n)
	case ShapeList:
		for _, item := range items(n) {
			if s := recognise(item); s != noShape && s != ShapeEmbedded {
				r.shape(item, s)
			} else {
				r.search(item, 1)
			}
		}
	case ShapeAssignment:
		version := r.opts.APIVersion
		r.add(r.assignment(n, placement{shape: ShapeAssignment, version: version, where: r.assignmentWire(0, "")}))
	case ShapeAny, ShapeResource:
		r.alone(n)
	case ShapeCluster:
		r.cluster(n, r.clusterPlace(ShapeCluster, 0))
	default:
		if r.isMarked() {
			r.search(n, 0)
		}
	}
}

func (r *reader) add(res *Resource) { r.file.Resources = append(r.file.Resources, res) }

// search looks for assignments anywhere in a tree of another kind: a Kubernetes object, a dump of a control plane.
func (r *reader) search(n document.Node, depth int) {
	if depth > 64 {
		return
	}
	n = n.Target()
	switch n.Kind() {
	case document.Mapping:
		if s := recognise(n); depth > 0 && s != noShape && s != ShapeEmbedded {
			r.shape(n, s)
			return
		}
		for k := n.First(); k.IsValid(); k = k.Next().Next() {
			key, _ := keyText(k)
			if v := k.Next().Target(); v.Kind() == document.Scalar {
				r.embedded(key, v)
			} else {
				r.search(v, depth+1)
			}
		}
	case document.Sequence:
		for c := n.First(); c.IsValid(); c = c.Next() {
			if v := c.Target(); v.Kind() == document.Scalar {
				r.embedded("", v)
			} else {
				r.search(v, depth+1)
			}
		}
	}
}

// scan looks through the parts of a bootstrap that are not decoded for types that Envoy certainly does not have, which
// make it refuse all of it, and notes what protobuf's reader tolerates in JSON.
func (r *reader) scan(root document.Node, shape Shape) {
	w := wire{root: responseMessage, file: r.name}
	switch {
	case r.source(shape) == FromBootstrap:
		w = wire{root: bootstrapMessage}
	case r.source(shape) == FromREST:
		w.file = ""
	}
	s := &scanner{d: r.newDecoder(w)}
	for _, l := range root.Document().Leniences() {
		s.d.add(diag.Problem{Rule: "json-lenient", Span: l.Span, Message: l.What + ": Envoy's reader takes it, others do not"})
	}
	if shape == ShapeBootstrap {
		s.skip = child(child(root, "static_resources"), "clusters").Target()
		s.walk(root, 0)
	}
	r.around = append(r.around[:len(r.around):len(r.around)], s.d.problems...)
}

type scanner struct {
	d    *decoder
	skip document.Node // a part that is decoded, and reported there
}

func (s *scanner) walk(n document.Node, depth int) {
	n = n.Target()
	if depth > 4*jsonDepthLimit || n == s.skip {
		return
	}
	switch n.Kind() {
	case document.Sequence:
		for c := n.First(); c.IsValid(); c = c.Next() {
			if c.Kind() != document.Scalar {
				s.walk(c, depth+1)
			}
		}
	case document.Mapping:
		for k := n.First(); k.IsValid(); k = k.Next().Next() {
			if v := k.Next(); v.Kind() != document.Scalar {
				s.walk(v, depth+1)
			}
		}
		if url, at, ok := typeURL(n); ok {
			s.d.checkTypeURL(url, at)
		}
	}
}

// markTemplate adds the finding about a template to the resources in whose text one of its marks stands.
func (r *reader) markTemplate(docs []*document.Document) {
	if r.depth > 0 || len(r.file.Resources) == 0 {
		return
	}
	t, start, end, ok := r.template()
	if !ok || !inOneValue(docs, start, end) {
		return
	}
	for _, res := range r.file.Resources {
		if hasRule(res.Problems, "template-unrendered") {
			return
		}
	}
	for _, res := range r.file.Resources {
		hard := firstHard(res)
		if hard == nil && !within(res.Node, start) && (res.Cluster == nil || !within(res.Cluster.Node, start)) {
			continue
		}
		p := t
		if hard != nil {
			p.Envoy = diag.Override{Stage: hard.Envoy.Stage, Message: hard.Envoy.Message}
		} else {
			none := diag.Warn
			p.Envoy = diag.Override{Effect: &none, Stage: "-"}
		}
		res.Problems = append([]diag.Problem{p}, res.Problems...)
	}
}

// inOneValue tells whether the text of a template is no accident of quotes and brackets that stand side by side: it is
// inside one scalar, or in what yaml-cpp takes for a mapping in a mapping.
func inOneValue(docs []*document.Document, start, end int) bool {
	for _, d := range docs {
		if from, to := d.Offsets(); from <= start && start < to {
			n := d.NodeAt(start)
			_, stop := n.Offsets()
			return n.Kind() != document.Scalar || end <= stop
		}
	}
	return true
}

func hasRule(ps []diag.Problem, rule string) bool {
	for _, p := range ps {
		if p.Rule == rule {
			return true
		}
	}
	return false
}

// firstHard is the first problem for which Envoy cannot read the text.
func firstHard(res *Resource) *diag.Problem {
	if !res.Unreadable {
		return nil
	}
	lists := [][]diag.Problem{res.Around, res.Problems}
	if res.Cluster != nil {
		lists = append(lists, res.Cluster.Problems)
	}
	for _, ps := range lists {
		for i, p := range ps {
			switch p.Rule {
			case "value-type", "yaml-scalar-type", "yaml-document", "syntax", "oneof-set-twice", "any-type-missing", "any-type-unknown":
				return &ps[i]
			}
		}
	}
	return nil
}

// within tells whether an offset is inside a node.
func within(n document.Node, offset int) bool {
	if !n.IsValid() {
		return false
	}
	start, end := n.Offsets()
	return start <= offset && offset < end
}
