package cli

import (
	"math"
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/diff"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/simulate"
	"github.com/edsctl/edsctl/pkg/validate"
)

// heldAssignment is an assignment that the client has, and its traffic once that is known.
type heldAssignment struct {
	resource *eds.Resource
	traffic  *simulate.Result // nil: it cannot be simulated
}

func hold(r *eds.Resource, client diag.Client) *heldAssignment {
	h := &heldAssignment{resource: r}
	if result, err := simulate.FromResource(r, client, &simulate.Options{Force: true}); err == nil {
		h.traffic = result
	}
	return h
}

// compareAssignments says what a new version of an assignment changes, and what that does to the traffic. old is nil for
// the first version.
func compareAssignments(old, new *heldAssignment, o validate.Options) render.Change {
	change := render.Change{}
	for _, group := range new.resource.Assignment.GetEndpoints() {
		change.Endpoints += len(group.GetLbEndpoints())
	}
	if new.traffic != nil {
		change.Dropped, change.Unavailable = new.traffic.Dropped, new.traffic.Unavailable
	}
	if old == nil {
		return change
	}
	change.Changes = diff.Compare(diff.Pair{Old: old.resource, New: new.resource}).Changes
	if change.IsEmpty() {
		return change
	}
	change.Rules = updateRules(old.resource, new.resource, o)
	if old.traffic != nil && new.traffic != nil {
		change.Moved = movedTraffic(old.traffic, new.traffic)
	}
	return change
}

// updateRules are what the rules that need two versions find.
func updateRules(old, new *eds.Resource, o validate.Options) []render.DiffFinding {
	var out []render.DiffFinding
	for _, p := range lint.UpdateProblems(validate.Context(old, o), validate.Context(new, o)) {
		out = append(out, render.DiffFinding{Rule: p.Rule, Severity: lint.Lookup(p.Rule).Severity, Path: p.Path.String(), Message: p.Message})
	}
	return out
}

// movedTraffic is the part of all requests that goes elsewhere: half the sum of the changes of all shares, those of
// dropped and unavailable among them.
func movedTraffic(before, after *simulate.Result) float64 {
	delta := map[string]float64{"dropped": after.Dropped - before.Dropped, "unavailable": after.Unavailable - before.Unavailable}
	for _, e := range after.Endpoints {
		delta["@"+e.Address] += e.Share
	}
	for _, e := range before.Endpoints {
		delta["@"+e.Address] -= e.Share
	}
	moved := make([]float64, 0, len(delta))
	for _, d := range delta {
		moved = append(moved, math.Abs(d))
	}
	slices.Sort(moved) // sums of floats depend on the order
	sum := 0.0
	for _, d := range moved {
		sum += d
	}
	// What rounding leaves is no traffic: the sum of the deltas is off by some 1e-16.
	return min(math.Round(sum/2*1e12)/1e12, 1)
}
