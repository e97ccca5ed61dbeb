package eds

import (
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// wellKnown are the messages that proto JSON writes in a form of their own.
type wellKnown uint8

const (
	notWellKnown wellKnown = iota
	wktAny
	wktStruct
	wktValue
	wktList
	wktDuration
	wktTimestamp
	wktWrapper
	wktFieldMask
)

func classify(name protoreflect.FullName) wellKnown {
	if name.Parent() != "google.protobuf" {
		return notWellKnown
	}
	switch name.Name() {
	case "Any":
		return wktAny
	case "Struct":
		return wktStruct
	case "Value":
		return wktValue
	case "ListValue":
		return wktList
	case "Duration":
		return wktDuration
	case "Timestamp":
		return wktTimestamp
	case "DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue":
		return wktWrapper
	case "FieldMask":
		return wktFieldMask
	}
	return notWellKnown // Empty, and the descriptors of types
}

// newFields are the fields that not all known versions of Envoy have, with the first minor version that does
// (api-versions.md 2). An older one takes them for unknown.
// They are those by which the versions of go-control-plane's envoy module differ, in the messages that are modelled.
var newFields = sync.OnceValue(func() map[protoreflect.FullName]int {
	return map[protoreflect.FullName]int{
		"envoy.config.cluster.v3.Cluster.transport_socket_matcher":                                                                       37,
		"envoy.config.core.v3.Http2ProtocolOptions.enable_huffman_encoding":                                                              37,
		"envoy.config.core.v3.QuicProtocolOptions.client_packet_writer":                                                                  37,
		"envoy.config.core.v3.QuicProtocolOptions.connection_migration":                                                                  37,
		"envoy.config.cluster.v3.Cluster.per_connection_buffer_high_watermark_timeout":                                                   38,
		"envoy.config.cluster.v3.OutlierDetection.detect_degraded_hosts":                                                                 38,
		"envoy.config.core.v3.Http2ProtocolOptions.disallow_obs_text":                                                                    38,
		"envoy.config.core.v3.Http2ProtocolOptions.max_header_field_size_kb":                                                             38,
		"envoy.config.core.v3.Http3ProtocolOptions.disallow_obs_text":                                                                    38,
		"envoy.config.core.v3.QuicProtocolOptions.enable_scone":                                                                          38,
		"envoy.config.core.v3.QuicProtocolOptions.memory_reduction_timeout":                                                              38,
		"envoy.config.core.v3.SocketOption.ip_version":                                                                                   38,
		"envoy.extensions.load_balancing_policies.override_host.v3.OverrideHost.selected_host_key":                                       38,
		"envoy.config.cluster.v3.CircuitBreakers.Thresholds.RetryBudget.budget_interval":                                                 39,
		"envoy.config.core.v3.Http2ProtocolOptions.stream_reset_burst":                                                                   39,
		"envoy.config.core.v3.Http2ProtocolOptions.stream_reset_rate":                                                                    39,
		"envoy.config.core.v3.HttpProtocolOptions.max_connection_duration_jitter":                                                        39,
		"envoy.config.core.v3.WatchedDirectory.watch_modify":                                                                             39,
		"envoy.config.endpoint.v3.Endpoint.observability_name":                                                                           39,
		"envoy.extensions.clusters.dns.v3.DnsCluster.dns_min_refresh_rate":                                                               39,
		"envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin.oob_reporting_config": 39,
		"envoy.config.cluster.v3.Cluster.PreconnectPolicy.preconnect_enabled_metadata":                                                   40,
		"envoy.config.cluster.v3.Cluster.queuing_policies":                                                                               40,
		"envoy.config.cluster.v3.Cluster.stats_matcher":                                                                                  40,
		"envoy.config.core.v3.BindConfig.validate_network_namespaces":                                                                    40,
		"envoy.config.core.v3.HealthCheck.HttpHealthCheck.use_alpn_protocol":                                                             40,
		"envoy.config.core.v3.HealthCheck.name":                                                                                          40,
		"envoy.config.core.v3.PathConfigSource.poll_interval":                                                                            40,
		"envoy.type.metadata.v3.MetadataKey.PathSegment.index":                                                                           40,
	}
})

// messageInfo is what the decoder needs to know of a message, looked up once.
type messageInfo struct {
	md     protoreflect.MessageDescriptor
	fields map[string]*fieldInfo // by both spellings
	recent []*fieldInfo          // that not all known versions of Envoy have
}

// fieldInfo is what the decoder needs to know of a field.
type fieldInfo struct {
	fd         protoreflect.FieldDescriptor
	deprecated bool
	wkt        wellKnown
	since      int        // minor version of Envoy that brought it, 0 when before all that are known
	oneof      int        // 1 + index of the oneof that it belongs to, 0 when none
	key, value *fieldInfo // of a map
}

// schema finds the fields of messages by either spelling. It is filled as messages are met and may be shared.
type schema struct{ messages sync.Map } // protoreflect.MessageDescriptor -> *messageInfo

func (s *schema) message(md protoreflect.MessageDescriptor) *messageInfo {
	if m, ok := s.messages.Load(md); ok {
		return m.(*messageInfo)
	}
	fds := md.Fields()
	m := &messageInfo{md: md, fields: make(map[string]*fieldInfo, 2*fds.Len())}
	for i := range fds.Len() {
		info := newFieldInfo(fds.Get(i))
		m.fields[string(info.fd.Name())], m.fields[info.fd.JSONName()] = info, info
		if info.since > 0 {
			m.recent = append(m.recent, info)
		}
	}
	actual, _ := s.messages.LoadOrStore(md, m)
	return actual.(*messageInfo)
}

func newFieldInfo(fd protoreflect.FieldDescriptor) *fieldInfo {
	info := &fieldInfo{fd: fd, since: newFields()[fd.FullName()]}
	if o, ok := fd.Options().(*descriptorpb.FieldOptions); ok {
		info.deprecated = o.GetDeprecated()
	}
	if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
		info.oneof = 1 + o.Index()
	}
	switch {
	case fd.IsMap():
		info.key, info.value = newFieldInfo(fd.MapKey()), newFieldInfo(fd.MapValue())
	case fd.Message() != nil:
		info.wkt = classify(fd.Message().FullName())
	}
	return info
}
