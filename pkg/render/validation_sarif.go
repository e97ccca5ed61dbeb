package render

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/lint"
)

// homepage of the project, and of the pages of its rules.
const homepage = "https://github.com/edsctl/edsctl"

// validationSARIF writes a SARIF 2.1.0 log with one run. The rules of the findings are described in it, with what each
// client does in the result's properties.
func validationSARIF(w io.Writer, v *Validation, o Options) error {
	run := sarif.NewRunWithInformationURI("edsctl", homepage)
	run.Tool.Driver.WithVersion(o.Version)
	run.WithColumnKind("unicodeCodePoints")
	for i := range v.Findings {
		f := &v.Findings[i]
		addRule(run, f.Rule)
		run.AddResult(sarifResult(run, f))
	}
	report := sarif.NewReport()
	report.AddRun(run)
	return report.PrettyWrite(w)
}

func addRule(run *sarif.Run, id string) {
	rule := run.AddRule(id) // the one that is there, if it is
	if registered := lint.Lookup(id); registered != nil && rule.ShortDescription == nil {
		rule.WithDescription(registered.Summary)
		rule.WithHelpURI(homepage + "/blob/main/docs/rules/" + id + ".md")
		rule.WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(sarifLevel(registered.Severity)))
	}
}

func sarifResult(run *sarif.Run, f *diag.Finding) *sarif.Result {
	location := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewSimpleArtifactLocation(fileURI(f.File)))
	if s := f.Span; s.IsKnown() {
		region := sarif.NewRegion().WithStartLine(s.Start.Line).WithStartColumn(s.Start.Column)
		if s.End.IsKnown() {
			region.WithEndLine(s.End.Line).WithEndColumn(s.End.Column)
		}
		location.WithRegion(region)
	}
	where := sarif.NewLocationWithPhysicalLocation(location)
	if f.Resource != "" {
		name := f.Resource
		if len(f.Path) > 0 {
			name += ": " + f.Path.String()
		}
		where.WithLogicalLocations([]*sarif.LogicalLocation{sarif.NewLogicalLocation().WithFullyQualifiedName(name)})
	}
	properties := sarif.NewPropertyBag()
	for _, client := range diag.Clients {
		properties.Add(client.String()+"_effect", f.Clients[client].Effect.String())
	}
	return sarif.NewRuleResult(f.Rule).
		WithRuleIndex(run.GetRuleIndex(f.Rule)).
		WithLevel(sarifLevel(f.Severity)).
		WithMessage(sarif.NewTextMessage(strings.ToValidUTF8(details(f), "\uFFFD"))).
		WithLocations([]*sarif.Location{where}).
		WithPartialFingerprints(map[string]string{"edsctl/v1": f.Fingerprint}).
		WithProperties(properties)
}

func sarifLevel(s diag.Severity) string {
	if s == diag.Info {
		return "note"
	}
	return s.String()
}

// fileURI is the relative reference to a file; an absolute path becomes a file URI. Standard input ("<stdin>") has no address.
func fileURI(name string) string {
	if strings.HasPrefix(name, "<") {
		return "stdin"
	}
	u := url.URL{Path: filepath.ToSlash(name)}
	if strings.HasPrefix(u.Path, "/") {
		u.Scheme = "file"
	}
	return u.String()
}
