package validate_test

import (
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

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
	child := func(list string) string { return typed("xds_wrr_locality_experimental", "{childPolicy: "+list+"}") }
	inChild := func(list string) string {
		return `JSON generated from xDS LB policy registry: [ { "xds_wrr_locality_experimental": { "childPolicy": ` + list + " } } ] is invalid: " +
			`error parsing loadBalancingConfig for policy "xds_wrr_locality_experimental": xds_wrr_locality: invalid LBConfig: `
	}
	runFoundGRPC(t, []grpcFound{
		{"a negative ring", typed("ring_hash_experimental", "{minRingSize: -1}"), nil,
			invalid("ring_hash_experimental", `{ "minRingSize": -1 }`, "json: cannot unmarshal number -1 into Go struct field LBConfig.minRingSize of type uint64")},
		{"a binary header to hash", typed("ring_hash_experimental", `{requestHashHeader: "x-bin"}`), nil,
			invalid("ring_hash_experimental", `{ "requestHashHeader": "x-bin" }`, `invalid requestHashHeader "x-bin": key must not end with "-bin"`)},
		{"a blank in a header to hash", typed("ring_hash_experimental", `{requestHashHeader: "A b"}`), nil,
			invalid("ring_hash_experimental", `{ "requestHashHeader": "A b" }`, `invalid requestHashHeader "a b": header key "a b" contains illegal characters not in [0-9a-z-_.]`)},
		{"a pseudo-header to hash", typed("ring_hash_experimental", `{requestHashHeader: ":authority"}`), nil, ""},
		{"a number for a switch", typed("pick_first", "{shuffleAddressList: 1}"), nil,
			invalid("pick_first", `{ "shuffleAddressList": 1 }`, `pickfirst: unable to unmarshal LB policy config: {"shuffleAddressList":1}, error: `+
				"json: cannot unmarshal number into Go struct field pfConfig.shuffleAddressList of type bool")},
		{"a negative count", typed("least_request_experimental", "{choiceCount: -1}"), nil,
			invalid("least_request_experimental", `{ "choiceCount": -1 }`, "least-request: unable to unmarshal LBConfig: json: cannot unmarshal number -1 into Go struct field LBConfig.choiceCount of type uint32")},
		{"a duration without its unit", typed("weighted_round_robin", `{blackoutPeriod: "x"}`), nil,
			invalid("weighted_round_robin", `{ "blackoutPeriod": "x" }`, `wrr: unable to unmarshal LB policy config: {"blackoutPeriod":"x"}, error: malformed duration "x": missing seconds unit`)},
		{"a duration with too many digits", typed("weighted_round_robin", `{blackoutPeriod: "-5.1234567891s"}`), nil,
			invalid("weighted_round_robin", `{ "blackoutPeriod": "-5.1234567891s" }`, `wrr: unable to unmarshal LB policy config: {"blackoutPeriod":"-5.1234567891s"}, error: malformed duration "5.1234567891s": too many digits after decimal`)},
		{"a duration that is a number", typed("weighted_round_robin", "{blackoutPeriod: 5}"), nil,
			invalid("weighted_round_robin", `{ "blackoutPeriod": 5 }`, `wrr: unable to unmarshal LB policy config: {"blackoutPeriod":5}, error: json: cannot unmarshal number into Go struct field lbConfig.blackoutPeriod of type string`)},
		{"a duration", typed("weighted_round_robin", `{blackoutPeriod: ".5s", weightUpdatePeriod: "9223372037s"}`), nil, ""},
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
		{"a list of targets", typed("weighted_target_experimental", "{targets: []}"), nil,
			invalid("weighted_target_experimental", `{ "targets": [] }`, "json: cannot unmarshal array into Go struct field LBConfig.targets of type map[string]weightedtarget.Target")},
		{"a priority without a child", typed("priority_experimental", "{priorities: [a]}"), nil,
			invalid("priority_experimental", `{ "priorities": [ "a" ] }`, `LB policy name "a" found in Priorities field ([a]) is not found in Children field (map[])`)},
		{"a child without a priority", typed("priority_experimental", "{children: {a: {config: [{round_robin: {}}]}}}"), nil,
			invalid("priority_experimental", `{ "children": { "a": { "config": [ { "round_robin": {} } ] } } }`,
				`LB policy name "a" found in Children field (map[<dump>]) is not found in Priorities field ([])`)},
		{"children of a manager", typed("xds_cluster_manager_experimental", "{children: 5}"), nil,
			invalid("xds_cluster_manager_experimental", `{ "children": 5 }`, "json: cannot unmarshal number into Go struct field lbConfig.Children of type map[string]clustermanager.childConfig")},
		{"a number for a cluster", typed("xds_cluster_impl_experimental", "{cluster: 5}"), nil,
			invalid("xds_cluster_impl_experimental", `{ "cluster": 5 }`, "json: cannot unmarshal number into Go struct field LBConfig.cluster of type string")},
		{"a number for a cluster of CDS", typed("cds_experimental", "{cluster: 5}"), nil,
			invalid("cds_experimental", `{ "cluster": 5 }`, `xds: unable to unmarshal lbconfig: {"cluster":5}, error: json: cannot unmarshal number into Go struct field lbConfig.cluster of type string`)},
		{"more than all of the endpoints", typed("outlier_detection_experimental", "{maxEjectionPercent: 101}"), nil,
			invalid("outlier_detection_experimental", `{ "maxEjectionPercent": 101 }`, "OutlierDetectionLoadBalancingConfig.max_ejection_percent = 101; must be <= 100")},
		{"a negative interval", typed("outlier_detection_experimental", `{interval: "-1s"}`), nil,
			invalid("outlier_detection_experimental", `{ "interval": "-1s" }`, "OutlierDetectionLoadBalancingConfig.interval = -1s; must be >= 0")},
		{"the name of a policy in another case", typed("ROUND_ROBIN", "{}"), nil, noneInPolicy},
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
func typed(name, value string) string {
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
