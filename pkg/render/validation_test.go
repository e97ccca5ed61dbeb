package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// golden compares with testdata/<name>; UPDATE=1 rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func span(line, column, endLine, endColumn int) diag.Span {
	return diag.Span{Start: diag.Position{Line: line, Column: column}, End: diag.Position{Line: endLine, Column: endColumn}}
}

// sample has one of everything: both clients, a finding without place, one over several lines, a hostile text.
func sample() *Validation {
	lines := map[int]string{
		9:  "        load_balancing_weight: 0",
		12: "\t\"health\": \"日本\", wieght: 3",
	}
	return &Validation{
		Files: 3, Skipped: 1, Clients: diag.Clients[:],
		Line: func(file string, line int) (string, bool) {
			text, ok := lines[line]
			return text, ok && file == "d/a, b.yaml"
		},
		Report: validate.Report{
			Ignored: 2,
			Resources: []validate.Resource{
				{
					File: "d/a, b.yaml", Start: diag.Position{Line: 3, Column: 5}, Name: "backend", APIVersion: eds.V3, Source: eds.FromBootstrap,
					Cluster: &validate.Cluster{Name: "backend", Type: "STATIC", LBPolicy: "ROUND_ROBIN"},
					Verdicts: [2]diag.Verdict{
						{Kind: diag.Rejected, Rule: "endpoint-weight-zero", Message: "LbEndpointValidationError.LoadBalancingWeight"},
						{Kind: diag.NotApplicable, Message: "gRPC reads no bootstrap"},
					},
				},
				{
					File: "eds.pb", Name: "other", APIVersion: eds.V2, Source: eds.FromFile,
					Verdicts: [2]diag.Verdict{{Kind: diag.Accept}, {Kind: diag.Rejected, Rule: "locality-missing", Message: "first line\nsecond line"}},
				},
				{File: "z.json", Absent: true, Source: eds.FromFile, Verdicts: [2]diag.Verdict{{Kind: diag.Rejected, Rule: "syntax"}, {Kind: diag.NotApplicable}}},
			},
			Findings: []diag.Finding{
				{
					Rule: "endpoint-weight-zero", Severity: diag.Error, File: "d/a, b.yaml", Span: span(9, 32, 9, 33), ResourceIndex: 0, Resource: "backend",
					Path:    diag.Path{}.Field("endpoints").Index(0).Field("lb_endpoints").Index(0).Field("load_balancing_weight"),
					Message: "must be at least 1, but is 0",
					Clients: [2]diag.Outcome{
						{Effect: diag.Reject, Message: "LbEndpointValidationError.LoadBalancingWeight: value must be greater than or equal to 1"},
						{Effect: diag.Reject},
					},
					Fingerprint: "f1",
				},
				{
					Rule: "unknown-field", Severity: diag.Warning, File: "d/a, b.yaml", Span: span(12, 18, 12, 24), ResourceIndex: 0, Resource: "backend",
					Message: `unknown field "wieght"`, Hint: `did you mean "weight"?`,
					Clients:     [2]diag.Outcome{{Effect: diag.Warn, Message: "first line\nsecond line 100% \x1b[31m<&>"}},
					Fingerprint: "f2",
				},
				{
					Rule: "file-extension-mismatch", Severity: diag.Info, File: "eds.pb", ResourceIndex: 1, Resource: "other",
					Message: "text", Fingerprint: "f3",
				},
				{
					Rule: "syntax", Severity: diag.Error, File: "z.json", Span: span(1, 1, 3, 2), ResourceIndex: -1,
					Message: "not closed", Clients: [2]diag.Outcome{{Effect: diag.Reject}, {}}, Fingerprint: "f4",
				},
			},
		},
	}
}

func TestValidationFormats(t *testing.T) {
	for _, format := range ValidationFormats() {
		t.Run(format, func(t *testing.T) {
			var b strings.Builder
			if err := sample().Write(&b, format, Options{Version: "1.2.3"}); err != nil {
				t.Fatal(err)
			}
			golden(t, "validation."+format, b.String())
		})
	}
}

func TestValidationTextInColour(t *testing.T) {
	var b strings.Builder
	if err := sample().Write(&b, "text", Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "validation.colour", b.String())
	plain := stripANSI(b.String())
	b.Reset()
	if err := sample().Write(&b, "text", Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), plain); diff != "" {
		t.Errorf("colour changes the text (-without +with):\n%s", diff)
	}
}

func stripANSI(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}

func TestValidationOfNothing(t *testing.T) {
	for _, format := range ValidationFormats() {
		var b strings.Builder
		if err := (&Validation{Clients: diag.Clients[:1]}).Write(&b, format, Options{}); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		golden(t, "nothing."+format, b.String())
	}
}

// SARIF is held against the official schema, of which testdata has a copy.
func TestSARIFIsValid(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*Validation{"sample": sample(), "nothing": {}} {
		var b strings.Builder
		if err := v.Write(&b, "sarif", Options{Version: "1.2.3"}); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	err := sample().Write(&strings.Builder{}, "xml", Options{})
	if want := `unknown output format "xml": must be one of text, json, sarif, junit, github`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestMarkedLine(t *testing.T) {
	long := strings.Repeat("a", 300) + "BAD" + strings.Repeat("b", 1_000_000)
	tests := []struct {
		name, line  string
		span        diag.Span
		text, marks string
	}{
		{"plain", "port: 99999", span(1, 7, 1, 12), "port: 99999", "      ^^^^^"},
		{"empty span", "port:", span(1, 6, 1, 6), "port:", "     ^"},
		{"to the next line", "a: |", span(1, 4, 3, 1), "a: |", "   ^"},
		{"beyond the line", "a", span(1, 9, 1, 12), "a", " ^"},
		{"tab", "\ta: b", span(1, 5, 1, 6), "  a: b", "     ^"},
		{"wide characters", "日本: x", span(1, 5, 1, 6), "日本: x", "      ^"},
		{"control characters", "a\x1b[31m: x", span(1, 1, 1, 7), "a\uFFFD[31m: x", "^^^^^^"},
		{"bad UTF-8", "a\xff: x", span(1, 5, 1, 6), "a\uFFFD: x", "    ^"},
		{
			"long line", long, span(1, 301, 1, 304),
			"…" + strings.Repeat("a", 40) + "BAD" + strings.Repeat("b", 77) + "…", strings.Repeat(" ", 41) + "^^^",
		},
		{
			"long span", strings.Repeat("a", 500), span(1, 1, 1, 501),
			strings.Repeat("a", 120) + "…", strings.Repeat("^", 120),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, marks := markedLine(lineRunes(tt.line), tt.span)
			if text != tt.text || marks != tt.marks {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", text, marks, tt.text, tt.marks)
			}
		})
	}
}
