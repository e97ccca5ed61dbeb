package simulate

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	pickfirstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// clusterKind is how the endpoints of a cluster come about.
type clusterKind uint8

const (
	kindEDS clusterKind = iota
	kindStatic
	kindStrictDNS
	kindLogicalDNS
	kindNoEndpoints // aggregate, original_dst and types that edsctl does not know: the assignment plays no part
)

// describeCluster names the type of a cluster as the API does and classifies it. Without a cluster, an assignment that
// stands in a bootstrap or a CDS response is a STATIC cluster's, any other an EDS cluster's.
func describeCluster(m *clusterv3.Cluster, source eds.Source) (string, clusterKind) {
	if m == nil {
		if source == eds.FromBootstrap || source == eds.FromCDS {
			return "STATIC", kindStatic
		}
		return "EDS", kindEDS
	}
	name := m.GetType().String()
	if custom := m.GetClusterType(); custom != nil {
		name = custom.GetName()
	}
	switch eds.ClusterType(m) {
	case eds.TypeEDS:
		return name, kindEDS
	case eds.TypeStatic:
		return name, kindStatic
	case eds.TypeStrictDNS:
		return name, kindStrictDNS
	case eds.TypeLogicalDNS:
		return name, kindLogicalDNS
	default:
		return name, kindNoEndpoints
	}
}

// WithoutEndpoints tells whether the resource stands for a cluster of a type that does not balance over the endpoints of
// an assignment, such as ORIGINAL_DST or an aggregate cluster: its result is not_applicable, with an assignment or without.
func WithoutEndpoints(r *eds.Resource) bool {
	_, kind := describeCluster(clusterOf(r), r.Source)
	return kind == kindNoEndpoints
}

// withPolicy returns the resource with its cluster's policy replaced; a cluster is made up when there is none.
func withPolicy(r *eds.Resource, policy string, client diag.Client) (*eds.Resource, error) {
	if policy == "" || hasPolicy(r, policy, client) {
		return r, nil
	}
	out := *r
	cluster := eds.Cluster{FromFlag: true}
	if r.Cluster != nil {
		cluster = *r.Cluster
	}
	var m *clusterv3.Cluster
	if cluster.Message != nil {
		m = proto.CloneOf(cluster.Message)
	} else {
		m = defaultCluster(r)
	}
	m.LoadBalancingPolicy = nil
	if err := setPolicy(m, policy); err != nil {
		return nil, err
	}
	cluster.Message = m
	out.Cluster = &cluster
	return &out, nil
}

// hasPolicy tells whether the cluster has the policy already, whose sizes and options then stay. A policy that is inside
// another one of load_balancing_policy is replaced together with that one, whether it is the same or not.
func hasPolicy(r *eds.Resource, policy string, client diag.Client) bool {
	if r.Cluster == nil || r.Cluster.Message == nil {
		return false
	}
	config, other := eds.EnvoyPolicy(r.Cluster.Message, newestEnvoy), eds.GRPCPolicy(r.Cluster.Message)
	if client == diag.GRPC {
		config, other = other, config
	}
	if config.Name == "" {
		config = other
	}
	if wrapper := config.Find("load_aware_locality", "override_host", "subset"); wrapper != nil && wrapper.FromExtension {
		return false
	}
	name := config.Picker().Name
	return name == policy || name == "client_side_weighted_round_robin" && policy == "weighted_round_robin"
}

// defaultCluster is the cluster that an assignment without one is thought to belong to.
func defaultCluster(r *eds.Resource) *clusterv3.Cluster {
	m := &clusterv3.Cluster{Name: r.Name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}}
	if _, kind := describeCluster(nil, r.Source); kind == kindEDS {
		m.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		m.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: adsSource()}
	}
	return m
}

func adsSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}
}

// setPolicy writes a policy into a cluster: in lb_policy where that has it, else as an extension. weighted_round_robin
// is client_side_weighted_round_robin inside wrr_locality, which is how it is meant to be used (A58).
func setPolicy(m *clusterv3.Cluster, policy string) error {
	legacy := map[string]clusterv3.Cluster_LbPolicy{
		"round_robin": clusterv3.Cluster_ROUND_ROBIN, "least_request": clusterv3.Cluster_LEAST_REQUEST,
		"random": clusterv3.Cluster_RANDOM, "ring_hash": clusterv3.Cluster_RING_HASH, "maglev": clusterv3.Cluster_MAGLEV,
	}
	if value, ok := legacy[policy]; ok {
		m.LbPolicy = value
		return nil
	}
	m.LbPolicy = clusterv3.Cluster_ROUND_ROBIN
	switch policy {
	case "pick_first":
		m.LoadBalancingPolicy = policyList(policy, &pickfirstv3.PickFirst{})
	case "weighted_round_robin":
		inner := policyList("client_side_weighted_round_robin", &wrrv3.ClientSideWeightedRoundRobin{})
		m.LoadBalancingPolicy = policyList("wrr_locality", &wrrlocalityv3.WrrLocality{EndpointPickingPolicy: inner})
	default:
		return fmt.Errorf("unknown policy %q", policy)
	}
	return nil
}

func policyList(name string, config proto.Message) *clusterv3.LoadBalancingPolicy {
	packed, err := anypb.New(config)
	if err != nil {
		panic(err) // the message is one of this file's
	}
	return &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{
		{TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: "envoy.load_balancing_policies." + name, TypedConfig: packed}},
	}}
}
