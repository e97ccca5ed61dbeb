package lint

import (
	"fmt"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// byType checks the type of the cluster and what belongs to it, in the order in which Envoy's factories do.
func (b *build) byType() {
	factory, known := eds.ClusterFactory(b.m)
	if !known {
		b.unknownType(factory)
		return
	}
	b.useHostname(factory)
	b.byConfig()
	switch b.kind {
	case eds.TypeEDS:
		if b.m.GetEdsClusterConfig() == nil {
			b.envoy(stageType, "eds-cluster-without-config", inCluster("eds_cluster_config"), "an EDS cluster needs an eds_cluster_config",
				"cannot create an EDS cluster without an EDS config")
		}
	case eds.TypeOriginalDst, "envoy.clusters.reverse_connection":
		b.withoutAssignment()
	case typeRedis:
		if b.m.GetClusterType().GetName() != typeRedis { // redis_cluster.cc, createClusterWithConfig
			b.envoy(stageType, "cluster-constraint", inCluster("cluster_type.name"), "a Redis cluster needs the name "+typeRedis,
				"Redis cluster can only created with redis cluster type.")
		}
	case eds.TypeStatic:
		for i, group := range b.assignment.GetEndpoints() {
			if group.GetLedsClusterLocalityConfig() != nil {
				b.envoy(stageType, "leds-static-cluster", b.inLoadAssignment("endpoints").Index(i).Field("leds_cluster_locality_config"),
					"a STATIC cluster cannot use LEDS",
					fmt.Sprintf("LEDS is only supported when EDS is used. Static cluster %s cannot use LEDS.", b.m.GetName()))
				break
			}
		}
	case eds.TypeLogicalDNS:
		b.cardinality()
		b.resolver("LOGICAL_DNS")
	case eds.TypeStrictDNS:
		b.resolver("STRICT_DNS")
	}
	b.ledsIgnored()
}

const typeRedis = "envoy.clusters.redis"

// unknownType: there is no factory of that name, or for that message.
func (b *build) unknownType(factory string) {
	if eds.ClusterByMessage(b.m) {
		b.envoy(stageType, "cluster-type-unknown", inCluster("cluster_type.typed_config"), fmt.Sprintf("%q configures no cluster type that Envoy has", factory),
			fmt.Sprintf("Didn't find a registered cluster factory implementation for type: '%s'", factory))
		return
	}
	b.envoy(stageType, "cluster-type-unknown", inCluster("cluster_type.name"), fmt.Sprintf("cluster_type %q is none that Envoy has", factory),
		fmt.Sprintf("Didn't find a registered cluster factory implementation for name: '%s'", factory))
}

// useHostname: ClusterFactoryImplBase::create asks for `type`, so no cluster_type will do; it prints the name that it
// looked for, and none where the message of the cluster_type told it what to make.
func (b *build) useHostname(factory string) {
	at := inCluster("common_lb_config.consistent_hashing_lb_config.use_hostname_for_hashing")
	if !b.m.GetCommonLbConfig().GetConsistentHashingLbConfig().GetUseHostnameForHashing() {
		return
	}
	if b.m.GetClusterType() == nil && b.kind == eds.TypeStrictDNS {
		return
	}
	if b.m.GetClusterType().GetTypedConfig() != nil {
		factory = ""
	}
	b.envoy(stageHostname, "use-hostname-for-hashing-type", at, "use_hostname_for_hashing in common_lb_config needs a STRICT_DNS cluster: use it in the extension of the policy",
		fmt.Sprintf("Cannot use hostname for consistent hashing loadbalancing for cluster of type: '%s'", factory))
}

// withoutAssignment: original_dst_cluster.cc and reverse_connection.cc.
func (b *build) withoutAssignment() {
	provided, label, says := "ORIGINAL_DST", "an ORIGINAL_DST cluster", "ORIGINAL_DST clusters must have no load assignment configured"
	if b.kind != eds.TypeOriginalDst {
		provided, label, says = "REVERSE_CONNECTION", "a reverse connection cluster", "Reverse Conn clusters must have no load assignment configured"
	}
	if policy := b.m.GetLbPolicy(); policy.String() != "CLUSTER_PROVIDED" {
		name := b.m.GetType().String()
		if custom := b.m.GetClusterType(); custom != nil {
			name = custom.GetName()
		}
		b.envoy(stageType, "lb-policy-cluster-provided", inCluster("lb_policy"), fmt.Sprintf("%s needs lb_policy CLUSTER_PROVIDED, not %s", label, policy),
			fmt.Sprintf("cluster: LB policy %s is not valid for Cluster type %s. Only 'CLUSTER_PROVIDED' is allowed with cluster type '%s'", policy, name, provided))
	}
	if b.m.GetLoadAssignment() != nil || b.c.InLoadAssignment() && !b.c.Resource.Absent {
		b.envoy(stageType, "cluster-type-no-load-assignment", b.inLoadAssignment(""), label+" must not have a load_assignment", says)
	}
}

// cardinality: dns_cluster.cc and logical_dns_cluster.cc; for gRPC unmarshal_cds.go, dnsHostNameFromCluster.
func (b *build) cardinality() {
	const rule = "logical-dns-cardinality"
	groups := b.assignment.GetEndpoints()
	dns := b.m.GetClusterType() == nil // gRPC knows the type LOGICAL_DNS only
	switch {
	case b.assignment == nil && b.c.Cluster.HasUnknown("hosts"): // the endpoints are there, in the form of v2
	case b.assignment == nil && b.c.Resource.Shape == eds.ShapeConfigDump: // of a cluster that runs, and its endpoints are in the dump
	case b.assignment == nil:
		at, message := inCluster("load_assignment"), "a LOGICAL_DNS cluster needs a load_assignment with exactly one endpoint"
		b.envoy(stageType, rule, at, message, "LOGICAL_DNS clusters must have a single host")
		b.grpcIf(dns, rule, at, message, "load_assignment not present for LOGICAL_DNS cluster")
	case len(groups) != 1:
		at, message := b.inLoadAssignment("endpoints"), fmt.Sprintf("a LOGICAL_DNS cluster needs exactly one locality with one endpoint, got %d localities", len(groups))
		b.envoy(stageType, rule, at, message, logicalDNSSingle)
		b.grpcIf(dns, rule, at, message, "load_assignment for LOGICAL_DNS cluster must have exactly one locality, got: <dump>")
	case len(groups[0].GetLbEndpoints()) != 1:
		n := len(groups[0].GetLbEndpoints())
		at, message := b.inLoadAssignment("endpoints").Index(0).Field("lb_endpoints"), fmt.Sprintf("a LOGICAL_DNS cluster needs exactly one endpoint, got %d", n)
		b.envoy(stageType, rule, at, message, logicalDNSSingle)
		dump := "<dump>"
		if n == 0 {
			dump = "[]"
		}
		b.grpcIf(dns, rule, at, message, "locality for LOGICAL_DNS cluster must have exactly one endpoint, got: "+dump)
	}
}

const logicalDNSSingle = "LOGICAL_DNS clusters must have a single locality_lb_endpoint and a single lb_endpoint"

// resolver: the DNS types refuse any resolver_name before they look at the policy.
func (b *build) resolver(label string) {
	for i, group := range b.assignment.GetEndpoints() {
		for j, end := range group.GetLbEndpoints() {
			name := end.GetEndpoint().GetAddress().GetSocketAddress().GetResolverName()
			if name == "" {
				continue
			}
			at := b.inLoadAssignment("endpoints").Index(i).Field("lb_endpoints").Index(j).Field("endpoint.address.socket_address.resolver_name")
			message := fmt.Sprintf("a DNS cluster must not set resolver_name, got %q", name)
			b.envoy(stageType, "resolver-in-dns", at, message, label+" clusters must NOT have a custom resolver name set")
			b.grpcIf(label == "LOGICAL_DNS" && b.m.GetClusterType() == nil, "resolver-in-dns", at, message,
				"socket address for endpoint for LOGICAL_DNS cluster not set has unexpected custom resolver name: "+name)
		}
	}
}

// ledsIgnored: DNS clusters do not look at leds_cluster_locality_config.
func (b *build) ledsIgnored() {
	if b.kind != eds.TypeStrictDNS && b.kind != eds.TypeLogicalDNS || !b.c.InLoadAssignment() {
		return
	}
	for i, group := range b.assignment.GetEndpoints() {
		if group.GetLedsClusterLocalityConfig() != nil {
			b.envoyEffect(diag.Ignore, "-", "leds-static-cluster", b.inLoadAssignment("endpoints").Index(i).Field("leds_cluster_locality_config"),
				"a DNS cluster does not use LEDS: the locality has no endpoints", "")
		}
	}
}
