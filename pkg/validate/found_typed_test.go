package validate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

const (
	policyURL = "type.googleapis.com/envoy.extensions.load_balancing_policies."
	inCluster = "invalid JSON in envoy.config.bootstrap.v3.Bootstrap @ static_resources.clusters[0]"
	inPolicy  = inCluster + ".load_balancing_policy.policies"
)

// TestFoundTyped has the typed configurations on which edsctl and Envoy 1.40.0 were found to differ.
func TestFoundTyped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, cluster string // fields of the cluster in the bootstrap
		kind          diag.VerdictKind
		rule, message string // of Envoy; the beginning of the message
	}{
		{
			"an unknown field in a TypedStruct", policies(typed("round_robin.v3.RoundRobin", "foo: 1")), diag.Rejected, "unknown-field",
			unknownIn("round_robin.v3.RoundRobin", "", "no such field: 'foo'"),
		},
		{
			"an unknown field deeper in a TypedStruct", policies(typed("round_robin.v3.RoundRobin", "locality_lb_config: {foo: 1}")), diag.Rejected, "unknown-field",
			unknownIn("round_robin.v3.RoundRobin", " @ locality_lb_config: message envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig", "no such field: 'foo'"),
		},
		{
			"a type in the values of a TypedStruct", policies(typed("maglev.v3.Maglev", `"@type": x, table_size: 4`)), diag.Rejected, "unknown-field",
			unknownIn("maglev.v3.Maglev", "", "no such field: '@type'"),
		},
		{
			"an unknown name in a TypedStruct", policies(typed("ring_hash.v3.RingHash", "hash_function: X")), diag.Rejected, "enum-name-unknown",
			"Protobuf message (type envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash reason INVALID_ARGUMENT: unknown enum value: 'X') has unknown fields",
		},
		{
			"what cannot be read counts before what is unknown", policies(typed("round_robin.v3.RoundRobin", "foo: 1, locality_lb_config: []")), diag.Rejected, "value-type",
			unreadableIn("round_robin.v3.RoundRobin", "locality_lb_config: message envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig", "unexpected character: '['; expected '{'"),
		},
		{
			"half a number in a TypedStruct", policies(typed("maglev.v3.Maglev", "table_size: 4.5")), diag.Rejected, "value-type",
			unreadableIn("maglev.v3.Maglev", "table_size: message google.protobuf.UInt64Value", "expected integer, but JSON number had fractional part"),
		},
		{
			"a number out of range in a TypedStruct", policies(typed("least_request.v3.LeastRequest", "choice_count: '4294967296'")), diag.Rejected, "value-type",
			unreadableIn("least_request.v3.LeastRequest", "choice_count: message google.protobuf.UInt32Value", "integer out of range"),
		},
		{
			"a duration without its letter in a TypedStruct", policies(typed("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", "weight_update_period: '1'")), diag.Rejected, "value-type",
			unreadableIn("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", "weight_update_period: message google.protobuf.Duration", "duration must end with a single 's'"),
		},
		{
			"a TypedStruct that is not selected", policies(direct("round_robin.v3.RoundRobin", ""), typed("round_robin.v3.RoundRobin", "foo: 1")), diag.Accept, "", "",
		},
		{
			"a boolean in quotes in a TypedStruct", policies(typed("subset.v3.Subset", "list_as_any: 'true', subset_lb_policy: "+list(direct("round_robin.v3.RoundRobin", "")))), diag.Accept, "", "",
		},
		{
			"cluster_provided in a TypedStruct of subset", policies(typed("subset.v3.Subset", "subset_lb_policy: "+list(direct("cluster_provided.v3.ClusterProvided", "")))), diag.Accept, "", "",
		},
		{
			"cluster_provided in a TypedStruct of override_host",
			policies(typed("override_host.v3.OverrideHost", "override_host_sources: [{header: x}], fallback_policy: "+list(direct("cluster_provided.v3.ClusterProvided", "")))),
			diag.Crashes, "lb-policy-cluster-provided", "Caught Segmentation fault",
		},
		{
			"null as a hash policy in a TypedStruct", policies(typed("ring_hash.v3.RingHash", "consistent_hashing_lb_config: {hash_policy: [null]}")), diag.Crashes, "hash-policy-empty",
			"panic: hash policy not set",
		},
		{
			"an unknown type in a TypedStruct", policies(typed("subset.v3.Subset", "subset_lb_policy: "+list(`typed_config: {"@type": type.googleapis.com/foo.Bar}, name: x`))), diag.Rejected, "any-type-unknown",
			"Unable to parse JSON as proto (INVALID_ARGUMENT: could not find @type 'type.googleapis.com/foo.Bar')",
		},
		{
			"an unknown field in a TypedStruct inside of another policy",
			policies(direct("override_host.v3.OverrideHost", "override_host_sources: [{header: x}], fallback_policy: "+list(typed("round_robin.v3.RoundRobin", "foo: 1")))), diag.Rejected, "unknown-field",
			unknownIn("round_robin.v3.RoundRobin", "", "no such field: 'foo'"),
		},
		{
			"a table size whose low half is a prime number", policies(typed("maglev.v3.Maglev", "table_size: 9007199254740993")), diag.Accept, "", "",
		},
		{
			"a table size whose low half is no prime number", policies(direct("maglev.v3.Maglev", "table_size: 4294967300")), diag.Rejected, "maglev-table-size-not-prime",
			"The table size of maglev must be prime number",
		},
		{
			"a field in a message that has none", policies(typed("cluster_provided.v3.ClusterProvided", "x: 1")), diag.Rejected, "unknown-field",
			unknownIn("cluster_provided.v3.ClusterProvided", "", "no such field: 'x'"),
		},
		{
			"a field in an Any of a message that has none", policies(direct("cluster_provided.v3.ClusterProvided", "x: 1")), diag.Rejected, "unknown-field",
			"Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: " + inPolicy +
				"[0].typed_extension_config.typed_config.<any>: message envoy.extensions.load_balancing_policies.cluster_provided.v3.ClusterProvided, near <pos>: no such field: 'x') has unknown fields",
		},
		{
			"a message of the policies' packages that is no policy", policies(direct("common.v3.LocalityLbConfig", "")), diag.Rejected, "lb-policy-unknown",
			"cluster: didn't find a registered load balancer factory implementation for cluster: 'c' with names from [x]",
		},
		{
			"such a message beside a policy", policies(direct("subset.v3.Subset.LbSubsetSelector", ""), direct("round_robin.v3.RoundRobin", "")), diag.Accept, "", "",
		},
		{
			"a message that the policies' packages do not have", policies(direct("round_robin.v3.RoundRobin", ""), direct("round_robin.v3.Foo", "")), diag.Rejected, "lb-policy-unknown",
			noType("round_robin.v3.Foo"),
		},
		{
			"a policy of gRPC inside of one that is not selected",
			policies(direct("round_robin.v3.RoundRobin", ""), direct("override_host.v3.OverrideHost", "fallback_policy: "+list(direct("pick_first.v3.PickFirst", "")))), diag.Rejected, "lb-policy-unknown",
			noType("pick_first.v3.PickFirst"),
		},
		{
			"a policy of gRPC in an Any in an Any",
			policies(direct("round_robin.v3.RoundRobin", ""), wellKnown("Any", `value: {"@type": `+policyURL+"pick_first.v3.PickFirst}")), diag.Rejected, "lb-policy-unknown",
			noType("pick_first.v3.PickFirst"),
		},
		{
			"a policy of gRPC in a dynamic module",
			policies(direct("round_robin.v3.RoundRobin", ""), direct("dynamic_modules.v3.DynamicModulesLoadBalancerConfig", `lb_policy_config: {"@type": `+policyURL+"pick_first.v3.PickFirst}")),
			diag.Rejected, "lb-policy-unknown", noType("pick_first.v3.PickFirst"),
		},
		{
			"a value in an Any of Empty", policies(direct("round_robin.v3.RoundRobin", ""), wellKnown("Empty", "value: {}")), diag.Rejected, "unknown-field",
			"Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: " + inPolicy +
				"[1].typed_extension_config.typed_config.<any>: message google.protobuf.Empty, near <pos>: no such field: 'value') has unknown fields",
		},
		{
			"a field in an Any of FieldMask", policies(direct("round_robin.v3.RoundRobin", ""), wellKnown("FieldMask", "value: 'a,b', foo: 1")), diag.Rejected, "value-type",
			"Unable to parse JSON as proto (INVALID_ARGUMENT: " + inPolicy +
				"[1].typed_extension_config.typed_config.<any>: message google.protobuf.FieldMask, near <pos>: fields in a well-known-typed Any must be @type or value)",
		},
		{
			"a time that is too short", policies(direct("round_robin.v3.RoundRobin", ""), wellKnown("Timestamp", "value: x")), diag.Rejected, "value-type",
			"Unable to parse JSON as proto (INVALID_ARGUMENT: " + inPolicy +
				"[1].typed_extension_config.typed_config.<any>: message google.protobuf.Timestamp, near <pos>: timestamp string too short)",
		},
		{
			"a time whose digits do not make up for its length", policies(direct("round_robin.v3.RoundRobin", ""), wellKnown("Timestamp", "value: '20200-1-2T3:4:5.00Z'")), diag.Rejected, "value-type",
			"Unable to parse JSON as proto (INVALID_ARGUMENT: " + inPolicy +
				"[1].typed_extension_config.typed_config.<any>: message google.protobuf.Timestamp, near <pos>: timestamp string too short)",
		},
		{
			"a time with one digit where two are usual", policies(direct("round_robin.v3.RoundRobin", ""), wellKnown("Timestamp", "value: '2020-1-2T3:4:5.000000Z'")), diag.Accept, "", "",
		},
		{
			"null in an Any of Duration", policies(direct("round_robin.v3.RoundRobin", ""), wellKnown("Duration", "value: null")), diag.Accept, "", "",
		},
		{
			"an integer that is too large for its field", policies(direct("round_robin.v3.RoundRobin", ""), wellKnown("Int64Value", "value: '9223372036854775808'")), diag.Rejected, "value-type",
			"Unable to parse JSON as proto (INVALID_ARGUMENT: " + inPolicy +
				"[1].typed_extension_config.typed_config.<any>: message google.protobuf.Int64Value, near <pos>: JSON number out of range for int)",
		},
		{
			"a type in a cluster of a bootstrap", `"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster`, diag.Rejected, "unknown-field",
			"Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: " + inCluster +
				": message envoy.config.cluster.v3.Cluster, near <pos>: no such field: '@type') has unknown fields",
		},
		{
			"null for a type in a load_assignment", `load_assignment: {"@type": null, cluster_name: c}`, diag.Rejected, "unknown-field",
			"Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: " + inCluster +
				".load_assignment: message envoy.config.endpoint.v3.ClusterLoadAssignment, near <pos>: no such field: '@type') has unknown fields",
		},
		{
			"a cluster_type with a message that configures none", clusterType("envoy.cluster.static", "google.protobuf.Empty", ""), diag.Rejected, "cluster-type-unknown",
			"Didn't find a registered cluster factory implementation for type: 'google.protobuf.Empty'",
		},
		{
			"a cluster_type with a TypedStruct", clusterType("envoy.cluster.dns", "xds.type.v3.TypedStruct", "type_url: type.googleapis.com/"+dnsMessage), diag.Rejected, "cluster-type-unknown",
			"Didn't find a registered cluster factory implementation for type: 'xds.type.v3.TypedStruct'",
		},
		{
			"a cluster_type with an empty Any", "cluster_type: {name: envoy.cluster.static, typed_config: {}}", diag.Rejected, "cluster-type-unknown",
			"Didn't find a registered cluster factory implementation for type: ''",
		},
		{
			"a cluster_type with a Struct and no such name", clusterType("x", "google.protobuf.Struct", ""), diag.Rejected, "cluster-type-unknown",
			"Didn't find a registered cluster factory implementation for name: 'x'",
		},
		{
			"an aggregate cluster with a Struct", clusterType("envoy.clusters.aggregate", "google.protobuf.Struct", "value: {clusters: [x]}") + ", lb_policy: CLUSTER_PROVIDED", diag.Accept, "", "",
		},
		{
			"an aggregate cluster with a Struct with something else", clusterType("envoy.clusters.aggregate", "google.protobuf.Struct", "value: {foo: 1}") + ", lb_policy: CLUSTER_PROVIDED",
			diag.Rejected, "unknown-field",
			"Protobuf message (type envoy.extensions.clusters.aggregate.v3.ClusterConfig reason INVALID_ARGUMENT: " +
				"invalid JSON in envoy.extensions.clusters.aggregate.v3.ClusterConfig, near <pos>: no such field: 'foo') has unknown fields",
		},
		{
			"a Redis cluster with a policy of its own", "cluster_type: {name: envoy.clusters.redis}, lb_policy: MAGLEV", diag.Accept, "", "",
		},
		{
			"a Redis cluster with cluster_provided beside another lb_policy", "cluster_type: {name: envoy.clusters.redis}, " + policies(direct("cluster_provided.v3.ClusterProvided", "")),
			diag.Rejected, "lb-policy-cluster-provided", "cluster manager: cluster provided LB specified but cluster 'c' did not provide one.",
		},
		{
			"a Redis cluster by another name", clusterType("x", "envoy.extensions.clusters.redis.v3.RedisClusterConfig", ""), diag.Rejected, "cluster-constraint",
			"Redis cluster can only created with redis cluster type.",
		},
		{
			"a refresh rate that is too short", clusterType("x", dnsMessage, "dns_refresh_rate: 0.001s"), diag.Rejected, "cluster-constraint",
			"Proto constraint validation failed (DnsClusterValidationError.DnsRefreshRate: value must be greater than 1ms)",
		},
		{
			"a least refresh rate that is too short, before the policy", clusterType("x", dnsMessage, "dns_min_refresh_rate: 0s") + ", " + policies(typed("round_robin.v3.RoundRobin", "foo: 1")),
			diag.Rejected, "cluster-constraint", "Proto constraint validation failed (DnsClusterValidationError.DnsMinRefreshRate: value must be greater than or equal to 1s)",
		},
		{
			"a refresh rate without its interval", clusterType("x", dnsMessage, "dns_failure_refresh_rate: {}"), diag.Rejected, "cluster-constraint",
			"Proto constraint validation failed (DnsClusterValidationError.DnsFailureRefreshRate: embedded message failed validation | caused by RefreshRateValidationError.BaseInterval: value is required)",
		},
		{
			"a negative duration counts before constraints", clusterType("x", dnsMessage, "dns_refresh_rate: 0s, dns_min_refresh_rate: -1s"), diag.Rejected, "duration-invalid",
			"Invalid duration: Expected positive duration: <dump>",
		},
		{
			"intervals in the wrong order", clusterType("x", dnsMessage, "dns_failure_refresh_rate: {base_interval: 2s, max_interval: 1s}"), diag.Rejected, "cluster-constraint",
			"dns_failure_refresh_rate must have max_interval greater than or equal to the base_interval",
		},
		{
			"intervals in the wrong order in a cluster of DNS", "type: STRICT_DNS, dns_failure_refresh_rate: {base_interval: 2s, max_interval: 1s}", diag.Rejected, "cluster-constraint",
			"dns_failure_refresh_rate must have max_interval greater than or equal to the base_interval",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := envoyVerdict(t, tt.cluster)
			if got.Kind != tt.kind || got.Rule != tt.rule || !strings.HasPrefix(got.Message, tt.message) {
				t.Errorf("verdict %+v, want %s by %s: %s", got, tt.kind, tt.rule, tt.message)
			}
		})
	}
}

// envoyVerdict is Envoy's about a bootstrap with a cluster of one endpoint that has fields more.
func envoyVerdict(t *testing.T, fields string) diag.Verdict {
	t.Helper()
	if !strings.Contains(fields, "cluster_type: {") && !strings.HasPrefix(fields, "type: ") {
		fields = "type: STATIC, " + fields
	}
	if !strings.Contains(fields, "load_assignment: {") {
		fields += ", load_assignment: {cluster_name: c, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 1.2.3.4, port_value: 80}}}}]}]}"
	}
	text := "static_resources: {clusters: [{name: c, connect_timeout: 1s, " + fields + "}]}\n"
	loaded := eds.NewLoader(eds.Options{}).Load("bootstrap.yaml", []byte(text), true)
	report := validate.Run(loaded.Resources, validate.Options{})
	if len(report.Resources) != 1 {
		t.Fatalf("%d resources, want 1", len(report.Resources))
	}
	return report.Resources[0].Verdicts[diag.Envoy]
}

func policies(configs ...string) string { return "load_balancing_policy: " + list(configs...) }

// list is a LoadBalancingPolicy of extensions, given by their fields.
func list(configs ...string) string {
	var b strings.Builder
	for _, c := range configs {
		b.WriteString("{typed_extension_config: {" + c + "}}, ")
	}
	return "{policies: [" + b.String() + "]}"
}

// direct and typed configure a policy by its message, and by a TypedStruct.
func direct(message, fields string) string {
	return `name: x, typed_config: {"@type": ` + policyURL + message + ", " + fields + "}"
}

func typed(message, fields string) string {
	return `name: x, typed_config: {"@type": type.googleapis.com/xds.type.v3.TypedStruct, type_url: ` + policyURL + message + ", value: {" + fields + "}}"
}

func wellKnown(message, fields string) string {
	return `name: x, typed_config: {"@type": type.googleapis.com/google.protobuf.` + message + ", " + fields + "}"
}

func noType(message string) string {
	return "Unable to parse JSON as proto (INVALID_ARGUMENT: could not find @type '" + policyURL + message + "')"
}

const dnsMessage = "envoy.extensions.clusters.dns.v3.DnsCluster"

func clusterType(name, message, fields string) string {
	return "cluster_type: {name: " + name + `, typed_config: {"@type": type.googleapis.com/` + message + ", " + fields + "}}"
}

// unknownIn and unreadableIn are what Envoy says of the values of a TypedStruct.
func unknownIn(message, at, cause string) string {
	name := "envoy.extensions.load_balancing_policies." + message
	return "Protobuf message (type " + name + " reason INVALID_ARGUMENT: invalid JSON in " + name + at + ", near <pos>: " + cause + ") has unknown fields"
}

func unreadableIn(message, at, cause string) string {
	return "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.extensions.load_balancing_policies." + message + " @ " + at + ", near <pos>: " + cause + ")"
}

// TestFoundTypedByCDS: what is unknown in a TypedStruct refuses a cluster that came by CDS only where Envoy is told to.
func TestFoundTypedByCDS(t *testing.T) {
	t.Parallel()
	text := "resources:\n- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: c\n  type: STATIC\n  connect_timeout: 1s\n" +
		"  load_assignment: {cluster_name: c}\n  " + policies(typed("round_robin.v3.RoundRobin", "foo: 1")) + "\n"
	for flag, want := range map[string]diag.VerdictKind{"default": diag.Accept, "ignore": diag.Accept, "strict": diag.Rejected} {
		loaded := eds.NewLoader(eds.Options{}).Load("cds.yaml", []byte(text), true)
		report := validate.Run(loaded.Resources, validate.Options{UnknownFields: flag})
		if got := report.Resources[0].Verdicts[diag.Envoy]; got.Kind != want {
			t.Errorf("%s: verdict %+v, want %s", flag, got, want)
		}
		found := slices.ContainsFunc(report.Findings, func(f diag.Finding) bool { return f.Rule == "unknown-field" })
		if !found {
			t.Errorf("%s: findings %+v", flag, report.Findings)
		}
	}
}

// TestFoundTypedVersions: a policy is known from the version on that brought it, wherever it stands.
func TestFoundTypedVersions(t *testing.T) {
	t.Parallel()
	nested := direct("subset.v3.Subset", "subset_lb_policy: "+list(direct("wrr_locality.v3.WrrLocality", "")))
	text := "static_resources: {clusters: [{name: c, type: STATIC, connect_timeout: 1s, load_assignment: {cluster_name: c}, " +
		policies(direct("round_robin.v3.RoundRobin", ""), nested) + "}]}\n"
	for version, want := range map[int]diag.VerdictKind{36: diag.Rejected, 37: diag.Accept} {
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: version}).Load("bootstrap.yaml", []byte(text), true)
		report := validate.Run(loaded.Resources, validate.Options{EnvoyVersion: version})
		if got := report.Resources[0].Verdicts[diag.Envoy]; got.Kind != want {
			t.Errorf("Envoy 1.%d: verdict %+v, want %s", version, got, want)
		}
	}
}
