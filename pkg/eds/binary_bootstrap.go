package eds

import (
	"fmt"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// binaryBootstrap reads a bootstrap in binary. Envoy goes on with what it has got by then when the bytes are damaged
// (MessageUtil::loadFromFile), as for an EDS file.
func (r *reader) binaryBootstrap() {
	src, whole := salvage(r.src, outlineType(bootstrapOutline()), 0)
	before := len(r.file.Resources)
	r.wireBootstrap(src, nil)
	if !whole {
		r.damagedBootstrap(before)
	}
}

// damagedBootstrap reports that what follows the resources of a bootstrap, those from before on, was not read.
func (r *reader) damagedBootstrap(before int) {
	warn := diag.Warn
	p := diag.Problem{
		Rule:    "file-eds-pb-garbage",
		Message: "the bytes of the bootstrap are damaged: Envoy takes what stands before that, without an error",
		Envoy:   diag.Override{Effect: &warn, Stage: "-"},
	}
	if len(r.file.Resources) == before {
		res := r.newResource(ShapeBootstrap)
		res.Absent = true
		r.add(res)
	}
	for _, res := range r.file.Resources[before:] {
		if !res.Followed {
			res.Around = append(res.Around[:len(res.Around):len(res.Around)], p)
		}
	}
}

// wireBootstrap reads the bytes of a bootstrap: its static clusters with what edsctl models around them. text is the
// bootstrap in text protobuf, where it was that.
func (r *reader) wireBootstrap(src []byte, text *textNode) {
	b := &Bootstrap{File: r.name, text: text}
	around := r.outlineProblems(src, bootstrapOutline(), nil, nil)
	r.around = append(r.around[:len(r.around):len(r.around)], around...)
	root := unlinkedMessage{wire: src}
	b.readNode(root)
	manager, _ := root.message(wireField("cluster_manager"))
	b.LocalClusterName = manager.text(unlinkedField{number: 1})
	dynamic, _ := root.message(wireField("dynamic_resources"))
	_, b.HasCDS = dynamic.message(unlinkedField{number: 2})
	ads, some := dynamic.message(unlinkedField{number: 3})
	b.HasADS = some
	source := &corev3.ApiConfigSource{}
	if proto.Unmarshal(ads.wire, source) == nil {
		switch source.GetApiType() {
		case corev3.ApiConfigSource_DELTA_GRPC, corev3.ApiConfigSource_AGGREGATED_DELTA_GRPC:
			b.ADSIsDelta = true
		}
	}
	for _, ext := range root.list(wireField("bootstrap_extensions")) {
		url, _ := ext.any(unlinkedField{number: 2})
		b.HasInternalListener = b.HasInternalListener || ext.text(unlinkedField{number: 1}) == "envoy.bootstrap.internal_listener" ||
			strings.HasSuffix(url, ".InternalListener")
	}
	runtime, _ := root.message(wireField("layered_runtime"))
	for _, layer := range runtime.list(unlinkedField{number: 1}) {
		if static, ok := layer.message(unlinkedField{number: 2}); ok {
			s := &structpb.Struct{}
			_ = proto.Unmarshal(static.wire, s) // salvaged
			b.StaticLayers = append(b.StaticLayers, s)
		}
	}
	b.entries = b.Runtime()
	r.wireClusters(b, root, text)
}

// wireField is a field of a bootstrap by its name.
func wireField(name string) unlinkedField {
	f, _ := bootstrapOutline().has(name, NewestEnvoy)
	return unlinkedField{name: f.name, number: f.number}
}

func (b *Bootstrap) readNode(root unlinkedMessage) {
	node := &corev3.Node{}
	if m, ok := root.message(wireField("node")); ok {
		_ = proto.Unmarshal(m.wire, node) // salvaged
	}
	b.NodeID, b.NodeCluster, b.NodeLocality = node.GetId(), node.GetCluster(), node.GetLocality()
}

// wireClusters reads static_resources.clusters. All of them are decoded before the first resource is made.
func (r *reader) wireClusters(b *Bootstrap, root unlinkedMessage, text *textNode) {
	static, _ := root.message(wireField("static_resources"))
	written := text.field("static_resources").all("clusters")
	var inner [][]byte
	var places []placement
	for i, m := range static.list(unlinkedField{number: 2}) {
		p := placement{shape: ShapeBootstrap, version: r.opts.APIVersion, index: i, bootstrap: b}
		p.parents = []string{bootstrapMessage, bootstrapMessage + ".StaticResources"}
		if i < len(written) {
			p.text = written[i]
		}
		c, assignment := r.wireCluster(m.wire, p)
		if c == nil {
			continue
		}
		b.Clusters = append(b.Clusters, c)
		inner, places = append(inner, assignment), append(places, p)
	}
	r.eachCluster(b, func(i int, c *Cluster) { r.wireClusterResources(c, inner[i], places[i]) })
	r.noCluster(b, false)
}

// outlineProblems reports the fields of a message in binary that it does not have, and those of the messages in it, as far as
// they are known. What is decoded elsewhere is left out.
func (r *reader) outlineProblems(b []byte, o *outline, path diag.Path, parents []string) []diag.Problem {
	var out []diag.Problem
	var unknown []string
	parents = append(parents[:len(parents):len(parents)], o.message)
	index := map[protowire.Number]int{}
	eachField(b, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		field, ok := o.numbered(number, kind)
		if !ok || o.since(field) > r.opts.EnvoyVersion {
			unknown = append(unknown, fmt.Sprint(number))
			return true
		}
		at := path.Field(field.name)
		if field.is&isList != 0 {
			at = at.Index(index[number])
			index[number]++
		}
		if kind == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(value)
			out = append(out, r.outlinedProblems(v, field, o, at, parents)...)
		}
		return true
	})
	if len(unknown) == 0 {
		return out
	}
	name := strings.TrimPrefix(o.message, packageOf(o.message)+".")
	p := diag.Problem{Rule: "unknown-field", Path: path, Message: fmt.Sprintf("%s has no field with the number %s", name, strings.Join(unknown, ", "))}
	p.Envoy = diag.Override{Stage: "00d-unknown", Message: unknownNumberText(o.message, parents[:len(parents)-1], unknown)}
	return append([]diag.Problem{p}, out...)
}

// outlinedProblems are those of the value of a field.
func (r *reader) outlinedProblems(b []byte, field outlineField, o *outline, at diag.Path, parents []string) []diag.Problem {
	name := o.linked[field.name]
	if inner := o.inner[field.name]; inner != nil {
		return r.outlineProblems(b, inner, at, parents)
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil || name == clusterMessage || name == "google.protobuf.Any" {
		return nil
	}
	m := mt.New()
	_ = proto.Unmarshal(b, m.Interface()) // salvaged
	out := slices.DeleteFunc(r.wireProblems(m, at, parents), func(p diag.Problem) bool { return !refusesBootstrap(p) })
	for i := range out {
		out[i].Envoy.Stage = "00d-unknown"
	}
	return out
}

// numbered is the field of a number. One of another kind on the wire is taken for unknown.
func (o *outline) numbered(number protowire.Number, kind protowire.Type) (outlineField, bool) {
	for _, f := range o.fields {
		if f.number == number {
			return f, (kind == protowire.VarintType) == (f.is&isBool != 0) && (kind == protowire.VarintType || kind == protowire.BytesType)
		}
	}
	return outlineField{}, false
}
