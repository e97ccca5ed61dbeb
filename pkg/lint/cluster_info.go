package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// byInfo checks what ClusterInfoImpl reads before the policy (upstream_impl.cc): protocols, thresholds and the addresses
// that connections are made from; and what the DNS types read around it (cluster_factory_impl.cc, strict_dns_cluster.cc).
func (b *build) byInfo() {
	if b.takesNames() {
		b.refuse(stageResolvers, b.dnsResolvers())
	}
	b.refuse(stageSocket, b.transportSockets())
	b.refuse(stageProtocols, b.protocolOptions())
	b.refuse(stageHTTP, b.httpOptions())
	b.refuse(stageBreakers, hostThresholds(b.m.GetCircuitBreakers()))
	b.refuse(stageBind, b.bindConfig())
	b.refuse(stageRequests, b.maxRequests())
	b.refuse(stageType, b.originalDst())
	for i, filter := range b.m.GetFilters() {
		if filter.GetConfigDiscovery() == nil {
			b.refuse(stageFilters, noExtension(filter.GetName(), filter.GetTypedConfig()).below(inCluster("filters").Index(i)))
		}
	}
}

// transportSockets: createTransportSocketFactory, and those of transport_socket_matches.
func (b *build) transportSockets() *refusal {
	if s := b.m.GetTransportSocket(); s != nil {
		if r := noExtension(s.GetName(), s.GetTypedConfig()); r != nil {
			return r.below(inCluster("transport_socket"))
		}
	}
	for i, match := range b.m.GetTransportSocketMatches() {
		s := match.GetTransportSocket()
		if r := noExtension(s.GetName(), s.GetTypedConfig()); r != nil {
			return r.below(inCluster("transport_socket_matches").Index(i).Field("transport_socket"))
		}
	}
	return nil
}

// protocolOptions: parseExtensionProtocolOptions, and ProtocolOptionsConfigImpl for HTTP (upstreams/http/config.cc).
func (b *build) protocolOptions() *refusal {
	at := inCluster("typed_extension_protocol_options")
	for _, name := range slices.Sorted(maps.Keys(b.m.GetTypedExtensionProtocolOptions())) {
		if !strings.HasPrefix(name, "envoy.") {
			return &refusal{at.Key(name), fmt.Sprintf("Envoy has no options for %q", name),
				fmt.Sprintf("Didn't find a registered network or http filter or protocol options implementation for name: '%s'", name)}
		}
	}
	o, ok := b.c.Cluster.HTTPOptions()
	at = at.Key(eds.HTTPOptionsName)
	socket := b.m.GetTransportSocket().GetTypedConfig().GetTypeUrl()
	plain := len(b.m.GetTransportSocketMatches()) == 0 && (socket == "" || strings.HasSuffix(socket, "/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"))
	switch {
	case !ok:
	case !o.Upstream:
		return &refusal{at, "one of explicit_http_config, use_downstream_protocol_config and auto_config is required",
			`Proto constraint validation failed (field: "upstream_protocol_options", reason: is required)`}
	case o.Explicit && !o.Protocol:
		return &refusal{at.Field("explicit_http_config"), "explicit_http_config says no protocol",
			`Proto constraint validation failed (HttpProtocolOptionsValidationError.ExplicitHttpConfig: embedded message failed validation | caused by field: "protocol_config", reason: is required)`}
	case o.Auto && plain:
		return &refusal{at.Field("auto_config"), "auto_config needs a transport socket with ALPN, such as TLS",
			fmt.Sprintf("ALPN configured for cluster %s which has a non-ALPN transport socket: <dump>", b.m.GetName())}
	case o.HTTP3 && plain:
		return &refusal{at.Field("explicit_http_config.http3_protocol_options"), "HTTP/3 needs a transport socket for QUIC",
			fmt.Sprintf("HTTP3 requires a QuicUpstreamTransport transport socket: %s <dump>", b.m.GetName())}
	}
	return nil
}

// httpOptions: createOptions and ProtocolOptionsConfigImpl, of the fields of the cluster itself.
func (b *build) httpOptions() *refusal {
	if _, typed := b.c.Cluster.HTTPOptions(); typed {
		return nil
	}
	http2 := b.m.GetHttp2ProtocolOptions() //nolint:staticcheck // still read
	at := inCluster("http2_protocol_options")
	if http2 != nil && b.m.GetHttpProtocolOptions() != nil && b.m.GetProtocolSelection() == clusterv3.Cluster_USE_CONFIGURED_PROTOCOL { //nolint:staticcheck // still read
		return &refusal{at, "http_protocol_options and http2_protocol_options cannot both be set",
			"cluster: Both HTTP1 and HTTP2 options may only be configured with non-default 'protocol_selection' values"}
	}
	says := http2Settings(http2)
	if says == "" {
		return nil
	}
	return &refusal{at.Field("custom_settings_parameters"), "a setting of HTTP/2 cannot be given this way", says}
}

// http2Settings: validateCustomSettingsParameters (http2/codec_impl or utility.cc, Http2::Utility). "" is fine.
func http2Settings(o *corev3.Http2ProtocolOptions) string {
	const push, connect, tableSize, streams, window = 2, 8, 1, 3, 4 // identifiers of RFC 9113, 6.5.2, and RFC 8441
	values := map[uint32]uint32{}
	var inconsistent, named []string
	for _, p := range o.GetCustomSettingsParameters() {
		id, value := p.GetIdentifier().GetValue(), p.GetValue().GetValue()
		if before, again := values[id]; again && before != value {
			inconsistent = append(inconsistent, fmt.Sprintf("0x%02x", id))
		} else {
			values[id] = value
		}
		switch {
		case id == push && value == 1:
			return "server push is not supported by Envoy and can not be enabled via a SETTINGS parameter."
		case id == connect:
			return `the "allow_connect" SETTINGS parameter must only be configured through the named field`
		case id == tableSize && o.GetHpackTableSize() != nil:
			named = append(named, "hpack_table_size")
		case id == streams && o.GetMaxConcurrentStreams() != nil:
			named = append(named, "max_concurrent_streams")
		case id == window && o.GetInitialStreamWindowSize() != nil:
			named = append(named, "initial_stream_window_size")
		}
	}
	switch {
	case len(inconsistent) > 0:
		return "inconsistent HTTP/2 custom SETTINGS parameter(s) detected; identifiers = {" + strings.Join(inconsistent, ",") + "}"
	case len(named) > 0:
		return "the {" + strings.Join(named, ",") + "} HTTP/2 SETTINGS parameter(s) can not be configured through both named and custom parameters"
	}
	return ""
}

// hostThresholds: of a single host only connections are limited. The first entry of a priority counts.
func hostThresholds(c *clusterv3.CircuitBreakers) *refusal {
	seen := map[corev3.RoutingPriority]bool{}
	for i, t := range c.GetPerHostThresholds() {
		if seen[t.GetPriority()] {
			continue
		}
		seen[t.GetPriority()] = true
		at := inCluster("circuit_breakers.per_host_thresholds").Index(i)
		for _, field := range []struct {
			name string
			set  bool
		}{
			{"max_pending_requests", t.GetMaxPendingRequests() != nil}, {"max_requests", t.GetMaxRequests() != nil}, {"max_retries", t.GetMaxRetries() != nil},
			{"max_connection_pools", t.GetMaxConnectionPools() != nil}, {"retry_budget", t.GetRetryBudget() != nil},
		} {
			if field.set {
				return &refusal{at.Field(field.name), "per_host_thresholds can have max_connections only", "Unsupported field in per_host_thresholds"}
			}
		}
	}
	return nil
}

func (b *build) maxRequests() *refusal {
	typed, _ := b.c.Cluster.HTTPOptions()
	common := b.m.GetCommonHttpProtocolOptions().GetMaxRequestsPerConnection()           //nolint:staticcheck // still read
	if b.m.GetMaxRequestsPerConnection() == nil || common == nil && !typed.MaxRequests { //nolint:staticcheck // still read
		return nil
	}
	return &refusal{inCluster("max_requests_per_connection"), "max_requests_per_connection is set in two places",
		"Only one of max_requests_per_connection from Cluster or HttpProtocolOptions can be specified"}
}

// bindConfig: parseBindConfig and the default selector of local addresses.
func (b *build) bindConfig() *refusal {
	bind := b.m.GetUpstreamBindConfig()
	at := inCluster("upstream_bind_config")
	owner := "Cluster " + b.m.GetName() + "'s upstream binding config"
	extra, additional := bind.GetExtraSourceAddresses(), bind.GetAdditionalSourceAddresses() //nolint:staticcheck // still read
	switch {
	case len(extra) > 0 && len(additional) > 0:
		return &refusal{at.Field("additional_source_addresses"), "additional_source_addresses cannot be combined with extra_source_addresses",
			"Can't specify both `extra_source_addresses` and `additional_source_addresses` in the " + owner}
	case bind.GetSourceAddress() == nil && len(extra)+len(additional) > 0:
		return &refusal{at, "extra source addresses need a source_address",
			owner + " has extra/additional source addresses but no source_address. Extra/additional addresses cannot be specified if source_address is not set."}
	}
	var addresses []address
	for _, source := range sources(bind) {
		a := resolveSocket(source.address)
		if a.says != "" {
			return &refusal{at.Join(source.at), a.words, a.says}
		}
		addresses = append(addresses, a)
	}
	switch {
	case len(addresses) > 2:
		return &refusal{at, "there can be one extra source address only",
			owner + " has more than one extra/additional source addresses. Only one extra/additional source can be supported in BindConfig's extra_source_addresses/additional_source_addresses field"}
	case len(addresses) == 2 && addresses[0].ip.Addr().Is4() == addresses[1].ip.Addr().Is4():
		return &refusal{at, "the two source addresses need different IP versions",
			owner + " has two same IP version source addresses. Only two different IP version source addresses can be supported in BindConfig's source_address and extra_source_addresses/additional_source_addresses fields"}
	}
	return nil
}

type sourceAddress struct {
	at      diag.Path
	address *corev3.SocketAddress
}

func sources(bind *corev3.BindConfig) []sourceAddress {
	var out []sourceAddress
	if a := bind.GetSourceAddress(); a != nil {
		out = append(out, sourceAddress{diag.Path{}.Field("source_address"), a})
	}
	for i, a := range bind.GetExtraSourceAddresses() {
		out = append(out, sourceAddress{diag.Path{}.Field("extra_source_addresses").Index(i).Field("address"), a.GetAddress()})
	}
	for i, a := range bind.GetAdditionalSourceAddresses() { //nolint:staticcheck // still read
		out = append(out, sourceAddress{diag.Path{}.Field("additional_source_addresses").Index(i), a})
	}
	return out
}

// dnsResolvers: the addresses of the resolvers of c-ares (dns_factory_util.cc, dns_resolver/cares/dns_impl.cc).
func (b *build) dnsResolvers() *refusal {
	config, at := b.m.GetTypedDnsResolverConfig(), inCluster("typed_dns_resolver_config")
	if b.m.GetClusterType() != nil {
		dns, in := b.dnsCluster()
		if config, at = dns.GetTypedDnsResolverConfig(), in.Field("typed_dns_resolver_config"); config == nil {
			return nil
		}
	}
	if config != nil {
		if config.GetTypedConfig().GetTypeUrl() == "" {
			return nil // an empty Any is the default resolver
		}
		return noExtension(config.GetName(), config.GetTypedConfig()).below(at)
	}
	field, list := "dns_resolution_config.resolvers", b.m.GetDnsResolutionConfig().GetResolvers() //nolint:staticcheck // still read
	if b.m.GetDnsResolutionConfig() == nil {                                                      //nolint:staticcheck // still read
		field, list = "dns_resolvers", b.m.GetDnsResolvers() //nolint:staticcheck // still read
	}
	for i, resolver := range list {
		at := inCluster(field).Index(i)
		switch a := resolve(resolver); {
		case a.says != "":
			return &refusal{at.Field(a.field), a.words, a.says}
		case a.kind == pipeAddress || a.kind == internalAddress:
			return &refusal{at, "a DNS resolver has an IP address", fmt.Sprintf("DNS resolver '%s' is not an IP address", a.name)}
		}
	}
	return nil
}

// originalDst: OriginalDstCluster (original_dst_cluster.cc).
func (b *build) originalDst() *refusal {
	config := b.m.GetOriginalDstLbConfig() //nolint:staticcheck // still read
	if b.m.GetType() != clusterv3.Cluster_ORIGINAL_DST || config.GetHttpHeaderName() == "" || config.GetUseHttpHeader() {
		return nil
	}
	return &refusal{inCluster("original_dst_lb_config.http_header_name"), "http_header_name needs use_http_header",
		fmt.Sprintf("ORIGINAL_DST cluster: invalid config http_header_name=%s and use_http_header is false. Set use_http_header to true if http_header_name is desired.", config.GetHttpHeaderName())}
}
