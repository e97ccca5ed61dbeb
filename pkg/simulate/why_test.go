package simulate

import (
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// TestWhyNothing: the reason that an endpoint gets nothing, or all, is the true one. The shares were observed on 1.40.
func TestWhyNothing(t *testing.T) {
	t.Parallel()
	labelled := func(cla *endpointv3.ClusterLoadAssignment) *endpointv3.ClusterLoadAssignment {
		for _, g := range cla.Endpoints {
			for _, e := range g.LbEndpoints {
				e.Metadata = parsed(t, `{"filter_metadata": {"envoy.lb": {"v": "a"}}}`, &corev3.Metadata{})
			}
		}
		return cla
	}
	sick := func(cla *endpointv3.ClusterLoadAssignment) *endpointv3.ClusterLoadAssignment {
		for _, e := range cla.Endpoints[0].LbEndpoints {
			e.HealthStatus = corev3.HealthStatus_UNHEALTHY
		}
		return cla
	}
	weighted := sick(zones("a: 192.0.2.1 192.0.2.2", "b: 192.0.2.3"))
	weighted.Endpoints[0].LoadBalancingWeight = wrapperspb.UInt32(1)
	fails := sick(zones("a: 192.0.2.1 192.0.2.2"))
	for _, c := range []struct {
		about, cluster string
		cla            *endpointv3.ClusterLoadAssignment
		match          map[string]any
		want           []string // share and reason of each endpoint
	}{
		{"panic on a ring with locality weights", `"lb_policy": "RING_HASH", "common_lb_config": {"locality_weighted_lb_config": {}}`, weighted, nil, []string{
			"49: load 100 % of priority 0 in panic: all its endpoints, its part of the hash space",
			"51: load 100 % of priority 0 in panic: all its endpoints, its part of the hash space",
			"0: no entry on the ring: its locality has no weight"}},
		{"panic fails", `"common_lb_config": {"zone_aware_lb_config": {"fail_traffic_on_panic": true}}`, fails, nil, []string{
			"0: panic, and fail_traffic_on_panic is set", "0: panic, and fail_traffic_on_panic is set"}},
		{"no ring", `"lb_policy": "RING_HASH", "ring_hash_lb_config": {"minimum_ring_size": 0}`, zones("a: 192.0.2.1"), nil, []string{
			"0: no endpoint has an entry on the ring"}},
		{"small table", `"lb_policy": "MAGLEV", "maglev_lb_config": {"table_size": 2}`, zones("a: 192.0.2.1 192.0.2.2 192.0.2.3"), nil, []string{
			"50: load 100 % of priority 0, its part of the hash space", "50: load 100 % of priority 0, its part of the hash space",
			"0: no entry in the table, which has too few for all endpoints"}},
		{"one of a subset", `"lb_subset_config": {"subset_selectors": [{"keys": ["v"], "single_host_per_subset": true}]}`,
			labelled(zones("a: 192.0.2.1 192.0.2.2")), map[string]any{"v": "a"}, []string{
				"100: the one endpoint of its subset (single_host_per_subset)", "0: not the one endpoint of its subset (single_host_per_subset)"}},
		{"second attempt", `"lb_subset_config": {"subset_selectors": [{"keys": ["v"]}], "fallback_policy": "DEFAULT_SUBSET", "default_subset": {"v": "none"}, "panic_mode_any": true}`,
			sick(zones("a: 192.0.2.1", "b: 192.0.2.2 192.0.2.3 192.0.2.4")), nil, []string{
				"0: not among what is tried for the request", "33: gets what the subset has no endpoint for: panic mode any",
				"33: gets what the subset has no endpoint for: panic mode any", "33: gets what the subset has no endpoint for: panic mode any"}},
	} {
		r, err := FromResource(inCluster(t, `"type": "STATIC", `+c.cluster, c.cla), diag.Envoy, &Options{MetadataMatch: c.match})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range r.Endpoints {
			got = append(got, fmt.Sprintf("%.0f: %s", 100*e.Share, e.Why))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", c.about, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
