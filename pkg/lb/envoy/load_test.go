package envoy

import (
	"math"
	"strings"
	"testing"
)

// TestLoadStays: Envoy 1.36 and 1.39 answered with the healthy one of two endpoints under the factor 1. The score is
// 1 * 1 / 2 = 0, but half of the hosts is no panic: the load stays that of the empty cluster before them.
func TestLoadStays(t *testing.T) {
	t.Parallel()
	l := PriorityLoads([]Counts{{Hosts: 2, Healthy: 1}}, LoadConfig{OverprovisioningFactor: 1, PanicThreshold: 50, LevelByLevel: true})
	if !l.Hole || l.Healthy[0] != 100 || l.Rest != 0 {
		t.Errorf("hole %v, load %d, rest %d", l.Hole, l.Healthy[0], l.Rest)
	}
}

// TestExcludedInLocality: hosts that are DRAINING are no part of a locality's health: of four hosts one is healthy and one
// unhealthy, so the weight 2 counts 2 * min(1, 1.4 * 1/2) = 1.4.
func TestExcludedInLocality(t *testing.T) {
	t.Parallel()
	in := Input{Policy: Policy{Name: RoundRobin, LocalityWeighted: true}, Groups: []Group{{Locality: &Locality{Zone: "a"}, Weight: 2, Endpoints: []Endpoint{
		{Address: "1"}, {Address: "2", Health: Unhealthy}, {Address: "3", Health: Draining}, {Address: "4", Health: Draining},
	}}}}
	hosts := collect(in.Groups, false)
	weights, _ := arrange(in.Groups, hosts, nil)[0].effectiveWeights(ClassHealthy, 140)
	if len(weights) != 1 || math.Abs(weights[0]-1.4) > 1e-12 {
		t.Errorf("effective weights %v, want 1.4", weights)
	}
}

// TestDropLimit: the runtime key is a percentage.
func TestDropLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[uint64]float64{0: 0, 40: 0.4, 60: 0.6, 100: 0.6} {
		_, dropped, rejected := (&Input{Drops: []Drop{{"a", 60, 100}}, DropLimitPercent: &limit}).drops()
		if math.Abs(dropped-want) > 1e-6 || rejected != "" {
			t.Errorf("limit %d: dropped %v (%s), want %v", limit, dropped, rejected, want)
		}
	}
	above := uint64(101)
	if _, _, rejected := (&Input{Drops: []Drop{{"a", 60, 100}}, DropLimitPercent: &above}).drops(); !strings.HasSuffix(rejected, "config 101 is invalid. The valid range is 0~100") {
		t.Errorf("limit 101: %q", rejected)
	}
}
