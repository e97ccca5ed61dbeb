package validate

import (
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// Report is what validation found, in the order of output. It holds no messages and no document, so that the reports
// of many files can be kept and joined.
type Report struct {
	Resources []Resource
	Findings  []diag.Finding // by resource and file, then position, then rule
	Ignored   int            // findings that ignore comments took out
}

// Resource is one judged assignment, or the entry of a file or a cluster that holds none.
type Resource struct {
	File       string
	Start      diag.Position
	Name       string
	Absent     bool           // there is no assignment: a file that holds none, or a cluster without one
	APIVersion eds.APIVersion // empty when nothing could be read
	Source     eds.Source
	Cluster    *Cluster // nil when there is none at hand
	Verdicts   [len(diag.Clients)]diag.Verdict
}

// Cluster is what a report says about the Cluster around an assignment, in the words of the API.
type Cluster struct {
	Name     string
	Type     string // "STATIC", "EDS", or the name of a cluster_type
	LBPolicy string // "ROUND_ROBIN"
}
