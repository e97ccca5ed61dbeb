package lint

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
)

const (
	addressType  = "type.googleapis.com/envoy.config.core.v3.Address"
	audienceType = "type.googleapis.com/envoy.extensions.filters.http.gcp_authn.v3.Audience"

	httpConnect = "GRPC_EXPERIMENTAL_XDS_HTTP_CONNECT"
	gcpAuthn    = "GRPC_EXPERIMENTAL_XDS_GCP_AUTHENTICATION_FILTER"
)

// grpcMetadata reports typed_filter_metadata that grpc-go converts and refuses when an environment variable switches the
// conversion on (metadata.go). Keys are looked at in ascending order; grpc-go takes them in any.
func grpcMetadata(c *Context, report func(diag.Problem)) {
	on := func(variable string) bool { return c.Getenv != nil && strings.EqualFold(c.Getenv(variable), "true") }
	proxy, audience := on(httpConnect), on(gcpAuthn)
	if !proxy && !audience {
		return
	}
	check := func(m *corev3.Metadata, at diag.Path) {
		for _, key := range slices.Sorted(maps.Keys(m.GetTypedFilterMetadata())) {
			value := m.GetTypedFilterMetadata()[key]
			reason := ""
			switch url := value.GetTypeUrl(); {
			case url == addressType && proxy:
				reason = proxyReason(value)
			case url == audienceType && audience && len(audienceURL(value)) == 0:
				reason = "empty url field in audience metadata"
			}
			if reason != "" {
				p := diag.Problem{Rule: "grpc-typed-metadata-invalid", Path: at.Field("typed_filter_metadata").Key(key), Message: "gRPC refuses this metadata: " + reason}
				p.GRPC = diag.Override{Effect: new(diag.Reject), Message: fmt.Sprintf("metadata conversion for key %q and type %q failed: %s", key, value.GetTypeUrl(), reason)}
				report(p)
			}
		}
	}
	for i, group := range c.Resource.Assignment.GetEndpoints() {
		if group.GetLoadBalancingWeight().GetValue() == 0 {
			continue
		}
		for j, end := range group.GetLbEndpoints() {
			check(end.GetMetadata(), endpointPath(i, j).Field("metadata"))
		}
		if proxy {
			check(group.GetMetadata(), groupPath(i).Field("metadata"))
		}
	}
}

// proxyReason is why proxyAddressConverter refuses an address; empty when it takes it.
func proxyReason(value *anypb.Any) string {
	var a corev3.Address
	if err := proto.Unmarshal(value.GetValue(), &a); err != nil {
		return "failed to unmarshal resource from Any proto: <dump>"
	}
	s := a.GetSocketAddress()
	if s == nil {
		return "no socket_address field in metadata"
	}
	if _, err := netip.ParseAddr(s.GetAddress()); err != nil {
		return fmt.Sprintf("address field is not a valid IPv4 or IPv6 address: %q", s.GetAddress())
	}
	if s.GetPortValue() == 0 {
		return "port value not set in socket_address"
	}
	return ""
}

// audienceURL is the field url, number 1, of an Audience: the last one on the wire.
func audienceURL(value *anypb.Any) []byte {
	var url []byte
	for b := value.GetValue(); len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return url
		}
		b = b[n:]
		if number == 1 && kind == protowire.BytesType {
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return url
			}
			url, b = v, b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return url
		}
		b = b[n:]
	}
	return url
}
