package envoy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/edsctl/edsctl/pkg/lb"
)

func checkUnweighted(t *testing.T, v *lbVector) {
	in := decode[struct {
		Hosts int
		Seed  uint64
	}](t, &v.Input)
	want := decode[struct{ Sequence []int }](t, &v.Expect)
	p := plain(RoundRobin, in.Hosts, in.Hosts).build(t).NewPicker(rand.New(fixed(in.Seed)))
	for i, w := range want.Sequence {
		if got, _ := p.Pick(); got != w {
			t.Fatalf("pick %d is %d, want %v", i, got, want.Sequence)
		}
	}
}

func checkPanicHosts(t *testing.T, v *lbVector) {
	in := decode[struct {
		Hosts, Healthy int
		Threshold      float64 `yaml:"healthy_panic_threshold"`
		Fail           bool    `yaml:"fail_traffic_on_panic"`
	}](t, &v.Input)
	want := decode[struct {
		Panic    bool
		Sequence []int
		Over     string
		Host     *int
	}](t, &v.Expect)
	input := plain(RoundRobin, in.Hosts, in.Healthy)
	input.HealthyPanicThreshold, input.Policy.ZoneAware.FailTrafficOnPanic = &in.Threshold, in.Fail
	m := input.build(t)
	r := m.Compute()
	if r.Priorities[0].Panic != want.Panic {
		t.Errorf("panic %v", r.Priorities[0].Panic)
	}
	served := 0
	for _, e := range r.Endpoints {
		if e.Share > 0 {
			served++
		}
	}
	hosts := map[string]int{"all hosts": in.Hosts, "healthy hosts": in.Healthy, "": 0}[want.Over]
	if served != hosts || (hosts == 0) != (r.Unavailable == 1) {
		t.Errorf("%d hosts are used and %v is unavailable, want %d", served, r.Unavailable, hosts)
	}
	p := m.NewPicker(rand.New(fixed(0)))
	for _, w := range want.Sequence {
		if got, _ := p.Pick(); got != w {
			t.Errorf("pick %d, want %v", got, want.Sequence)
		}
	}
}

func checkLeastSequence(t *testing.T, v *lbVector) {
	in := decode[struct {
		Weights []float64
		Bias    float64 `yaml:"active_request_bias"`
		Phases  []struct{ Active []uint32 }
	}](t, &v.Input)
	want := decode[struct{ Sequences [][]int }](t, &v.Expect)
	c := LeastChoices{ActiveRequestBias: &in.Bias}
	s := lb.NewEDF(in.Weights, 0)
	for i, phase := range in.Phases {
		wantPicks(t, s, func(h int) float64 { return c.weight(in.Weights[h], phase.Active[h]) }, want.Sequences[i])
	}
}

func checkChoices(t *testing.T, v *lbVector) {
	in := decode[struct {
		Active  []uint32
		Choices int `yaml:"choice_count"`
		RNG     []uint64
	}](t, &v.Input)
	want := decode[struct{ Host int }](t, &v.Expect)
	draws := in.RNG[1:] // the first number chose the priority
	draw := func() uint64 {
		n := draws[0]
		if len(draws) > 1 {
			draws = draws[1:]
		}
		return n
	}
	if got := lb.LeastOfN(len(in.Active), in.Choices, func(i int) uint32 { return in.Active[i] }, draw); got != want.Host {
		t.Errorf("host %d, want %d", got, want.Host)
	}
}

func checkFullScan(t *testing.T, v *lbVector) {
	in := decode[struct{ Active []uint32 }](t, &v.Input)
	want := decode[struct {
		Host  *int
		Share []float64
	}](t, &v.Expect)
	shares := lb.LeastOfNShares(in.Active, 0)
	if want.Host != nil {
		want.Share = make([]float64, len(in.Active))
		want.Share[*want.Host] = 1
		got := lb.LeastOfAll(len(in.Active), func(i int) uint32 { return in.Active[i] }, func() uint64 { return 0 })
		if got != *want.Host {
			t.Errorf("host %d, want %d", got, *want.Host)
		}
	}
	wantShares(t, shares, want.Share)
}

func checkRandomPick(t *testing.T, v *lbVector) {
	in := decode[struct {
		Hosts   int
		Healthy *int
		Random  uint64
		Fail    bool `yaml:"fail_traffic_on_panic"`
	}](t, &v.Input)
	want := decode[struct {
		Index *int
		Host  *int
	}](t, &v.Expect)
	healthy := in.Hosts
	if in.Healthy != nil {
		healthy = *in.Healthy
	}
	input := plain(Random, in.Hosts, healthy)
	input.Policy.ZoneAware.FailTrafficOnPanic = in.Fail
	got, _ := input.build(t).NewPicker(rand.New(fixed(in.Random))).Pick()
	if want.Index == nil && got >= 0 || want.Index != nil && got != *want.Index {
		t.Errorf("host %d, want %v", got, want.Index)
	}
}

func checkRandomShare(t *testing.T, v *lbVector) {
	in := decode[struct {
		Healthy  []uint32 `yaml:"healthy_load"`
		Eligible []int    `yaml:"eligible_hosts"`
	}](t, &v.Input)
	want := decode[struct {
		Shares [][]float64 `yaml:"share_per_priority"`
	}](t, &v.Expect)
	b := balancer{m: &Model{in: &Input{Policy: Policy{Name: Random}}}}
	b.loads = Loads{Healthy: in.Healthy, Degraded: make([]uint32, len(in.Healthy))}
	for _, c := range b.cells() {
		hosts := make(list, in.Eligible[c.level])
		for i := range hosts {
			hosts[i] = int32(i)
		}
		out := make([]float64, len(hosts))
		b.spread(hosts, float64(c.hi-c.lo)/100, c.lo, c.hi, out)
		wantShares(t, out, want.Shares[c.level])
	}
}

func checkSlowStart(t *testing.T, v *lbVector) {
	in := decode[struct {
		Window     int64   `yaml:"window_ms"`
		Age        int64   `yaml:"in_healthy_state_ms"`
		Aggression float64 `yaml:"aggression"`
		Least      float64 `yaml:"min_weight_percent"`
	}](t, &v.Input)
	want := decode[struct {
		Factor   float64
		Sequence []int `yaml:"sequence_against_weight_1_host0"`
	}](t, &v.Expect)
	got := SlowStart{WindowMillis: in.Window, Aggression: &in.Aggression, MinWeightPercent: &in.Least}.Factor(in.Age)
	if !near(got, want.Factor) {
		t.Errorf("factor %v, want %v", got, want.Factor)
	}
	weights := []float64{1, got}
	wantPicks(t, lb.NewEDF(weights, 0), func(i int) float64 { return weights[i] }, want.Sequence)
}

func checkDrop(t *testing.T, v *lbVector) {
	in := decode[struct {
		Drops []struct {
			Numerator, Denominator uint32
			Enum                   *int `yaml:"denominator_enum"`
		} `yaml:"drop_overloads"`
		Limit *uint64 `yaml:"runtime_drop_overload_limit"`
	}](t, &v.Input)
	want := decode[struct {
		Accepted bool
		Ratio    *float64 `yaml:"drop_ratio_float32"`
		Pass     *float64 `yaml:"pass_ratio"`
	}](t, &v.Expect)
	input := plain(RoundRobin, 1, 1)
	input.DropLimitPercent = in.Limit
	for _, d := range in.Drops {
		input.Drops = append(input.Drops, Drop{Numerator: d.Numerator, Denominator: d.Denominator})
	}
	r := input.build(t).Compute()
	if (r.Rejected == "") != want.Accepted {
		t.Errorf("rejected %q, want accepted %v", r.Rejected, want.Accepted)
	}
	if want.Ratio != nil && (r.Dropped != *want.Ratio || !near(r.Endpoints[0].Share, *want.Pass)) {
		t.Errorf("dropped %v, served %v, want %v and %v", r.Dropped, r.Endpoints[0].Share, *want.Ratio, *want.Pass)
	}
}

func checkPercent(t *testing.T, v *lbVector) {
	in := decode[struct{ Percent float64 }](t, &v.Input)
	want := decode[struct{ Integer uint64 }](t, &v.Expect)
	if got := TruncatePercent(in.Percent); got != want.Integer {
		t.Errorf("%v %% is %d, want %d", in.Percent, got, want.Integer)
	}
}

func checkCoarseHealth(t *testing.T, v *lbVector) {
	in := decode[struct {
		Health string   `yaml:"eds_health_status"`
		Flags  []string `yaml:"other_flags"`
	}](t, &v.Input)
	want := decode[struct {
		Flag     string
		Coarse   string
		Excluded bool
	}](t, &v.Expect)
	flags := map[string]Checks{
		"FAILED_ACTIVE_HC": FailedActiveCheck, "FAILED_OUTLIER_CHECK": FailedOutlierCheck, "PENDING_ACTIVE_HC": PendingActiveCheck,
		"EXCLUDED_VIA_IMMEDIATE_HC_FAIL": ExcludedByImmediateFail, "DEGRADED_ACTIVE_HC": DegradedActiveCheck,
		"PENDING_DYNAMIC_REMOVAL": PendingRemoval,
	}
	var e Endpoint
	for h := Unknown; h <= Degraded; h++ {
		if h.String() == in.Health {
			e.Health = h
		}
	}
	for _, f := range in.Flags {
		if flags[f] == 0 {
			t.Fatalf("unknown flag %s", f)
		}
		e.Checks |= flags[f]
	}
	if e.Class().String() != want.Coarse || e.Excluded() != want.Excluded {
		t.Errorf("%s, excluded %v, want %+v", e.Class(), e.Excluded(), want)
	}
}

func checkHostWeight(t *testing.T, v *lbVector) {
	in := decode[struct {
		Weight uint32 `yaml:"load_balancing_weight"`
	}](t, &v.Input)
	want := decode[struct{ Weight uint32 }](t, &v.Expect)
	e := Endpoint{Weight: in.Weight}
	if e.HostWeight() != want.Weight {
		t.Errorf("weight %d, want %d", e.HostWeight(), want.Weight)
	}
}

// zoneGroups makes healthy hosts by zone; each entry is a zone and their number. A zone without healthy ones has a dead
// host, so that its locality exists.
func zoneGroups(zones [][]any) []Group {
	var groups []Group
	for _, z := range zones {
		g := Group{Locality: &Locality{Zone: z[0].(string)}}
		n := z[1].(int)
		for i := range max(n, 1) {
			e := Endpoint{Address: z[0].(string) + string(rune(i))}
			if n == 0 {
				e.Health = Unhealthy
			}
			g.Endpoints = append(g.Endpoints, e)
		}
		groups = append(groups, g)
	}
	return groups
}

func checkZoneAware(t *testing.T, v *lbVector) {
	in := decode[struct {
		Upstream, Local [][]any
		Index0          bool    `yaml:"upstream_index0_is_local"`
		Least           uint64  `yaml:"min_cluster_size"`
		Force           *uint64 `yaml:"force_local_zone_min_size"`
	}](t, &v.Input)
	want := decode[struct {
		State    string
		Percent  [][]uint64 `yaml:"percentages_local_upstream"`
		Stay     uint64     `yaml:"local_percent_to_route"`
		Capacity []uint64   `yaml:"residual_capacity"`
		Shares   []float64  `yaml:"share_per_locality"`
	}](t, &v.Expect)
	threshold := 0.0 // so that the dead hosts of empty zones start no panic
	input := Input{
		Groups: zoneGroups(in.Upstream), Local: &Local{Groups: zoneGroups(in.Local), KeepCopies: true}, KeepCopies: true,
		HealthyPanicThreshold: &threshold,
		Policy:                Policy{ZoneAware: ZoneAware{MinClusterSize: &in.Least, ForceLocalZoneMinSize: in.Force}},
	}
	// The own locality is the first of the local cluster. If the upstream cluster has it and yet not at index 0, the node
	// has no locality.
	own := in.Local[0][0]
	if in.Index0 == slices.ContainsFunc(in.Upstream, func(z []any) bool { return z[0] == own }) {
		input.NodeLocality = &Locality{Zone: own.(string)}
	}
	m := input.build(t)
	z := m.Compute().ZoneAware
	if string(z.Mode) != want.State {
		t.Fatalf("%s (%s), want %s", z.Mode, z.Reason, want.State)
	}
	if want.State == "none" {
		return
	}
	names := m.full[0].localities
	for i, zone := range in.Upstream {
		j := slices.IndexFunc(names, func(l locality) bool { return l.name.Zone == zone[0] })
		if z.LocalShare[j] != want.Percent[i][0] || z.Upstream[j] != want.Percent[i][1] {
			t.Errorf("zone %s: %d and %d, want %v", zone[0], z.LocalShare[j], z.Upstream[j], want.Percent[i])
		}
		if share := m.balancers[0].zone.shares[j]; !near(share+1, want.Shares[i]+1) {
			t.Errorf("zone %s: share %v, want %v", zone[0], share, want.Shares[i])
		}
	}
	if z.LocalPercent != want.Stay || !slices.Equal(z.ResidualCapacity, want.Capacity) {
		t.Errorf("stay %d, capacity %v, want %d, %v", z.LocalPercent, z.ResidualCapacity, want.Stay, want.Capacity)
	}
}

// checkZonePanic: the local cluster has no usable host.
func checkZonePanic(t *testing.T, v *lbVector) {
	in := decode[struct {
		Hosts int  `yaml:"local_hosts"`
		Fail  bool `yaml:"fail_traffic_on_panic"`
	}](t, &v.Input)
	want := decode[struct {
		Routing string
		Host    *int
	}](t, &v.Expect)
	least := uint64(1)
	local := zoneGroups([][]any{{"A", in.Hosts}, {"B", in.Hosts}})
	input := Input{
		Groups: zoneGroups([][]any{{"A", 1}, {"B", 1}}), Local: &Local{Groups: local, KeepCopies: true}, NodeLocality: &Locality{Zone: "A"},
		Policy: Policy{ZoneAware: ZoneAware{MinClusterSize: &least, FailTrafficOnPanic: in.Fail}},
	}
	r := input.build(t).Compute()
	if want.Routing != "" && (r.Endpoints[0].Share != 0.5 || r.Endpoints[1].Share != 0.5) || want.Routing == "" && r.Unavailable != 1 {
		t.Errorf("shares %v and %v, unavailable %v, want %+v", r.Endpoints[0].Share, r.Endpoints[1].Share, r.Unavailable, want)
	}
}
