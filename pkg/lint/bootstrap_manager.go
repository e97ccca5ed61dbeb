package lint

import (
	"fmt"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// providers are the cluster types that bring a load balancer of their own.
var providers = []string{
	eds.TypeOriginalDst, eds.TypeAggregate, "envoy.clusters.composite", "envoy.clusters.dynamic_forward_proxy", "envoy.clusters.dynamic_modules",
	"envoy.clusters.mcp_multicluster", "envoy.clusters.reverse_connection",
}

// byManager checks what the cluster manager does when a cluster has been made (cluster_manager_impl.cc, loadCluster).
func (b *build) byManager() {
	if b.isDuplicate() {
		b.envoy(stageDuplicate, "cluster-name-duplicate", inCluster("name"), fmt.Sprintf("there is another cluster %q before this one", b.m.GetName()),
			fmt.Sprintf("cluster manager: duplicate cluster '%s'", b.m.GetName()))
	}
	if b.isDuplicateInCDS() {
		b.envoy(stageTwice, "cluster-name-duplicate", inCluster("name"), fmt.Sprintf("there is another cluster %q before this one, which is the one that Envoy applies", b.m.GetName()),
			fmt.Sprintf("duplicate cluster %s found", b.m.GetName()))
	}
	b.provided()
	boot := b.c.Bootstrap
	if boot == nil || boot.LocalClusterName == "" {
		return
	}
	at := diag.Path{}.Field("bootstrap.cluster_manager.local_cluster_name")
	switch {
	case len(boot.Named(boot.LocalClusterName)) == 0:
		b.envoy(stageLocal, "local-cluster-unknown", at, fmt.Sprintf("local_cluster_name %q is no cluster of the bootstrap", boot.LocalClusterName),
			fmt.Sprintf("local cluster '%s' must be defined", boot.LocalClusterName))
	case b.kind == eds.TypeAggregate && b.m.GetName() == boot.LocalClusterName:
		b.envoyEffect(diag.Crash, stageLocal, "cluster-constraint", at, "an aggregate cluster as the local cluster ends the Envoy process",
			"Caught Segmentation fault")
	}
}

// isDuplicate tells whether an earlier cluster of the bootstrap has the same name.
func (b *build) isDuplicate() bool {
	if b.c.Bootstrap == nil || b.c.Cluster == nil || b.c.Cluster.FromFlag {
		return false
	}
	same := b.c.Bootstrap.Named(b.m.GetName()) // in the order of their indices
	return len(same) > 0 && same[0].Index < b.c.Cluster.Index
}

// isDuplicateInCDS tells whether an earlier cluster of the CDS response has the same name.
func (b *build) isDuplicateInCDS() bool {
	res := b.c.Resource
	if b.c.Bootstrap != nil || b.c.Cluster == nil || b.c.Cluster.FromFlag || res.Response == nil || res.Followed || res.Shape != eds.ShapeCDS {
		return false
	}
	copies, first, _ := res.Response.Uses()
	return copies > 1 && first < res.Response.Index
}

// provided compares the policy with the type.
func (b *build) provided() {
	const rule = "lb-policy-cluster-provided"
	policy := &b.policies[diag.Envoy]
	if _, known := eds.ClusterFactory(b.m); !known || policy.Name == "" {
		return
	}
	provides := slices.Contains(providers, b.kind) || b.kind == typeRedis && b.m.GetLbPolicy() == clusterv3.Cluster_CLUSTER_PROVIDED // redis_cluster.cc
	wants := policy.Name == "cluster_provided"
	at := policy.Path
	if !policy.FromExtension {
		at = inCluster("lb_policy")
	}
	switch {
	case wants && !provides:
		b.envoy(stageProvided, rule, at, "a cluster of this type provides no load balancer for CLUSTER_PROVIDED",
			fmt.Sprintf("cluster manager: cluster provided LB specified but cluster '%s' did not provide one. Check cluster documentation.", b.m.GetName()))
	case !wants && provides:
		b.envoy(stageProvided, rule, at, "a cluster of this type provides its load balancer: lb_policy must be CLUSTER_PROVIDED",
			fmt.Sprintf("cluster manager: cluster provided LB not specified but cluster '%s' provided one. Check cluster documentation.", b.m.GetName()))
	}
}
