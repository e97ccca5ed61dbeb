package eds_test

import (
	"fmt"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/edsctl/edsctl/pkg/eds"
)

// policyJSON is an entry of a list of policies; the fields are written with a comma before them.
func policyJSON(name, message, fields string) string {
	return fmt.Sprintf(`{"typed_extension_config":{"name":%q,"typed_config":{"@type":"type.googleapis.com/envoy.extensions.load_balancing_policies.%s.v3.%s"%s}}}`,
		name, name, message, fields)
}

func list(policies ...string) string { return `{"policies":[` + strings.Join(policies, ",") + `]}` }

func extension(policies ...string) string {
	return `{"name":"c","load_balancing_policy":` + list(policies...) + `}`
}

func typedStruct(url, value string) string {
	return fmt.Sprintf(`{"typed_extension_config":{"name":"x","typed_config":{"@type":"type.googleapis.com/xds.type.v3.TypedStruct","type_url":%q,"value":%s}}}`, url, value)
}

func clusterOf(t *testing.T, text string) *clusterv3.Cluster {
	t.Helper()
	var m clusterv3.Cluster
	if err := protojson.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &m
}

// policyWords writes the chain with its sizes, and the refusals.
func policyWords(p eds.PolicyConfig) string {
	var parts []string
	for q := &p; q != nil && q.Name != ""; q = q.Child {
		word := q.Name
		if q.Hash != nil {
			minimum, maximum := q.Hash.RingSizes()
			word += fmt.Sprintf("(%d..%d, %d)", minimum, maximum, q.Hash.Table())
		}
		if q.ChoiceCount != nil {
			word += fmt.Sprintf("(%d)", *q.ChoiceCount)
		}
		if q.LocalityWeighted {
			word += "+localities"
		}
		parts = append(parts, word)
	}
	s := strings.Join(parts, " > ")
	for _, r := range p.Refusals {
		s += fmt.Sprintf("; %s at %s", r.Rule, strings.TrimPrefix(r.Path.String(), "cluster."))
	}
	return s
}

var (
	roundRobin = policyJSON("round_robin", "RoundRobin", "")
	wrr        = policyJSON("client_side_weighted_round_robin", "ClientSideWeightedRoundRobin", "")
	provided   = typedStruct("type.googleapis.com/envoy.extensions.load_balancing_policies.cluster_provided.v3.ClusterProvided", "{}")
	pickFirst  = policyJSON("pick_first", "PickFirst", `,"shuffle_address_list":true`)
	smallRing  = policyJSON("ring_hash", "RingHash", `,"hash_function":"XX_HASH","minimum_ring_size":10,"maximum_ring_size":2`)
)

const inList = "load_balancing_policy.policies[0].typed_extension_config.typed_config"

func TestPolicies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, cluster, envoy, grpc string
	}{
		{"the default", `{"name":"c"}`, "round_robin", "wrr_locality+localities > round_robin"},
		{"locality weights", `{"name":"c","common_lb_config":{"locality_weighted_lb_config":{}}}`, "round_robin+localities", "wrr_locality+localities > round_robin"},
		{"a legacy ring", `{"name":"c","lb_policy":"RING_HASH","ring_hash_lb_config":{"minimum_ring_size":4096,"maximum_ring_size":1024}}`,
			"ring_hash(4096..1024, 65537); ring-hash-size-bounds at ring_hash_lb_config.minimum_ring_size",
			"ring_hash(4096..1024, 65537)+localities; ring-hash-size-bounds at ring_hash_lb_config.minimum_ring_size"},
		{"a legacy table", `{"name":"c","lb_policy":"MAGLEV","maglev_lb_config":{"table_size":10}}`,
			"maglev(1024..8388608, 10); maglev-table-size-not-prime at maglev_lb_config.table_size", "; grpc-lb-policy-unsupported at lb_policy"},
		{"a legacy choice", `{"name":"c","lb_policy":"LEAST_REQUEST","least_request_lb_config":{"choice_count":3}}`, "least_request(3)", "least_request(3)"},
		{"no extension", `{"name":"c","lb_policy":"LOAD_BALANCING_POLICY_CONFIG"}`, "; lb-policy-config-missing at lb_policy", "; lb-policy-config-missing at lb_policy"},
		{"the first that is known", extension(pickFirst, roundRobin), "round_robin; lb-policy-unknown at " + inList, "pick_first"}, // no text with it in Envoy
		{"none that is known", extension(), "; lb-policy-unknown at load_balancing_policy", "; grpc-lb-policy-unsupported at load_balancing_policy"},
		{"an extension and a legacy field", `{"name":"c","lb_subset_config":{},"load_balancing_policy":` + list(roundRobin) + `}`,
			"round_robin; lb-policy-conflict at lb_subset_config", "round_robin"},
		{"wrr_locality", extension(policyJSON("wrr_locality", "WrrLocality", `,"endpoint_picking_policy":`+list(wrr))),
			"wrr_locality+localities > client_side_weighted_round_robin", "wrr_locality+localities > client_side_weighted_round_robin"},
		{"wrr_locality with another policy", extension(policyJSON("wrr_locality", "WrrLocality", `,"endpoint_picking_policy":`+list(roundRobin))),
			"wrr_locality+localities > round_robin; wrr-locality-child at " + inList + ".endpoint_picking_policy.policies[0].typed_extension_config.typed_config",
			"wrr_locality+localities > round_robin"},
		{"an impossible ring", extension(smallRing), "ring_hash(10..2, 65537); ring-hash-size-bounds at " + inList + ".minimum_ring_size",
			"ring_hash(10..2, 65537)+localities; ring-hash-size-bounds at " + inList + ".minimum_ring_size"},
		{"cluster_provided inside", extension(policyJSON("override_host", "OverrideHost", `,"override_host_sources":[{"header":"x"}],"fallback_policy":`+list(provided))),
			"override_host > cluster_provided; lb-policy-cluster-provided at " + inList + ".fallback_policy.policies[0].typed_extension_config.typed_config",
			"; grpc-lb-policy-unsupported at load_balancing_policy"},
		{"a subset", `{"name":"c","lb_subset_config":{"subset_selectors":[{"keys":["v"],"fallback_policy":"KEYS_SUBSET","fallback_keys_subset":["z"]}]}}`,
			"subset > round_robin; cluster-constraint at lb_subset_config.subset_selectors[0].fallback_keys_subset", "wrr_locality+localities > round_robin"},
		{"a custom policy of gRPC", extension(typedStruct("x/ring_hash_experimental", `{"minRingSize":5,"maxRingSize":50}`), roundRobin),
			"round_robin", "ring_hash(5..50, 65537)+localities"},
		{"a custom policy out of its limits", extension(typedStruct("least_request_experimental", `{"choiceCount":1}`), roundRobin),
			"round_robin", "least_request(1); cluster-constraint at " + inList + ".value.choiceCount"},
		{"a custom policy with another inside", extension(typedStruct("xds_wrr_locality_experimental", `{"childPolicy":[{"nope":{}},{"pick_first":{}}]}`), roundRobin),
			"round_robin", "wrr_locality+localities > pick_first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := clusterOf(t, tt.cluster)
			if got := policyWords(eds.EnvoyPolicy(m, 40)); got != tt.envoy {
				t.Errorf("Envoy\n got %s\nwant %s", got, tt.envoy)
			}
			if got := policyWords(eds.GRPCPolicy(m)); got != tt.grpc {
				t.Errorf("gRPC\n got %s\nwant %s", got, tt.grpc)
			}
		})
	}
}

// TestPolicyVersions: older versions of Envoy do not have all policies, and then cannot read the text.
func TestPolicyVersions(t *testing.T) {
	t.Parallel()
	m := clusterOf(t, extension(policyJSON("wrr_locality", "WrrLocality", `,"endpoint_picking_policy":`+list(wrr)), roundRobin))
	p := eds.EnvoyPolicy(m, 36)
	if len(p.Refusals) != 1 || !p.Refusals[0].Parse || p.Name != "round_robin" {
		t.Errorf("Envoy 1.36 reads %s, %+v", policyWords(p), p.Refusals)
	}
	if p := eds.EnvoyPolicy(m, 37); policyWords(p) != "wrr_locality+localities > client_side_weighted_round_robin" {
		t.Errorf("Envoy 1.37 reads %s", policyWords(p))
	}
}

func TestGRPCDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) string {
		p := roundRobin
		for range n {
			p = policyJSON("wrr_locality", "WrrLocality", `,"endpoint_picking_policy":`+list(p))
		}
		return extension(p)
	}
	if p := eds.GRPCPolicy(clusterOf(t, nested(15))); len(p.Refusals) != 0 || len(p.Chain()) != 16 {
		t.Errorf("15 wrappers: %v, %+v", p.Chain(), p.Refusals)
	}
	if p := eds.GRPCPolicy(clusterOf(t, nested(16))); len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Message, "exceeds max depth") {
		t.Errorf("16 wrappers: %v, %+v", p.Chain(), p.Refusals)
	}
}

func TestClusterTypes(t *testing.T) {
	t.Parallel()
	const dns = `"typed_config":{"@type":"type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster"%s}`
	tests := []struct{ name, cluster, kind, factory string }{
		{"the default", `{}`, eds.TypeStatic, "envoy.cluster.static"},
		{"type", `{"type":"LOGICAL_DNS"}`, eds.TypeLogicalDNS, "envoy.cluster.logical_dns"},
		{"the name of a built-in type", `{"cluster_type":{"name":"envoy.cluster.eds"}}`, eds.TypeEDS, "envoy.cluster.eds"},
		{"the message before the name", `{"cluster_type":{"name":"zz",` + fmt.Sprintf(dns, "") + `}}`, eds.TypeStrictDNS, "envoy.cluster.dns"},
		{"all addresses in one endpoint", `{"cluster_type":{"name":"zz",` + fmt.Sprintf(dns, `,"all_addresses_in_single_endpoint":true`) + `}}`, eds.TypeLogicalDNS, "envoy.cluster.dns"},
		{"unknown", `{"cluster_type":{"name":"zz"}}`, "zz", "zz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := clusterOf(t, tt.cluster)
			factory, known := eds.ClusterFactory(m)
			if kind := eds.ClusterType(m); kind != tt.kind || factory != tt.factory || known == (tt.name == "unknown") {
				t.Errorf("type %q, factory %q, known %v", kind, factory, known)
			}
		})
	}
}
