package eds

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// outline is a message that edsctl does not decode, but of which it knows the names of the fields.
type outline struct {
	message string
	fields  []string
	texts   []string            // those of the fields that are strings, and looked at
	lists   []string            // those that are lists of messages
	oneof   []string            // those of which one may be set
	inner   map[string]*outline // of fields that are such messages themselves
	linked  map[string]string   // of fields that are messages which are linked: their names
}

const (
	bootstrapPackage = "envoy.config.bootstrap.v3."
	corePackage      = "envoy.config.core.v3."
)

// bootstrapOutline is after bootstrap.proto: what the fields hold is decoded elsewhere, or not modelled. It is made when it is
// first asked for, as the others are.
var bootstrapOutline = sync.OnceValue(func() *outline {
	return &outline{
		message: bootstrapMessage,
		fields: []string{
			"node", "node_context_params", "static_resources", "dynamic_resources", "cluster_manager", "hds_config", "flags_path",
			"stats_sinks", "deferred_stat_options", "stats_config", "stats_flush_interval", "stats_flush_on_admin",
			"stats_eviction_interval", "watchdog", "watchdogs", "tracing", "layered_runtime", "admin", "overload_manager",
			"enable_dispatcher_stats", "header_prefix", "stats_server_version_override", "use_tcp_for_dns_lookups",
			"dns_resolution_config", "typed_dns_resolver_config", "bootstrap_extensions", "fatal_actions", "config_sources",
			"default_config_source", "default_socket_interface", "certificate_provider_instances", "inline_headers",
			"perf_tracing_file_path", "default_regex_engine", "xds_delegate_extension", "xds_config_tracker_extension",
			"listener_manager", "application_log_config", "grpc_async_client_manager_config", "memory_allocator_manager",
			"enable_worker_cpu_affinity",
		},
		inner: map[string]*outline{
			"static_resources": {message: bootstrapMessage + ".StaticResources", fields: []string{"listeners", "clusters", "secrets"}},
			"dynamic_resources": {message: bootstrapMessage + ".DynamicResources", fields: []string{
				"lds_config", "lds_resources_locator", "cds_config", "cds_resources_locator", "ads_config",
			}, linked: map[string]string{
				"lds_config": corePackage + "ConfigSource", "cds_config": corePackage + "ConfigSource", "ads_config": corePackage + "ApiConfigSource",
			}},
			"cluster_manager": {message: bootstrapPackage + "ClusterManager", fields: []string{
				"local_cluster_name", "outlier_detection", "upstream_bind_config", "load_stats_config", "enable_deferred_cluster_creation",
			}, texts: []string{"local_cluster_name"}, linked: map[string]string{
				"upstream_bind_config": corePackage + "BindConfig", "load_stats_config": corePackage + "ApiConfigSource",
			}},
			"layered_runtime": {
				message: bootstrapPackage + "LayeredRuntime", fields: []string{"layers"}, lists: []string{"layers"},
				inner: map[string]*outline{
					"layers": runtimeLayer(),
				},
			},
			"admin": {message: bootstrapPackage + "Admin", fields: []string{
				"access_log", "access_log_path", "profile_path", "address", "socket_options", "ignore_global_conn_limit", "allow_paths",
			}, linked: map[string]string{"address": corePackage + "Address"}},
		},
	}
})

// runtimeLayer is the outline of a layer of the runtime.
func runtimeLayer() *outline {
	const message = bootstrapPackage + "RuntimeLayer"
	return &outline{
		message: message,
		fields:  []string{"name", "static_layer", "disk_layer", "admin_layer", "rtds_layer"},
		oneof:   []string{"static_layer", "disk_layer", "admin_layer", "rtds_layer"},
		inner: map[string]*outline{
			"disk_layer":  {message: message + ".DiskLayer", fields: []string{"symlink_root", "subdirectory", "append_service_cluster"}},
			"admin_layer": {message: message + ".AdminLayer"},
			"rtds_layer": {
				message: message + ".RtdsLayer", fields: []string{"name", "rtds_config"},
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
		fields: []string{
			"common_http_protocol_options", "upstream_http_protocol_options", "explicit_http_config", "use_downstream_protocol_config",
			"auto_config", "http_filters", "header_validation_config", "outlier_detection", "request_mirror_policies", "hash_policy",
			"retry_policy",
		},
		linked: map[string]string{
			"common_http_protocol_options":   corePackage + "HttpProtocolOptions",
			"upstream_http_protocol_options": corePackage + "UpstreamHttpProtocolOptions",
		},
		oneof: []string{"explicit_http_config", "use_downstream_protocol_config", "auto_config"},
		inner: map[string]*outline{
			"explicit_http_config": {message: HTTPOptionsName + ".ExplicitHttpConfig", fields: []string{
				"http_protocol_options", "http2_protocol_options", "http3_protocol_options",
			}, oneof: []string{"http_protocol_options", "http2_protocol_options", "http3_protocol_options"}, linked: protocolOptions},
			"use_downstream_protocol_config": {message: HTTPOptionsName + ".UseDownstreamHttpConfig", fields: []string{
				"http_protocol_options", "http2_protocol_options", "http3_protocol_options",
			}, linked: protocolOptions},
			"auto_config": {message: HTTPOptionsName + ".AutoHttpConfig", fields: []string{
				"http_protocol_options", "http2_protocol_options", "http3_protocol_options", "alternate_protocols_cache_options",
			}, linked: protocolOptions},
			"outlier_detection": {message: HTTPOptionsName + ".OutlierDetection", fields: []string{"error_matcher"}},
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
func (o *outline) has(key string, version int) (field string, ok bool) {
	i := slices.IndexFunc(o.fields, func(f string) bool { return sameField(key, f) })
	if i < 0 {
		return "", false
	}
	return o.fields[i], version >= outlineSince()[o.message+"."+o.fields[i]]
}

// holder is the field in whose message a key is one; empty when there is none.
func (o *outline) holder(key string) string {
	for _, field := range o.fields {
		if inner := o.inner[field]; inner != nil && slices.Contains(inner.fields, key) {
			return field
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
		case slices.Contains(o.oneof, field) && look(k.Next()).kind != jsonNull:
			if again := seen[text] != k && isYAML; set != "" && !again { // a copy in YAML takes the place of the first
				d.outlinedTwice(k, field, set, o)
			}
			set = field
		}
		if child(n, field) == k.Next() { // no other one counts
			d.outlinedField(k, field, o)
		}
	}
}

// outlinedTwice reports a member of a oneof after another one.
func (d *decoder) outlinedTwice(k document.Node, field, set string, o *outline) {
	text, _ := keyText(k)
	d.within(o.frame(k, field), func() {
		d.alreadySet(d.problem(k, "oneof-set-twice", "%q and %q cannot both be set", field, set), text)
	})
}

// frame is the step to a field, with its type as Envoy prints it.
func (o *outline) frame(k document.Node, field string) frame {
	f := frame{key: k, field: field, index: -1, typ: "message " + o.linked[field]}
	if inner := o.inner[field]; inner != nil {
		f.typ = "message " + inner.message
	}
	if slices.Contains(o.texts, field) {
		f.typ = "string"
	}
	return f
}

// outlinedField looks into a field of a message.
func (d *decoder) outlinedField(k document.Node, field string, o *outline) {
	f := o.frame(k, field)
	inner, value := o.inner[field], k.Next()
	switch {
	case slices.Contains(o.texts, field):
		d.within(f, func() { d.stringValue(look(value)) })
	case inner != nil && isSequence(value) && slices.Contains(o.lists, field):
		for i, item := range items(value) {
			f.index = i
			d.within(f, func() { d.outlined(item, inner) })
		}
	case inner != nil:
		d.within(f, func() { d.outlined(value, inner) })
	case o.linked[field] != "":
		d.linked(f, value, o.linked[field])
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
	case field != "":
		p.Message = fmt.Sprintf("%q is unknown to Envoy before 1.%d", field, outlineSince()[o.message+"."+field])
	case key == "<<":
		p.Rule, p.Message = "merge-key", mergeKeyText
	default:
		if in := o.holder(key); in != "" {
			p.Hint = fmt.Sprintf("`%s` belongs into `%s`", key, in)
		} else if near := nearest(key, o.fields); near != "" {
			p.Hint = fmt.Sprintf("did you mean `%s`?", near)
		}
	}
	text, _ := rewritten(key)
	p.Envoy = diag.Override{Stage: "00d-unknown", Message: d.where.unknownText(d.invalidText(fmt.Sprintf("no such field: '%s'", text)))}
	d.add(p)
	d.unknownUTF8(k, key)
}
