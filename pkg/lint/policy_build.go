package lint

import (
	"fmt"
	"slices"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// policyWords are what users are told about a refused policy; the client's own text says more.
var policyWords = map[string]string{
	"lb-policy-config-missing":    "lb_policy LOAD_BALANCING_POLICY_CONFIG needs a load_balancing_policy",
	"lb-policy-conflict":          "load_balancing_policy cannot be combined with this field",
	"lb-policy-cluster-provided":  "CLUSTER_PROVIDED cannot be combined with lb_subset_config",
	"wrr-locality-child":          "wrr_locality takes client_side_weighted_round_robin only",
	"hash-policy-empty":           "an empty entry in hash_policy ends the Envoy process",
	"maglev-table-size-one":       "table_size 1 ends the Envoy process: use a larger prime number",
	"duration-invalid":            durationWords,
	"grpc-ring-hash-function":     "gRPC takes ring_hash with hash_function XX_HASH only",
	"grpc-lb-policy-unsupported":  "gRPC does not know this load balancing policy",
	"maglev-table-size-not-prime": "table_size must be a prime number",
}

func refusalWords(r *eds.Refusal, h *eds.HashConfig) string {
	if r.Words != "" {
		return r.Words
	}
	switch r.Rule {
	case "ring-hash-size-bounds":
		minimum, maximum := h.RingSizes()
		return fmt.Sprintf("minimum_ring_size %d is larger than maximum_ring_size %d", minimum, maximum)
	case "maglev-table-size-not-prime":
		return fmt.Sprintf("table_size %d is no prime number", h.Table())
	case "lb-policy-cluster-provided":
		if r.Late {
			return "cluster_provided is no policy inside of another one"
		}
	case "lb-policy-unknown":
		return "there is no load balancing policy that Envoy has"
	}
	if words, ok := policyWords[r.Rule]; ok {
		return words
	}
	return r.Message
}

// byPolicy reports the refusals of the policy by Envoy (ClusterInfoImpl), and a source that the type does not have.
func (b *build) byPolicy() {
	p := &b.policies[diag.Envoy]
	refusals := slices.DeleteFunc(slices.Clone(p.Refusals), func(r eds.Refusal) bool { return r.Parse }) // reported by the decoder
	for i := range refusals {
		first := i == 0 || refusals[i-1].Thrown || refusals[i-1].Late
		b.byRefusal(&refusals[i], first, hashOf(p))
	}
	b.failureRate()
	if b.m.GetEdsClusterConfig() != nil && !b.typeIsEDS() {
		b.envoy(stageType, "eds-cluster-without-config", inCluster("eds_cluster_config"), "only a cluster of type EDS may have an eds_cluster_config",
			"eds_cluster_config set in a non-EDS cluster")
	}
}

// unknownEffect is what Envoy does with what it does not know inside the configuration of a cluster, which it reads with the
// visitor for where the cluster comes from (upstream_impl.cc, configureLbPolicies).
func (b *build) unknownEffect() diag.Effect {
	dynamic := b.c.Origin == eds.OriginCDS || b.c.Source == eds.FromCDS
	switch {
	case b.c.UnknownFields == "warn" && !dynamic:
		return diag.Warn
	case b.c.UnknownFields == "ignore" && dynamic:
		return diag.None
	case dynamic && b.c.UnknownFields != "strict":
		return diag.Warn
	}
	return diag.Reject
}

// byRefusal reports one refusal; first tells whether it is not behind one that ended the constructor with an error.
func (b *build) byRefusal(r *eds.Refusal, first bool, h *eds.HashConfig) {
	stage, effect := stageType, diag.Reject
	switch {
	case r.Thrown && first && b.takesNames():
		stage = stageThrown
	case r.Late && !b.balancerBuilt(r):
		return
	case r.Worker:
		b.byWorker(r, refusalWords(r, h))
		return
	case r.Late && r.Crash:
		stage = stageApply
	case r.Late:
		stage = stageBalancer
	}
	if r.Crash {
		effect = diag.Crash
	}
	if r.Unknown {
		effect = b.unknownEffect()
	}
	words := refusalWords(r, h)
	if r.Constraints != nil {
		v := violations(r.Constraints)[0]
		r.Path, r.Message, words = r.Path.Join(v.path), "Proto constraint validation failed ("+v.chain+")", v.words()
	}
	b.envoyEffect(effect, stage, r.Rule, r.Path, words, r.Message)
}

// byWorker reports what the workers find. That refuses a cluster that is ready at once, and the first update of EDS;
// nobody catches it when a name is resolved.
func (b *build) byWorker(r *eds.Refusal, words string) {
	switch {
	case b.kind == eds.TypeEDS && b.c.InLoadAssignment() && !b.edsFromFile():
	case b.kind == eds.TypeEDS && b.c.InLoadAssignment(): // a file without endpoints
		b.envoy(stageWorker, r.Rule, r.Path, words, r.Message)
	case b.kind == eds.TypeEDS:
		b.envoyEffect(diag.Reject, stageApply, r.Rule, r.Path, words, r.Message)
	case b.takesNames() && b.hasEndpoints():
		b.envoyEffect(diag.Crash, stageApply, r.Rule, r.Path, words, "std::terminate called! Uncaught EnvoyException '"+r.Message+"', see trace.")
	default:
		b.envoy(stageWorker, r.Rule, r.Path, words, r.Message)
	}
}

// takesNames: the types that resolve the names of their endpoints.
func (b *build) takesNames() bool { return b.kind == eds.TypeStrictDNS || b.kind == eds.TypeLogicalDNS }

// edsFromFile tells whether the endpoints of the cluster are in a file, which Envoy reads before it makes the cluster.
func (b *build) edsFromFile() bool {
	source := b.m.GetEdsClusterConfig().GetEdsConfig()
	return source.GetPathConfigSource() != nil || source.GetPath() != "" //nolint:staticcheck // still read
}

func (b *build) hasEndpoints() bool {
	return slices.ContainsFunc(b.endpoints(), func(g *endpointv3.LocalityLbEndpoints) bool { return len(g.GetLbEndpoints()) > 0 })
}

// typeIsEDS: Envoy looks at `type` here, so an EDS cluster by cluster_type is none.
func (b *build) typeIsEDS() bool { return b.m.GetClusterType() == nil && b.kind == eds.TypeEDS }

func (b *build) grpcRefusal(r *eds.Refusal, h *eds.HashConfig) {
	if r.Rule == "cluster-constraint" && b.m.GetLoadBalancingPolicy() == nil {
		return // the constraint of the legacy field, reported with Envoy's
	}
	rule, at := r.Rule, r.Path
	if rule == "grpc-lb-policy-unsupported" {
		// The same mistake has one id: where Envoy refuses the value as well, its rule.
		if i, ok := b.index["lb-policy-cluster-provided cluster.lb_policy"]; ok && at.String() == "cluster.lb_policy" {
			rule = b.problems[i].Rule
		}
	}
	stage, effect, words := grpcStagePolicy, diag.Reject, refusalWords(r, h)
	switch {
	case r.Crash: // after the ACK, which is the recorded verdict
		stage, effect, words = "-", diag.Crash, "gRPC takes this policy without what belongs into it, and ends the process when it uses it"
	case r.Late:
		stage, effect = "-", diag.Drop
	case strings.HasPrefix(at.String(), "cluster.load_balancing_policy"):
		stage = grpcStageExtension
	}
	b.grpc(effect, stage, rule, at, words, r.Message)
}

func hashOf(p *eds.PolicyConfig) *eds.HashConfig {
	if q := p.Find("ring_hash", "maglev"); q != nil {
		return q.Hash
	}
	return &eds.HashConfig{}
}

// balancerBuilt tells whether Envoy builds the load balancer whose settings it would refuse: not for a subset that no
// endpoint is in (subset_lb.cc), not for a locality without endpoints (load_aware_locality_lb.cc), and not the table of
// maglev while no endpoint gets into it.
func (b *build) balancerBuilt(r *eds.Refusal) bool {
	if r.Rule == "maglev-table-size-one" && !b.tableFilled() {
		return false
	}
	if r.InLocality && !b.hasEndpoints() {
		return false
	}
	return !r.InSubset || b.subsetExists(b.policies[diag.Envoy].Find("subset").Subset)
}

// tableFilled tells whether an endpoint gets into a table of the hash policy. The names of DNS clusters are taken for
// resolved.
func (b *build) tableFilled() bool {
	if !b.hasEndpoints() {
		return false
	}
	filled, err := simulate.EnvoyHashes(b.c.placed(), b.c.EnvoyVersion, b.c.ringsInLocalities())
	return filled || err != nil
}
