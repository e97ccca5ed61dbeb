package lint

import (
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	lbcommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/common/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	overridehostv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	randomv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/subset/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// Balancing is how a client balances the load of a cluster, as far as rules ask for it.
type Balancing struct {
	// Policies from the outermost to the innermost: "ring_hash", or "wrr_locality", "client_side_weighted_round_robin".
	// The name is that of the policy's package in the API; legacy lb_policy values have the same names.
	Policies []string
	// LocalityWeighted: locality-weighted load balancing is on, so that locality weights count.
	LocalityWeighted bool
	// Subset: subset load balancing is on.
	Subset bool
}

// Has tells whether a policy is in the chain.
func (b *Balancing) Has(policies ...string) bool {
	for _, have := range b.Policies {
		for _, want := range policies {
			if have == want {
				return true
			}
		}
	}
	return false
}

// Inner is the policy that picks endpoints, the last of the chain.
func (b *Balancing) Inner() string {
	if len(b.Policies) == 0 {
		return ""
	}
	return b.Policies[len(b.Policies)-1]
}

// maxPolicyDepth bounds the nesting of policies that is followed (gRPC refuses more than 16 levels).
const maxPolicyDepth = 16

// Balancing of the cluster around the assignment by a client. Without a cluster the policy is round robin.
func (c *Context) Balancing(client diag.Client) Balancing {
	var m *clusterv3.Cluster
	if c.Cluster != nil {
		m = c.Cluster.Message
	}
	var b Balancing
	if m.GetLoadBalancingPolicy() != nil {
		b.extension(m.GetLoadBalancingPolicy(), 0)
		return b
	}
	b.legacy(m, client)
	return b
}

// legacy reads lb_policy and the fields beside it.
func (b *Balancing) legacy(m *clusterv3.Cluster, client diag.Client) {
	if client == diag.GRPC {
		// grpc-go runs round robin inside wrr_locality, so locality weights count, but least_request bare
		// (unmarshal_cds.go; grpc-eds.md 4.1).
		if m.GetLbPolicy() == clusterv3.Cluster_ROUND_ROBIN {
			b.Policies, b.LocalityWeighted = append(b.Policies, "wrr_locality"), true
		}
	} else {
		b.Subset = len(m.GetLbSubsetConfig().GetSubsetSelectors()) > 0
		b.LocalityWeighted = m.GetCommonLbConfig().GetLocalityWeightedLbConfig() != nil
	}
	b.Policies = append(b.Policies, strings.ToLower(m.GetLbPolicy().String()))
}

// extension reads the first known policy of a list, and what it wraps.
func (b *Balancing) extension(list *clusterv3.LoadBalancingPolicy, depth int) {
	for _, p := range list.GetPolicies() {
		config := p.GetTypedExtensionConfig().GetTypedConfig()
		name, ok := policyName(config.GetTypeUrl())
		if !ok {
			continue
		}
		b.Policies = append(b.Policies, name)
		if depth < maxPolicyDepth {
			b.wrapped(name, config, depth+1)
		}
		return
	}
}

// policyName cuts "ring_hash" out of ".../envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash".
func policyName(url string) (string, bool) {
	_, rest, ok := strings.Cut(url, "/envoy.extensions.load_balancing_policies.")
	if !ok {
		return "", false
	}
	name, _, ok := strings.Cut(rest, ".")
	return name, ok
}

// wrapped reads what a policy's own configuration says about localities and inner policies.
func (b *Balancing) wrapped(name string, config *anypb.Any, depth int) {
	switch name {
	case "wrr_locality":
		b.LocalityWeighted = true
		b.extension(decode(config, &wrrlocalityv3.WrrLocality{}).GetEndpointPickingPolicy(), depth)
	case "subset":
		b.Subset = true
		b.extension(decode(config, &subsetv3.Subset{}).GetSubsetLbPolicy(), depth)
	case "override_host":
		b.extension(decode(config, &overridehostv3.OverrideHost{}).GetFallbackPolicy(), depth)
	case "round_robin":
		b.locality(decode(config, &roundrobinv3.RoundRobin{}).GetLocalityLbConfig())
	case "least_request":
		b.locality(decode(config, &leastrequestv3.LeastRequest{}).GetLocalityLbConfig())
	case "random":
		b.locality(decode(config, &randomv3.Random{}).GetLocalityLbConfig())
	case "ring_hash":
		weighted := decode(config, &ringhashv3.RingHash{}).GetLocalityWeightedLbConfig()
		b.LocalityWeighted = b.LocalityWeighted || weighted != nil
	case "maglev":
		weighted := decode(config, &maglevv3.Maglev{}).GetLocalityWeightedLbConfig()
		b.LocalityWeighted = b.LocalityWeighted || weighted != nil
	}
}

func (b *Balancing) locality(c *lbcommonv3.LocalityLbConfig) {
	b.LocalityWeighted = b.LocalityWeighted || c.GetLocalityWeightedLbConfig() != nil
}

// decode unpacks an Any into m; what cannot be unpacked stays empty.
func decode[M proto.Message](a *anypb.Any, m M) M {
	if a != nil {
		_ = proto.Unmarshal(a.GetValue(), m)
	}
	return m
}
