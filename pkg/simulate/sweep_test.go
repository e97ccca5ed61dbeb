package simulate

import (
	"slices"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/selector"
)

// TestSweepUsesTablesAgain: the points are those of simulations of their own, also where priorities enter and leave panic.
func TestSweepUsesTablesAgain(t *testing.T) {
	t.Parallel()
	first, err := selector.Parse("priority=0")
	if err != nil {
		t.Fatal(err)
	}
	cla := nested(t, "a: Hx Hx Hx Ux", "b: Hx Hx", "a@1: Hx Ux Hx")
	for _, policy := range []string{"ring_hash", "maglev"} {
		cluster := parsed(t, `{"name": "c", "type": "EDS", "load_balancing_policy": `+chain(policy)+`}`, &clusterv3.Cluster{})
		r := &eds.Resource{Name: "c", Source: eds.FromSotW, Assignment: cla, Original: cla, Cluster: &eds.Cluster{Message: cluster}}
		sweep, _, err := RunSweep(r, diag.Envoy, &Options{}, first)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range sweep.Points {
			o := Options{Changes: []Change{{Kind: Fail, Selector: first, Count: &p.Failed}}}
			result, err := FromResource(r, diag.Envoy, &o)
			if err != nil {
				t.Fatal(err)
			}
			if want := []float64{result.Priorities[0].Share, result.Priorities[1].Share}; !slices.Equal(p.Shares, want) || p.MaxEndpoint != largest(result) {
				t.Errorf("%s, %d failed: shares %v and %v, want %v and %v", policy, p.Failed, p.Shares, p.MaxEndpoint, want, largest(result))
			}
		}
	}
}

func largest(r *Result) (share float64) {
	for _, e := range r.Endpoints {
		share = max(share, e.Share)
	}
	return share
}
