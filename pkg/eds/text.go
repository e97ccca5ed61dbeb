package eds

import (
	"errors"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
)

func newCluster() *clusterv3.Cluster { return &clusterv3.Cluster{} }

var removedName = pattern(`(?m)^[^#"]*\b(disable_overprovisioning)\b\s*:\s*true`)

// readText reads text proto: a DiscoveryResponse or a bootstrap, as in Envoy's .pb_text files, an assignment, a Cluster, an
// Any or a Resource.
func (r *reader) readText() {
	root, err := scanText(r.src)
	shape := r.opts.Shape
	if shape == "" {
		shape = r.recogniseText(root)
	}
	if err == nil {
		r.missingTextType(root, shape)
		err = r.textMessage(root, shape)
	}
	if err != nil {
		r.textSyntax(err, shape)
		return
	}
	r.removedInText()
	r.extension(TextProto)
}

// textMessage reads the message of a shape.
func (r *reader) textMessage(root *textNode, shape Shape) error {
	t := &textReader{version: r.opts.EnvoyVersion}
	read := func(m proto.Message, add func()) error {
		err := t.message(root, m)
		if err == nil {
			add()
		}
		return err
	}
	r.text, r.textResources = root, root.all("resources")
	switch shape {
	case ShapeResponse, ShapeCDS:
		m := &discoveryv3.DiscoveryResponse{}
		return read(m, func() { r.AddResponse(m) })
	case ShapeDeltaResponse:
		m := &discoveryv3.DeltaDiscoveryResponse{}
		return read(m, func() { r.addDelta(m) })
	case ShapeAny:
		m := &anypb.Any{}
		return read(m, func() { r.Add(m, ShapeAny, nil) })
	case ShapeResource:
		m := &discoveryv3.Resource{}
		return read(m, func() { r.addWrapper(m, ShapeResource, NewResponse("", []string{m.GetName()}, nil), true) })
	case ShapeCluster:
		b, err := t.cluster(root, r.opts.APIVersion)
		if err == nil {
			r.addCluster(b, placement{shape: ShapeCluster, version: r.opts.APIVersion, text: root})
		}
		return err
	case ShapeBootstrap:
		b, err := t.outlined(root, bootstrapOutline())
		if err == nil {
			r.wireBootstrap(b, root)
		}
		return err
	}
	m := NewAssignment(r.opts.APIVersion)
	return read(m, func() {
		b, _ := proto.Marshal(m) // just decoded
		r.addBytes(b, placement{shape: ShapeAssignment, version: r.opts.APIVersion, text: root})
	})
}

// missingTextType reports a type in an Any that Envoy does not have: it cannot read the text then.
func (r *reader) missingTextType(root *textNode, shape Shape) {
	n, reason := missingType(root, r.opts.EnvoyVersion)
	if n == nil || shape != ShapeBootstrap && isOldResource(n.name) {
		return // reported with the resource
	}
	p := r.textProblem("any-type-unknown", reason, n.nameSpan(), r.textRoot(shape))
	r.around = append(r.around[:len(r.around):len(r.around)], p)
}

// isOldResource tells whether a type URL is that of a resource, or of a wrapper, of an API version that Envoy no longer has.
func isOldResource(url string) bool {
	_, isCluster := ClusterVersionOfURL(url)
	_, isWrapper := WrapperVersionOfURL(url)
	return VersionKnown(url) || isCluster || isWrapper
}

// UnmarshalText reads text protobuf into a message that is linked, whatever types are in its Anys.
func UnmarshalText(src []byte, m proto.Message) error {
	root, err := scanText(src)
	if err != nil {
		return err
	}
	return (&textReader{version: NewestEnvoy}).message(root, m)
}

// recogniseText tells what a text is, from its fields.
func (r *reader) recogniseText(root *textNode) Shape {
	first := root.field("resources")
	switch {
	case len(root.fields) > 0 && root.fields[0].bracketed:
		return ShapeAny
	case root.has("static_resources"), root.has("dynamic_resources") && root.has("node", "admin", "cluster_manager"):
		return ShapeBootstrap
	case root.has("resource"):
		return ShapeResource
	case root.has("system_version_info", "removed_resources"), first != nil && first.has("name", "version", "aliases", "resource"):
		return ShapeDeltaResponse
	case root.has("resources", "version_info"), len(root.fields) == 0:
		return ShapeResponse
	case root.has("load_assignment", "connect_timeout", "lb_policy"):
		return ShapeCluster
	case envoyParser(r.suffix) == TextProto && isResponseText(r.src):
		return ShapeResponse
	}
	return ShapeAssignment
}

// isResponseText tells whether a text is a whole DiscoveryResponse in text proto, however it is laid out.
func isResponseText(src []byte) bool {
	return UnmarshalText(src, &discoveryv3.DiscoveryResponse{}) == nil
}

// textSyntax reports text proto that cannot be parsed, an unknown field included.
func (r *reader) textSyntax(err error, shape Shape) {
	var span diag.Span
	var te *textError
	if errors.As(err, &te) {
		span = spanOf(r.src, te.at, min(te.at+1, len(r.src)))
		span.End = diag.Position{Line: span.Start.Line, Column: span.Start.Column + 1}
	}
	r.broken(r.textProblem("syntax", err.Error(), span, r.textRoot(shape)))
}

// textRoot is the message that Envoy reads a text of a shape as.
func (r *reader) textRoot(shape Shape) string {
	if r.source(shape) == FromBootstrap || r.rootMessage() == bootstrapMessage {
		return bootstrapMessage
	}
	return responseMessage
}

// removedInText reports disable_overprovisioning, whose name is reserved in v3: parsers of text proto skip it without a
// word.
func (r *reader) removedInText() {
	if r.opts.APIVersion != V3 || len(r.file.Resources) == 0 {
		return
	}
	none := diag.None
	for _, m := range removedName().FindAllSubmatchIndex(r.src, -1) {
		res := r.file.Resources[0]
		for _, other := range r.file.Resources {
			if other.text != nil && other.text.start <= m[2] && m[2] < other.text.end {
				res = other
			}
		}
		res.Problems = append(res.Problems, diag.Problem{
			Rule: "disable-overprovisioning-removed", Span: r.text.src.span(m[2], m[3]), Path: disableOverprovisioning,
			Message: "\"disable_overprovisioning\" was removed in v3 and never had an effect in Envoy", Hint: "delete it",
			Envoy: diag.Override{Effect: &none, Stage: "-"},
		})
	}
}
