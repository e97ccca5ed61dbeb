package eds

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/edsctl/edsctl/pkg/document"
)

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
	set := func(path ...httpField) bool { return onWire(config.GetValue(), path) }
	if len(config.GetValue()) == 0 {
		root := child(child(c.Node, "typed_extension_protocol_options"), HTTPOptionsName)
		set = func(path ...httpField) bool { return inText(root, path) }
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

// httpField is a field of HttpProtocolOptions or of a message in it.
type httpField struct {
	number protowire.Number
	name   string
}

var (
	commonOptions    = httpField{1, "common_http_protocol_options"}
	explicitConfig   = httpField{3, "explicit_http_config"}
	downstreamConfig = httpField{4, "use_downstream_protocol_config"}
	autoConfig       = httpField{5, "auto_config"}
	http1Options     = httpField{1, "http_protocol_options"}
	http2Options     = httpField{2, "http2_protocol_options"}
	http3Options     = httpField{3, "http3_protocol_options"}
	maxRequests      = httpField{6, "max_requests_per_connection"}
)

func inText(n document.Node, path []httpField) bool {
	for _, f := range path {
		if n = child(n, f.name); !n.IsValid() {
			return false
		}
	}
	return true
}

func onWire(data []byte, path []httpField) bool {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return false
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return false
		}
		if number == path[0].number && kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(data)
			if len(path) == 1 || onWire(inner, path[1:]) {
				return true
			}
		}
		data = data[n:]
	}
	return false
}
