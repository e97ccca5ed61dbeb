package cli

import (
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/edsctl/edsctl/pkg/xds"
)

// TestClusterRefusals judges clusters as they come by CDS.
func TestClusterRefusals(t *testing.T) {
	t.Parallel()
	good := func(name string) *clusterv3.Cluster {
		return &clusterv3.Cluster{
			Name: name, ConnectTimeout: durationpb.New(time.Second), ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
				ResourceApiVersion: corev3.ApiVersion_V3, ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
			}},
		}
	}
	zero := good("zero")
	zero.ConnectTimeout = durationpb.New(0)
	static := &clusterv3.Cluster{Name: "static", ConnectTimeout: durationpb.New(time.Second)}
	dns := &clusterv3.Cluster{Name: "dns", ConnectTimeout: durationpb.New(time.Second), ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_LOGICAL_DNS}}
	flags := xdsCheck{validate: "on"}
	for _, f := range flags.profile.flags() {
		*f.value = f.byDefault
	}
	check := flags.newChecker(&Env{Getenv: func(string) string { return "" }}, &xds.Options{Ack: xds.AckValid})
	event := func(list ...*clusterv3.Cluster) *xds.Event {
		ev := &xds.Event{Kind: xds.Received, TypeURL: xds.ClusterURL(xds.V3)}
		for _, c := range list {
			ev.Clusters = append(ev.Clusters, xds.Cluster{Name: c.GetName(), Message: c})
		}
		return ev
	}
	ev := event(good("a"), static, dns)
	if err := check.event(ev); err != nil {
		t.Errorf("the response is refused: %v", err)
	}
	if ev.Clusters[0].Err != nil || ev.Clusters[1].Err != nil {
		t.Errorf("good clusters are refused: %v, %v", ev.Clusters[0].Err, ev.Clusters[1].Err)
	}
	if err := ev.Clusters[2].Err; err == nil || strings.Contains(err.Error(), "cluster(s)") {
		t.Errorf("a LOGICAL_DNS cluster without an endpoint: %v", err)
	}
	err := check.event(event(good("a"), zero))
	if err == nil || !strings.Contains(err.Error(), `name: "zero"`) || !strings.Contains(err.Error(), "Proto constraint validation failed (ClusterValidationError.ConnectTimeout") {
		t.Errorf("a cluster that breaks a constraint: %v", err)
	}
}
