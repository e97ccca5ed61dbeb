package lint

import (
	"fmt"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// byGRPC checks the type of the cluster as grpc-go does when it has taken the policy (unmarshal_cds.go).
func (b *build) byGRPC() {
	if b.c.Bootstrap != nil && !b.c.Cluster.FromFlag {
		return // gRPC reads no bootstrap
	}
	g := &b.policies[diag.GRPC]
	for i := range g.Refusals {
		b.grpcRefusal(&g.Refusals[i], hashOf(g))
	}
	b.grpcFields()
	factory, _ := eds.ClusterFactory(b.m)
	switch custom := b.m.GetClusterType(); {
	case custom == nil && b.kind == eds.TypeEDS:
		b.grpcEDS()
	case custom == nil && b.kind == eds.TypeLogicalDNS:
		// cardinality and resolver, and the rules about the address
	case custom.GetName() == eds.AggregateName:
		b.grpcAggregate()
	case custom == nil:
		b.grpcType(fmt.Sprintf("gRPC does not know clusters of type %s", b.m.GetType()), fmt.Sprintf("unsupported cluster type (%s, <nil>) in response: <dump>", b.m.GetType()))
	default:
		b.grpcType(fmt.Sprintf("gRPC does not know clusters of type %q", factory), fmt.Sprintf("unsupported cluster type (%s, <dump>) in response: <dump>", b.m.GetType()))
	}
}

func (b *build) grpcAggregate() {
	members, says := eds.GRPCAggregate(b.m)
	at := inCluster("cluster_type.typed_config")
	switch {
	case says != "":
		b.grpc(diag.Reject, grpcStageType, "cluster-constraint", at, "the bytes are no aggregate ClusterConfig", says)
	case len(members) == 0:
		b.grpc(diag.Reject, grpcStageType, "cluster-constraint", at.Field("clusters"), "an aggregate cluster needs clusters",
			"xds: aggregate cluster has empty clusters field in response: <dump>")
	}
}

func (b *build) grpcType(message, says string) {
	rule, at := "grpc-cluster-type-unsupported", inCluster("type")
	if b.m.GetClusterType() != nil {
		at = inCluster("cluster_type.name")
		for _, where := range []diag.Path{at, inCluster("cluster_type.typed_config")} {
			if i, ok := b.index["cluster-type-unknown "+where.String()]; ok { // Envoy does not know it either
				rule, at = b.problems[i].Rule, where
			}
		}
	}
	b.grpc(diag.Reject, grpcStageType, rule, at, message, says)
}

func (b *build) grpcEDS() {
	config := b.m.GetEdsClusterConfig()
	source := config.GetEdsConfig()
	if source.GetAds() == nil && source.GetSelf() == nil {
		rule, at := "grpc-eds-config-source", inCluster("eds_cluster_config.eds_config")
		for _, where := range []string{"eds_cluster_config", "eds_cluster_config.eds_config"} {
			if _, ok := b.index["eds-cluster-without-config "+inCluster(where).String()]; ok {
				rule, at = "eds-cluster-without-config", inCluster(where)
			}
		}
		b.grpc(diag.Reject, grpcStageType, rule, at, "gRPC takes EDS from ads or self only", "CDS's EDS config source is not ADS or Self: <dump>")
	}
	if strings.HasPrefix(b.m.GetName(), "xdstp:") && config.GetServiceName() == "" {
		b.grpc(diag.Reject, grpcStageType, "grpc-xdstp-service-name", inCluster("eds_cluster_config.service_name"),
			"a cluster with an xdstp: name needs a service_name for gRPC", "CDS's EDS service name is not set with a new-style cluster name: <dump>")
	}
}

// grpcIf records a refusal of a LOGICAL_DNS cluster, when gRPC knows the cluster as one.
func (b *build) grpcIf(known bool, rule string, at diag.Path, message, says string) {
	if known {
		b.grpc(diag.Reject, grpcStageType, rule, at, message, says)
	}
}

// GRPCReads tells whether gRPC looks at the assignment at all: not at the load_assignment of an EDS or aggregate
// cluster (grpc-eds.md 4.1).
func (c *Context) GRPCReads() bool {
	if !c.InLoadAssignment() || c.Cluster == nil {
		return true
	}
	kind := c.ClusterType()
	return kind != TypeEDS && kind != TypeAggregate
}
