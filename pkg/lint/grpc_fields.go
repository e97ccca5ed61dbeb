package lint

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// grpcFields checks fields of the cluster that grpc-go limits more than Envoy.
func (b *build) grpcFields() {
	refuse := func(stage, field, message, says string) {
		b.grpc(diag.Reject, stage, "cluster-constraint", inCluster(field), message, says)
	}
	b.grpcTransport()
	if field, says, invalid := grpcOutliers(b.m.GetOutlierDetection()); invalid {
		refuse(grpcStageOutlier, "outlier_detection."+field, "gRPC does not take this duration", says)
	}
	if lrs := b.m.GetLrsServer(); lrs != nil && lrs.GetSelf() == nil {
		refuse(grpcStageLRS, "lrs_server", "gRPC sends load reports to self only",
			fmt.Sprintf("unsupported config_source_specifier %T in lrs_server field", lrs.GetConfigSourceSpecifier()))
	}
}

// grpcOutliers is the first field of outlier_detection that grpc-go refuses, and what it says; all of these break
// constraints of Envoy too (unmarshal_cds.go, outlierConfigFromCluster; A50), but for durations that are none: invalid.
func grpcOutliers(o *clusterv3.OutlierDetection) (field, says string, invalid bool) {
	const isInvalid = "is invalid with error"
	durations := []struct {
		name    string
		value   *durationpb.Duration
		invalid string
		must    string
	}{
		{"interval", o.GetInterval(), isInvalid, "must be a valid duration and >= 0"}, {"base_ejection_time", o.GetBaseEjectionTime(), isInvalid, "must be >= 0"},
		{"max_ejection_time", o.GetMaxEjectionTime(), "is invalid", "must be >= 0"},
	}
	for _, d := range durations {
		if err := d.value.CheckValid(); d.value != nil && err != nil {
			return d.name, fmt.Sprintf("outlier_detection.%s %s: %s", d.name, d.invalid, eds.GRPCError(err)), true
		}
		if v := d.value.AsDuration(); v < 0 {
			return d.name, fmt.Sprintf("outlier_detection.%s = %v; %s", d.name, v, d.must), false
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
			return p.name, fmt.Sprintf("outlier_detection.%s = %d; must be <= 100", p.name, v), false
		}
	}
	return "", "", false
}
