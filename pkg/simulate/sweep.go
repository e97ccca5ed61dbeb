package simulate

import (
	"math"
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
	"github.com/edsctl/edsctl/pkg/selector"
)

// maxSweepPoints bounds a sweep: one point an endpoint up to here, then one a percent.
const maxSweepPoints = 101

// Sweep is the spillover curve of one assignment and client: what happens as more and more of a selection fails.
type Sweep struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Client   string `json:"client"`
	Selector string `json:"selector"`
	Selected int    `json:"selected"` // endpoints
	// Priorities are the levels that the points have shares for.
	Priorities []uint32     `json:"priorities"`
	Points     []SweepPoint `json:"points"`
}

// SweepPoint is the traffic with some endpoints failed.
type SweepPoint struct {
	Failed  int     `json:"failed"`  // endpoints
	Percent float64 `json:"percent"` // of the selection
	// Shares by priority, in the order of Sweep.Priorities.
	Shares      []float64 `json:"shares"`
	Selection   float64   `json:"selection"` // share of the selected endpoints, failed or not
	Dropped     float64   `json:"dropped"`
	Unavailable float64   `json:"unavailable"`
	// Panic lists the priorities that are in panic and get traffic.
	Panic []uint32 `json:"panic"`
	// MaxEndpoint is the largest share of one endpoint.
	MaxEndpoint float64 `json:"max_endpoint"`
}

// RunSweep fails 0 to 100 % of the endpoints that a selector picks, on top of the options' own changes. Which endpoints
// fail first: see Change.Count. The assignment must be accepted, or the options force it; otherwise the result says why and
// the sweep is nil. The result is also there when the selector matches nothing, which is an error.
func RunSweep(r *eds.Resource, client diag.Client, o *Options, s selector.Selector) (*Sweep, *Result, error) {
	options := *o
	options.HashKeys, options.Requests, options.Explain, options.tables = nil, 0, false, &envoy.Tables{}
	first, err := FromResource(r, client, &options)
	if err != nil || !first.Accepted() && (!o.Force || first.Verdict == string(diag.NotApplicable)) {
		return nil, first, err
	}
	// The verdict does not depend on health.
	options.Check = nil
	refs, err := s.Select(first.cla)
	if err != nil {
		return nil, first, err
	}
	selection := map[selector.Ref]bool{}
	for _, ref := range refs {
		selection[ref] = true
	}
	out := &Sweep{Name: first.Name, File: first.File, Client: first.Client, Selector: s.String(), Selected: len(refs)}
	for _, p := range first.Priorities {
		out.Priorities = append(out.Priorities, p.Priority)
	}
	for _, n := range sweepCounts(len(refs)) {
		options.Changes = append(slices.Clone(o.Changes), Change{Kind: Fail, Selector: s, Count: &n})
		result, err := FromResource(r, client, &options)
		if err != nil {
			return nil, nil, err
		}
		out.Points = append(out.Points, sweepPoint(result, selection, n))
	}
	return out, first, nil
}

// sweepCounts are the numbers of failed endpoints of a selection of n.
func sweepCounts(n int) []int {
	points := min(n+1, maxSweepPoints)
	counts := make([]int, points)
	for i := range counts {
		counts[i] = int(math.Round(float64(i) * float64(n) / float64(max(points-1, 1))))
	}
	return counts
}

func sweepPoint(r *Result, selection map[selector.Ref]bool, failed int) SweepPoint {
	p := SweepPoint{
		Failed: failed, Percent: 100 * float64(failed) / float64(len(selection)), Panic: []uint32{},
		Dropped: r.Dropped, Unavailable: r.Unavailable, Shares: make([]float64, len(r.Priorities)),
	}
	for i, level := range r.Priorities {
		p.Shares[i] = level.Share
		if level.Panic && level.Load != (Percents{}) {
			p.Panic = append(p.Panic, level.Priority)
		}
	}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		p.MaxEndpoint = max(p.MaxEndpoint, e.Share)
		if selection[selector.Ref{Group: e.Group, Index: e.Index}] {
			p.Selection += e.Share
		}
	}
	p.Selection = min(p.Selection, 1)
	return p
}
