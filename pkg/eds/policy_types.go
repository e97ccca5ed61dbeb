package eds

import (
	"strings"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	wrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	clusterprovidedv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/cluster_provided/v3"
	dynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/dynamic_modules/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	loadawarev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/load_aware_locality/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	overridehostv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	pickfirstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	randomv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/subset/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// policyType is a message that configures a policy.
type policyType struct {
	name  string               // of the policy
	empty func() proto.Message // nil when edsctl reads nothing in it
	since int                  // first minor version of Envoy that has the type; 0: never
}

// always marks what every supported Envoy has.
const always = 1

const policyPackage = "envoy.extensions.load_balancing_policies."

// policyTypes are the policies of Envoy (envoy-lb.md 0.1, envoy-versions) and of gRPC, by the full name of the message.
var policyTypes = map[string]policyType{
	policyPackage + "round_robin.v3.RoundRobin":     {"round_robin", func() proto.Message { return &roundrobinv3.RoundRobin{} }, always},
	policyPackage + "least_request.v3.LeastRequest": {"least_request", func() proto.Message { return &leastrequestv3.LeastRequest{} }, always},
	policyPackage + "random.v3.Random":              {"random", func() proto.Message { return &randomv3.Random{} }, always},
	policyPackage + "ring_hash.v3.RingHash":         {"ring_hash", func() proto.Message { return &ringhashv3.RingHash{} }, always},
	policyPackage + "maglev.v3.Maglev":              {"maglev", func() proto.Message { return &maglevv3.Maglev{} }, always},
	policyPackage + "subset.v3.Subset":              {"subset", func() proto.Message { return &subsetv3.Subset{} }, always},
	policyPackage + "client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin": {
		"client_side_weighted_round_robin", func() proto.Message { return &wrrv3.ClientSideWeightedRoundRobin{} }, always},
	policyPackage + "override_host.v3.OverrideHost":                       {"override_host", func() proto.Message { return &overridehostv3.OverrideHost{} }, always},
	policyPackage + "cluster_provided.v3.ClusterProvided":                 {"cluster_provided", func() proto.Message { return &clusterprovidedv3.ClusterProvided{} }, always},
	policyPackage + "wrr_locality.v3.WrrLocality":                         {"wrr_locality", func() proto.Message { return &wrrlocalityv3.WrrLocality{} }, 37},
	policyPackage + "load_aware_locality.v3.LoadAwareLocality":            {"load_aware_locality", func() proto.Message { return &loadawarev3.LoadAwareLocality{} }, 39},
	policyPackage + "dynamic_modules.v3.DynamicModulesLoadBalancerConfig": {"dynamic_modules", func() proto.Message { return &dynamicmodulesv3.DynamicModulesLoadBalancerConfig{} }, 38},
	policyPackage + "pick_first.v3.PickFirst":                             {"pick_first", func() proto.Message { return &pickfirstv3.PickFirst{} }, 0},
	policyPackage + "random_subsetting.v3.RandomSubsetting":               {"random_subsetting", nil, 0},
}

// messageName is the part of a type URL after the last slash.
func messageName(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

// policyConfig unpacks the typed_config of a policy. A TypedStruct stands for the message that it names. inner is that
// message's name; message is nil when it is none of a policy. bad is what Envoy complains of in the values of a TypedStruct.
func policyConfig(config *anypb.Any, version int) (inner string, message proto.Message, bad *diag.Problem) {
	inner = messageName(config.GetTypeUrl())
	values, isStruct := typedStruct(config)
	if isStruct {
		inner = messageName(values.GetTypeUrl())
	}
	t, known := policyTypes[inner]
	if !known || t.empty == nil {
		return inner, nil, nil
	}
	message = t.empty()
	if !isStruct {
		_ = proto.Unmarshal(config.GetValue(), message) // what cannot be read stays empty
		return inner, message, nil
	}
	return inner, message, fromStruct(values.GetValue(), message, version)
}

// structMessage is a TypedStruct of either package.
type structMessage interface {
	GetTypeUrl() string
	GetValue() *structpb.Struct
}

// typedStruct unpacks a TypedStruct; what cannot be read stays empty.
func typedStruct(config *anypb.Any) (s structMessage, ok bool) {
	switch messageName(config.GetTypeUrl()) {
	case "xds.type.v3.TypedStruct":
		var m xdsv3.TypedStruct
		_ = proto.Unmarshal(config.GetValue(), &m)
		return &m, true
	case "udpa.type.v1.TypedStruct":
		var m udpav1.TypedStruct
		_ = proto.Unmarshal(config.GetValue(), &m)
		return &m, true
	}
	return nil, false
}
