package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// policyTypes are the messages of the policies in the tables below.
var policyTypes = map[string]string{
	"round_robin": "RoundRobin", "least_request": "LeastRequest", "random": "Random", "ring_hash": "RingHash", "maglev": "Maglev", "subset": "Subset",
	"client_side_weighted_round_robin": "ClientSideWeightedRoundRobin", "wrr_locality": "WrrLocality", "override_host": "OverrideHost",
	"load_aware_locality": "LoadAwareLocality", "cluster_provided": "ClusterProvided",
}

// lbPolicy is a list with one policy; the fields are in YAML's flow style, without braces.
func lbPolicy(name, fields string) string {
	if fields != "" {
		fields = ", " + fields
	}
	return fmt.Sprintf(`{policies: [{typed_extension_config: {name: %s, typed_config: {"@type": type.googleapis.com/envoy.extensions.load_balancing_policies.%s.v3.%s%s}}}]}`,
		name, name, policyTypes[name], fields)
}

func overrideHost(child string) string {
	return lbPolicy("override_host", "override_host_sources: [{header: x}], fallback_policy: "+child)
}

func subsetOf(fields, child string) string {
	if fields != "" {
		fields += ", "
	}
	return lbPolicy("subset", fields+"subset_lb_policy: "+child)
}

func loadAware(child string) string {
	return lbPolicy("load_aware_locality", "endpoint_picking_policy: "+child)
}

// policyCase is a cluster and what Envoy 1.40.0 does with it.
type policyCase struct {
	name, cluster string
	kind          diag.VerdictKind
	rule, message string // the beginning of the message
}

func checkPolicies(t *testing.T, tests []policyCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := "static_resources: {clusters: [{name: v, connect_timeout: 1s, " + tt.cluster + "}]}\n"
			loaded := eds.NewLoader(eds.Options{}).Load("bootstrap.yaml", []byte(text), true)
			report := validate.Run(loaded.Resources, validate.Options{})
			if len(report.Resources) != 1 {
				t.Fatalf("%d resources, want 1", len(report.Resources))
			}
			got := report.Resources[0].Verdicts[diag.Envoy]
			if got.Kind != tt.kind || got.Rule != tt.rule || !strings.HasPrefix(got.Message, tt.message) {
				t.Errorf("verdict %+v, want %s by %s: %s", got, tt.kind, tt.rule, tt.message)
			}
		})
	}
}

const (
	heavyHosts = "type: STATIC, load_assignment: {cluster_name: v, endpoints: [{lb_endpoints: [" +
		"{endpoint: {address: {socket_address: {address: 1.2.3.4, port_value: 80}}}, load_balancing_weight: 4294967295}, " +
		"{endpoint: {address: {socket_address: {address: 1.2.3.5, port_value: 80}}}, load_balancing_weight: 1}]}]}"
	heavyLocalities = "type: STATIC, load_assignment: {cluster_name: v, endpoints: [" +
		"{locality: {zone: a}, load_balancing_weight: 4294967295, lb_endpoints: [{endpoint: {address: {socket_address: {address: 1.2.3.4, port_value: 80}}}}]}, " +
		"{locality: {zone: b}, load_balancing_weight: 1, lb_endpoints: [{endpoint: {address: {socket_address: {address: 1.2.3.5, port_value: 80}}}}]}]}"
)

// TestFoundWeightSums: override_host does not ask the policy inside about the endpoints.
func TestFoundWeightSums(t *testing.T) {
	t.Parallel()
	maglev := lbPolicy("maglev", "")
	const hosts, localities = "The sum of weights of all upstream hosts in a locality exceeds 4294967295", "The sum of weights of all localities at the same priority exceeds 4294967295"
	policy := func(p string) string { return ", load_balancing_policy: " + p }
	checkPolicies(t, []policyCase{
		{"hosts", heavyHosts + policy(maglev), diag.Rejected, "host-weight-sum-overflow", hosts},
		{"localities", heavyLocalities + policy(maglev), diag.Rejected, "locality-weight-sum-overflow", localities},
		{"hosts under override_host", heavyHosts + policy(overrideHost(maglev)), diag.Accept, "", ""},
		{"localities under override_host", heavyLocalities + policy(overrideHost(lbPolicy("ring_hash", ""))), diag.Accept, "", ""},
		{"hosts under override_host twice", heavyHosts + policy(overrideHost(overrideHost(maglev))), diag.Accept, "", ""},
		{"hosts under override_host in a subset", heavyHosts + policy(subsetOf("", overrideHost(maglev))), diag.Accept, "", ""},
		{"hosts under a subset", heavyHosts + policy(subsetOf("", maglev)), diag.Rejected, "host-weight-sum-overflow", hosts},
		{"localities under load_aware_locality", heavyLocalities + policy(loadAware(maglev)), diag.Rejected, "locality-weight-sum-overflow", localities},
	})
}

// TestFoundKeyLengths: the rings of wrappers have keys too.
func TestFoundKeyLengths(t *testing.T) {
	t.Parallel()
	// hosts are two endpoints, the first with the key.
	hosts := func(kind, fields string, key int) string {
		return fmt.Sprintf("type: %s, load_assignment: {cluster_name: v, endpoints: [{lb_endpoints: ["+
			"{endpoint: {address: {socket_address: {address: 1.2.3.4, port_value: 80}}}, metadata: {filter_metadata: {envoy.lb: {hash_key: %s, a: b}}}%s}, "+
			"{endpoint: {address: {socket_address: {address: 1.2.3.5, port_value: 80}}}}]}]}", kind, strings.Repeat("x", key), fields)
	}
	both := func(key int) string { return hosts("STATIC", "", key) }
	ring := lbPolicy("ring_hash", "")
	policy := func(p string) string { return ", load_balancing_policy: " + p }
	legacy := func(fields string) string { return ", lb_policy: RING_HASH, lb_subset_config: {" + fields + "}" }
	const rule, says = "ring-hash-key-length", "Caught Aborted"
	checkPolicies(t, []policyCase{
		{"load_aware_locality", both(193) + policy(loadAware(ring)), diag.Crashes, rule, says},
		{"load_aware_locality, shorter", both(192) + policy(loadAware(ring)), diag.Accept, "", ""},
		{"any endpoint", both(193) + policy(subsetOf("fallback_policy: ANY_ENDPOINT", ring)), diag.Crashes, rule, says},
		{"any endpoint, STRICT_DNS", hosts("STRICT_DNS", "", 193) + policy(subsetOf("fallback_policy: ANY_ENDPOINT", ring)), diag.Crashes, rule, says},
		{"any endpoint in panic", both(193) + policy(subsetOf("panic_mode_any: true", ring)), diag.Crashes, rule, says},
		{"no fallback", both(193) + policy(subsetOf("", ring)), diag.Accept, "", ""},
		{"a subset of one", both(192) + policy(subsetOf("subset_selectors: [{keys: [a]}]", ring)), diag.Crashes, rule, says},
		{"a subset with a single host", both(192) + policy(subsetOf("subset_selectors: [{keys: [a], single_host_per_subset: true}]", ring)), diag.Accept, "", ""},
		{"a subset of others", both(193) + policy(subsetOf("subset_selectors: [{keys: [z]}]", ring)), diag.Accept, "", ""},
		{"a default subset", both(193) + policy(subsetOf("fallback_policy: DEFAULT_SUBSET, default_subset: {a: b}", ring)), diag.Crashes, rule, says},
		{"a default subset of others", both(193) + policy(subsetOf("fallback_policy: DEFAULT_SUBSET, default_subset: {z: b}", ring)), diag.Accept, "", ""},
		{"legacy subset", both(193) + legacy("subset_selectors: [{keys: [a]}]"), diag.Crashes, rule, says},
		{"legacy subset of others", both(193) + legacy("subset_selectors: [{keys: [z]}]"), diag.Accept, "", ""},
		{"legacy subset for any endpoint", both(193) + legacy("subset_selectors: [{keys: [z]}], fallback_policy: ANY_ENDPOINT"), diag.Crashes, rule, says},
		{"an unhealthy endpoint in load_aware_locality", hosts("STATIC", ", health_status: UNHEALTHY", 193) + policy(loadAware(ring)), diag.Accept, "", ""},
		{"a degraded endpoint", hosts("STATIC", ", health_status: DEGRADED", 192) + policy(loadAware(subsetOf("fallback_policy: ANY_ENDPOINT", ring))), diag.Crashes, rule, says},
	})
}

// TestFoundTables: what no endpoint gets into is not built.
func TestFoundTables(t *testing.T) {
	t.Parallel()
	one, four := lbPolicy("maglev", "table_size: 1"), lbPolicy("maglev", "table_size: 4")
	static := func(p string) string {
		return "type: STATIC, load_assignment: {cluster_name: v, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 1.2.3.4, port_value: 80}}}, " +
			"metadata: {filter_metadata: {envoy.lb: {a: b}}}}]}]}, load_balancing_policy: " + p
	}
	const rule, says = "maglev-table-size-one", "Caught Floating point exception"
	checkPolicies(t, []policyCase{
		{"a default subset", static(subsetOf("fallback_policy: DEFAULT_SUBSET, default_subset: {a: b}", one)), diag.Crashes, rule, says},
		{"a default subset without endpoints", static(subsetOf("fallback_policy: DEFAULT_SUBSET, default_subset: {a: c}", one)), diag.Accept, "", ""},
		{"a default subset without endpoints in load_aware_locality", static(loadAware(subsetOf("fallback_policy: DEFAULT_SUBSET, default_subset: {a: c}", one))), diag.Accept, "", ""},
		{"a subset with a single host", static(subsetOf("subset_selectors: [{keys: [a], single_host_per_subset: true}]", one)), diag.Accept, "", ""},
		{"a subset with a single host, no prime number", static(subsetOf("subset_selectors: [{keys: [a], single_host_per_subset: true}]", four)), diag.Accept, "", ""},
		{"localities without weights", static(lbPolicy("maglev", "table_size: 1, locality_weighted_lb_config: {}")), diag.Accept, "", ""},
		{"load_aware_locality", static(loadAware(one)), diag.Crashes, rule, says},
		{"a default subset without endpoints, no prime number", static(subsetOf("fallback_policy: DEFAULT_SUBSET, default_subset: {a: c}", four)), diag.Rejected, "maglev-table-size-not-prime", "The table size of maglev must be prime number"},
	})
}
