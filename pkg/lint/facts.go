package lint

import (
	"sync"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// The cluster types that qualifiers name (envoy-eds-rules.md 0.5). Every other cluster_type has its own name.
const (
	TypeEDS         = eds.TypeEDS
	TypeStatic      = eds.TypeStatic
	TypeStrictDNS   = eds.TypeStrictDNS
	TypeLogicalDNS  = eds.TypeLogicalDNS
	TypeOriginalDst = eds.TypeOriginalDst
	TypeAggregate   = eds.TypeAggregate
)

// ClusterType is the type of the cluster around the assignment. Without a cluster at hand it is an EDS cluster, or a
// STATIC one where the source says that the assignment is a load_assignment (0.6).
func (c *Context) ClusterType() string {
	if c.Cluster == nil || c.Cluster.Message == nil {
		if c.Source == eds.FromBootstrap || c.Source == eds.FromCDS {
			return TypeStatic
		}
		return TypeEDS
	}
	return eds.ClusterType(c.Cluster.Message)
}

// ClusterName is the name of the cluster around the assignment; "v" for the STATIC cluster that a bare assignment is
// put into (0.6), and the assignment's own name for an EDS cluster that is not at hand.
func (c *Context) ClusterName() string {
	switch {
	case c.Cluster != nil && c.Cluster.Message != nil:
		return c.Cluster.Message.GetName()
	case c.ClusterType() == TypeStatic:
		return "v"
	default:
		return c.EDSName()
	}
}

// EDSName is the resource name that the EDS cluster asks for: --expect-name, else service_name, else the cluster's
// name, else the assignment's own (eds.cc, EdsClusterImpl::edsServiceName).
func (c *Context) EDSName() string {
	if c.ExpectName != "" {
		return c.ExpectName
	}
	if c.Cluster != nil && c.Cluster.Message != nil {
		if name := c.Cluster.Message.GetEdsClusterConfig().GetServiceName(); name != "" {
			return name
		}
		return c.Cluster.Message.GetName()
	}
	return c.Resource.Assignment.GetClusterName()
}

// InLoadAssignment tells whether the assignment is the load_assignment of a cluster, not an EDS resource.
func (c *Context) InLoadAssignment() bool {
	return c.Source == eds.FromBootstrap || c.Source == eds.FromCDS
}

// EndpointsUsed tells whether Envoy makes hosts of the assignment: not of the load_assignment of an EDS, aggregate,
// original_dst or other extension cluster, of which it checks the constraints and the policy only.
func (c *Context) EndpointsUsed() bool {
	switch c.ClusterType() {
	case TypeStatic, TypeStrictDNS, TypeLogicalDNS:
		return true
	case TypeEDS:
		return !c.InLoadAssignment()
	}
	return false
}

// Policy is the load balancing policy of the cluster around the assignment as a client reads it; without a cluster that
// of a cluster without configuration, round robin.
func (c *Context) Policy(client diag.Client) *eds.PolicyConfig {
	if c.policies[client] == nil {
		switch {
		case c.Cluster != nil && c.Cluster.Message != nil && client == diag.GRPC:
			c.policies[client] = new(c.Cluster.GRPCPolicy())
		case c.Cluster != nil && c.Cluster.Message != nil:
			c.policies[client] = readPolicy(client, c.Cluster.Message, c.EnvoyVersion)
		default:
			c.policies[client] = policyWithoutCluster(client, c.EnvoyVersion)
		}
	}
	return c.policies[client]
}

func readPolicy(client diag.Client, m *clusterv3.Cluster, envoyVersion int) *eds.PolicyConfig {
	if client == diag.Envoy {
		return new(eds.EnvoyPolicy(m, envoyVersion))
	}
	return new(eds.GRPCPolicy(m))
}

type policyKey struct {
	client       diag.Client
	envoyVersion int
}

// withoutCluster has what policyWithoutCluster made: a response may hold ten thousand assignments without a cluster.
var withoutCluster sync.Map // from policyKey to *eds.PolicyConfig

func policyWithoutCluster(client diag.Client, envoyVersion int) *eds.PolicyConfig {
	key := policyKey{client, envoyVersion}
	p, ok := withoutCluster.Load(key)
	if !ok {
		p, _ = withoutCluster.LoadOrStore(key, readPolicy(client, nil, envoyVersion))
	}
	return p.(*eds.PolicyConfig)
}

// Facts for the effects on one client.
func (c *Context) Facts(client diag.Client) *Facts {
	words := []string{string(c.Source), string(c.Source) + "@" + string(c.Origin), c.ClusterType()}
	if c.Source == eds.FromFile && !c.Resource.Node.IsValid() {
		words = append(words, "pb@"+string(c.Origin))
	}
	policy := c.Policy(client)
	words = append(words, policy.Chain()...)
	if policy.LocalityWeights() {
		words = append(words, "locality_weighted")
	}
	if c.Cluster != nil && c.Cluster.Message.GetLoadBalancingPolicy() != nil {
		words = append(words, "load_balancing_policy")
	}
	return &Facts{Words: words, EnvoyVersion: c.EnvoyVersion, Getenv: c.Getenv}
}
