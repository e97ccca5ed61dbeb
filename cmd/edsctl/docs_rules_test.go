package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/lint"
	"github.com/edsctl/edsctl/pkg/render"
)

const (
	rulePages    = "../../docs/rules"
	ruleExamples = "../../pkg/lint/examples"
)

// TestDocsRules: the pages of the rules are made of the registry, the explanations, the inputs in testdata/lint and what
// validate says about them; the first input of each kind is also what `edsctl rules ID` shows. UPDATE=1 writes them.
func TestDocsRules(t *testing.T) {
	t.Parallel()
	golden(t, rulePages+"/README.md", ruleIndex())
	for _, rule := range lint.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			golden(t, rulePages+"/"+rule.ID+".md", rulePage(t, &rule))
			golden(t, ruleExamples+"/"+rule.ID+".md", examples(t, rule.ID, 1))
		})
	}
	pages, err := filepath.Glob(rulePages + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if id := strings.TrimSuffix(filepath.Base(page), ".md"); id != "README" && lint.Lookup(id) == nil {
			t.Errorf("%s is of no rule", page)
		}
	}
}

const rulesIntro = `# Rules

What ` + "`edsctl validate`" + ` reports, by id. ` + "`edsctl rules ID`" + ` explains one on the terminal.

The severity is that for Envoy; it is lower where the effect that applies to the input is weaker. Pages say where in a
client's own order of checks a rule decides: a number, the smaller the earlier. For Envoy they are the file and its
syntax (00), the type of the response and of its resources (01 to 04), unknown fields (05), durations (06), constraints
(07), the watch for the name (08), the EDS cluster (09), the making of the cluster (10), its policy (11), the hosts (12),
sums over them (13) and their use (14). For gRPC: the response and the Cluster (00), decoding (02 to 04), drops (05),
the localities one by one (06), priorities (07) and the watch (08). "-" decides nothing.

| rule | severity | about |
|---|---|---|
`

func ruleIndex() string {
	var b strings.Builder
	b.WriteString(rulesIntro)
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Summary)
	}
	return b.String()
}

func rulePage(t *testing.T, r *lint.Rule) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n\n| | |\n|---|---|\n", r.ID, r.Summary)
	severity := r.Severity.String()
	if r.Departs {
		severity += ", whatever the effects"
	}
	fmt.Fprintf(&b, "| severity | %s |\n", severity)
	for _, client := range diag.Clients {
		fmt.Fprintf(&b, "| %s | %s |\n", map[diag.Client]string{diag.Envoy: "Envoy", diag.GRPC: "gRPC"}[client], strings.ReplaceAll(render.EffectInWords(r, client), "|", `\|`))
	}
	fmt.Fprintf(&b, "| needs | %s |\n", render.NeedsInWords(r.Needs))
	if r.Since != "" {
		fmt.Fprintf(&b, "| since | Envoy %s |\n", r.Since)
	}
	b.WriteString("\n" + strings.TrimSpace(lint.Explanation(r.ID)) + "\n")
	return b.String() + examples(t, r.ID, math.MaxInt)
}

// examples are the inputs of a rule, at most so many that fire it and that do not.
func examples(t *testing.T, id string, most int) string {
	t.Helper()
	var b strings.Builder
	bad, good := inputsOf(t, id)
	for _, in := range bad[:min(most, len(bad))] {
		writeInput(t, &b, "Fires", in)
		b.WriteString("\nreports\n\n" + fenced("text", reported(t, in, id)))
	}
	for _, in := range good[:min(most, len(good))] {
		writeInput(t, &b, "Silent", in)
	}
	return b.String()
}

// writeInput shows an input with the flags that it was given with, and the files beside it.
func writeInput(t *testing.T, b *strings.Builder, title string, in lintInput) {
	t.Helper()
	fmt.Fprintf(b, "\n## %s: `%s`\n\n", title, in.name)
	if words := append(append([]string{}, in.env...), in.flags...); len(words) > 0 {
		fmt.Fprintf(b, "With `%s`.\n\n", strings.Join(words, " "))
	}
	b.WriteString(shown(t, in.path()))
	src, err := os.ReadFile(in.path())
	if err != nil {
		t.Fatal(err)
	}
	others, err := os.ReadDir(in.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range others {
		if bytes.Contains(src, []byte("path: "+e.Name())) {
			fmt.Fprintf(b, "\nBeside it `%s`:\n\n%s", e.Name(), shown(t, in.folder+"/"+e.Name()))
		}
	}
}

// maxShown is the length of a line that a page shows in full.
const maxShown = 400

// shown is the content of a file as a block.
func shown(t *testing.T, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ext := strings.TrimPrefix(filepath.Ext(path), ".")
	switch {
	case ext == "pb":
		return fenced("text", fmt.Sprintf("%d bytes of protobuf: %q\n", len(src), src))
	case !utf8.Valid(src), bytes.HasPrefix(src, []byte("\ufeff")):
		var b strings.Builder
		for line := range strings.Lines(string(src)) {
			fmt.Fprintf(&b, "%q\n", line)
		}
		return fenced("text", b.String())
	case ext != "yaml" && ext != "json":
		ext = "text"
	}
	var b strings.Builder
	for line := range strings.Lines(string(src)) {
		if len(line) > maxShown {
			line = line[:maxShown] + " ...\n"
		}
		b.WriteString(line)
	}
	return fenced(ext, b.String())
}

func fenced(language, text string) string {
	return "```" + language + "\n" + strings.TrimRight(text, "\n") + "\n```\n"
}

// reported is what validate says about an input, with the clients' texts for the findings of the rule.
func reported(t *testing.T, in lintInput, id string) string {
	t.Helper()
	var b strings.Builder
	for _, f := range in.findings(t) {
		b.WriteString(f.line(in.folder) + "\n")
		if f.Rule != id {
			continue
		}
		for _, client := range diag.Clients {
			outcome := f.Clients[client.String()]
			if outcome.Effect == "" || outcome.Effect == diag.None.String() {
				continue
			}
			line := "  " + client.String() + ": " + outcome.Effect
			if outcome.Message != "" {
				line += ": " + strings.ReplaceAll(outcome.Message, in.folder+"/", "")
			}
			b.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
		if f.Hint != "" {
			b.WriteString("hint: " + f.Hint + "\n")
		}
	}
	return b.String()
}
