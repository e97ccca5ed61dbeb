package lint

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
)

const upstreamTLSContext = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"

// grpcFields checks fields of the cluster that grpc-go limits more than Envoy. What is inside an UpstreamTlsContext is
// not checked.
func (b *build) grpcFields() {
	refuse := func(stage, field, message, says string) {
		b.grpc(diag.Reject, stage, "cluster-constraint", inCluster(field), message, says)
	}
	b.grpcTransport(refuse)
	if lrs := b.m.GetLrsServer(); lrs != nil && lrs.GetSelf() == nil {
		refuse(grpcStageLRS, "lrs_server", "gRPC sends load reports to self only",
			fmt.Sprintf("unsupported config_source_specifier %T in lrs_server field", lrs.GetConfigSourceSpecifier()))
	}
}

type grpcRefuse func(stage, field, message, says string)

// grpcTransport: unmarshal_cds.go, securityConfigFromCluster.
func (b *build) grpcTransport(refuse grpcRefuse) {
	socket := b.m.GetTransportSocket()
	url := socket.GetTypedConfig().GetTypeUrl()
	switch {
	case len(b.m.GetTransportSocketMatches()) > 0:
		refuse(grpcStageMatches, "transport_socket_matches", "gRPC takes no transport_socket_matches", "unsupported transport_socket_matches field is non-empty: <dump>")
	case socket == nil:
	case socket.GetName() != "envoy.transport_sockets.tls":
		refuse(grpcStageMatches, "transport_socket.name", "gRPC takes the transport_socket envoy.transport_sockets.tls only",
			"transport_socket field has unexpected name: "+socket.GetName())
	case url != upstreamTLSContext:
		refuse(grpcStageMatches, "transport_socket.typed_config", "gRPC needs an UpstreamTlsContext in transport_socket",
			fmt.Sprintf("transport_socket missing typed_config or wrong type_url: %q", url))
	}
}

// grpcOutliers is the first field of outlier_detection that grpc-go refuses, and what it says; all of these break
// constraints of Envoy too (unmarshal_cds.go, outlierConfigFromCluster; A50).
func grpcOutliers(o *clusterv3.OutlierDetection) (field, says string) {
	durations := []struct {
		name  string
		value *durationpb.Duration
		must  string
	}{
		{"interval", o.GetInterval(), "must be a valid duration and >= 0"}, {"base_ejection_time", o.GetBaseEjectionTime(), "must be >= 0"},
		{"max_ejection_time", o.GetMaxEjectionTime(), "must be >= 0"},
	}
	for _, d := range durations {
		if v := d.value.AsDuration(); v < 0 {
			return d.name, fmt.Sprintf("outlier_detection.%s = %v; %s", d.name, v, d.must)
		}
	}
	percentages := []struct {
		name  string
		value *wrapperspb.UInt32Value
	}{
		{"max_ejection_percent", o.GetMaxEjectionPercent()}, {"enforcing_success_rate", o.GetEnforcingSuccessRate()},
		{"failure_percentage_threshold", o.GetFailurePercentageThreshold()}, {"enforcing_failure_percentage", o.GetEnforcingFailurePercentage()},
	}
	for _, p := range percentages {
		if v := p.value.GetValue(); v > 100 {
			return p.name, fmt.Sprintf("outlier_detection.%s = %d; must be <= 100", p.name, v)
		}
	}
	return "", ""
}
