package eds

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
)

// The cluster types that edsctl models, in the words of the registry (envoy-eds-rules.md 0.5).
const (
	TypeEDS         = "eds"
	TypeStatic      = "static"
	TypeStrictDNS   = "strict_dns"
	TypeLogicalDNS  = "logical_dns"
	TypeOriginalDst = "original_dst"
	TypeAggregate   = "aggregate"
)

// AggregateName is the cluster_type name of aggregate clusters.
const AggregateName = "envoy.clusters.aggregate"

const dnsMessage = "envoy.extensions.clusters.dns.v3.DnsCluster"

// clusterFactories are the names of all cluster types of Envoy with the type in edsctl's words; an empty word stands
// for a type that edsctl does not model.
var clusterFactories = map[string]string{
	"envoy.cluster.static": TypeStatic, "envoy.cluster.eds": TypeEDS, "envoy.cluster.strict_dns": TypeStrictDNS,
	"envoy.cluster.logical_dns": TypeLogicalDNS, "envoy.cluster.original_dst": TypeOriginalDst, "envoy.cluster.dns": TypeStrictDNS,
	AggregateName: TypeAggregate, "envoy.clusters.composite": "", "envoy.clusters.dynamic_forward_proxy": "", "envoy.clusters.dynamic_modules": "",
	"envoy.clusters.mcp_multicluster": "", "envoy.clusters.redis": "", "envoy.clusters.reverse_connection": "",
}

// clusterMessages are the messages that configure a cluster type: Envoy goes by the message, by the name only when the
// message is none of these (cluster_factory_impl.cc).
var clusterMessages = map[string]string{
	dnsMessage: "envoy.cluster.dns",
	"envoy.extensions.clusters.aggregate.v3.ClusterConfig":                           AggregateName,
	"envoy.extensions.clusters.composite.v3.ClusterConfig":                           "envoy.clusters.composite",
	"envoy.extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig":               "envoy.clusters.dynamic_forward_proxy",
	"envoy.extensions.clusters.dynamic_modules.v3.ClusterConfig":                     "envoy.clusters.dynamic_modules",
	"envoy.extensions.clusters.mcp_multicluster.v3.ClusterConfig":                    "envoy.clusters.mcp_multicluster",
	"envoy.extensions.clusters.redis.v3.RedisClusterConfig":                          "envoy.clusters.redis",
	"envoy.extensions.clusters.reverse_connection.v3.ReverseConnectionClusterConfig": "envoy.clusters.reverse_connection",
	"envoy.extensions.clusters.original_dst.v3.OriginalDstCluster":                   "envoy.cluster.original_dst",
}

var builtInTypes = map[clusterv3.Cluster_DiscoveryType]string{
	clusterv3.Cluster_STATIC: "envoy.cluster.static", clusterv3.Cluster_STRICT_DNS: "envoy.cluster.strict_dns", clusterv3.Cluster_LOGICAL_DNS: "envoy.cluster.logical_dns",
	clusterv3.Cluster_EDS: "envoy.cluster.eds", clusterv3.Cluster_ORIGINAL_DST: "envoy.cluster.original_dst",
}

// ClusterFactory is the name of the factory that makes the cluster in Envoy; known is false when there is none.
func ClusterFactory(m *clusterv3.Cluster) (name string, known bool) {
	custom := m.GetClusterType()
	if custom == nil {
		name, known = builtInTypes[m.GetType()]
		return name, known
	}
	if name, known = clusterMessages[messageName(custom.GetTypedConfig().GetTypeUrl())]; known {
		return name, true
	}
	_, known = clusterFactories[custom.GetName()]
	return custom.GetName(), known
}

// ClusterType is the type of a cluster as Envoy takes it: one of the types above, else the name of its factory.
func ClusterType(m *clusterv3.Cluster) string {
	name, _ := ClusterFactory(m)
	word := clusterFactories[name]
	if word == "" {
		return name
	}
	if name == "envoy.cluster.dns" && allInOneEndpoint(m) {
		return TypeLogicalDNS
	}
	return word
}

func allInOneEndpoint(m *clusterv3.Cluster) bool {
	var dns dnsv3.DnsCluster
	return m.GetClusterType().GetTypedConfig().UnmarshalTo(&dns) == nil && dns.GetAllAddressesInSingleEndpoint()
}

// AggregateMembers are the names of the clusters that an aggregate cluster lists; nil for other clusters.
func AggregateMembers(m *clusterv3.Cluster) []string {
	var config aggregatev3.ClusterConfig
	if ClusterType(m) != TypeAggregate || m.GetClusterType().GetTypedConfig().UnmarshalTo(&config) != nil {
		return nil
	}
	return config.GetClusters()
}

// GRPCAggregate is what grpc-go reads as the members of an aggregate cluster, whatever the type of its message; says is why
// it cannot (unmarshal_cds.go).
func GRPCAggregate(m *clusterv3.Cluster) (members []string, says string) {
	var config aggregatev3.ClusterConfig
	says = grpcDecode(m.GetClusterType().GetTypedConfig().GetValue(), &config)
	return config.GetClusters(), says
}
