package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/lint"
)

type jsonRules struct {
	FormatVersion string     `json:"format_version"`
	Rules         []jsonRule `json:"rules"`
}

type jsonRule struct {
	ID       string                   `json:"id"`
	Summary  string                   `json:"summary"`
	Severity string                   `json:"severity"`
	Producer string                   `json:"producer"`
	Needs    string                   `json:"needs"`
	Since    string                   `json:"since,omitempty"`
	Clients  byClient[jsonRuleEffect] `json:"clients"`
}

type jsonRuleEffect struct {
	Effects []jsonClause `json:"effects"`
	Stages  []string     `json:"stages"`
}

type jsonClause struct {
	Effect string   `json:"effect"`
	When   []string `json:"when,omitempty"`
}

// RulesJSON writes the rules for machines. The effects of a client are tried in order: the first whose "when" holds one
// of the facts applies, one without "when" is the rest, and when nothing fits there is none.
func RulesJSON(w io.Writer, rules []lint.Rule) error {
	doc := jsonRules{FormatVersion: formatVersion, Rules: make([]jsonRule, len(rules))}
	for i := range rules {
		r := &rules[i]
		doc.Rules[i] = jsonRule{
			ID: r.ID, Summary: r.Summary, Severity: r.Severity.String(), Producer: string(r.Producer), Needs: r.Needs, Since: r.Since,
			Clients: byClient[jsonRuleEffect]{ruleEffect(r, diag.Envoy), ruleEffect(r, diag.GRPC)},
		}
	}
	return writeJSON(w, doc)
}

func ruleEffect(r *lint.Rule, client diag.Client) jsonRuleEffect {
	out := jsonRuleEffect{Effects: []jsonClause{}, Stages: []string{}}
	for _, c := range r.Effects[client] {
		out.Effects = append(out.Effects, jsonClause{c.Effect.String(), c.Qualifiers})
	}
	for _, stage := range r.Stages[client] {
		if stage != "-" {
			out.Stages = append(out.Stages, stage)
		}
	}
	return out
}

// RuleList writes one line a rule.
func RuleList(w io.Writer, rules []lint.Rule) error {
	out := bufio.NewWriter(w)
	width := 0
	for i := range rules {
		width = max(width, len(rules[i].ID))
	}
	for i := range rules {
		r := &rules[i]
		fmt.Fprintf(out, "%-*s  %-7v  %s\n", width, r.ID, r.Severity, r.Summary)
	}
	return out.Flush()
}

// RuleExplanations writes all that the registry says about each rule, with an example that fires it and one that does
// not.
func RuleExplanations(w io.Writer, rules []lint.Rule) error {
	out := bufio.NewWriter(w)
	for i := range rules {
		if i > 0 {
			fmt.Fprintln(out)
		}
		explain(out, &rules[i])
	}
	return out.Flush()
}

func explain(w io.Writer, r *lint.Rule) {
	fmt.Fprintf(w, "%s: %s\n\n", r.ID, r.Summary)
	severity := r.Severity.String()
	if r.Departs {
		severity += " (set for this rule, whatever the effects)"
	}
	fmt.Fprintf(w, "  severity  %s\n", severity)
	for _, client := range diag.Clients {
		fmt.Fprintf(w, "  %-8s  %s\n", client, EffectInWords(r, client))
	}
	fmt.Fprintf(w, "  needs     %s\n", NeedsInWords(r.Needs))
	if r.Since != "" {
		fmt.Fprintf(w, "  since     Envoy %s\n", r.Since)
	}
	fmt.Fprintf(w, "  page      %s\n", rulePage(r.ID))
	explanation(w, r.ID)
	examples(w, r.ID)
}

// EffectInWords is what a client does with what a rule is about: "reject (file, rest), otherwise warn; decides at 07-pgv".
func EffectInWords(r *lint.Rule, client diag.Client) string {
	var parts []string
	for _, c := range r.Effects[client] {
		text := c.Effect.String()
		switch {
		case len(c.Qualifiers) > 0:
			text += " (" + strings.Join(c.Qualifiers, ", ") + ")"
		case len(parts) > 0:
			text = "otherwise " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		parts = []string{diag.None.String()}
	}
	text := strings.Join(parts, ", ")
	if stages := r.Stages[client]; len(stages) > 0 && stages[0] != "-" {
		text += "; decides at " + strings.Join(stages, " or ")
	}
	return text
}

// NeedsInWords is the least context with which a rule can speak.
func NeedsInWords(needs string) string {
	words := map[string]string{
		"cla":       "the assignment",
		"cluster":   "the cluster around the assignment",
		"bootstrap": "the bootstrap around the assignment",
		"source":    "how the assignment arrives (--source), and under which name",
		"update":    "two versions of the assignment (diff, watch, replay)",
	}
	if text, ok := words[needs]; ok {
		return text
	}
	return needs
}
