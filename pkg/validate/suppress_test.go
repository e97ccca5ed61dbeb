package validate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

func TestSuppress(t *testing.T) {
	at := func(rule string, line int) diag.Finding {
		f := diag.Finding{Rule: rule, File: "a.yaml", ResourceIndex: 0}
		if line > 0 {
			f.Span = diag.Span{Start: diag.Position{Line: line, Column: 1}, End: diag.Position{Line: line, Column: 2}}
		}
		return f
	}
	tests := []struct {
		name     string
		text     string
		findings []diag.Finding
		levels   map[string]diag.Severity
		want     []string
		ignored  int
	}{
		{
			name: "on the line and above it", text: "a: 1 # edsctl:ignore port-zero -- known\n# edsctl:ignore enum-case -- old\nb: 2\nc: 3\n",
			findings: []diag.Finding{at("port-zero", 1), at("enum-case", 3), at("enum-case", 4)}, want: []string{"4:1 enum-case"}, ignored: 2,
		},
		{
			name: "blanks around the colon", text: "a: 1 # edsctl: ignore port-zero\nb: 2 #edsctl : ignore enum-case\n",
			findings: []diag.Finding{at("port-zero", 1), at("enum-case", 2)}, ignored: 2,
		},
		{
			name: "several ids, several comments", text: "# edsctl:ignore port-zero, enum-case -- both\n# because\n# edsctl:ignore canary\na: 1\n",
			findings: []diag.Finding{at("port-zero", 4), at("port-zero", 4), at("enum-case", 4), at("canary", 4)}, ignored: 4,
		},
		{
			name: "another rule stays", text: "a: 1 # edsctl:ignore port-zero\n", findings: []diag.Finding{at("enum-case", 1)},
			want: []string{"1:1 enum-case", `1:22 unused-ignore: no finding of "port-zero" on line 1 to ignore`},
		},
		{
			name: "no such rule, no rule", text: "a: 1 # edsctl:ignore prot-zero -- x\nb: 1 # edsctl:ignore -- x\n",
			want: []string{`1:22 unused-ignore: there is no rule "prot-zero" to ignore`,
				`2:6 unused-ignore: "edsctl:ignore" names no rule: write "# edsctl:ignore rule-id -- reason"`},
		},
		{
			name: "a rule that is off", text: "a: 1 # edsctl:ignore port-zero\n", levels: map[string]diag.Severity{"port-zero": diag.Off},
		},
		{
			name: "unused ignores are off", text: "a: 1 # edsctl:ignore port-zero\n", levels: map[string]diag.Severity{"unused-ignore": diag.Off},
		},
		{name: "not a comment", text: "a: \"# edsctl:ignore port-zero\"\nb: |\n  # edsctl:ignore port-zero\nc: x#edsctl:ignore y\n"},
		{name: "another word", text: "a: 1 # edsctl:ignored port-zero\n"},
		{
			name: "findings without a place", text: "---\n# a file\n# edsctl:ignore file-extension-mismatch -- generated\n\na: 1\n",
			findings: []diag.Finding{at("file-extension-mismatch", 0)}, ignored: 1,
		},
		{
			name: "findings without a place need the top", text: "a: 1\n# edsctl:ignore file-extension-mismatch\nb: 1\n",
			findings: []diag.Finding{at("file-extension-mismatch", 0)},
			want:     []string{"0:0 file-extension-mismatch", `2:17 unused-ignore: no finding of "file-extension-mismatch" on line 3 to ignore`},
		},
		{
			name: "crlf and a second document", text: "a: 1\r\n---\r\n# edsctl:ignore port-zero\r\nb: 1\r\n",
			findings: []diag.Finding{at("port-zero", 4)}, ignored: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := document.ParseYAML([]byte(tt.text), document.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			report := Report{Findings: tt.findings}
			report.Suppress("a.yaml", docs, Options{RuleLevels: tt.levels})
			var got []string
			for _, f := range report.Findings {
				text := fmt.Sprintf("%v %s", f.Span.Start, f.Rule)
				if f.Message != "" {
					text += ": " + f.Message
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if report.Ignored != tt.ignored {
				t.Errorf("%d ignored, want %d", report.Ignored, tt.ignored)
			}
		})
	}
}
