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
			text := "node: {id: a, cluster: b}\nstatic_resources: {clusters: [{name: v, connect_timeout: 1s, " + tt.cluster + "}]}\n"
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
		{"a selector without keys", both(192) + policy(subsetOf("subset_selectors: [{fallback_policy: KEYS_SUBSET, fallback_keys_subset: [v]}, {fallback_keys_subset: [v]}]", ring)), diag.Accept, "", ""},
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

// static is a cluster with an endpoint and a policy.
func static(policy string) string {
	return "type: STATIC, " + oneAddress + ", load_balancing_policy: " + policy
}

const oneAddress = "load_assignment: {cluster_name: v, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 1.2.3.4, port_value: 80}}}}]}]}"

// TestFoundPolicyDurations: the durations of extensions are checked where they are read.
func TestFoundPolicyDurations(t *testing.T) {
	t.Parallel()
	const rule, negative, large = "duration-invalid", "Invalid duration: Expected positive duration: <dump>", "Invalid duration: Duration out-of-range: <dump>"
	roundRobin := func(window string) string {
		return lbPolicy("round_robin", "slow_start_config: {slow_start_window: "+window+"}")
	}
	weighted := func(fields string) string { return lbPolicy("client_side_weighted_round_robin", fields) }
	aware := func(fields string) string {
		return lbPolicy("load_aware_locality", fields+", endpoint_picking_policy: "+lbPolicy("random", ""))
	}
	const twoEndpoints = "load_assignment: {cluster_name: v, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 1.2.3.4, port_value: 80}}}}, {endpoint: {}}]}]}"
	checkPolicies(t, []policyCase{
		{"round_robin, negative", static(roundRobin("-1s")), diag.Rejected, rule, negative},
		{"round_robin, too large", static(roundRobin("9223372036s")), diag.Rejected, rule, large},
		{"round_robin, as large as possible", static(roundRobin("9223372035s")), diag.Accept, "", ""},
		{"least_request", static(lbPolicy("least_request", "slow_start_config: {slow_start_window: -0.5s}")), diag.Rejected, rule, negative},
		{"slow start of client_side_weighted_round_robin", static(weighted("slow_start_config: {slow_start_window: -1s}")), diag.Rejected, rule, negative},
		{"oob_reporting_period", static(weighted("oob_reporting_period: -1s")), diag.Rejected, rule, negative},
		{"blackout_period before the others", static(weighted("oob_reporting_period: -1s, blackout_period: 9223372036s")), diag.Rejected, rule, large},
		{"weight_expiration_period before weight_update_period", static(weighted("weight_update_period: -1s, weight_expiration_period: 9223372036s")), diag.Rejected, rule, large},
		{"in wrr_locality", static(lbPolicy("wrr_locality", "endpoint_picking_policy: "+weighted("blackout_period: -1s"))), diag.Rejected, rule, negative},
		{"in override_host", static(overrideHost(roundRobin("-1s"))), diag.Rejected, rule, negative},
		{"in a subset that is not there", static(subsetOf("", roundRobin("-1s"))), diag.Accept, "", ""},
		{"in load_aware_locality", static(loadAware(roundRobin("-1s"))), diag.Rejected, rule, negative},
		{"in load_aware_locality without endpoints", "type: STATIC, load_balancing_policy: " + loadAware(roundRobin("-1s")), diag.Accept, "", ""},
		{"of load_aware_locality", static(aware("weight_expiration_period: -1s")), diag.Rejected, rule, negative},
		{"of load_aware_locality, smoothing", static(aware("smoothing_time_constant: 9223372036s")), diag.Rejected, rule, large},
		{"in a TypedStruct", static(`{policies: [{typed_extension_config: {name: x, typed_config: {"@type": type.googleapis.com/xds.type.v3.TypedStruct, ` +
			`type_url: type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin, value: {slow_start_config: {slow_start_window: -1s}}}}}]}`),
			diag.Rejected, rule, negative},
		{"of a policy that is not selected", static(strings.TrimSuffix(lbPolicy("random", ""), "]}") + ", " + strings.TrimPrefix(roundRobin("-1s"), "{policies: [")), diag.Accept, "", ""},
		{"in a cookie", static(lbPolicy("ring_hash", "consistent_hashing_lb_config: {hash_policy: [{cookie: {name: x, ttl: -1s}}]}")), diag.Accept, "", ""},
		{"before the endpoints", "type: LOGICAL_DNS, " + twoEndpoints + ", load_balancing_policy: " + weighted("blackout_period: -1s"), diag.Rejected, rule, negative},
	})
}

// TestFoundLoadAware: the numbers of load_aware_locality are checked before the policy inside.
func TestFoundLoadAware(t *testing.T) {
	t.Parallel()
	aware := func(fields string) string {
		return static(lbPolicy("load_aware_locality", fields+", endpoint_picking_policy: "+lbPolicy("round_robin", "")))
	}
	const rule, period, threshold = "cluster-constraint", "weight_update_period must be at least 100ms", "utilization_variance_threshold must be in [0, 1]"
	const smoothing, fraction = "smoothing_time_constant must be positive", "remote_probe_fraction must be in [0, 1)"
	checkPolicies(t, []policyCase{
		{"period", aware("weight_update_period: 0.0999999s"), diag.Rejected, rule, period},
		{"the least period", aware("weight_update_period: 0.1s"), diag.Accept, "", ""},
		{"threshold -1", aware("utilization_variance_threshold: -1"), diag.Rejected, rule, threshold},
		{"threshold 2", aware("utilization_variance_threshold: 2"), diag.Rejected, rule, threshold},
		{"threshold NaN", aware("utilization_variance_threshold: NaN"), diag.Rejected, rule, threshold},
		{"threshold 1", aware("utilization_variance_threshold: 1"), diag.Accept, "", ""},
		{"smoothing 0", aware("smoothing_time_constant: 0s"), diag.Rejected, rule, smoothing},
		{"smoothing of less than 1ms", aware("smoothing_time_constant: 0.0009s"), diag.Rejected, rule, smoothing},
		{"smoothing 1ms", aware("smoothing_time_constant: 0.001s"), diag.Accept, "", ""},
		{"fraction -0.1", aware("remote_probe_fraction: -0.1"), diag.Rejected, rule, fraction},
		{"fraction 1", aware("remote_probe_fraction: 1"), diag.Rejected, rule, fraction},
		{"fraction NaN", aware("remote_probe_fraction: NaN"), diag.Rejected, rule, fraction},
		{"fraction 0", aware("remote_probe_fraction: 0"), diag.Accept, "", ""},
		{"period before the others", aware("weight_update_period: 0s, utilization_variance_threshold: 2, weight_expiration_period: -1s, smoothing_time_constant: -1s"), diag.Rejected, rule, period},
		{"smoothing before threshold and fraction", aware("smoothing_time_constant: 0s, utilization_variance_threshold: 2, remote_probe_fraction: 2"), diag.Rejected, rule, smoothing},
		{"fraction before expiration", aware("remote_probe_fraction: 2, weight_expiration_period: -1s"), diag.Rejected, rule, fraction},
		{"without a policy inside", static(lbPolicy("load_aware_locality", "remote_probe_fraction: 2")), diag.Rejected, rule, fraction},
		{"after the endpoints of a DNS cluster", "type: LOGICAL_DNS, load_balancing_policy: " + lbPolicy("load_aware_locality", "remote_probe_fraction: 2"), diag.Rejected,
			"logical-dns-cardinality", "LOGICAL_DNS clusters must have a single host"},
	})
}

// TestFoundOverrideHost: its constraints, then its sources, then its fallback policy.
func TestFoundOverrideHost(t *testing.T) {
	t.Parallel()
	override := func(fields, fallback string) string {
		return static(lbPolicy("override_host", fields+", fallback_policy: "+fallback))
	}
	random := lbPolicy("random", "")
	const rule, proto, embedded = "cluster-constraint", "Proto constraint validation failed (OverrideHostValidationError.", "embedded message failed validation | caused by "
	const key = embedded + "MetadataKeyValidationError.Key: value length must be at least 1 characters)"
	const empty, one = "Empty override source", "Only one override source must be set"
	checkPolicies(t, []policyCase{
		{"no source", override("override_host_sources: [{}]", random), diag.Rejected, rule, empty},
		{"an empty header", override("override_host_sources: [{header: ''}]", random), diag.Rejected, rule, empty},
		{"two sources", override("override_host_sources: [{header: x, metadata: {key: k, path: [{key: z}]}}, {}]", random), diag.Rejected, rule, one},
		{"a header with a line feed", override(`override_host_sources: [{header: "a\nb"}]`, random), diag.Rejected, rule,
			proto + "OverrideHostSources[0]: " + embedded + `OverrideHostSourceValidationError.Header: value does not match regex pattern "^[^\x00\n\r]*$")`},
		{"metadata without a key", override("override_host_sources: [{}, {metadata: {}}], selected_host_key: {}", random), diag.Rejected, rule,
			proto + "OverrideHostSources[1]: " + embedded + "OverrideHostSourceValidationError.Metadata: " + key},
		{"a key without a name", override("override_host_sources: [{}], selected_host_key: {}", random), diag.Rejected, rule, proto + "SelectedHostKey: " + key},
		{"a fallback without configuration", override("override_host_sources: [{header: x}]", "{policies: [{typed_extension_config: {name: x}}]}"), diag.Rejected, rule,
			proto + "FallbackPolicy: " + embedded + "LoadBalancingPolicyValidationError.Policies[0]: " + embedded + "PolicyValidationError.TypedExtensionConfig: " + embedded +
				"TypedExtensionConfigValidationError.TypedConfig: value is required)"},
		{"no source and a bad fallback", override("override_host_sources: [{}]", lbPolicy("maglev", "table_size: 4")), diag.Rejected, rule, empty},
		{"a bad fallback", override("override_host_sources: [{metadata: {key: k, path: [{key: z}]}}]", lbPolicy("maglev", "table_size: 4")), diag.Rejected,
			"maglev-table-size-not-prime", "The table size of maglev must be prime number"},
	})
}

// TestFoundPercents: a percentage that is no number passes the constraints. The workers throw when they make their load
// balancers, which nobody catches in a DNS cluster that resolves an address.
func TestFoundPercents(t *testing.T) {
	t.Parallel()
	const rule, says, crash = "cluster-constraint", "Value not in the range of 0..100 range.", "std::terminate called! Uncaught EnvoyException 'Value not in the range of 0..100 range.', see trace."
	const zone, panics = "zone_aware_lb_config: {routing_enabled: {value: NaN}}", ", common_lb_config: {healthy_panic_threshold: {value: NaN}}"
	slow := func(name string) string {
		return lbPolicy(name, "slow_start_config: {min_weight_percent: {value: NaN}}")
	}
	legacy := func(fields string) string { return "type: STATIC, " + oneAddress + ", " + fields }
	dns := func(policy string) string {
		return "type: STRICT_DNS, " + heavyHosts[strings.Index(heavyHosts, "load_assignment"):] + ", load_balancing_policy: " + policy
	}
	checkPolicies(t, []policyCase{
		{"round_robin", static(slow("round_robin")), diag.Rejected, rule, says},
		{"least_request", static(slow("least_request")), diag.Rejected, rule, says},
		{"client_side_weighted_round_robin", static(slow("client_side_weighted_round_robin")), diag.Rejected, rule, says},
		{"zone of random", static(lbPolicy("random", "locality_lb_config: {"+zone+"}")), diag.Rejected, rule, says},
		{"zone before slow start", static(lbPolicy("least_request", "locality_lb_config: {"+zone+"}, slow_start_config: {slow_start_window: -1s}")), diag.Rejected, rule, says},
		{"in override_host", static(overrideHost(slow("round_robin"))), diag.Rejected, rule, says},
		{"in load_aware_locality", static(loadAware(slow("round_robin"))), diag.Rejected, rule, says},
		{"in any endpoint", static(subsetOf("fallback_policy: ANY_ENDPOINT", slow("round_robin"))), diag.Rejected, rule, says},
		{"in no subset", static(subsetOf("", slow("round_robin"))), diag.Accept, "", ""},
		{"legacy slow start", legacy("round_robin_lb_config: {slow_start_config: {min_weight_percent: {value: NaN}}}"), diag.Rejected, rule, says},
		{"legacy slow start of another policy", legacy("lb_policy: RANDOM, round_robin_lb_config: {slow_start_config: {min_weight_percent: {value: NaN}}}"), diag.Accept, "", ""},
		{"legacy zone", legacy("lb_policy: LEAST_REQUEST, common_lb_config: {" + zone + "}"), diag.Rejected, rule, says},
		{"legacy zone of ring_hash", legacy("lb_policy: RING_HASH, common_lb_config: {" + zone + "}"), diag.Accept, "", ""},
		{"DNS with endpoints", dns(slow("round_robin")), diag.Crashes, rule, crash},
		{"EDS whose file has no endpoints", "type: EDS, eds_cluster_config: {eds_config: {path_config_source: {path: /dev/null}}}, load_balancing_policy: " + slow("round_robin"), diag.Rejected, rule, says},
		{"DNS without endpoints", "type: STRICT_DNS, load_balancing_policy: " + slow("round_robin"), diag.Rejected, rule, says},
		{"panic of DNS", dns(lbPolicy("round_robin", "")) + panics, diag.Crashes, rule, crash},
		{"panic of DNS with load_aware_locality", dns(loadAware(lbPolicy("round_robin", ""))) + panics, diag.Rejected, rule, says},
		{"panic of DNS with ring_hash", dns(overrideHost(lbPolicy("ring_hash", ""))) + panics, diag.Rejected, rule, says},
		{"panic in no subset", static(subsetOf("", lbPolicy("maglev", ""))) + panics, diag.Accept, "", ""},
		{"panic and a table", static(lbPolicy("maglev", "table_size: 4")) + panics, diag.Rejected, rule, says},
		{"panic and a ring", legacy("lb_policy: RING_HASH, ring_hash_lb_config: {minimum_ring_size: 5, maximum_ring_size: 4}") + panics, diag.Rejected, rule, says},
	})
}

// TestFoundHashRegex: the regular expressions of hash policies are compiled.
func TestFoundHashRegex(t *testing.T) {
	t.Parallel()
	maglev := func(regexes ...string) string {
		var list []string
		for _, r := range regexes {
			if r != "" {
				r = "header: {header_name: x, regex_rewrite: {pattern: {regex: '" + r + "'}, substitution: x}}"
			}
			list = append(list, "{"+r+"}")
		}
		return lbPolicy("maglev", "table_size: 4, consistent_hashing_lb_config: {hash_policy: ["+strings.Join(list, ", ")+"]}")
	}
	const rule, paren = "cluster-constraint", "missing ): ("
	checkPolicies(t, []policyCase{
		{"before the table", static(maglev("(")), diag.Rejected, rule, paren},
		{"the first", static(maglev("a", "[b", "(")), diag.Rejected, rule, "missing ]: [b"},
		{"before an empty entry", static(maglev("(", "")), diag.Rejected, rule, paren},
		{"after an empty entry", static(maglev("", "(")), diag.Crashes, "hash-policy-empty", "panic: hash policy not set"},
		{"in load_aware_locality", static(loadAware(maglev("(?!x)"))), diag.Rejected, rule, "invalid perl operator: (?!"},
		{"none", static(maglev("(a)")), diag.Rejected, "maglev-table-size-not-prime", "The table size of maglev must be prime number"},
	})
}
