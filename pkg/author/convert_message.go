package author

import (
	"fmt"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	apiv2 "github.com/edsctl/edsctl/pkg/api/envoy/api/v2"
	apiv3alpha "github.com/edsctl/edsctl/pkg/api/envoy/api/v3alpha"
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// discoveryIn makes an empty message of a version for one of the discovery messages; nil for others.
func discoveryIn(name string, v eds.APIVersion) proto.Message {
	messages := map[string]map[eds.APIVersion]proto.Message{
		"DiscoveryRequest":       {eds.V2: &apiv2.DiscoveryRequest{}, eds.V3Alpha: &apiv3alpha.DiscoveryRequest{}, eds.V3: &discoveryv3.DiscoveryRequest{}},
		"DiscoveryResponse":      {eds.V2: &apiv2.DiscoveryResponse{}, eds.V3Alpha: &apiv3alpha.DiscoveryResponse{}, eds.V3: &discoveryv3.DiscoveryResponse{}},
		"DeltaDiscoveryRequest":  {eds.V2: &apiv2.DeltaDiscoveryRequest{}, eds.V3Alpha: &apiv3alpha.DeltaDiscoveryRequest{}, eds.V3: &discoveryv3.DeltaDiscoveryRequest{}},
		"DeltaDiscoveryResponse": {eds.V2: &apiv2.DeltaDiscoveryResponse{}, eds.V3Alpha: &apiv3alpha.DeltaDiscoveryResponse{}, eds.V3: &discoveryv3.DeltaDiscoveryResponse{}},
		"Resource":               {eds.V2: &apiv2.Resource{}, eds.V3Alpha: &apiv3alpha.Resource{}, eds.V3: &discoveryv3.Resource{}},
	}
	return messages[name][v]
}

// ConvertMessage brings a discovery message (a request, a response or a Resource) of any API version into another, with
// its type URL and the assignments in it, and lists what that version cannot say, which is left out. Bytes that are
// opaque (error details, typed metadata, the metadata of a node) stay as they are.
func ConvertMessage(m proto.Message, to eds.APIVersion) (proto.Message, []Loss, error) {
	name := string(m.ProtoReflect().Descriptor().Name())
	out := discoveryIn(name, to)
	if out == nil {
		return nil, nil, fmt.Errorf("%s is no discovery message", m.ProtoReflect().Descriptor().FullName())
	}
	source := proto.Clone(m)
	p := &pruner{to: to}
	p.typeURL(source.ProtoReflect())
	if err := p.resources(source); err != nil {
		return nil, nil, err
	}
	p.message(source.ProtoReflect(), out.ProtoReflect().Descriptor(), nil)
	if err := eds.Transcode(out, source); err != nil {
		return nil, nil, err
	}
	return out, p.losses, sameBytes(source, out)
}

// resources converts the messages in the Anys of a response.
func (p *pruner) resources(m proto.Message) error {
	fds := m.ProtoReflect().Descriptor().Fields()
	if one := fds.ByName("resource"); one != nil && m.ProtoReflect().Has(one) {
		return p.resource(m.ProtoReflect().Mutable(one).Message().Interface().(*anypb.Any), diag.Path{}.Field("resource"))
	}
	list := fds.ByName("resources")
	if list == nil {
		return nil
	}
	items := m.ProtoReflect().Mutable(list).List()
	for i := range items.Len() {
		at := diag.Path{}.Field("resources").Index(i)
		item := items.Get(i).Message().Interface()
		a, isAny := item.(*anypb.Any)
		if !isAny { // a Resource of a delta response
			if err := p.resources(item); err != nil {
				return err
			}
			continue
		}
		if err := p.resource(a, at); err != nil {
			return err
		}
	}
	return nil
}

// resource converts one Any. What is not known is taken out.
func (p *pruner) resource(a *anypb.Any, at diag.Path) error {
	var url string
	var out proto.Message
	var losses []Loss
	var err error
	from, isAssignment := eds.VersionOfURL(a.GetTypeUrl())
	wrapperFrom, isWrapper := eds.WrapperVersionOfURL(a.GetTypeUrl())
	switch {
	case isAssignment:
		url = eds.AssignmentURL(p.to)
		out, losses, err = unpackTo(a, eds.NewAssignment(from), p.to, InVersion)
	case isWrapper:
		url = eds.WrapperURL(p.to)
		out, losses, err = unpackTo(a, discoveryIn("Resource", wrapperFrom), p.to, ConvertMessage)
	default:
		p.lose(at, "a resource of type %q is not converted", a.GetTypeUrl())
		proto.Reset(a)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	for _, l := range losses {
		p.lose(at.Join(l.Path), "%s", l.Message)
	}
	a.TypeUrl = url
	a.Value, err = proto.MarshalOptions{Deterministic: true}.Marshal(out)
	return err
}

// unpackTo reads the message of an Any and converts it.
func unpackTo(a *anypb.Any, m proto.Message, to eds.APIVersion, convert func(proto.Message, eds.APIVersion) (proto.Message, []Loss, error)) (proto.Message, []Loss, error) {
	if err := proto.Unmarshal(a.GetValue(), m); err != nil {
		return nil, nil, err
	}
	return convert(m, to)
}
