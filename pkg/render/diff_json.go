package render

import (
	"io"

	"github.com/edsctl/edsctl/pkg/diff"
)

type jsonDiff struct {
	FormatVersion string               `json:"format_version"`
	Old           string               `json:"old"`
	New           string               `json:"new"`
	Same          bool                 `json:"same"`
	Assignments   []jsonDiffAssignment `json:"assignments"`
}

type jsonDiffAssignment struct {
	*diff.Result
	Findings []jsonDiffFinding `json:"findings"`
}

type jsonDiffFinding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`
}

// diffJSON writes the difference for machines: assignments without changes are left out.
func diffJSON(w io.Writer, d *Diff) error {
	doc := jsonDiff{FormatVersion: formatVersion, Old: d.Old, New: d.New, Same: d.Same(), Assignments: []jsonDiffAssignment{}}
	for _, a := range d.Assignments {
		if a.Same() {
			continue
		}
		out := jsonDiffAssignment{Result: a.Result, Findings: []jsonDiffFinding{}}
		for _, f := range a.Findings {
			out.Findings = append(out.Findings, jsonDiffFinding{f.Rule, f.Severity.String(), f.Path, f.Message})
		}
		doc.Assignments = append(doc.Assignments, out)
	}
	return writeJSON(w, doc)
}
