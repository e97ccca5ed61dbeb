package eds

import (
	"fmt"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// outline is a message of a bootstrap of which edsctl knows the names of the fields (bootstrap.proto): their values are
// decoded elsewhere, or not modelled.
type outline struct {
	message string // below bootstrapPackage
	fields  []string
	texts   []string            // those of the fields that are strings, and looked at
	inner   map[string]*outline // of fields that are such messages, or lists of them
}

const bootstrapPackage = "envoy.config.bootstrap.v3."

var bootstrapOutline = &outline{
	message: "Bootstrap",
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
		"static_resources": {message: "Bootstrap.StaticResources", fields: []string{"listeners", "clusters", "secrets"}},
		"dynamic_resources": {message: "Bootstrap.DynamicResources", fields: []string{
			"lds_config", "lds_resources_locator", "cds_config", "cds_resources_locator", "ads_config",
		}},
		"cluster_manager": {message: "ClusterManager", fields: []string{
			"local_cluster_name", "outlier_detection", "upstream_bind_config", "load_stats_config", "enable_deferred_cluster_creation",
		}, texts: []string{"local_cluster_name"}},
		"layered_runtime": {message: "LayeredRuntime", fields: []string{"layers"}, inner: map[string]*outline{
			"layers": {message: "RuntimeLayer", fields: []string{"name", "static_layer", "disk_layer", "admin_layer", "rtds_layer"}},
		}},
		"admin": {message: "Admin", fields: []string{
			"access_log", "access_log_path", "profile_path", "address", "socket_options", "ignore_global_conn_limit", "allow_paths",
		}},
	},
}

// outlineSince has the fields of outlines that not all versions know, with the minor version of Envoy that brought them.
var outlineSince = map[string]int{"Bootstrap.enable_worker_cpu_affinity": 39, "Admin.allow_paths": 37}

// has tells whether an Envoy of a minor version knows a key, and the field that it is.
func (o *outline) has(key string, version int) (field string, ok bool) {
	i := slices.IndexFunc(o.fields, func(f string) bool { return sameField(key, f) })
	if i < 0 {
		return "", false
	}
	return o.fields[i], version >= outlineSince[o.message+"."+o.fields[i]]
}

// outlined reports what is no such message, and the keys that it does not have.
func (r *reader) outlined(n document.Node, o *outline, w wire, path diag.Path) {
	n = n.Target()
	if n.Kind() != document.Mapping {
		if w.at != "" { // only the brace that a message begins with is looked at, so any message does
			r.decodePart(n, &corev3.Locality{}, w, path)
		}
		return
	}
	seen := map[string]document.Node{}
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		text, ok := keyText(k)
		if !ok || k.ResolvedTag() == ignoreTag {
			continue
		}
		if first, again := seen[text]; again {
			d := r.newDecoder(w)
			d.add(d.duplicateKey(k, first, n.Document().Format != document.YAML))
			r.addPart(d, path.Field(text))
		} else {
			seen[text] = k
		}
		field, known := o.has(text, r.opts.EnvoyVersion)
		if !known {
			r.outlineUnknown(k, text, o, w, path)
			continue
		}
		inner := o.inner[field]
		switch {
		case child(n, field) != k.Next(): // another one counts
			continue
		case slices.Contains(o.texts, field):
			d := r.newDecoder(w)
			d.frames = append(d.frames, frame{key: k, typ: "string", index: -1})
			d.stringValue(look(k.Next()))
			r.addPart(d, path.Field(field))
			continue
		case inner == nil:
			continue
		}
		next := wire{root: w.root, at: text, message: bootstrapPackage + inner.message, depth: w.depth + 1}
		if w.at != "" {
			next.at = w.at + "." + text
		}
		if !isSequence(k.Next()) || field != "layers" {
			r.outlined(k.Next(), inner, next, path.Field(field))
			continue
		}
		for i, item := range items(k.Next()) {
			at := next
			at.at, at.depth = fmt.Sprintf("%s[%d]", next.at, i), next.depth+1
			r.outlined(item, inner, at, path.Field(field).Index(i))
		}
	}
}

func (r *reader) outlineUnknown(k document.Node, key string, o *outline, w wire, path diag.Path) {
	d := r.newDecoder(w)
	p := d.problem(k, "unknown-field", "%s has no field %q", o.message, key)
	p.Path = diag.Path{{Name: key}}
	field, _ := o.has(key, r.opts.EnvoyVersion)
	switch {
	case field != "":
		p.Message = fmt.Sprintf("%q is unknown to Envoy before 1.%d", field, outlineSince[o.message+"."+field])
	case key == "<<":
		p.Rule, p.Message = "merge-key", "Envoy does not merge YAML keys: `<<` is an unknown field and what it should bring is lost"
	default:
		if near := nearest(key, o.fields); near != "" {
			p.Hint = fmt.Sprintf("did you mean `%s`?", near)
		}
	}
	at := ""
	if w.at != "" {
		at = fmt.Sprintf(" @ %s: message %s", w.at, w.message)
	}
	name, _ := rewritten(key)
	p.Envoy = diag.Override{Stage: "00d-unknown", Message: w.unknownText(fmt.Sprintf("invalid JSON in %s%s, near <pos>: no such field: '%s'", w.root, at, name))}
	d.add(p)
	d.unknownUTF8(k, key)
	r.addPart(d, path)
}
