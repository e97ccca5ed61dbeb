// Package diff compares two versions of an assignment without regard to order: what changed, and what the change does to
// the traffic.
package diff

import (
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// Kind says what a Change is about.
type Kind string

// The kinds of changes.
const (
	AssignmentAdded   Kind = "assignment_added"
	AssignmentRemoved Kind = "assignment_removed"
	Renamed           Kind = "name"
	Added             Kind = "added"    // endpoint
	Removed           Kind = "removed"  // endpoint
	Moved             Kind = "moved"    // endpoint, to another priority or locality
	Weight            Kind = "weight"   // endpoint
	Health            Kind = "health"   // endpoint
	Metadata          Kind = "metadata" // endpoint
	Hostname          Kind = "hostname" // endpoint
	Endpoint          Kind = "endpoint" // another field of an endpoint, named in Field
	LocalityWeight    Kind = "locality_weight"
	Locality          Kind = "locality"  // another field of a locality, named in Field
	Policy            Kind = "policy"    // drop_overloads, overprovisioning_factor, ..., named in Field
	Cluster           Kind = "cluster"   // what the cluster around the assignment says, named in Field
	Bootstrap         Kind = "bootstrap" // what is around the cluster, named in Field
)

// Change is one difference. Old and New are values as a reader would write them; empty when there is none.
type Change struct {
	Kind     Kind                 `json:"kind"`
	Field    string               `json:"field,omitempty"`
	Address  string               `json:"address,omitempty"`
	Priority *uint32              `json:"priority,omitempty"` // after the change, or before it for what was removed
	Locality *simulate.LocalityID `json:"locality,omitempty"` // likewise
	Old      string               `json:"old,omitempty"`
	New      string               `json:"new,omitempty"`
	OldPath  string               `json:"old_path,omitempty"`
	NewPath  string               `json:"new_path,omitempty"`
}

// Result is the difference of one assignment.
type Result struct {
	Name    string   `json:"name"`
	OldFile string   `json:"old_file,omitempty"`
	NewFile string   `json:"new_file,omitempty"`
	Changes []Change `json:"changes"`
	// Traffic is what the changes do, by client; empty when nothing changed, or there is only one version.
	Traffic []Traffic `json:"traffic"`

	compared *comparison // nil when one side does not exist
}

// Same tells whether nothing differs.
func (r *Result) Same() bool { return len(r.Changes) == 0 }

// Pair is an assignment on both sides; one of them is nil when it exists on the other side only.
type Pair struct{ Old, New *eds.Resource }

// Match pairs the assignments of two sides by name. Two sides with one assignment each are a pair whatever their names.
// The order is that of the new side, then what only the old side has.
func Match(before, after []*eds.Resource) []Pair {
	if len(before) == 1 && len(after) == 1 {
		return []Pair{{before[0], after[0]}}
	}
	// Names may occur more than once: the first of one side goes with the first of the other.
	byName := map[string][]*eds.Resource{}
	for _, r := range before {
		byName[r.Name] = append(byName[r.Name], r)
	}
	var pairs []Pair
	for _, r := range after {
		if same := byName[r.Name]; len(same) > 0 {
			pairs = append(pairs, Pair{same[0], r})
			byName[r.Name] = same[1:]
			continue
		}
		pairs = append(pairs, Pair{New: r})
	}
	taken := map[*eds.Resource]bool{}
	for _, p := range pairs {
		taken[p.Old] = true
	}
	for _, r := range before {
		if !taken[r] {
			pairs = append(pairs, Pair{Old: r})
		}
	}
	return pairs
}

// Compare lists the changes of a pair.
func Compare(p Pair) *Result {
	out := &Result{Changes: []Change{}, Traffic: []Traffic{}}
	if p.Old != nil {
		out.Name, out.OldFile = p.Old.Name, p.Old.File
	}
	if p.New != nil {
		out.Name, out.NewFile = p.New.Name, p.New.File
	}
	switch {
	case p.Old == nil:
		out.Changes = append(out.Changes, Change{Kind: AssignmentAdded, New: p.New.Name})
	case p.New == nil:
		out.Changes = append(out.Changes, Change{Kind: AssignmentRemoved, Old: p.Old.Name})
	default:
		c := &comparison{}
		c.compare(p)
		out.Changes, out.compared = append(out.Changes, c.changes...), c
	}
	return out
}
