package simulate

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// TestZoneReasons: the mode is the state that Envoy keeps, the reason says whether requests are routed so. Where they went
// was observed on 1.40.
func TestZoneReasons(t *testing.T) {
	t.Parallel()
	local := zones("a: 192.0.9.1 192.0.9.2", "b: 192.0.9.3 192.0.9.4", "c: 192.0.9.5 192.0.9.6")
	upstream := zones("a: 192.0.2.1 192.0.2.2", "b: 192.0.2.3 192.0.2.4 192.0.2.5", "c: 192.0.2.6 192.0.2.7 192.0.2.8")
	weighted := zones("a: 192.0.2.1 192.0.2.2", "b: 192.0.2.3 192.0.2.4 192.0.2.5", "c: 192.0.2.6 192.0.2.7 192.0.2.8")
	for _, g := range weighted.Endpoints {
		g.LoadBalancingWeight = wrapperspb.UInt32(1)
	}
	sick := zones("a: 192.0.9.1", "b: 192.0.9.2 192.0.9.3")
	for _, e := range sick.Endpoints[1].LbEndpoints {
		e.HealthStatus = corev3.HealthStatus_UNHEALTHY
	}
	dead := zones("a: 192.0.2.1 192.0.2.2", "b: 192.0.2.3 192.0.2.4 192.0.2.5 192.0.2.6 192.0.2.7 192.0.2.8")
	for _, e := range dead.Endpoints[0].LbEndpoints {
		e.HealthStatus = corev3.HealthStatus_UNHEALTHY
	}
	sickest := zones("a: 192.0.2.1 192.0.2.2", "b: 192.0.2.3 192.0.2.4 192.0.2.5 192.0.2.6 192.0.2.7 192.0.2.8")
	for _, g := range sickest.Endpoints {
		for _, e := range g.LbEndpoints[1:] {
			e.HealthStatus = corev3.HealthStatus_UNHEALTHY
		}
	}
	second := zones("a: 192.0.2.1", "b: 192.0.2.2")
	for _, g := range second.Endpoints {
		g.Priority = 1
	}
	const force = `"load_balancing_policy": {"policies": [{"typed_extension_config": {"name": "rr", "typed_config": {
		"@type": "type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin",
		"locality_lb_config": {"zone_aware_lb_config": {"force_local_zone": {"min_size": 1}}}}}}]}`
	const fail = `"common_lb_config": {"zone_aware_lb_config": {"fail_traffic_on_panic": true}}`
	for _, c := range []struct {
		about, cluster string
		upstream       *endpointv3.ClusterLoadAssignment
		local          *endpointv3.ClusterLoadAssignment
		noLocality     bool
		runtime        map[string]string
		mode, reason   string
		first          float64 // share of the first endpoint
	}{
		{about: "residual", mode: "residual", first: 0.375,
			reason: "0.75 of the requests stay in the own locality, the rest goes where capacity is left"},
		{about: "only a part", runtime: map[string]string{"upstream.zone_routing.enabled": "28"}, mode: "residual", first: 0.195,
			reason: "0.75 of the requests stay in the own locality, the rest goes where capacity is left; routing_enabled: this is for 28 % of the requests"},
		{about: "no part", runtime: map[string]string{"upstream.zone_routing.enabled": "0"}, mode: "residual", first: 0.125,
			reason: "not used: routing_enabled is 0 %"},
		{about: "local panic", local: sick, mode: "residual", first: 0.125, reason: "not used: the local cluster is in panic"},
		{about: "local panic fails", local: sick, cluster: fail, mode: "residual", first: 0,
			reason: "the local cluster is in panic and fail_traffic_on_panic is set: what is routed by zone fails"},
		{about: "weights", upstream: weighted, cluster: `"common_lb_config": {"locality_weighted_lb_config": {}}`, mode: "residual", first: 1.0 / 6,
			reason: "not used: locality weights come first"},
		{about: "forced", cluster: force, mode: "direct", first: 0.5, reason: "force_local_zone keeps all requests in the own locality, whatever its part of the endpoints"},
		{about: "own locality dead", upstream: dead, mode: "residual", first: 0,
			reason: "0 of the requests stay in the own locality, the rest goes where capacity is left"},
		{about: "panic", upstream: sickest, runtime: map[string]string{"upstream.zone_routing.min_cluster_size": "1"}, mode: "direct", first: 0.125,
			reason: "not used: priority 0 is in panic"},
		{about: "no locality", noLocality: true, mode: "none", first: 0.125, reason: "no local host in own locality: the node has none (--node-locality)"},
		{about: "no local host", local: zones("b: 192.0.9.1", "c: 192.0.9.2"), mode: "none", first: 0.125,
			reason: "no local host in own locality: the local cluster has no endpoint in /a"},
		{about: "one local locality", local: zones("a: 192.0.9.1"), mode: "none", first: 0.125,
			reason: "one local locality: the local cluster has endpoints in 1, two are needed"},
		{about: "none in priority 0", upstream: second, mode: "none", first: 0.5,
			reason: "one upstream locality: priority 0 has endpoints in 0, two are needed"},
		{about: "small", upstream: zones("a: 192.0.2.1", "b: 192.0.2.2"), mode: "none", first: 0.5,
			reason: "cluster too small: healthy endpoints in priority 0: 2, min_cluster_size is 6"},
		{about: "hash", cluster: `"lb_policy": "RING_HASH"`, mode: "off", first: -1, reason: "the policy does not route by zone"},
	} {
		o := &Options{LocalCluster: local, NodeLocality: &corev3.Locality{Zone: "a"}, Runtime: c.runtime}
		cla, cluster := upstream, `"type": "STATIC"`
		if c.upstream != nil {
			cla = c.upstream
		}
		if c.local != nil {
			o.LocalCluster = c.local
		}
		if c.noLocality {
			o.NodeLocality = nil
		}
		if c.cluster != "" {
			cluster += ", " + c.cluster
		}
		r, err := FromResource(inCluster(t, cluster, cla), diag.Envoy, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.ZoneAware; got.Mode != c.mode || got.Reason != c.reason {
			t.Errorf("%s: %q, %q, want %q, %q", c.about, got.Mode, got.Reason, c.mode, c.reason)
		}
		if got := r.Endpoints[0].Share; c.first >= 0 && (got < c.first-1e-4 || got > c.first+1e-4) {
			t.Errorf("%s: share %v of the first endpoint, want %v", c.about, got, c.first)
		}
	}
}
