package xds

// Version is an API version as spelt on the wire. Transport (method names, node) and resource (type URLs) have one each.
type Version string

// The versions (xds-protocol.md 1). V3Alpha is that of the founding document, V3AlphaLate that of 2020-01-05 to 01-15,
// V3AlphaService the resource name of 2020-01-03 and 01-04 alone.
const (
	V2             Version = "v2"
	V3Alpha        Version = "v3alpha"
	V3AlphaService Version = "v3alpha-service"
	V3AlphaLate    Version = "v3alpha-late"
	V3             Version = "v3"
)

// TransportVersions and ResourceVersions are the values of the flags, in the order of help texts.
var (
	TransportVersions = []Version{V3, V2, V3Alpha, V3AlphaLate}
	ResourceVersions  = []Version{V3, V2, V3Alpha, V3AlphaService, V3AlphaLate}
)

// typePrefix stands before every type name in a type URL.
const typePrefix = "type.googleapis.com/"

// wireNames are the spellings of one version.
type wireNames struct {
	edsService, cdsService, adsService string // fully qualified service names; empty: the version has none
	rest                               string // first element of REST paths
	assignment, cluster                string // message names of the resources
}

func namesOf(v Version) wireNames {
	switch v {
	case V2:
		return wireNames{
			edsService: "envoy.api.v2.EndpointDiscoveryService", cdsService: "envoy.api.v2.ClusterDiscoveryService",
			adsService: "envoy.service.discovery.v2.AggregatedDiscoveryService", rest: "v2",
			assignment: "envoy.api.v2.ClusterLoadAssignment", cluster: "envoy.api.v2.Cluster",
		}
	case V3Alpha:
		return wireNames{
			edsService: "envoy.api.v3alpha.EndpointDiscoveryService", cdsService: "envoy.api.v3alpha.ClusterDiscoveryService",
			adsService: "envoy.service.discovery.v3alpha.AggregatedDiscoveryService", rest: "v3alpha",
			assignment: "envoy.api.v3alpha.ClusterLoadAssignment", cluster: "envoy.api.v3alpha.Cluster",
		}
	case V3AlphaService, V3AlphaLate:
		n := wireNames{
			edsService: "envoy.service.endpoint.v3alpha.EndpointDiscoveryService", cdsService: "envoy.service.cluster.v3alpha.ClusterDiscoveryService",
			adsService: "envoy.service.discovery.v3alpha.AggregatedDiscoveryService", rest: "v3alpha",
			assignment: "envoy.config.endpoint.v3alpha.ClusterLoadAssignment", cluster: "envoy.config.cluster.v3alpha.Cluster",
		}
		if v == V3AlphaService {
			n.assignment, n.cluster = "envoy.service.endpoint.v3alpha.ClusterLoadAssignment", "envoy.service.cluster.v3alpha.Cluster"
		}
		return n
	default:
		return wireNames{
			edsService: "envoy.service.endpoint.v3.EndpointDiscoveryService", cdsService: "envoy.service.cluster.v3.ClusterDiscoveryService",
			adsService: "envoy.service.discovery.v3.AggregatedDiscoveryService", rest: "v3",
			assignment: "envoy.config.endpoint.v3.ClusterLoadAssignment", cluster: "envoy.config.cluster.v3.Cluster",
		}
	}
}

// AssignmentURL is the type URL of a ClusterLoadAssignment in a version.
func AssignmentURL(v Version) string { return typePrefix + namesOf(v).assignment }

// ClusterURL is the type URL of a Cluster in a version.
func ClusterURL(v Version) string { return typePrefix + namesOf(v).cluster }

// resourceURLs are the type URLs of the Resource wrapper (xds-protocol.md 1.2).
const (
	wrapperV3 = typePrefix + "envoy.service.discovery.v3.Resource"
	wrapperV2 = typePrefix + "envoy.api.v2.Resource"
)

func isWrapper(typeURL string) bool { return typeURL == wrapperV3 || typeURL == wrapperV2 }
