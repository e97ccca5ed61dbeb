package eds

import (
	"slices"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	apiv2 "github.com/edsctl/edsctl/pkg/api/envoy/api/v2"
	apiv3alpha "github.com/edsctl/edsctl/pkg/api/envoy/api/v3alpha"
)

// urlPrefix is what Envoy and gRPC put before the name of a message in a type URL.
const urlPrefix = "type.googleapis.com/"

// Names of the messages by API version (api-versions.md 1, xds-protocol.md 1.2). The first name is the one to write;
// v3alpha was renamed twice in its last fortnight, and those two spellings are read as well.
var (
	assignmentNames = map[APIVersion][]string{
		V2: {"envoy.api.v2.ClusterLoadAssignment"},
		V3Alpha: {
			"envoy.api.v3alpha.ClusterLoadAssignment",
			"envoy.service.endpoint.v3alpha.ClusterLoadAssignment",
			"envoy.config.endpoint.v3alpha.ClusterLoadAssignment",
		},
		V3: {"envoy.config.endpoint.v3.ClusterLoadAssignment"},
	}
	clusterNames = map[APIVersion][]string{
		V2:      {"envoy.api.v2.Cluster"},
		V3Alpha: {"envoy.api.v3alpha.Cluster", "envoy.config.cluster.v3alpha.Cluster"},
		V3:      {"envoy.config.cluster.v3.Cluster"},
	}
	wrapperNames = map[APIVersion][]string{
		V2:      {"envoy.api.v2.Resource"},
		V3Alpha: {"envoy.api.v3alpha.Resource", "envoy.service.discovery.v3alpha.Resource"},
		V3:      {"envoy.service.discovery.v3.Resource"},
	}
)

// APIVersions lists the versions, oldest first.
var APIVersions = []APIVersion{V2, V3Alpha, V3}

// AssignmentURL is the type URL of an assignment in a version.
func AssignmentURL(v APIVersion) string { return urlPrefix + assignmentNames[v][0] }

// ClusterURL is the type URL of a Cluster in a version.
func ClusterURL(v APIVersion) string { return urlPrefix + clusterNames[v][0] }

// WrapperURL is the type URL of a Resource in a version.
func WrapperURL(v APIVersion) string { return urlPrefix + wrapperNames[v][0] }

// VersionOfURL is the version of the assignment that a type URL names; false when it names something else. As in
// protobuf, the name is what follows the last slash.
func VersionOfURL(url string) (APIVersion, bool) { return versionIn(assignmentNames, url) }

// ClusterVersionOfURL is VersionOfURL for Clusters.
func ClusterVersionOfURL(url string) (APIVersion, bool) { return versionIn(clusterNames, url) }

// WrapperVersionOfURL is VersionOfURL for the Resource message that may wrap an assignment in a response.
func WrapperVersionOfURL(url string) (APIVersion, bool) { return versionIn(wrapperNames, url) }

func versionIn(names map[APIVersion][]string, url string) (APIVersion, bool) {
	slash := strings.LastIndexByte(url, '/')
	if slash < 0 {
		return "", false
	}
	for v, ns := range names {
		if slices.Contains(ns, url[slash+1:]) {
			return v, true
		}
	}
	return "", false
}

// NewAssignment makes an empty assignment of a version. Its PGV rules are those of that version.
func NewAssignment(v APIVersion) proto.Message {
	switch v {
	case V2:
		return &apiv2.ClusterLoadAssignment{}
	case V3Alpha:
		return &apiv3alpha.ClusterLoadAssignment{}
	default:
		return &endpointv3.ClusterLoadAssignment{}
	}
}
