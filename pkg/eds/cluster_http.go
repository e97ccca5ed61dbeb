package eds

// HTTPOptionsName is the key of typed_extension_protocol_options under which a cluster's HTTP settings are.
const HTTPOptionsName = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// HTTPOptions is what edsctl reads of the HttpProtocolOptions of a cluster (upstreams/http/v3/http_protocol_options.proto),
// whose package is not linked.
type HTTPOptions struct {
	Upstream    bool // upstream_protocol_options, a required oneof, has a member
	Explicit    bool // it is explicit_http_config
	Protocol    bool // which says HTTP/1, HTTP/2 or HTTP/3
	HTTP2       bool // the cluster speaks HTTP/2: by explicit_http_config, use_downstream_protocol_config or auto_config
	HTTP3       bool // explicit_http_config says HTTP/3
	Auto        bool // it is auto_config: what ALPN finds
	MaxRequests bool // common_http_protocol_options has max_requests_per_connection
}

// HTTPOptions reads the HttpProtocolOptions of the cluster; false when it has none.
func (c *Cluster) HTTPOptions() (HTTPOptions, bool) {
	config, ok := c.Message.GetTypedExtensionProtocolOptions()[HTTPOptionsName]
	if !ok {
		return HTTPOptions{}, false
	}
	root := messageOf(config, child(child(c.Node, "typed_extension_protocol_options"), HTTPOptionsName), nil)
	set := func(path ...unlinkedField) bool {
		m, ok := root, true
		for _, f := range path {
			if m, ok = m.message(f); !ok {
				return false
			}
		}
		return true
	}
	o := HTTPOptions{
		Explicit: set(explicitConfig), Auto: set(autoConfig), HTTP3: set(explicitConfig, http3Options),
		HTTP2:       set(explicitConfig, http2Options) || set(downstreamConfig, http2Options) || set(autoConfig),
		MaxRequests: set(commonOptions, maxRequests),
	}
	o.Protocol = set(explicitConfig, http1Options) || set(explicitConfig, http2Options) || o.HTTP3
	o.Upstream = o.Explicit || o.Auto || set(downstreamConfig)
	return o, true
}

// Fields of HttpProtocolOptions and of the messages in it.
var (
	commonOptions    = unlinkedField{"common_http_protocol_options", 1}
	explicitConfig   = unlinkedField{"explicit_http_config", 3}
	downstreamConfig = unlinkedField{"use_downstream_protocol_config", 4}
	autoConfig       = unlinkedField{"auto_config", 5}
	http1Options     = unlinkedField{"http_protocol_options", 1}
	http2Options     = unlinkedField{"http2_protocol_options", 2}
	http3Options     = unlinkedField{"http3_protocol_options", 3}
	maxRequests      = unlinkedField{"max_requests_per_connection", 6}
)
