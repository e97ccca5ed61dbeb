package validate_test

import (
	"encoding/hex"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

const (
	grpcCluster  = "{name: c, type: EDS, eds_cluster_config: {eds_config: {ads: {}}}, "
	lbPolicies   = "type.googleapis.com/envoy.extensions.load_balancing_policies."
	converting   = "error converting LoadBalancingPolicy <dump> in response: <dump>: "
	garbage      = "failed to unmarshal resource: proto: cannot parse invalid wire-format data"
	noneInPolicy = converting + "no supported policy found in policy list +<dump>"
)

// grpcFound is an input on which the real grpc-go and edsctl were found to differ; without a message grpc-go takes it.
type grpcFound struct {
	name, fields string
	edit         func(*clusterv3.Cluster) // makes it a binary input
	message      string
}

func TestFoundGRPCPolicies(t *testing.T) {
	t.Parallel()
	child := func(list string) string { return grpcTyped("xds_wrr_locality_experimental", "{childPolicy: "+list+"}") }
	inChild := func(list string) string {
		return `JSON generated from xDS LB policy registry: [ { "xds_wrr_locality_experimental": { "childPolicy": ` + list + " } } ] is invalid: " +
			`error parsing loadBalancingConfig for policy "xds_wrr_locality_experimental": xds_wrr_locality: invalid LBConfig: `
	}
	runFoundGRPC(t, []grpcFound{
		{"a fraction of a ring", grpcTyped("ring_hash_experimental", "{minRingSize: 1.5}"), nil,
			invalid("ring_hash_experimental", `{ "minRingSize": 1.5 }`, "json: cannot unmarshal number 1.5 into Go struct field LBConfig.minRingSize of type uint64")},
		{"a ring of more than an int32", grpcTyped("ring_hash_experimental", "{minRingSize: 9000000000}"), nil,
			invalid("ring_hash_experimental", `{ "minRingSize": 9000000000 }`, "min_ring_size value of 9000000000 is greater than max supported value 8388608 for this field")},
		{"a number with an exponent", grpcTyped("least_request_experimental", "{z: 1.0e+21, choiceCount: 1}"), nil,
			invalid("least_request_experimental", `{ "choiceCount": 1, "z": 1e+21 }`, "least-request: lbConfig.choiceCount: 1, must be >= 2")},
		{"a quoted number", grpcTyped("ring_hash_experimental", `{minRingSize: "9000000000"}`), nil,
			invalid("ring_hash_experimental", `{ "minRingSize": "9000000000" }`, "json: cannot unmarshal string into Go struct field LBConfig.minRingSize of type uint64")},
		{"a fraction of a penalty", grpcTyped("weighted_round_robin", "{errorUtilizationPenalty: 0.5}"), nil, ""},
		{"a negative ring", grpcTyped("ring_hash_experimental", "{minRingSize: -1}"), nil,
			invalid("ring_hash_experimental", `{ "minRingSize": -1 }`, "json: cannot unmarshal number -1 into Go struct field LBConfig.minRingSize of type uint64")},
		{"a binary header to hash", grpcTyped("ring_hash_experimental", `{requestHashHeader: "x-bin"}`), nil,
			invalid("ring_hash_experimental", `{ "requestHashHeader": "x-bin" }`, `invalid requestHashHeader "x-bin": key must not end with "-bin"`)},
		{"a blank in a header to hash", grpcTyped("ring_hash_experimental", `{requestHashHeader: "A b"}`), nil,
			invalid("ring_hash_experimental", `{ "requestHashHeader": "A b" }`, `invalid requestHashHeader "a b": header key "a b" contains illegal characters not in [0-9a-z-_.]`)},
		{"a pseudo-header to hash", grpcTyped("ring_hash_experimental", `{requestHashHeader: ":authority"}`), nil, ""},
		{"a number for a switch", grpcTyped("pick_first", "{shuffleAddressList: 1}"), nil,
			invalid("pick_first", `{ "shuffleAddressList": 1 }`, `pickfirst: unable to unmarshal LB policy config: {"shuffleAddressList":1}, error: `+
				"json: cannot unmarshal number into Go struct field pfConfig.shuffleAddressList of type bool")},
		{"a negative count", grpcTyped("least_request_experimental", "{choiceCount: -1}"), nil,
			invalid("least_request_experimental", `{ "choiceCount": -1 }`, "least-request: unable to unmarshal LBConfig: json: cannot unmarshal number -1 into Go struct field LBConfig.choiceCount of type uint32")},
		{"a duration without its unit", grpcTyped("weighted_round_robin", `{blackoutPeriod: "x"}`), nil,
			invalid("weighted_round_robin", `{ "blackoutPeriod": "x" }`, `wrr: unable to unmarshal LB policy config: {"blackoutPeriod":"x"}, error: malformed duration "x": missing seconds unit`)},
		{"a duration with too many digits", grpcTyped("weighted_round_robin", `{blackoutPeriod: "-5.1234567891s"}`), nil,
			invalid("weighted_round_robin", `{ "blackoutPeriod": "-5.1234567891s" }`, `wrr: unable to unmarshal LB policy config: {"blackoutPeriod":"-5.1234567891s"}, error: malformed duration "5.1234567891s": too many digits after decimal`)},
		{"a duration that is a number", grpcTyped("weighted_round_robin", "{blackoutPeriod: 5}"), nil,
			invalid("weighted_round_robin", `{ "blackoutPeriod": 5 }`, `wrr: unable to unmarshal LB policy config: {"blackoutPeriod":5}, error: json: cannot unmarshal number into Go struct field lbConfig.blackoutPeriod of type string`)},
		{"a duration", grpcTyped("weighted_round_robin", `{blackoutPeriod: ".5s", weightUpdatePeriod: "9223372037s"}`), nil, ""},
		{"no child", child("[]"), nil, inChild("[]") + `{"childPolicy":[]}, error: invalid loadBalancingConfig: no supported policies found in []`},
		{"an unknown child", child("[{nope: {}}]"), nil,
			inChild(`[ { "nope": {} } ]`) + `{"childPolicy":[{"nope":{}}]}, error: invalid loadBalancingConfig: no supported policies found in [nope]`},
		{"an empty entry of a child", child("[{}]"), nil,
			inChild("[ {} ]") + `{"childPolicy":[{}]}, error: invalid loadBalancingConfig: entry 0 does not contain exactly 1 policy/config pair: map[]`},
		{"a child that is refused", child("[{least_request_experimental: {choiceCount: 1}}]"), nil,
			inChild(`[ { "least_request_experimental": { "choiceCount": 1 } } ]`) + `{"childPolicy":[{"least_request_experimental":{"choiceCount":1}}]}, error: ` +
				`error parsing loadBalancingConfig for policy "least_request_experimental": least-request: lbConfig.choiceCount: 1, must be >= 2`},
		{"a child that is no object", child("[{pick_first: 5}]"), nil,
			inChild(`[ { "pick_first": 5 } ]`) + `{"childPolicy":[{"pick_first":5}]}, error: error parsing loadBalancingConfig for policy "pick_first": ` +
				"pickfirst: unable to unmarshal LB policy config: 5, error: json: cannot unmarshal number into Go value of type pickfirst.pfConfig"},
		{"a child after an unknown one", child("[{nope: {}}, {round_robin: {}}]"), nil, ""},
		{"a list of targets", grpcTyped("weighted_target_experimental", "{targets: []}"), nil,
			invalid("weighted_target_experimental", `{ "targets": [] }`, "json: cannot unmarshal array into Go struct field LBConfig.targets of type map[string]weightedtarget.Target")},
		{"a priority without a child", grpcTyped("priority_experimental", "{priorities: [a]}"), nil,
			invalid("priority_experimental", `{ "priorities": [ "a" ] }`, `LB policy name "a" found in Priorities field ([a]) is not found in Children field (map[])`)},
		{"a child without a priority", grpcTyped("priority_experimental", "{children: {a: {config: [{round_robin: {}}]}}}"), nil,
			invalid("priority_experimental", `{ "children": { "a": { "config": [ { "round_robin": {} } ] } } }`,
				`LB policy name "a" found in Children field (map[<dump>]) is not found in Priorities field ([])`)},
		{"children of a manager", grpcTyped("xds_cluster_manager_experimental", "{children: 5}"), nil,
			invalid("xds_cluster_manager_experimental", `{ "children": 5 }`, "json: cannot unmarshal number into Go struct field lbConfig.Children of type map[string]clustermanager.childConfig")},
		{"a number for a cluster", grpcTyped("xds_cluster_impl_experimental", "{cluster: 5}"), nil,
			invalid("xds_cluster_impl_experimental", `{ "cluster": 5 }`, "json: cannot unmarshal number into Go struct field LBConfig.cluster of type string")},
		{"a number for a cluster of CDS", grpcTyped("cds_experimental", "{cluster: 5}"), nil,
			invalid("cds_experimental", `{ "cluster": 5 }`, `xds: unable to unmarshal lbconfig: {"cluster":5}, error: json: cannot unmarshal number into Go struct field lbConfig.cluster of type string`)},
		{"more than all of the endpoints", grpcTyped("outlier_detection_experimental", "{maxEjectionPercent: 101}"), nil,
			invalid("outlier_detection_experimental", `{ "maxEjectionPercent": 101 }`, "OutlierDetectionLoadBalancingConfig.max_ejection_percent = 101; must be <= 100")},
		{"a negative interval", grpcTyped("outlier_detection_experimental", `{interval: "-1s"}`), nil,
			invalid("outlier_detection_experimental", `{ "interval": "-1s" }`, "OutlierDetectionLoadBalancingConfig.interval = -1s; must be >= 0")},
		{"the name of a policy in another case", grpcTyped("ROUND_ROBIN", "{}"), nil, noneInPolicy},
		{"two slashes in a type URL", policy(lbPolicies[:20] + "/" + lbPolicies[20:] + "round_robin.v3.RoundRobin"), nil, noneInPolicy},
		{"a path in a type URL", policy(lbPolicies[:20] + "x/" + lbPolicies[20:] + "round_robin.v3.RoundRobin"), nil, noneInPolicy},
		{"another TypedStruct", policy(lbPolicies + "round_robin.v3.RoundRobin"), func(m *clusterv3.Cluster) { policyOf(m).TypeUrl = "type.googleapis.com/my.TypedStruct" }, noneInPolicy},
		{"a count of 0 is none", policy(lbPolicies + "least_request.v3.LeastRequest, choice_count: 0"), nil, ""},
		{"a count of 1", policy(lbPolicies + "least_request.v3.LeastRequest, choice_count: 1"), nil,
			invalid("least_request_experimental", `{ "choiceCount": 1 }`, "least-request: lbConfig.choiceCount: 1, must be >= 2")},
		{"a penalty that is no number", policy(lbPolicies + "client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin, error_utilization_penalty: NaN"), nil,
			converting + "error marshaling JSON for type *converter.wrrLBConfig: json: unsupported value: NaN"},
		{"an infinite penalty", policy(lbPolicies + "client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin, error_utilization_penalty: -Infinity"), nil,
			converting + "error marshaling JSON for type *converter.wrrLBConfig: json: unsupported value: -Inf"},
		{"a negative penalty", policy(lbPolicies + "client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin, blackout_period: 5s, error_utilization_penalty: -1"), nil,
			invalid("weighted_round_robin", `{ "blackoutPeriod": "5s", "errorUtilizationPenalty": -1 }`, "wrr: errorUtilizationPenalty must be non-negative")},
		{"a RoundRobin that cannot be decoded", policy(lbPolicies + "round_robin.v3.RoundRobin"), undecodable, ""},
		{"a LeastRequest that cannot be decoded", policy(lbPolicies + "least_request.v3.LeastRequest"), undecodable, converting + garbage},
		{"a WrrLocality that cannot be decoded", policy(lbPolicies + "wrr_locality.v3.WrrLocality"), undecodable, converting + garbage},
		{"a TypedStruct that cannot be decoded", policy("type.googleapis.com/xds.type.v3.TypedStruct"), undecodable, converting + garbage},
	})
}

// runFoundGRPC compares the verdicts of grpc-go, and its texts.
func runFoundGRPC(t *testing.T, tests []grpcFound) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			options := eds.Options{Shape: eds.ShapeCluster, Source: eds.FromCDS}
			file, data := "c.yaml", []byte(grpcCluster+tt.fields+"}\n")
			resources := eds.NewLoader(options).Load(file, data, true).Resources
			if tt.edit != nil {
				m := proto.CloneOf(resources[0].Cluster.Message)
				tt.edit(m)
				data, err := proto.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				options.Format = eds.Binary
				resources = eds.NewLoader(options).Load("c.pb", data, true).Resources
			}
			got := validate.Run(resources, validate.Options{}).Resources[0].Verdicts[diag.GRPC]
			want := diag.Accept
			if tt.message != "" {
				want = diag.Rejected
			}
			if got.Kind != want || got.Message != tt.message {
				t.Errorf("verdict %s by %s, want %s\n got %s\nwant %s", got.Kind, got.Rule, want, got.Message, tt.message)
			}
		})
	}
}

// policy is a load_balancing_policy with a message of this type and fields.
func policy(message string) string {
	message = strings.Replace(message, ", ", "\", ", 1)
	if !strings.Contains(message, `"`) {
		message += `"`
	}
	return `load_balancing_policy: {policies: [{typed_extension_config: {name: x, typed_config: {"@type": "` + message + `}}}]}`
}

// typed is the same with a TypedStruct.
func grpcTyped(name, value string) string {
	return policy("type.googleapis.com/xds.type.v3.TypedStruct, type_url: " + name + ", value: " + value)
}

// invalid is what grpc-go says when a policy's parser refuses a configuration.
func invalid(policy, config, reason string) string {
	return `JSON generated from xDS LB policy registry: [ { "` + policy + `": ` + config + ` } ] is invalid: error parsing loadBalancingConfig for policy "` + policy + `": ` + reason
}

// undecodable puts bytes that are no message into the policy.
func undecodable(m *clusterv3.Cluster) { policyOf(m).Value = []byte{0xff} }

func policyOf(m *clusterv3.Cluster) *anypb.Any {
	return m.GetLoadBalancingPolicy().GetPolicies()[0].GetTypedExtensionConfig().GetTypedConfig()
}

func TestFoundGRPCSecurity(t *testing.T) {
	t.Parallel()
	const (
		noRoot   = "security configuration on the client-side does not contain root certificate provider instance name"
		old      = "failed to parse config using deprecated fields: "
		oldPlain = "\n" + old + "validation context contains unexpected type: *tlsv3.CommonTlsContext_ValidationContext"
		missing  = "expected field ca_certificate_provider_instance is missing in CommonTlsContext message: <dump>"
		provider = "ca_certificate_provider_instance: {instance_name: i}"
	)
	common := func(fields string) string { return transport("common_tls_context: {" + fields + "}") }
	tests := []struct{ name, fields, bytes, message string }{ // the bytes of the UpstreamTlsContext too
		{"no common context", transport("sni: x"), "120178", "UpstreamTlsContext in CDS response does not contain a CommonTlsContext"},
		{"an empty context", common(""), "0a00", noRoot},
		{"certificates without their content", common("alpn_protocols: [h2], tls_certificate_sds_secret_configs: [{name: x}]"), "0a092202683232030a0178", noRoot},
		{"tls_params", common("tls_params: {}"), "0a020a00", "unsupported tls_params field in CommonTlsContext message: <dump>"},
		{"a handshaker", common("custom_handshaker: {name: x}"), "0a056a030a0178", "unsupported custom_handshaker field in CommonTlsContext message: <dump>"},
		{"nothing to validate with", common("validation_context: {}"), "0a021a00", missing + oldPlain},
		{"a file", common("validation_context: {trusted_ca: {filename: /x}}"), "0a081a060a040a022f78", missing + oldPlain},
		{"an empty provider", common("validation_context: {ca_certificate_provider_instance: {}}"), "0a041a026a00", oldPlain[1:]},
		{"a provider", common("validation_context: {" + provider + "}"), "0a071a056a030a0169", ""},
		{"a default provider", common("combined_validation_context: {default_validation_context: {" + provider + "}}"), "0a0942070a056a030a0169", ""},
		{"a provider in the older field", common("validation_context_certificate_provider_instance: {instance_name: i}"), "0a0562030a0169", ""},
		{"an empty combined context", common("combined_validation_context: {}"), "0a024200", noRoot},
		{"a secret", common("validation_context_sds_secret_config: {name: x}"), "0a053a030a0178",
			"validation context contains unexpected type: *tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig\n" + old +
				"validation context contains unexpected type: *tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig"},
		{"pins", common("validation_context: {" + provider + ", verify_certificate_spki: [x]}"), "0a0a1a081a01786a030a0169",
			"unsupported verify_certificate_spki field in CommonTlsContext message: <dump>" + oldPlain},
		{"revocations", common("validation_context: {" + provider + ", crl: {filename: x}}"), "0a0c1a0a3a030a01786a030a0169", "unsupported crl field in CommonTlsContext message: <dump>" + oldPlain},
		{"transparency", common("validation_context: {" + provider + ", require_signed_certificate_timestamp: true}"), "0a0b1a09320208016a030a0169",
			"unsupported require_signed_certificate_timestamp field in CommonTlsContext message: <dump>" + oldPlain},
		{"an empty prefix", common(`validation_context: {` + provider + `, match_subject_alt_names: [{prefix: ""}]}`), "0a0b1a094a0212006a030a0169",
			"empty prefix is not allowed in StringMatcher" + oldPlain},
		{"a bad expression", common(`validation_context: {` + provider + `, match_subject_alt_names: [{safe_regex: {regex: "("}}]}`), "0a0e1a0c4a052a031201286a030a0169",
			`safe_regex matcher "(" is invalid` + oldPlain},
		{"certificates of their own", common("tls_certificates: [{certificate_chain: {filename: x}}], validation_context: {trusted_ca: {filename: /ca}}"), "0a1012050a030a01781a070a050a032f6361",
			"expected field tls_certificate_provider_instance is not set, while unsupported field tls_certificates is set in CommonTlsContext message: <dump>" + oldPlain},
	}
	var found []grpcFound
	for _, tt := range tests {
		found = append(found, grpcFound{tt.name, tt.fields, nil, tt.message}, grpcFound{tt.name + " in binary", tt.fields, func(m *clusterv3.Cluster) {
			m.GetTransportSocket().GetTypedConfig().Value, _ = hex.DecodeString(tt.bytes)
		}, tt.message})
	}
	runFoundGRPC(t, append(found, grpcFound{"bytes that are no message", transport("sni: x"),
		func(m *clusterv3.Cluster) { m.GetTransportSocket().GetTypedConfig().Value = []byte{0xff} },
		"failed to unmarshal UpstreamTlsContext in CDS response: proto: cannot parse invalid wire-format data"}))
}

// TestGRPCCertificateProviders asks for certificate providers that the bootstrap of gRPC has or not.
func TestGRPCCertificateProviders(t *testing.T) {
	t.Parallel()
	const context = "common_tls_context: {tls_certificate_provider_instance: {instance_name: i}, validation_context: {ca_certificate_provider_instance: {instance_name: r}}}"
	file := `{"plugin_name": "file_watcher", "config": {}}`
	for bootstrap, want := range map[string]string{
		"":   "", // nothing is known
		"{}": `identity certificate provider instance name "i" missing in bootstrap configuration`,
		`{"certificate_providers": {"i": ` + file + `}}`:                                          `root certificate provider instance name "r" missing in bootstrap configuration`,
		`{"certificate_providers": {"i": ` + file + `, "r": {"plugin_name": "of another kind"}}}`: `root certificate provider instance name "r" missing in bootstrap configuration`,
		`{"certificate_providers": {"i": ` + file + `, "r": ` + file + `}}`:                       "",
	} {
		resources := eds.NewLoader(eds.Options{Shape: eds.ShapeCluster, Source: eds.FromCDS}).Load("c.yaml", []byte(grpcCluster+transport(context)+"}\n"), true).Resources
		report := validate.Run(resources, validate.Options{Getenv: func(name string) string {
			if name == "GRPC_XDS_BOOTSTRAP_CONFIG" {
				return bootstrap
			}
			return ""
		}})
		if got := report.Resources[0].Verdicts[diag.GRPC].Message; got != want {
			t.Errorf("bootstrap %s: %s, want %s", bootstrap, got, want)
		}
	}
}

// transport is a transport_socket with TLS.
func transport(context string) string {
	return `transport_socket: {name: envoy.transport_sockets.tls, typed_config: {"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", ` + context + "}}"
}

// TestFoundGRPCCrashes has clusters that grpc-go acknowledges, and some that end its process then.
func TestFoundGRPCCrashes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, policy string
		crash        string // where; empty: nowhere
	}{
		{"outlier detection of nothing", grpcTyped("outlier_detection_experimental", "{}"), "childPolicy"},
		{"outlier detection", grpcTyped("outlier_detection_experimental", "{childPolicy: [{round_robin: {}}]}"), ""},
		{"cluster_impl of nothing", grpcTyped("xds_cluster_impl_experimental", "{cluster: c}"), "childPolicy"},
		{"cluster_impl without a cluster", grpcTyped("xds_cluster_impl_experimental", "{childPolicy: [{round_robin: {}}]}"), "cluster"},
		{"cluster_impl", grpcTyped("xds_cluster_impl_experimental", "{cluster: c, childPolicy: [{round_robin: {}}]}"), ""},
		{"a target of nothing", grpcTyped("weighted_target_experimental", "{targets: {a: {}}}"), "targets.a.childPolicy"},
		{"no target", grpcTyped("weighted_target_experimental", "{targets: {}}"), ""},
		{"a child of nothing", grpcTyped("xds_cluster_manager_experimental", "{children: {a: {}}}"), "children.a.childPolicy"},
		{"a priority of nothing", grpcTyped("priority_experimental", "{children: {a: {config: [{round_robin: {}}]}, b: {}}, priorities: [a, b]}"), "children.b.config"},
		{"a crash inside", grpcTyped("xds_wrr_locality_experimental", "{childPolicy: [{nope: {}}, {outlier_detection_experimental: {}}]}"),
			"childPolicy[1].outlier_detection_experimental.childPolicy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resources := eds.NewLoader(eds.Options{Shape: eds.ShapeCluster, Source: eds.FromCDS}).Load("c.yaml", []byte(grpcCluster+tt.policy+"}\n"), true).Resources
			report := validate.Run(resources, validate.Options{Clients: []diag.Client{diag.GRPC}})
			if got := report.Resources[0].Verdicts[diag.GRPC].Kind; got != diag.Accept {
				t.Errorf("verdict %s", got)
			}
			where := ""
			for _, f := range report.Findings {
				if f.Clients[diag.GRPC].Effect == diag.Crash {
					_, where, _ = strings.Cut(f.Path.String(), ".typed_config.value.")
				}
			}
			if where != tt.crash {
				t.Errorf("a crash at %q, want %q", where, tt.crash)
			}
		})
	}
}

func TestFoundGRPCCluster(t *testing.T) {
	t.Parallel()
	const aggregate = `type: null, eds_cluster_config: null, cluster_type: {name: envoy.clusters.aggregate, typed_config: {"@type": "type.googleapis.com/`
	duration := func(set func(*clusterv3.OutlierDetection, *durationpb.Duration), d *durationpb.Duration) func(*clusterv3.Cluster) {
		return func(m *clusterv3.Cluster) {
			m.OutlierDetection = &clusterv3.OutlierDetection{}
			set(m.GetOutlierDetection(), d)
		}
	}
	interval := func(o *clusterv3.OutlierDetection, d *durationpb.Duration) { o.Interval = d }
	longest := func(o *clusterv3.OutlierDetection, d *durationpb.Duration) { o.MaxEjectionTime = d }
	const isInvalid = "outlier_detection.interval is invalid with error: proto: duration "
	runFoundGRPC(t, []grpcFound{
		{"two signs", "alt_stat_name: a", duration(interval, &durationpb.Duration{Seconds: 1, Nanos: -1}), isInvalid + "(seconds:1 nanos:-1) has seconds and nanos with different signs"},
		{"too many nanoseconds", "alt_stat_name: a", duration(interval, &durationpb.Duration{Nanos: 1e9}), isInvalid + "(nanos:1000000000) has out-of-range nanos"},
		{"more than 10000 years", "alt_stat_name: a", duration(interval, &durationpb.Duration{Seconds: 315576000001}), isInvalid + "(seconds:315576000001) exceeds +10000 years"},
		{"another text", "alt_stat_name: a", duration(longest, &durationpb.Duration{Seconds: -315576000001}),
			"outlier_detection.max_ejection_time is invalid: proto: duration (seconds:-315576000001) exceeds -10000 years"},
		{"an aggregate by a TypedStruct", aggregate + `xds.type.v3.TypedStruct", type_url: x, value: {clusters: [a]}}}`, nil, ""},
		{"an aggregate by a string", aggregate + `google.protobuf.StringValue", value: a}}`, nil, ""},
		{"an aggregate that cannot be decoded", aggregate + `envoy.extensions.clusters.aggregate.v3.ClusterConfig", clusters: [a]}}`,
			func(m *clusterv3.Cluster) { m.GetClusterType().GetTypedConfig().Value = []byte{0x0a, 1, 0xff} }, "failed to unmarshal resource: string field contains invalid UTF-8"},
	})
	for bytes, want := range map[string]string{"\xff": garbage, "\x0a\x01\xff": "failed to unmarshal resource: string field contains invalid UTF-8"} {
		resources := eds.NewLoader(eds.Options{Shape: eds.ShapeCluster, Source: eds.FromCDS, Format: eds.Binary}).Load("c.pb", []byte(bytes), true).Resources
		if got := validate.Run(resources, validate.Options{}).Resources[0].Verdicts[diag.GRPC]; got.Message != want {
			t.Errorf("a cluster of the bytes %q: %s, want %s", bytes, got.Message, want)
		}
	}
}
