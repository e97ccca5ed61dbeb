package render

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/validate"
)

// formatVersion of all JSON documents. Fields are added, none renamed or removed, while it stays.
const formatVersion = "1"

type jsonValidation struct {
	FormatVersion string         `json:"format_version"`
	Resources     []jsonResource `json:"resources"`
	Findings      []jsonFinding  `json:"findings"`
	Summary       jsonSummary    `json:"summary"`
}

type jsonResource struct {
	File       string                `json:"file"`
	Line       int                   `json:"line,omitempty"`
	Column     int                   `json:"column,omitempty"`
	Name       string                `json:"name"`
	APIVersion string                `json:"api_version,omitempty"`
	Source     string                `json:"source,omitempty"`
	Cluster    *jsonCluster          `json:"cluster,omitempty"`
	Verdicts   byClient[jsonVerdict] `json:"verdicts"`
}

type jsonCluster struct {
	Name     string `json:"name,omitempty"`
	Type     string `json:"type,omitempty"`
	LBPolicy string `json:"lb_policy,omitempty"`
}

type jsonVerdict struct {
	Verdict string `json:"verdict"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
}

// byClient has one value for each of diag.Clients, under its name.
type byClient[T any] struct {
	Envoy T `json:"envoy"`
	GRPC  T `json:"grpc"`
}

type jsonFinding struct {
	Rule          string                `json:"rule"`
	Severity      string                `json:"severity"`
	File          string                `json:"file"`
	Line          int                   `json:"line,omitempty"`
	Column        int                   `json:"column,omitempty"`
	EndLine       int                   `json:"end_line,omitempty"`
	EndColumn     int                   `json:"end_column,omitempty"`
	ResourceIndex *int                  `json:"resource_index,omitempty"`
	Resource      string                `json:"resource,omitempty"`
	Path          string                `json:"path,omitempty"`
	Message       string                `json:"message"`
	Hint          string                `json:"hint,omitempty"`
	Clients       byClient[jsonOutcome] `json:"clients"`
	Fingerprint   string                `json:"fingerprint"`
}

type jsonOutcome struct {
	Effect  string `json:"effect"`
	Message string `json:"message,omitempty"`
}

type jsonSummary struct {
	Files     int `json:"files"`
	Skipped   int `json:"skipped"`
	Resources int `json:"resources"`
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
	Infos     int `json:"infos"`
	Ignored   int `json:"ignored"`
}

// validationJSON writes the document of product.md, Output shapes.
func validationJSON(w io.Writer, v *Validation, _ Options) error {
	doc := jsonValidation{
		FormatVersion: formatVersion,
		Resources:     make([]jsonResource, len(v.Resources)),
		Findings:      make([]jsonFinding, len(v.Findings)),
	}
	for i := range v.Resources {
		doc.Resources[i] = resourceJSON(&v.Resources[i])
	}
	for i := range v.Findings {
		doc.Findings[i] = findingJSON(&v.Findings[i])
	}
	counts := v.count()
	doc.Summary = jsonSummary{
		Files: v.Files, Skipped: v.Skipped, Resources: v.countResources(), Ignored: v.Ignored,
		Errors: counts[diag.Error], Warnings: counts[diag.Warning], Infos: counts[diag.Info],
	}
	return writeJSON(w, doc)
}

func resourceJSON(r *validate.Resource) jsonResource {
	out := jsonResource{
		File: r.File, Line: r.Start.Line, Column: r.Start.Column, Name: r.Name,
		APIVersion: string(r.APIVersion), Source: string(r.Source),
		Verdicts: byClient[jsonVerdict]{verdictJSON(r.Verdicts[diag.Envoy]), verdictJSON(r.Verdicts[diag.GRPC])},
	}
	if c := r.Cluster; c != nil {
		out.Cluster = &jsonCluster{c.Name, c.Type, c.LBPolicy}
	}
	return out
}

func verdictJSON(v diag.Verdict) jsonVerdict { return jsonVerdict{string(v.Kind), v.Rule, v.Message} }

func findingJSON(f *diag.Finding) jsonFinding {
	out := jsonFinding{
		Rule: f.Rule, Severity: f.Severity.String(), File: f.File,
		Line: f.Span.Start.Line, Column: f.Span.Start.Column, EndLine: f.Span.End.Line, EndColumn: f.Span.End.Column,
		Resource: f.Resource, Path: f.Path.String(), Message: f.Message, Hint: f.Hint,
		Clients:     byClient[jsonOutcome]{outcomeJSON(f.Clients[diag.Envoy]), outcomeJSON(f.Clients[diag.GRPC])},
		Fingerprint: f.Fingerprint,
	}
	if f.ResourceIndex >= 0 {
		out.ResourceIndex = &f.ResourceIndex
	}
	return out
}

func outcomeJSON(o diag.Outcome) jsonOutcome { return jsonOutcome{o.Effect.String(), o.Message} }

// countResources counts the assignments, without the entries of files that hold none.
func (v *Validation) countResources() (n int) {
	for i := range v.Resources {
		if !v.Resources[i].Absent {
			n++
		}
	}
	return n
}

// writeJSON writes one indented document. Text is written as it is: it does not end up in HTML.
func writeJSON(w io.Writer, doc any) error {
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	return buffered.Flush()
}
