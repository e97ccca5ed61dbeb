package eds

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// outline is a message that edsctl does not decode, but of which it knows the fields.
type outline struct {
	message  string
	fields   []outlineField
	reserved []string            // names that text protobuf may have all the same
	inner    map[string]*outline // of fields that are such messages themselves
	linked   map[string]string   // of fields that are messages which are linked: their names
}

// outlineField is a field of an outline: one message, unless is says otherwise.
type outlineField struct {
	name   string
	number protowire.Number
	is     fieldIs
}

type fieldIs uint8

const (
	isText    fieldIs = 1 << iota // a string
	isBool                        // true or false
	isList                        // repeated
	isOneof                       // of the only oneof of the message
	isDecoded                     // what it holds in YAML and JSON is decoded elsewhere
	isEntries                     // a map, whose entries are messages for the wire and for text protobuf
)

const (
	bootstrapPackage = "envoy.config.bootstrap.v3."
	corePackage      = "envoy.config.core.v3."
)

// BootstrapFields are the names of the fields of a bootstrap.
func BootstrapFields() []string { return bootstrapOutline().names() }

func (o *outline) names() []string {
	names := make([]string, len(o.fields))
	for i, f := range o.fields {
		names[i] = f.name
	}
	return names
}

// bootstrapOutline is after bootstrap.proto: what the fields hold is decoded elsewhere, or not modelled. It is made when it is
// first asked for, as the others are.
var bootstrapOutline = sync.OnceValue(func() *outline {
	return &outline{
		message: bootstrapMessage,
		fields: []outlineField{
			{"node", 1, isDecoded}, {"node_context_params", 26, isText | isList}, {"static_resources", 2, 0}, {"dynamic_resources", 3, 0},
			{"cluster_manager", 4, 0}, {"hds_config", 14, 0}, {"flags_path", 5, isText}, {"stats_sinks", 6, isList},
			{"deferred_stat_options", 39, 0}, {"stats_config", 13, 0}, {"stats_flush_interval", 7, 0}, {"stats_flush_on_admin", 29, isBool},
			{"stats_eviction_interval", 42, 0}, {"watchdog", 8, 0}, {"watchdogs", 27, 0}, {"tracing", 9, 0}, {"layered_runtime", 17, 0},
			{"admin", 12, 0}, {"overload_manager", 15, 0}, {"enable_dispatcher_stats", 16, isBool}, {"header_prefix", 18, isText},
			{"stats_server_version_override", 19, 0}, {"use_tcp_for_dns_lookups", 20, isBool}, {"dns_resolution_config", 30, 0},
			{"typed_dns_resolver_config", 31, 0}, {"bootstrap_extensions", 21, isList}, {"fatal_actions", 28, isList},
			{"config_sources", 22, isList}, {"default_config_source", 23, 0}, {"default_socket_interface", 24, isText},
			{"certificate_provider_instances", 25, isEntries}, {"inline_headers", 32, isList}, {"perf_tracing_file_path", 33, isText},
			{"default_regex_engine", 34, 0}, {"xds_delegate_extension", 35, 0}, {"xds_config_tracker_extension", 36, 0},
			{"listener_manager", 37, 0}, {"application_log_config", 38, 0}, {"grpc_async_client_manager_config", 40, 0},
			{"memory_allocator_manager", 41, 0}, {"enable_worker_cpu_affinity", 43, isBool},
		},
		reserved: []string{"runtime"},
		inner: map[string]*outline{
			"static_resources": {message: bootstrapMessage + ".StaticResources", fields: []outlineField{
				{"listeners", 1, isList}, {"clusters", 2, isList | isDecoded}, {"secrets", 3, isList},
			}, linked: map[string]string{"clusters": clusterMessage}},
			"dynamic_resources": {message: bootstrapMessage + ".DynamicResources", fields: []outlineField{
				{"lds_config", 1, 0}, {"lds_resources_locator", 5, isText}, {"cds_config", 2, 0}, {"cds_resources_locator", 6, isText},
				{"ads_config", 3, 0},
			}, linked: map[string]string{
				"lds_config": corePackage + "ConfigSource", "cds_config": corePackage + "ConfigSource", "ads_config": corePackage + "ApiConfigSource",
			}},
			"cluster_manager": {message: bootstrapPackage + "ClusterManager", fields: []outlineField{
				{"local_cluster_name", 1, isText}, {"outlier_detection", 2, 0}, {"upstream_bind_config", 3, 0}, {"load_stats_config", 4, 0},
				{"enable_deferred_cluster_creation", 5, isBool},
			}, linked: map[string]string{
				"upstream_bind_config": corePackage + "BindConfig", "load_stats_config": corePackage + "ApiConfigSource",
			}},
			"layered_runtime": {
				message: bootstrapPackage + "LayeredRuntime", fields: []outlineField{{"layers", 1, isList}},
				inner: map[string]*outline{"layers": runtimeLayer()},
			},
			"admin": {message: bootstrapPackage + "Admin", fields: []outlineField{
				{"access_log", 5, isList}, {"access_log_path", 1, isText}, {"profile_path", 2, isText}, {"address", 3, 0},
				{"socket_options", 4, isList}, {"ignore_global_conn_limit", 6, isBool}, {"allow_paths", 7, isList},
			}, linked: map[string]string{"address": corePackage + "Address"}},
			"bootstrap_extensions": typedExtension(), "typed_dns_resolver_config": typedExtension(), "default_regex_engine": typedExtension(),
			"xds_delegate_extension": typedExtension(), "xds_config_tracker_extension": typedExtension(), "listener_manager": typedExtension(),
		},
		linked: map[string]string{
			"node": corePackage + "Node", "hds_config": corePackage + "ApiConfigSource", "default_config_source": corePackage + "ConfigSource",
			"dns_resolution_config": corePackage + "DnsResolutionConfig",
			"stats_flush_interval":  "google.protobuf.Duration", "stats_eviction_interval": "google.protobuf.Duration",
		},
	}
})

// typedExtension is the outline of an extension by name, whose Any is looked at elsewhere.
func typedExtension() *outline {
	return &outline{message: corePackage + "TypedExtensionConfig", fields: []outlineField{{"name", 1, isText}, {"typed_config", 2, 0}},
		linked: map[string]string{"typed_config": "google.protobuf.Any"}}
}

// runtimeLayer is the outline of a layer of the runtime.
func runtimeLayer() *outline {
	const message = bootstrapPackage + "RuntimeLayer"
	return &outline{
		message: message,
		fields: []outlineField{
			{"name", 1, isText}, {"static_layer", 2, isOneof}, {"disk_layer", 3, isOneof}, {"admin_layer", 4, isOneof}, {"rtds_layer", 5, isOneof},
		},
		inner: map[string]*outline{
			"disk_layer": {message: message + ".DiskLayer", fields: []outlineField{
				{"symlink_root", 1, isText}, {"subdirectory", 3, isText}, {"append_service_cluster", 2, isBool},
			}},
			"admin_layer": {message: message + ".AdminLayer"},
			"rtds_layer": {
				message: message + ".RtdsLayer", fields: []outlineField{{"name", 1, isText}, {"rtds_config", 2, 0}},
				linked: map[string]string{"rtds_config": corePackage + "ConfigSource"},
			},
		},
		linked: map[string]string{"static_layer": "google.protobuf.Struct"},
	}
}

// httpOutline is that of HttpProtocolOptions, which stands in an Any and is not linked.
var httpOutline = sync.OnceValue(func() *outline {
	protocolOptions := map[string]string{
		"http_protocol_options":             corePackage + "Http1ProtocolOptions",
		"http2_protocol_options":            corePackage + "Http2ProtocolOptions",
		"http3_protocol_options":            corePackage + "Http3ProtocolOptions",
		"alternate_protocols_cache_options": corePackage + "AlternateProtocolsCacheOptions",
	}
	return &outline{ // upstreams/http/v3/http_protocol_options.proto
		message: HTTPOptionsName,
		fields: []outlineField{
			{"common_http_protocol_options", 1, 0}, {"upstream_http_protocol_options", 2, 0}, {"explicit_http_config", 3, isOneof},
			{"use_downstream_protocol_config", 4, isOneof}, {"auto_config", 5, isOneof}, {"http_filters", 6, isList},
			{"header_validation_config", 7, 0}, {"outlier_detection", 8, 0}, {"request_mirror_policies", 9, isList}, {"hash_policy", 10, isList},
			{"retry_policy", 11, 0},
		},
		linked: map[string]string{
			"common_http_protocol_options":   corePackage + "HttpProtocolOptions",
			"upstream_http_protocol_options": corePackage + "UpstreamHttpProtocolOptions",
		},
		inner: map[string]*outline{
			"explicit_http_config": {message: HTTPOptionsName + ".ExplicitHttpConfig", fields: []outlineField{
				{"http_protocol_options", 1, isOneof}, {"http2_protocol_options", 2, isOneof}, {"http3_protocol_options", 3, isOneof},
			}, linked: protocolOptions},
			"use_downstream_protocol_config": {message: HTTPOptionsName + ".UseDownstreamHttpConfig", fields: []outlineField{
				{"http_protocol_options", 1, 0}, {"http2_protocol_options", 2, 0}, {"http3_protocol_options", 3, 0},
			}, linked: protocolOptions},
			"auto_config": {message: HTTPOptionsName + ".AutoHttpConfig", fields: []outlineField{
				{"http_protocol_options", 1, 0}, {"http2_protocol_options", 2, 0}, {"http3_protocol_options", 3, 0},
				{"alternate_protocols_cache_options", 4, 0},
			}, linked: protocolOptions},
			"outlier_detection": {message: HTTPOptionsName + ".OutlierDetection", fields: []outlineField{{"error_matcher", 1, 0}}},
		},
	}
})

// outlineSince has the fields of outlines that not all versions know, with the minor version of Envoy that brought them.
var outlineSince = sync.OnceValue(func() map[string]int {
	return map[string]int{
		bootstrapMessage + ".enable_worker_cpu_affinity": 39,
		bootstrapPackage + "Admin.allow_paths":           37,
		HTTPOptionsName + ".hash_policy":                 37,
		HTTPOptionsName + ".request_mirror_policies":     37,
		HTTPOptionsName + ".retry_policy":                37,
	}
})

// has tells whether an Envoy of a minor version knows a key, and the field that it is.
func (o *outline) has(key string, version int) (field outlineField, ok bool) {
	for _, f := range o.fields {
		if sameField(key, f.name) {
			return f, version >= o.since(f)
		}
	}
	return outlineField{}, false
}

// since is the minor version of Envoy that brought a field, 0 when all that are known have it.
func (o *outline) since(f outlineField) int { return outlineSince()[o.message+"."+f.name] }

// holder is the field in whose message a key is one; empty when there is none.
func (o *outline) holder(key string) string {
	for _, field := range o.fields {
		inner := o.inner[field.name]
		if inner != nil && slices.ContainsFunc(inner.fields, func(f outlineField) bool { return f.name == key }) {
			return field.name
		}
	}
	return ""
}

// outlined reports what is no such message, and the keys that it does not have.
func (d *decoder) outlined(n document.Node, o *outline) {
	if v := look(n); v.kind != jsonObject {
		if v.kind != jsonNull {
			d.unexpected(v, "{")
		}
		return
	}
	n = n.Target()
	inAny := len(d.frames) > 0 && d.frames[len(d.frames)-1].name != ""
	isYAML := n.Document().Format == document.YAML
	seen := map[string]document.Node{}
	set := "" // the field of the oneof that is
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		text, ok := keyText(k)
		if !ok || k.ResolvedTag() == ignoreTag || inAny && text == "@type" {
			continue
		}
		if first, again := seen[text]; again {
			d.add(d.duplicateKey(k, first, !isYAML))
		} else {
			seen[text] = k
		}
		field, known := o.has(text, d.version)
		switch {
		case !known:
			d.outlineUnknown(k, text, o)
			continue
		case field.is&isOneof != 0 && look(k.Next()).kind != jsonNull:
			if again := seen[text] != k && isYAML; set != "" && !again { // a copy in YAML takes the place of the first
				d.outlinedTwice(k, field, set, o)
			}
			set = field.name
		}
		if !isYAML || child(n, field.name) == k.Next() { // no other one counts
			d.outlinedField(k, field, o)
		}
	}
}

// outlinedTwice reports a member of a oneof after another one.
func (d *decoder) outlinedTwice(k document.Node, field outlineField, set string, o *outline) {
	text, _ := keyText(k)
	d.within(o.frame(k, field), func() {
		d.alreadySet(d.problem(k, "oneof-set-twice", "%q and %q cannot both be set", field.name, set), text)
	})
}

// frame is the step to a field, with its type as Envoy prints it.
func (o *outline) frame(k document.Node, field outlineField) frame {
	f := frame{key: k, field: field.name, index: -1, typ: "message " + o.linked[field.name]}
	if inner := o.inner[field.name]; inner != nil {
		f.typ = "message " + inner.message
	}
	if field.is&isText != 0 {
		f.typ = "string"
	}
	return f
}

// outlinedField looks into a field of a message.
func (d *decoder) outlinedField(k document.Node, field outlineField, o *outline) {
	f := o.frame(k, field)
	inner, value := o.inner[field.name], k.Next()
	switch {
	case field.is == isText && look(value).kind != jsonNull:
		d.within(f, func() { d.stringValue(look(value)) })
	case inner != nil && isSequence(value) && field.is&isList != 0:
		for i, item := range items(value) {
			f.index = i
			d.within(f, func() { d.outlined(item, inner) })
		}
	case inner != nil:
		d.within(f, func() { d.outlined(value, inner) })
	case o.linked[field.name] != "" && field.is&isDecoded == 0:
		d.linked(f, value, o.linked[field.name])
	}
}

// linked reads a message of a type that is linked, for what Envoy refuses in it and nothing less.
func (d *decoder) linked(f frame, n document.Node, name string) {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if v := look(n); err == nil && v.kind != jsonNull && classify(mt.Descriptor().FullName()) == notWellKnown {
		out, before := d.out, len(d.problems)
		d.within(f, func() { d.object(v, mt.Descriptor()) })
		found := slices.DeleteFunc(d.problems[before:], func(p diag.Problem) bool { return !refusesBootstrap(p) })
		d.out, d.problems = out, d.problems[:before+len(found)]
	}
}

// within reads a value at one more step of the path.
func (d *decoder) within(f frame, read func()) {
	d.frames = append(d.frames, f)
	read()
	d.frames = d.frames[:len(d.frames)-1]
}

func (d *decoder) outlineUnknown(k document.Node, key string, o *outline) {
	name := strings.TrimPrefix(o.message, packageOf(o.message)+".")
	p := d.problem(k, "unknown-field", "%s has no field %q", name, key)
	p.Path = append(p.Path, diag.Step{Name: key})
	field, _ := o.has(key, d.version)
	switch {
	case field.name != "":
		p.Message = fmt.Sprintf("%q is unknown to Envoy before 1.%d", field.name, o.since(field))
	case key == "<<":
		p.Rule, p.Message = "merge-key", mergeKeyText
	default:
		if in := o.holder(key); in != "" {
			p.Hint = fmt.Sprintf("`%s` belongs into `%s`", key, in)
		} else if near := nearest(key, o.names()); near != "" {
			p.Hint = fmt.Sprintf("did you mean `%s`?", near)
		}
	}
	text, _ := rewritten(key)
	p.Envoy = diag.Override{Stage: "00d-unknown", Message: d.where.unknownText(d.invalidText(fmt.Sprintf("no such field: '%s'", text)))}
	d.add(p)
	d.unknownUTF8(k, key)
}
