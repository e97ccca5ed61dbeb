package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/diff"
)

// Diff is what a run of diff found.
type Diff struct {
	// Old and New are the sides as the user named them.
	Old, New    string
	Assignments []DiffAssignment
}

// DiffAssignment is one assignment of a Diff, with what the update will not do.
type DiffAssignment struct {
	*diff.Result
	Findings []DiffFinding
}

// DiffFinding is what a rule about updates reports.
type DiffFinding struct {
	Rule     string
	Severity diag.Severity
	Path     string
	Message  string
}

// Same tells whether the sides do not differ.
func (d *Diff) Same() bool {
	for _, a := range d.Assignments {
		if !a.Same() {
			return false
		}
	}
	return true
}

// DiffFormats names the formats of Diff.Write, the default first.
func DiffFormats() []string { return []string{"text", "json", "markdown"} }

// Write writes the difference in one of DiffFormats.
func (d *Diff) Write(w io.Writer, format string, o Options) error {
	switch format {
	case "text":
		return diffText(w, d, o)
	case "json":
		return diffJSON(w, d)
	case "markdown":
		return diffMarkdown(w, d)
	}
	return fmt.Errorf("unknown output format %q: must be one of %s", format, strings.Join(DiffFormats(), ", "))
}

// changeMark is the sign of a change, as in a diff.
func changeMark(c *diff.Change) string {
	switch c.Kind {
	case diff.Added, diff.AssignmentAdded:
		return "+"
	case diff.Removed, diff.AssignmentRemoved:
		return "-"
	}
	return "~"
}

// changeSubject is what a change is about.
func changeSubject(c *diff.Change) string {
	switch {
	case c.Address != "":
		return c.Address
	case c.Locality != nil:
		return changePlace(c)
	case c.Kind == diff.Cluster:
		return "cluster"
	case c.Kind == diff.Policy:
		return "policy"
	case c.Kind == diff.Bootstrap:
		return "bootstrap"
	}
	return "assignment"
}

func changePlace(c *diff.Change) string {
	if c.Locality == nil || c.Priority == nil {
		return ""
	}
	return fmt.Sprintf("priority %d, locality %s", *c.Priority, c.Locality)
}

// changeWords says what a change does.
func changeWords(c *diff.Change) string {
	what := string(c.Kind)
	switch c.Kind {
	case diff.Added, diff.Removed:
		return what + ": " + changePlace(c)
	case diff.AssignmentAdded:
		return "added"
	case diff.AssignmentRemoved:
		return "removed"
	case diff.Moved:
		return fmt.Sprintf("moved: %s -> %s", c.Old, c.New)
	case diff.Policy, diff.Endpoint, diff.Locality, diff.Cluster, diff.Bootstrap:
		what = c.Field
	case diff.LocalityWeight:
		what = "weight"
	}
	if c.Old == "" && c.New == "" {
		return what + " changed"
	}
	return fmt.Sprintf("%s: %s -> %s", what, orUnset(c.Old), orUnset(c.New))
}

func orUnset(s string) string {
	if s == "" {
		return "(unset)"
	}
	return s
}

// verdictShift says how the client's verdict changes; empty when it accepts both.
func verdictShift(t *diff.Traffic) string {
	switch {
	case t.OldVerdict == t.NewVerdict && t.NewVerdict == "accept":
		return ""
	case t.OldVerdict == t.NewVerdict:
		return fmt.Sprintf("%s before and after: %s", t.NewVerdict, t.NewMessage)
	}
	text := fmt.Sprintf("%s -> %s", t.OldVerdict, t.NewVerdict)
	if t.Kept {
		text += ", the client goes on with the old assignment"
	}
	if message := cmp.Or(t.NewMessage, t.OldMessage); message != "" {
		text += ": " + message
	}
	return text
}

// policies are the policy, or that before and after.
func policies(t *diff.Traffic) string {
	if t.OldPolicy == "" {
		return t.Policy
	}
	return t.OldPolicy + " -> " + t.Policy
}

// shiftRow is one line of the traffic table.
type shiftRow struct {
	name string
	diff.Shift
}

// shiftRows are the lines of the traffic table, the sums first.
func shiftRows(t *diff.Traffic, limit int) (rows []shiftRow, left int) {
	add := func(name string, s diff.Shift) { rows = append(rows, shiftRow{name, s}) }
	if t.Dropped.Before != 0 || t.Dropped.After != 0 {
		add("dropped", t.Dropped)
	}
	if t.Unavailable.Before != 0 || t.Unavailable.After != 0 {
		add("unavailable", t.Unavailable)
	}
	for _, p := range t.Priorities {
		add(fmt.Sprintf("priority %d", p.Priority), p.Shift)
	}
	for i, l := range t.Localities {
		if i == limit {
			break
		}
		add(fmt.Sprintf("P%d %s", l.Priority, l.LocalityID), l.Shift)
	}
	for i, e := range t.Endpoints {
		if i == limit {
			return rows, len(t.Endpoints) - limit
		}
		add(e.Address, e.Shift)
	}
	return rows, 0
}
