package eds

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

func newCluster() *clusterv3.Cluster { return &clusterv3.Cluster{} }

var (
	textPosition = pattern(`\(line (\d+):(\d+)\)`)
	removedName  = pattern(`(?m)^[^#"]*\b(disable_overprovisioning)\b\s*:\s*true`)
)

// readText reads text proto: a DiscoveryResponse, as in Envoy's .pb_text files, an assignment, a Cluster, an Any or a
// Resource.
func (r *reader) readText() {
	shape := r.opts.Shape
	if shape == "" {
		shape = r.recogniseText()
	}
	var m proto.Message
	switch shape {
	case ShapeResponse, ShapeCDS:
		m = &discoveryv3.DiscoveryResponse{}
	case ShapeDeltaResponse:
		m = &discoveryv3.DeltaDiscoveryResponse{}
	case ShapeCluster:
		m = newCluster()
	case ShapeAny:
		m = &anypb.Any{}
	case ShapeResource:
		m = &discoveryv3.Resource{}
	default:
		m = NewAssignment(r.opts.APIVersion)
	}
	if err := prototext.Unmarshal(r.src, m); err != nil {
		r.textSyntax(err, shape)
		return
	}
	switch m := m.(type) {
	case *discoveryv3.DiscoveryResponse:
		r.AddResponse(m)
	case *discoveryv3.DeltaDiscoveryResponse:
		r.addDelta(m)
	case *anypb.Any:
		r.Add(m, ShapeAny, nil)
	case *discoveryv3.Resource:
		r.addWrapper(m, ShapeResource, NewResponse("", []string{m.GetName()}, nil), true)
	case *clusterv3.Cluster:
		b, _ := proto.Marshal(m) // just decoded
		r.addCluster(b, ShapeCluster, nil, 0)
	default:
		b, _ := proto.Marshal(m)
		r.addBytes(b, placement{shape: ShapeAssignment, version: r.opts.APIVersion})
	}
	r.removedInText()
	r.textExtension(shape)
}

func (r *reader) recogniseText() Shape {
	switch {
	case regexp.MustCompile(`^(\s*#.*\n)*\s*\[[\w./]+\]`).Match(r.src):
		return ShapeAny
	case regexp.MustCompile(`(?m)^resource\b`).Match(r.src):
		return ShapeResource
	case regexp.MustCompile(`(?m)^(system_version_info\b|removed_resources\b|resources\s*:?\s*[{<]\s*(name|version|aliases|resource)\b)`).Match(r.src):
		return ShapeDeltaResponse
	case regexp.MustCompile(`(?m)^\s*(resources|version_info)\b`).Match(r.src), len(bytes.TrimSpace(r.src)) == 0:
		return ShapeResponse
	case regexp.MustCompile(`(?m)^\s*(load_assignment|connect_timeout|lb_policy)\b`).Match(r.src):
		return ShapeCluster
	case envoyParser(r.suffix) == TextProto && isResponseText(r.src):
		return ShapeResponse
	}
	return ShapeAssignment
}

// isResponseText tells whether a text is a whole DiscoveryResponse in text proto, however it is laid out.
func isResponseText(src []byte) bool {
	return prototext.Unmarshal(src, &discoveryv3.DiscoveryResponse{}) == nil
}

// textSyntax reports text proto that cannot be parsed, an unknown field included.
func (r *reader) textSyntax(err error, shape Shape) {
	p := diag.Problem{Rule: "syntax", Message: plainError(err)}
	if m := textPosition().FindStringSubmatch(p.Message); m != nil {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		p.Span = diag.Span{Start: diag.Position{Line: line, Column: column}, End: diag.Position{Line: line, Column: column + 1}}
		p.Message = regexp.MustCompile(`\s*\(line \d+:\d+\):?\s*`).ReplaceAllString(p.Message, "")
	}
	root := responseMessage
	if r.source(shape) == FromBootstrap || r.rootMessage() == bootstrapMessage {
		root = bootstrapMessage
	}
	p.Envoy = diag.Override{Stage: "00b-syntax", Message: fmt.Sprintf("in %s, Unable to parse file %q as a text protobuf (type %s)", r.name, r.name, root)}
	if root == bootstrapMessage {
		p.Envoy.Message = fmt.Sprintf("Unable to parse file %q as a text protobuf (type %s)", r.name, root)
	}
	r.broken(p)
}

// removedInText reports disable_overprovisioning, whose name is reserved in v3: parsers of text proto skip it without a
// word.
func (r *reader) removedInText() {
	if r.opts.APIVersion != V3 {
		return
	}
	m := removedName().FindSubmatchIndex(r.src)
	if m == nil || len(r.file.Resources) == 0 {
		return
	}
	none := diag.None
	res := r.file.Resources[0]
	res.Problems = append(res.Problems, diag.Problem{
		Rule: "disable-overprovisioning-removed", Span: spanOf(r.src, m[2], m[3]), Path: disableOverprovisioning,
		Message: "\"disable_overprovisioning\" was removed in v3 and never had an effect in Envoy", Hint: "delete it",
		Envoy: diag.Override{Effect: &none, Stage: "-"},
	})
}

// textExtension reports text proto in a file that Envoy takes for something else.
func (r *reader) textExtension(shape Shape) {
	if r.name == "<stdin>" || len(r.file.Resources) == 0 || shape != ShapeResponse && shape != ShapeCDS || !r.readFromFile(r.file.Resources[0]) {
		return
	}
	parser := envoyParser(r.suffix)
	if parser == TextProto {
		return
	}
	p := diag.Problem{
		Rule:    "file-extension-mismatch",
		Message: fmt.Sprintf("the content is text protobuf, but Envoy reads a file with the extension %q as %s", r.suffix, formatWords[parser]),
		Hint:    "name it .pb_text",
	}
	w := wire{root: responseMessage, file: r.name}
	switch parser {
	case JSON:
		cause := "unexpected EOF"
		if _, err := document.ParseJSON(r.src, r.opts.Limits); err != nil {
			if se, ok := err.(*document.SyntaxError); ok { //nolint:errorlint // never wrapped
				cause = se.Envoy
			}
		}
		p.Envoy.Message = w.parseText(jsonErrorText(w.root, "", cause))
	case Binary:
		p.Rule = "file-eds-pb-garbage"
		p.Message = "the content is no binary protobuf: Envoy takes a .pb file that it cannot read as empty, without an error"
	case YAML:
		p.Envoy.Message = "in " + r.name + ", Unable to convert YAML as JSON: " + string(r.src[:min(200, len(r.src))])
	}
	for _, res := range r.file.Resources {
		res.Around = append(res.Around[:len(res.Around):len(res.Around)], p)
	}
}
