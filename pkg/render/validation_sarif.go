package render

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/lint"
)

// homepage of the project, and of the pages of its rules.
const homepage = "https://github.com/edsctl/edsctl"

// The part of SARIF 2.1.0 that is written; a test holds it against the official schema. The libraries that there are
// bring a validator that keeps the linker from leaving methods out, which costs six megabytes.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID                   string         `json:"id"`
	ShortDescription     *sarifText     `json:"shortDescription,omitempty"`
	HelpURI              string         `json:"helpUri,omitempty"`
	DefaultConfiguration *sarifSettings `json:"defaultConfiguration,omitempty"`
}

type sarifSettings struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID              string            `json:"ruleId"`
	RuleIndex           int               `json:"ruleIndex"`
	Level               string            `json:"level"`
	Message             sarifText         `json:"message"`
	Locations           []sarifLocation   `json:"locations"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
	Properties          map[string]string `json:"properties"`
}

type sarifLocation struct {
	PhysicalLocation sarifPlace     `json:"physicalLocation"`
	LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPlace struct {
	ArtifactLocation sarifArtifact `json:"artifactLocation"`
	Region           *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
	EndLine     int `json:"endLine,omitempty"`
	EndColumn   int `json:"endColumn,omitempty"`
}

type sarifLogical struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
}

// validationSARIF writes a SARIF 2.1.0 log with one run. The rules of the findings are described in it; what each
// client does is in the result's properties.
func validationSARIF(w io.Writer, v *Validation, o Options) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "edsctl", Version: o.Version, InformationURI: homepage, Rules: []sarifRule{},
		}},
		ColumnKind: "unicodeCodePoints",
		Results:    make([]sarifResult, len(v.Findings)),
	}
	index := map[string]int{}
	for i := range v.Findings {
		f := &v.Findings[i]
		at, ok := index[f.Rule]
		if !ok {
			at = len(run.Tool.Driver.Rules)
			index[f.Rule] = at
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, ruleSARIF(f.Rule))
		}
		run.Results[i] = findingSARIF(f, at)
	}
	return writeJSON(w, sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{run},
	})
}

func ruleSARIF(id string) sarifRule {
	rule := sarifRule{ID: id}
	if registered := lint.Lookup(id); registered != nil {
		rule.ShortDescription = &sarifText{registered.Summary}
		rule.HelpURI = rulePage(id)
		rule.DefaultConfiguration = &sarifSettings{levelSARIF(registered.Severity)}
	}
	return rule
}

// rulePage is the address of a rule's page.
func rulePage(id string) string { return homepage + "/blob/main/docs/rules/" + id + ".md" }

func findingSARIF(f *diag.Finding, ruleIndex int) sarifResult {
	place := sarifPlace{ArtifactLocation: sarifArtifact{fileURI(f.File)}}
	if s := f.Span; s.IsKnown() {
		place.Region = &sarifRegion{s.Start.Line, s.Start.Column, s.End.Line, s.End.Column}
	}
	location := sarifLocation{PhysicalLocation: place}
	if f.Resource != "" {
		name := f.Resource
		if len(f.Path) > 0 {
			name += ": " + f.Path.String()
		}
		location.LogicalLocations = []sarifLogical{{name}}
	}
	properties := map[string]string{}
	for _, client := range diag.Clients {
		properties[client.String()+"_effect"] = f.Clients[client].Effect.String()
	}
	return sarifResult{
		RuleID: f.Rule, RuleIndex: ruleIndex, Level: levelSARIF(f.Severity), Message: sarifText{details(f)},
		Locations: []sarifLocation{location}, PartialFingerprints: map[string]string{"edsctl/v1": f.Fingerprint}, Properties: properties,
	}
}

func levelSARIF(s diag.Severity) string {
	if s == diag.Info {
		return "note"
	}
	return s.String()
}

// fileURI is the relative reference to a file; an absolute path becomes a file URI. Standard input ("<stdin>") has no
// address.
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
