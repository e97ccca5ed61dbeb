package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// buildVersionField is Node.build_version of v2 and v3alpha, reserved in v3 (api-versions.md 3).
const buildVersionField = 5

// nodeFor puts a node into the shape of a transport version. The messages of all versions are compatible on the wire,
// so the v3 message is sent with the fields that the version knows; v2 and v3alpha name the user agent in build_version.
func nodeFor(n *corev3.Node, v Version) *corev3.Node {
	if v == V3 {
		return n
	}
	out := proto.Clone(n).(*corev3.Node)
	agent := n.GetUserAgentName()
	if version := n.GetUserAgentVersion(); version != "" {
		agent += "/" + version
	}
	out.DynamicParameters = nil
	if v != V2 {
		out = &corev3.Node{Id: n.GetId(), Cluster: n.GetCluster(), Metadata: n.GetMetadata(), Locality: n.GetLocality()}
	}
	if agent != "" {
		raw := protowire.AppendTag(nil, buildVersionField, protowire.BytesType)
		out.ProtoReflect().SetUnknown(append(protowire.AppendString(raw, agent), out.ProtoReflect().GetUnknown()...))
	}
	return out
}
