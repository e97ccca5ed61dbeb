package author

import (
	"fmt"
	"slices"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	apiv2 "github.com/edsctl/edsctl/pkg/api/envoy/api/v2"
	apiv3alpha "github.com/edsctl/edsctl/pkg/api/envoy/api/v3alpha"
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
)

// envelope is a response without the resources in it.
type envelope struct {
	response proto.Message                 // DiscoveryResponse or DeltaDiscoveryResponse of v3
	wrappers map[int]*discoveryv3.Resource // by index, without the resource
	foreign  map[int]string                // type URLs of resources that hold no assignment and no cluster
	other    bool                          // the bytes are rather those of another message
}

// wrapping finds the envelopes of a file's resources.
type wrapping struct {
	in     ConversionInput
	byDoc  map[*document.Document]*envelope
	binary *envelope
	order  []*envelope
}

func newWrapping(in ConversionInput) *wrapping {
	return &wrapping{in: in, byDoc: map[*document.Document]*envelope{}}
}

func (w *wrapping) all() []*envelope { return w.order }

// of is the envelope around a resource, nil when it stands alone.
func (w *wrapping) of(r *eds.Resource) (*envelope, error) {
	switch {
	case r.Response == nil || r.Shape != eds.ShapeResponse && r.Shape != eds.ShapeDeltaResponse && r.Shape != eds.ShapeCDS && r.Shape != eds.ShapeResource:
		return nil, nil
	case !isText(w.in.File.Format):
		if w.binary == nil {
			e, err := protoEnvelope(w.in, r.Shape)
			if err != nil {
				return nil, err
			}
			w.binary, w.order = e, append(w.order, e)
		}
		return w.binary, nil
	}
	doc := r.Node.Document()
	if doc == nil && len(w.in.File.Docs) == 1 {
		doc = w.in.File.Docs[0]
	}
	if doc == nil {
		return nil, nil
	}
	if w.byDoc[doc] == nil {
		e, err := textEnvelope(doc, r.Shape)
		if err != nil {
			return nil, err
		}
		w.byDoc[doc], w.order = e, append(w.order, e)
	}
	return w.byDoc[doc], nil
}

func newResponse(shape eds.Shape) proto.Message {
	if shape == eds.ShapeDeltaResponse {
		return &discoveryv3.DeltaDiscoveryResponse{}
	}
	return &discoveryv3.DiscoveryResponse{}
}

// textEnvelope reads the fields around the resources of a response in YAML or JSON.
func textEnvelope(doc *document.Document, shape eds.Shape) (*envelope, error) {
	budget := maxTreeNodes
	root, err := treeLiteral(doc.Root, &budget)
	if err != nil {
		return nil, err
	}
	e := &envelope{response: newResponse(shape), wrappers: map[int]*discoveryv3.Resource{}, foreign: map[int]string{}}
	if shape == eds.ShapeResource {
		e.response = nil
		return e, e.wrap(0, root)
	}
	list := root.take("resources")
	root.take("@type")
	if err := fromLiteral(root, e.response); err != nil {
		return nil, fmt.Errorf("the response around the resources: %w", err)
	}
	if list == nil {
		return e, nil
	}
	items := list.vals
	if list.kind == mapLiteral {
		items = []*literal{list}
	}
	for i, item := range items {
		if item.kind != mapLiteral {
			continue
		}
		if err := e.wrap(i, item); err != nil {
			return nil, fmt.Errorf("resources[%d]: %w", i, err)
		}
	}
	return e, nil
}

// wrap reads one resource of a response: the wrapper around it when there is one.
func (e *envelope) wrap(i int, item *literal) error {
	if url := item.value("@type"); url != "" {
		_, isAssignment := eds.VersionOfURL(url)
		_, isCluster := eds.ClusterVersionOfURL(url)
		if _, isWrapper := eds.WrapperVersionOfURL(url); !isWrapper {
			if !isAssignment && !isCluster {
				e.foreign[i] = url
			}
			return nil
		}
	}
	if inner := item.take("resource"); inner == nil {
		return nil
	}
	item.take("@type")
	e.wrappers[i] = &discoveryv3.Resource{}
	return fromLiteral(item, e.wrappers[i])
}

// value is the text of a scalar in a mapping, empty when there is none.
func (l *literal) value(key string) string {
	for i, k := range l.keys {
		if k == key && l.vals[i].isScalar() {
			return l.vals[i].text
		}
	}
	return ""
}

// fromLiteral reads a message from its proto JSON form.
func fromLiteral(l *literal, m proto.Message) error {
	data, err := encodeJSON(l, false)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(data, m)
}

// protoEnvelope reads the fields around the resources of a response in text or binary protobuf.
func protoEnvelope(in ConversionInput, shape eds.Shape) (*envelope, error) {
	e := &envelope{response: newResponse(shape), wrappers: map[int]*discoveryv3.Resource{}, foreign: map[int]string{}}
	unmarshal := proto.Unmarshal
	if in.File.Format == eds.TextProto {
		unmarshal = eds.UnmarshalText
	}
	if shape == eds.ShapeResource {
		e.response = nil
		w := &discoveryv3.Resource{}
		e.wrappers[0] = w
		err := unmarshal(in.Data, w)
		w.Resource = nil
		return e, err
	}
	if err := unmarshal(in.Data, e.response); err != nil {
		return nil, err
	}
	switch m := e.response.(type) {
	case *discoveryv3.DeltaDiscoveryResponse:
		for i, w := range m.GetResources() {
			w.Resource = nil
			e.wrappers[i] = w
		}
		m.Resources = nil
	case *discoveryv3.DiscoveryResponse:
		e.other = isOther(m)
		for i, a := range m.GetResources() {
			if _, ok := eds.WrapperVersionOfURL(a.GetTypeUrl()); !ok {
				continue
			}
			w := &discoveryv3.Resource{}
			if err := proto.Unmarshal(a.GetValue(), w); err != nil {
				return nil, fmt.Errorf("resources[%d]: %w", i, err)
			}
			w.Resource = nil
			e.wrappers[i] = w
		}
		m.Resources = nil
	}
	return e, nil
}

// wrapper is the Resource around an assignment, nil when there is none.
func (e *envelope) wrapper(r *eds.Resource) *discoveryv3.Resource {
	if e == nil || r.Response == nil {
		return nil
	}
	if w := e.wrappers[r.Response.Index]; w != nil {
		return proto.CloneOf(w)
	}
	return nil
}

// isOther tells whether bytes that were read as a response are rather those of another message: they have fields that a
// response does not have, or what is in the place of a type URL is none.
func isOther(m *discoveryv3.DiscoveryResponse) bool {
	return len(m.ProtoReflect().GetUnknown()) > 0 || slices.ContainsFunc(m.GetResources(), func(a *anypb.Any) bool {
		return a.GetTypeUrl() != "" && !strings.Contains(a.GetTypeUrl(), "/")
	})
}

// others lists the resources that are neither assignments nor clusters.
func (e *envelope) others(file string) []Loss {
	var out []Loss
	for i := 0; len(out) < len(e.foreign); i++ {
		if url, ok := e.foreign[i]; ok {
			out = append(out, Loss{File: file, Path: diag.Path{}.Field("resources").Index(i), Message: fmt.Sprintf("a resource of type %q is not converted", url)})
		}
	}
	return out
}

// envelope puts the fields of a response around what is written.
func (b *batch) envelope(e *envelope, file string) {
	if e.response == nil {
		return
	}
	response := proto.Clone(e.response)
	var lost []Loss
	switch b.target.Shape {
	case eds.ShapeResponse, eds.ShapeCDS:
		response, lost = toSotW(response)
	case eds.ShapeDeltaResponse:
		response, lost = toDelta(response)
	default:
		return
	}
	p := b.pruner(eds.Binary)
	p.losses = lost
	p.message(response.ProtoReflect(), responseType(response, b.target.Version), nil)
	p.typeURL(response.ProtoReflect())
	for i := range p.losses {
		p.losses[i].File = file
	}
	b.losses = append(b.losses, p.losses...)
	b.target.Response = response
}

// responseType is the descriptor of a response in a version.
func responseType(m proto.Message, v eds.APIVersion) protoreflect.MessageDescriptor {
	_, delta := m.(*discoveryv3.DeltaDiscoveryResponse)
	var of proto.Message = m
	switch {
	case v == eds.V2 && delta:
		of = &apiv2.DeltaDiscoveryResponse{}
	case v == eds.V2:
		of = &apiv2.DiscoveryResponse{}
	case v == eds.V3Alpha && delta:
		of = &apiv3alpha.DeltaDiscoveryResponse{}
	case v == eds.V3Alpha:
		of = &apiv3alpha.DiscoveryResponse{}
	}
	return of.ProtoReflect().Descriptor()
}

// typeURL puts the target's type into a response or a request.
func (p *pruner) typeURL(m protoreflect.Message) {
	fd := m.Descriptor().Fields().ByName("type_url")
	if fd == nil || !m.Has(fd) {
		return
	}
	old := m.Get(fd).String()
	from, isAssignment := eds.VersionOfURL(old)
	_, isCluster := eds.ClusterVersionOfURL(old)
	switch {
	case isAssignment:
		m.Set(fd, protoreflect.ValueOfString(eds.AssignmentURL(p.to)))
	case isCluster:
		m.Set(fd, protoreflect.ValueOfString(eds.ClusterURL(p.to)))
	case p.to != from:
		p.lose(diag.Path{}.Field("type_url"), "the type %q has no counterpart in %s that is known", old, p.to)
		m.Clear(fd)
	}
}

// wrapper prunes the Resource around an assignment. A resource_name that is only a name is the same as name.
func (p *pruner) wrapper(w *discoveryv3.Resource) {
	if n := w.GetResourceName(); n != nil && p.to != eds.V3 && n.GetDynamicParameterConstraints() == nil && (w.GetName() == "" || w.GetName() == n.GetName()) {
		w.Name, w.ResourceName = n.GetName(), nil
	}
	var of proto.Message = w
	switch p.to {
	case eds.V2:
		of = &apiv2.Resource{}
	case eds.V3Alpha:
		of = &apiv3alpha.Resource{}
	}
	p.message(w.ProtoReflect(), of.ProtoReflect().Descriptor(), nil)
}

// toSotW turns a response into one of the state of the world.
func toSotW(m proto.Message) (proto.Message, []Loss) {
	d, ok := m.(*discoveryv3.DeltaDiscoveryResponse)
	if !ok {
		return m, nil
	}
	p := pruner{}
	if len(d.GetRemovedResources()) > 0 || len(d.GetRemovedResourceNames()) > 0 {
		p.lose(diag.Path{}.Field("removed_resources"), "a DiscoveryResponse names no removed resources")
	}
	out := &discoveryv3.DiscoveryResponse{
		VersionInfo: d.GetSystemVersionInfo(), TypeUrl: d.GetTypeUrl(), Nonce: d.GetNonce(), ControlPlane: d.GetControlPlane(), ResourceErrors: d.GetResourceErrors(),
	}
	out.ProtoReflect().SetUnknown(d.ProtoReflect().GetUnknown())
	return out, p.losses
}

// toDelta turns a response into a delta response.
func toDelta(m proto.Message) (proto.Message, []Loss) {
	s, ok := m.(*discoveryv3.DiscoveryResponse)
	if !ok {
		return m, nil
	}
	p := pruner{}
	if s.GetCanary() {
		p.lose(diag.Path{}.Field("canary"), "a DeltaDiscoveryResponse has no \"canary\"")
	}
	out := &discoveryv3.DeltaDiscoveryResponse{
		SystemVersionInfo: s.GetVersionInfo(), TypeUrl: s.GetTypeUrl(), Nonce: s.GetNonce(), ControlPlane: s.GetControlPlane(), ResourceErrors: s.GetResourceErrors(),
	}
	out.ProtoReflect().SetUnknown(s.ProtoReflect().GetUnknown())
	return out, p.losses
}
