package envoy

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExplain pins the explanation of priority.rst's last example without panic, 37/35/28, behind the drop categories of
// endpoint.proto's example, 60 % and 50 %.
func TestExplain(t *testing.T) {
	t.Parallel()
	in := Input{AsDocumented: true, HealthyPanicThreshold: new(float64), Drops: []Drop{{"throttle", 60, 100}, {"lb", 50, 100}}}
	for p, healthy := range []int{25, 25, 20} {
		g := Group{Priority: uint32(p), Endpoints: make([]Endpoint, 100)}
		for i := range g.Endpoints {
			g.Endpoints[i].Address = fmt.Sprintf("10.0.%d.%d:80", p, i)
			if i >= healthy {
				g.Endpoints[i].Health = Unhealthy
			}
		}
		in.Groups = append(in.Groups, g)
	}
	m := in.build(t)
	r := m.Compute()
	if r.Rejected != "" || r.Drops[0].Share != 0.6 || math.Abs(r.Drops[1].Share-0.2) > 1e-15 || math.Abs(r.Dropped-0.8) > 1e-15 {
		t.Errorf("drops %+v, dropped %v, rejected %q", r.Drops, r.Dropped, r.Rejected)
	}
	var lines []string
	for _, s := range m.Explain(r) {
		lines = append(lines, s.Stage+": "+s.Text)
	}
	want := `drop: category "throttle" drops 0.6 of the 1 that reach it: 0.6 of all requests
drop: category "lb" drops 0.5 of the 0.4 that reach it: 0.2 of all requests
health: priority 0: availability min(100, floor(140 * 25 / 100 endpoints)) = 35
health: priority 1: availability min(100, floor(140 * 25 / 100 endpoints)) = 35
health: priority 2: availability min(100, floor(140 * 20 / 100 endpoints)) = 28
load: normalized total availability: min(100, sum) = 98
load: load of a priority: floor(availability * 100 / 98), healthy ones first; what is left of 100 goes to the first that is available
load: healthy loads 37/35/28, degraded loads 0/0/0
policy: round_robin: weight / sum of its list
policy: priority 0, healthy: 25 endpoints, sum of weights 25, load 37 %
policy: priority 1, healthy: 25 endpoints, sum of weights 25, load 35 %
policy: priority 2, healthy: 20 endpoints, sum of weights 20, load 28 %`
	if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// TestEmptyCluster: without endpoints everything goes to priority 0 and fails, in panic unless the threshold is 0.
func TestEmptyCluster(t *testing.T) {
	t.Parallel()
	for threshold, panics := range map[float64]float64{50: 1, 0: 0} {
		for _, policy := range []Name{RoundRobin, Random, RingHash, Maglev, LoadAwareLocality} {
			r := Input{Policy: Policy{Name: policy}, HealthyPanicThreshold: &threshold}.build(t).Compute()
			if r.Unavailable != 1 || r.PanicPicks != panics || r.Priorities[0].HealthyLoad != 100 {
				t.Errorf("%s, threshold %v: %+v", policy, threshold, r)
			}
		}
	}
}

func TestPriorityTooHigh(t *testing.T) {
	t.Parallel()
	if _, err := Build(Input{Groups: []Group{{Priority: 1 << 31}}}); err == nil {
		t.Error("a priority of 2147483648 is accepted")
	}
}

// TestActiveRequests: least_request with requests in flight is the chance of a draw; bounded load moves what is over.
func TestActiveRequests(t *testing.T) {
	t.Parallel()
	in := plain(LeastRequest, 2, 2)
	in.Groups[0].Endpoints[1].ActiveRequests = 3
	if r := in.build(t).Compute(); r.Endpoints[0].Share != 0.75 || r.Endpoints[1].Share != 0.25 {
		t.Errorf("shares %v and %v", r.Endpoints[0].Share, r.Endpoints[1].Share)
	}
	in.Policy = Policy{Name: Maglev, Hash: Hash{BalanceFactor: 100}}
	if r := in.build(t).Compute(); r.Endpoints[0].Share != 1 {
		t.Errorf("shares %v and %v", r.Endpoints[0].Share, r.Endpoints[1].Share)
	}
}
