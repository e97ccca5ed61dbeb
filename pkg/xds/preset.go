package xds

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// Preset is what one kind of control plane needs of a client (xds-protocol.md 10), for --as.
type Preset struct {
	Name  string
	About string

	Service   Service   // empty: leave
	Transport Transport // empty: leave
	NodeID    string
	Cluster   string
	Metadata  map[string]string
	Features  []string // client_features
	Agent     string   // user_agent_name
	AgentV    string   // user_agent_version
	Client    diag.Client
	NodeOnce  bool
}

// Presets are the values of --as, in the order of help texts.
func Presets() []Preset {
	istio := func(kind, about string, metadata map[string]string) Preset {
		m := map[string]string{"NAMESPACE": "default", "ISTIO_VERSION": "65536.65536.65536"}
		for k, v := range metadata {
			m[k] = v
		}
		return Preset{
			Name: "istio-" + kind, About: about, Service: ServiceADS,
			NodeID: kind + "~127.0.0.1~edsctl.default~default.svc.cluster.local", Cluster: "edsctl.default", Metadata: m,
		}
	}
	grpc := istio("grpc", "a gRPC workload without a proxy of Istio", map[string]string{"GENERATOR": "grpc"})
	grpc.NodeID = "sidecar~127.0.0.1~edsctl.default~default.svc.cluster.local"
	grpc.Client, grpc.NodeOnce = diag.GRPC, true
	return []Preset{
		{Name: "envoy", About: "an Envoy 1.40", Agent: "envoy", AgentV: "1.40.0"},
		{
			Name: "grpc", About: "a gRPC client (grpc-go 1.85)", Service: ServiceADS, Transport: SotW, Agent: "gRPC Go", AgentV: "1.85.0",
			Features: []string{"envoy.lb.does_not_support_overprovisioning", "xds.config.resource-in-sotw"}, Client: diag.GRPC, NodeOnce: true,
		},
		istio("sidecar", "a sidecar of Istio in namespace default", nil),
		istio("router", "a gateway of Istio in namespace default", nil),
		istio("waypoint", "a waypoint of Istio in namespace default", nil),
		grpc,
		{Name: "consul", About: "a proxy of Consul: --node-id is the proxy's service id", Service: ServiceADS, Transport: Delta},
		{Name: "contour", About: "an Envoy of Contour", Service: ServiceEDS, NodeID: "contour", Cluster: "contour"},
		{Name: "envoy-gateway", About: "an Envoy of Envoy Gateway: --node-cluster is <namespace>/<gateway>", Service: ServiceADS, Transport: Delta},
		{Name: "kuma", About: "a data plane of Kuma: --node-id is <mesh>.<name>", Service: ServiceADS},
		{Name: "traffic-director", About: "a client of Google's Traffic Director: --node-id is projects/<number>/networks/<name>/nodes/<id>", Service: ServiceADS, Transport: SotW},
	}
}

// FindPreset finds a preset by name.
func FindPreset(name string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("unknown preset %q: must be one of %s", name, strings.Join(names, ", "))
}

// Apply puts the preset's values into a node where it has none of its own.
func (p *Preset) Apply(n *corev3.Node) {
	if n.GetId() == "" {
		n.Id = p.NodeID
	}
	if n.GetCluster() == "" {
		n.Cluster = p.Cluster
	}
	if n.Metadata == nil && len(p.Metadata) > 0 {
		n.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{}}
	}
	for k, v := range p.Metadata {
		if n.Metadata.Fields[k] == nil {
			n.Metadata.Fields[k] = structpb.NewStringValue(v)
		}
	}
	if len(n.GetClientFeatures()) == 0 {
		n.ClientFeatures = p.Features
	}
	if p.Agent != "" && n.GetUserAgentName() == "" {
		n.UserAgentName = p.Agent
		n.UserAgentVersionType = &corev3.Node_UserAgentVersion{UserAgentVersion: p.AgentV}
	}
}
