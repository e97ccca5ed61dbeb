package simulate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// envoyScenario is one of envoy-shares/shares.yaml.
type envoyScenario struct {
	ID         string
	Type       string
	Cluster    any
	Assignment any
	Local      *struct{ Locality, Assignment any }
	Match      any `yaml:"metadata_match"`
	Runtime    map[string]any
	Requests   float64
	Observed   envoyObserved
	Expected   *envoyExpected
}

type envoyObserved struct {
	Panic, Dropped float64
	Unavailable    float64 `yaml:"no_healthy_upstream"`
	Endpoints      map[string]float64
	Rejected       string
	Membership     map[string]int
	UpdateRejected int `yaml:"update_rejected"`
}

type envoyExpected struct {
	Load *struct {
		Healthy, Degraded []uint32
	} `yaml:"priority_load"`
	Panic                []bool
	Dropped, Unavailable float64
	PanicPicks           float64 `yaml:"panic_picks"`
	Endpoints            map[string]float64
	ZoneAware            string `yaml:"zone_aware"`
	Rejected             string
}

// context turns a scenario into the model's surroundings.
func (s *envoyScenario) context(t *testing.T) envoyContext {
	t.Helper()
	c := envoyContext{cluster: message(t, s.Cluster, &clusterv3.Cluster{}), static: s.Type == "STATIC", runtime: map[string]*structpb.Value{}}
	for key, value := range s.Runtime {
		c.runtime[key] = eds.RuntimeText(fmt.Sprint(value))
	}
	if s.Local != nil {
		if s.Local.Locality != nil {
			c.nodeLocality = message(t, s.Local.Locality, &corev3.Locality{})
		}
		c.local = message(t, s.Local.Assignment, &endpointv3.ClusterLoadAssignment{})
	}
	if s.Match != nil {
		c.match = message(t, s.Match, &structpb.Struct{}).AsMap()
	}
	return c
}

// sharesChecked counts for the golden file.
type sharesChecked struct{ scenarios, rejected, shares, counts int }

func (c *sharesChecked) String() string {
	return fmt.Sprintf("%d scenarios, %d of them refused by Envoy; %d expected shares, %d observed counts", c.scenarios, c.rejected, c.shares, c.counts)
}

func TestEnvoySharesVectors(t *testing.T) {
	t.Parallel()
	var file struct{ Scenarios []envoyScenario }
	readVectors(t, "envoy-shares/shares.yaml", &file)
	var checked sharesChecked
	for i := range file.Scenarios {
		s := &file.Scenarios[i]
		t.Run(s.ID, func(t *testing.T) {
			c := s.context(t)
			in := envoyInput(message(t, s.Assignment, &endpointv3.ClusterLoadAssignment{}), c)
			config := eds.EnvoyPolicy(c.cluster, newestEnvoy)
			if len(config.Refusals) > 0 {
				checked.scenarios, checked.rejected = checked.scenarios+1, checked.rejected+1
				if config.Refusals[0].Message != s.Observed.Rejected {
					t.Errorf("refused with %q, want %q", config.Refusals[0].Message, s.Observed.Rejected)
				}
				return
			}
			r, err := envoy.Compute(in)
			if err != nil {
				t.Fatal(err)
			}
			s.check(t, r, in, &checked)
		})
	}
	checkedGolden(t, "envoy-shares", checked.String())
}

// check compares with the expected shares and with the counts.
func (s *envoyScenario) check(t *testing.T, r *envoy.Result, in envoy.Input, checked *sharesChecked) {
	t.Helper()
	checked.scenarios++
	if s.Expected != nil && (r.Rejected != "") != (s.Expected.Rejected != "") {
		t.Fatalf("rejected with %q, want %q", r.Rejected, s.Expected.Rejected)
	}
	if r.Rejected != "" {
		checked.rejected++
		if s.Observed.Rejected != "" {
			if s.Observed.Rejected != r.Rejected {
				t.Errorf("rejected with %q, want %q", r.Rejected, s.Observed.Rejected)
			}
			return
		}
		// A first assignment that is refused leaves an empty cluster.
		in.Drops, in.DropLimitPercent, in.Groups = nil, nil, nil
		var err error
		if r, err = envoy.Compute(in); err != nil {
			t.Fatal(err)
		}
	}
	shares := map[string]float64{}
	for _, e := range r.Endpoints {
		shares[e.Address] += e.Share
	}
	if s.Expected != nil {
		checked.shares += s.Expected.compare(t, r, shares)
	}
	checked.counts += s.Observed.compare(t, r, shares, s.Requests)
	s.Observed.members(t, r)
}

// compare with an expectation: shares within 1e-6, loads and flags exactly.
func (e *envoyExpected) compare(t *testing.T, r *envoy.Result, shares map[string]float64) (checked int) {
	t.Helper()
	want := func(what string, got, want float64) {
		checked++
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	want("dropped", r.Dropped, e.Dropped)
	want("unavailable", r.Unavailable, e.Unavailable)
	want("panic picks", r.PanicPicks, e.PanicPicks)
	for address, share := range e.Endpoints {
		want(address, shares[address], share)
	}
	for address, share := range shares {
		if _, ok := e.Endpoints[address]; !ok && share > 1e-9 {
			t.Errorf("%s has %v, want nothing", address, share)
		}
	}
	if e.Load != nil {
		for i := range e.Load.Healthy {
			p := r.Priorities[i]
			if p.HealthyLoad != e.Load.Healthy[i] || p.DegradedLoad != e.Load.Degraded[i] || p.Panic != e.Panic[i] {
				t.Errorf("priority %d: loads %d and %d, panic %v, want %v, %v", i, p.HealthyLoad, p.DegradedLoad, p.Panic, *e.Load, e.Panic)
			}
		}
	}
	if e.ZoneAware != "" {
		if got := zoneText(r.ZoneAware); got != e.ZoneAware {
			t.Errorf("zone aware %q, want %q", got, e.ZoneAware)
		}
	}
	return checked
}

func zoneText(z envoy.ZoneAwareResult) string {
	text := string(z.Mode)
	switch z.Mode {
	case envoy.ZoneNone:
		text += ": " + z.Reason
	case envoy.ZoneResidual:
		text += fmt.Sprintf(" q=%d", z.LocalPercent)
	}
	if z.LocalPanic {
		text += " local panic"
	}
	return text
}

// compare with counts: within 4.5 standard errors, and zero exactly where the share is zero. What a scheduler does in
// order scatters less than that.
func (o *envoyObserved) compare(t *testing.T, r *envoy.Result, shares map[string]float64, requests float64) (checked int) {
	t.Helper()
	count := func(what string, got, share float64) {
		checked++
		limit := 4.5 * math.Sqrt(requests*share*(1-share))
		// One request more or less is what a share near 0 or 1 can be off by in whole numbers.
		if math.Abs(got-share*requests) > math.Max(limit, 1) || share < 1e-12 && got > 0 {
			t.Errorf("%s: %v of %v requests, expected share %v", what, got, requests, share)
		}
	}
	count("dropped", o.Dropped, r.Dropped)
	count("unavailable", o.Unavailable, r.Unavailable)
	count("panic", o.Panic, r.PanicPicks)
	for address, share := range shares {
		count(address, o.Endpoints[address], share)
	}
	for address := range o.Endpoints {
		if _, ok := shares[address]; !ok {
			t.Errorf("%s is no endpoint", address)
		}
	}
	return checked
}

// members compares the gauges of the cluster's membership.
func (o *envoyObserved) members(t *testing.T, r *envoy.Result) {
	t.Helper()
	if o.Membership == nil {
		return
	}
	got := map[string]int{"healthy": 0, "degraded": 0, "excluded": 0, "total": 0}
	for _, p := range r.Priorities {
		got["healthy"] += p.Healthy
		got["degraded"] += p.Degraded
		got["excluded"] += p.Excluded
		got["total"] += p.Hosts
	}
	for name, want := range o.Membership {
		if got[name] != want {
			t.Errorf("membership_%s is %d, want %d", strings.TrimSpace(name), got[name], want)
		}
	}
}
