package simulate

import (
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

func TestParseFail(t *testing.T) {
	tests := []struct{ text, want string }{
		{"zone=a", "zone=a all"},
		{"zone=a=3", "zone=a 3"},
		{"zone=a=50%", "zone=a 50%"},
		{"all", "all all"},
		{"all=2", "all 2"},
		{"priority=0", "priority=0 all"},
		{"priority=0=1", "priority=0 1"},
		{"zone=a,health=HEALTHY=12.5%", "zone=a,health=HEALTHY 12.5%"},
		{"metadata.envoy.lb.version=1", "metadata.envoy.lb.version=1 all"},
		{"zone=a=x", `error: "x" is not a number of endpoints (3) or a percentage (50%)`},
		{"zone=a=-1", `error: "-1" is not a number of endpoints`},
		{"zone=a=101%", `error: "101%" is not a percentage from 0% to 100%`},
		{"zone=a=NaN%", `error: "NaN%" is not a percentage`},
		{"zone", `error: selector "zone": "zone" is not KEY=VALUE`},
		{"", `error: selector "": "" is not KEY=VALUE`},
	}
	for _, tt := range tests {
		c, err := ParseFail(tt.text)
		got := c.Selector.String()
		switch {
		case err != nil:
			got = "error: " + err.Error()
		case c.Count != nil:
			got += fmt.Sprint(" ", *c.Count)
		case c.Percent != nil:
			got += fmt.Sprintf(" %v%%", *c.Percent)
		default:
			got += " all"
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("ParseFail(%q) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestParseSetHealthAndWeight(t *testing.T) {
	c, err := ParseSetHealth("zone=a=degraded")
	if err != nil || c.Health != corev3.HealthStatus_DEGRADED || c.Selector.String() != "zone=a" {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = ParseSetWeight("all=7")
	if err != nil || c.Weight != 7 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"zone=a", "all", "=HEALTHY"} {
		if _, err := ParseSetHealth(text); err == nil || err.Error() != "must have the form SELECTOR=STATUS" {
			t.Errorf("ParseSetHealth(%q): %v", text, err)
		}
	}
	if _, err := ParseSetWeight("all=heavy"); err == nil {
		t.Error("a weight that is no number was taken")
	}
}

func TestAmount(t *testing.T) {
	count := func(n int) Change { return Change{Count: &n} }
	percent := func(p float64) Change { return Change{Percent: &p} }
	tests := []struct {
		c       Change
		n, want int
	}{
		{Change{}, 5, 5}, {count(2), 5, 2}, {count(9), 5, 5}, {count(0), 5, 0},
		{percent(50), 5, 3}, {percent(50), 4, 2}, {percent(0), 4, 0}, {percent(100), 4, 4}, {percent(10), 4, 0},
	}
	for _, tt := range tests {
		if got := tt.c.amount(tt.n); got != tt.want {
			t.Errorf("amount of %d is %d, want %d", tt.n, got, tt.want)
		}
	}
}

func TestSweepCounts(t *testing.T) {
	if got := fmt.Sprint(sweepCounts(4)); got != "[0 1 2 3 4]" {
		t.Errorf("4 endpoints: %s", got)
	}
	got := sweepCounts(1000)
	if len(got) != 101 || got[0] != 0 || got[1] != 10 || got[100] != 1000 {
		t.Errorf("1000 endpoints: %v", got)
	}
}

func FuzzParseChange(f *testing.F) {
	for _, text := range []string{"zone=a=50%", "all=3", "priority=0", "zone=a=HEALTHY", "all=7", "=", `hostname="=,"=1`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (Change, error){ParseFail, ParseSetHealth, ParseSetWeight, ParseUnreachable} {
			if c, err := parse(text); err == nil && c.amount(10) > 10 {
				t.Errorf("%q takes %d of 10 endpoints", text, c.amount(10))
			}
		}
	})
}

// TestFailDraining: DRAINING endpoints whose checks fail stay excluded, so that nothing goes to the next priority (observed on
// 1.40 with active health checks).
func TestFailDraining(t *testing.T) {
	cla := zones("a: 192.0.2.1 192.0.2.2", "b: 192.0.2.3 192.0.2.4", "c: 192.0.2.5")
	for _, e := range cla.Endpoints[1].LbEndpoints {
		e.HealthStatus = corev3.HealthStatus_DRAINING
	}
	cla.Endpoints[2].Priority = 1
	fail, err := ParseFail("zone=b")
	if err != nil {
		t.Fatal(err)
	}
	r, err := FromResource(inCluster(t, `"type": "STATIC"`, cla), diag.Envoy, &Options{Changes: []Change{fail}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Priorities[0]; got.Load.Healthy != 100 || got.Excluded != 2 {
		t.Errorf("load %d, %d excluded, want 100 and 2", got.Load.Healthy, got.Excluded)
	}
}
