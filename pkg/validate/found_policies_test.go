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
