package eds

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
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

// clusterMessages are the messages that configure a cluster type.
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

// ClusterFactory is the name of the factory that makes the cluster in Envoy; known is false when there is none, and the name
// then that of the message by which Envoy looked for one, or of the cluster_type (cluster_factory_impl.cc, create).
func ClusterFactory(m *clusterv3.Cluster) (name string, known bool) {
	custom := m.GetClusterType()
	switch {
	case custom == nil:
		name, known = builtInTypes[m.GetType()]
		return name, known
	case ClusterByMessage(m):
		message := messageName(custom.GetTypedConfig().GetTypeUrl())
		if name, known = clusterMessages[message]; known {
			return name, true
		}
		return message, false
	}
	_, known = clusterFactories[custom.GetName()]
	return custom.GetName(), known
}

// ClusterByMessage tells whether Envoy goes by the message of the cluster_type: by the name only when there is none, or a Struct.
func ClusterByMessage(m *clusterv3.Cluster) bool {
	config := m.GetClusterType().GetTypedConfig()
	return config != nil && messageName(config.GetTypeUrl()) != structName
}

const structName = "google.protobuf.Struct"

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
	config, _, _ := ClusterConfig(m, NewestEnvoy)
	dns, ok := config.(*dnsv3.DnsCluster)
	return ok && dns.GetAllAddressesInSingleEndpoint()
}

// AggregateMembers are the names of the clusters that an aggregate cluster lists; nil for other clusters.
func AggregateMembers(m *clusterv3.Cluster) []string {
	config, _, _ := ClusterConfig(m, NewestEnvoy)
	aggregate, _ := config.(*aggregatev3.ClusterConfig)
	return aggregate.GetClusters()
}

// ClusterConfig is the message that configures the type of a cluster, and where it is written; nil for types that edsctl does
// not model. What Envoy says of the values of a Struct in its place is the refusal, nil when nothing.
func ClusterConfig(m *clusterv3.Cluster, version int) (config proto.Message, at diag.Path, refusal *Refusal) {
	if m.GetClusterType() == nil {
		return nil, nil, nil
	}
	switch name, _ := ClusterFactory(m); name {
	case AggregateName:
		config = &aggregatev3.ClusterConfig{}
	case "envoy.cluster.dns":
		config = &dnsv3.DnsCluster{}
	default:
		return nil, nil, nil
	}
	at = clusterPath("cluster_type.typed_config")
	value := m.GetClusterType().GetTypedConfig().GetValue()
	if ClusterByMessage(m) {
		_ = proto.Unmarshal(value, config) // what cannot be read stays empty
		return config, at, nil
	}
	var values structpb.Struct
	_ = proto.Unmarshal(value, &values)
	at = at.Field("value")
	if bad := fromStruct(&values, config, version); bad != nil {
		refusal = new(valuesRefusal(bad, at))
	}
	return config, at, refusal
}

// GRPCAggregate is what grpc-go reads as the members of an aggregate cluster, whatever the type of its message; says is why
// it cannot (unmarshal_cds.go).
func GRPCAggregate(m *clusterv3.Cluster) (members []string, says string) {
	var config aggregatev3.ClusterConfig
	says = grpcDecode(m.GetClusterType().GetTypedConfig().GetValue(), &config)
	return config.GetClusters(), says
}
