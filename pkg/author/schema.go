package author

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/eds"
)

// schemaDocs has the first sentence about each field, from the comments of the .proto files: the messages of Go do not
// carry them. A line is the full name of the field, a tab and the sentence. A test writes it.
//
//go:embed schema_docs.txt
var schemaDocs string

// AnySchema is the shape of a schema that recognises each of the others by its keys.
const AnySchema eds.Shape = "auto"

// SchemaShapes lists the shapes that have a schema, the default first.
func SchemaShapes() []eds.Shape { return append([]eds.Shape{AnySchema}, Shapes()...) }

// SchemaOptions say which schema is wanted.
type SchemaOptions struct {
	Shape   eds.Shape
	Version eds.APIVersion
	// Strict refuses fields and names of enums that the API does not have everywhere. Envoy refuses them in a bootstrap
	// only, and passes over them in files and responses.
	Strict bool
}

// schema is a JSON Schema or a part of one.
type schema = map[string]any

// Schema writes the JSON Schema (2020-12) of a shape: what Envoy takes in YAML and JSON, both spellings of the fields and
// its leniences included. Clusters and bootstraps have one in v3 only.
func Schema(o SchemaOptions) ([]byte, error) {
	b := &schemaBuilder{version: o.Version, strict: o.Strict || o.Shape == eds.ShapeBootstrap, defs: schema{}, docs: fieldDocs(), inDefs: map[protoreflect.FullName]bool{}}
	if o.Version != eds.V3 {
		switch o.Shape {
		case eds.ShapeCluster, eds.ShapeCDS, eds.ShapeBootstrap, AnySchema:
			return nil, fmt.Errorf("the shape %q has a schema in v3 only", o.Shape)
		}
	}
	root, err := b.shape(o.Shape)
	if err != nil {
		return nil, err
	}
	b.finish()
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = fmt.Sprintf("urn:edsctl:schema:%s:%s", o.Version, o.Shape)
	root["title"] = shapeTitles()[o.Shape]
	root["$defs"] = b.defs
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err = enc.Encode(root)
	return out.Bytes(), err
}

func shapeTitles() map[eds.Shape]string {
	return map[eds.Shape]string{
		AnySchema:              "An Envoy assignment, or a file around one",
		eds.ShapeAssignment:    "ClusterLoadAssignment",
		eds.ShapeList:          "List of ClusterLoadAssignments",
		eds.ShapeResponse:      "DiscoveryResponse with ClusterLoadAssignments, such as an EDS file",
		eds.ShapeDeltaResponse: "DeltaDiscoveryResponse with ClusterLoadAssignments",
		eds.ShapeAny:           "ClusterLoadAssignment with @type",
		eds.ShapeResource:      "Resource around a ClusterLoadAssignment",
		eds.ShapeCluster:       "Cluster",
		eds.ShapeCDS:           "DiscoveryResponse with Clusters, such as a CDS file",
		eds.ShapeBootstrap:     "Envoy bootstrap",
	}
}

// schemaBuilder collects the definitions of the messages that a schema needs.
type schemaBuilder struct {
	version eds.APIVersion
	strict  bool
	defs    schema
	docs    map[string]string
	queue   []protoreflect.MessageDescriptor
	inDefs  map[protoreflect.FullName]bool // messages whose definition has their name
}

func fieldDocs() map[string]string {
	docs := map[string]string{}
	for line := range strings.Lines(schemaDocs) {
		if name, doc, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			docs[name] = doc
		}
	}
	return docs
}

// def refers to a definition, which is made when it is first asked for.
func (b *schemaBuilder) def(name string, build func() schema) schema {
	if b.defs[name] == nil {
		b.defs[name] = schema{}
		b.defs[name] = build()
	}
	return schema{"$ref": "#/$defs/" + name}
}

// has is present as a definition, for the many places that ask for it.
func (b *schemaBuilder) has(name string) schema {
	return b.def("has."+name, func() schema { return present(name) })
}

// message refers to the definition of a message.
func (b *schemaBuilder) message(md protoreflect.MessageDescriptor) schema {
	name := string(md.FullName())
	if b.defs[name] == nil {
		b.defs[name] = schema{} // filled later: messages may hold themselves
		b.inDefs[md.FullName()] = true
		b.queue = append(b.queue, md)
	}
	return schema{"$ref": "#/$defs/" + name}
}

// finish fills the definitions.
func (b *schemaBuilder) finish() {
	for len(b.queue) > 0 {
		md := b.queue[0]
		b.queue = b.queue[1:]
		b.defs[string(md.FullName())] = b.object(md)
	}
}

func (b *schemaBuilder) assignment() schema {
	return b.message(eds.NewAssignment(b.version).ProtoReflect().Descriptor())
}

func (b *schemaBuilder) cluster() schema {
	return b.message((&clusterv3.Cluster{}).ProtoReflect().Descriptor())
}

// shape is the root of a schema.
func (b *schemaBuilder) shape(s eds.Shape) (schema, error) {
	object := func(inner schema) schema { return schema{"type": "object", "allOf": []schema{inner}} }
	switch s {
	case AnySchema:
		return b.any()
	case eds.ShapeAssignment:
		return object(b.assignment()), nil
	case eds.ShapeList:
		return schema{"type": "array", "items": object(b.assignment())}, nil
	case eds.ShapeAny:
		return object(b.typed(b.assignment(), eds.AssignmentURL(b.version))), nil
	case eds.ShapeResource:
		return object(b.wrapper()), nil
	case eds.ShapeResponse:
		return b.response(&discoveryv3.DiscoveryResponse{}, b.oneResource(b.typed(b.edsAssignment(), eds.AssignmentURL(b.version)))), nil
	case eds.ShapeDeltaResponse:
		return b.response(&discoveryv3.DeltaDiscoveryResponse{}, b.wrapper()), nil
	case eds.ShapeCluster:
		return object(b.cluster()), nil
	case eds.ShapeCDS:
		return b.response(&discoveryv3.DiscoveryResponse{}, b.oneResource(b.typed(b.cluster(), eds.ClusterURL(b.version)))), nil
	case eds.ShapeBootstrap:
		return b.bootstrap(), nil
	}
	return nil, fmt.Errorf("the shape %q has no schema", s)
}

// any tells the shapes apart as edsctl does (see recognise in pkg/eds): each is tried when one of its keys is there.
func (b *schemaBuilder) any() (schema, error) {
	shapes := []struct {
		shape eds.Shape
		keys  []string
	}{
		{eds.ShapeBootstrap, []string{"static_resources", "dynamic_resources"}},
		{eds.ShapeDeltaResponse, []string{"system_version_info", "removed_resources"}},
		{eds.ShapeResponse, []string{"resources", "version_info"}},
		{eds.ShapeCluster, []string{"load_assignment", "connect_timeout", "lb_policy", "eds_cluster_config"}},
		{eds.ShapeResource, []string{"resource"}},
		{eds.ShapeAssignment, nil},
	}
	var root schema
	for _, s := range slices.Backward(shapes) {
		inner, err := b.shape(s.shape)
		if err != nil {
			return nil, err
		}
		if root == nil {
			root = inner
			continue
		}
		var keys []schema
		for _, key := range s.keys {
			keys = append(keys, present(key))
		}
		root = schema{"if": schema{"anyOf": keys}, "then": inner, "else": root}
	}
	list, err := b.shape(eds.ShapeList)
	return schema{"if": schema{"type": "array"}, "then": list, "else": root}, err
}

// typed adds to the schema of a message that its type must be said.
func (b *schemaBuilder) typed(inner schema, url string) schema {
	name := url[strings.LastIndexByte(url, '/')+1:]
	return schema{"allOf": []schema{inner, b.def("typed."+name, func() schema {
		return schema{
			"type": "object", "required": []string{"@type"},
			"properties": schema{"@type": schema{"type": "string", "pattern": "^.+/" + strings.ReplaceAll(name, ".", `\.`) + "$", "examples": []string{url}}},
		}
	})}}
}

// oneResource is a resource of a response: typed, in a Resource of its own, or an empty message.
func (b *schemaBuilder) oneResource(inner schema) schema {
	wrapper := b.typed(b.wrapper(), eds.WrapperURL(b.version))
	isWrapper := schema{"required": []string{"@type"}, "properties": schema{"@type": schema{"pattern": `\.Resource$`}}}
	return schema{"if": isWrapper, "then": wrapper, "else": inner}
}

// wrapper is a Resource around an assignment.
func (b *schemaBuilder) wrapper() schema {
	return b.def("wrapper", func() schema {
		s := b.object((&discoveryv3.Resource{}).ProtoReflect().Descriptor())
		s["type"] = "object"
		s["properties"].(schema)["resource"] = b.typed(b.edsAssignment(), eds.AssignmentURL(b.version))
		return s
	})
}

// response is a response with a schema for each resource.
func (b *schemaBuilder) response(m proto.Message, item schema) schema {
	s := b.object(m.ProtoReflect().Descriptor())
	s["type"] = "object"
	s["properties"].(schema)["resources"] = list(item)
	return s
}

// bootstrap has what edsctl models of a bootstrap, and the names of the rest.
func (b *schemaBuilder) bootstrap() schema {
	config := b.message((&corev3.ConfigSource{}).ProtoReflect().Descriptor())
	api := b.message((&corev3.ApiConfigSource{}).ProtoReflect().Descriptor())
	static := b.named(map[string]schema{"clusters": list(b.cluster()), "listeners": {}, "secrets": {}})
	dynamic := b.named(map[string]schema{
		"cds_config": config, "lds_config": config, "ads_config": api, "cds_resources_locator": {"type": stringOrNull()}, "lds_resources_locator": {"type": stringOrNull()},
	})
	layer := b.named(map[string]schema{"name": {"type": stringOrNull()}, "static_layer": {"type": objectOrNull()}, "disk_layer": {}, "admin_layer": {}, "rtds_layer": {}})
	fields := map[string]schema{
		"node":             b.message((&corev3.Node{}).ProtoReflect().Descriptor()),
		"static_resources": static, "dynamic_resources": dynamic,
		"layered_runtime": b.named(map[string]schema{"layers": list(layer)}),
		"cluster_manager": b.named(map[string]schema{
			"local_cluster_name": {"type": stringOrNull()}, "outlier_detection": {}, "upstream_bind_config": {}, "load_stats_config": api, "enable_deferred_cluster_creation": {},
		}),
	}
	for _, name := range eds.BootstrapFields() {
		if fields[name] == nil {
			fields[name] = schema{}
		}
	}
	s := b.named(fields)
	s["type"] = "object"
	s["properties"].(schema)["@type"] = schema{"type": "string"}
	return s
}

// named is an object with these fields, in both spellings.
func (b *schemaBuilder) named(fields map[string]schema) schema {
	properties := schema{}
	for name, s := range fields {
		properties[name] = s
		if c := camelCase(name); c != name {
			properties[c] = s
		}
	}
	out := schema{"type": objectOrNull(), "properties": properties}
	if b.strict {
		out["additionalProperties"] = false
	}
	return out
}
