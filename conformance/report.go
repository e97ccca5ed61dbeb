package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/lint"
)

// enough is how often a rule must fire, and how many near misses must stay silent.
const enough = 10

// tally is what a run shows of one rule.
type tally struct{ fired, decided, silent, disagreed int }

// report prints what a run shows. It returns false when a verdict differs, or a rule is not shown enough.
func report(w io.Writer, o options, cases []*testCase) bool {
	rules := map[string]*tally{}
	for i := range lint.Rules() {
		rules[lint.Rules()[i].ID] = &tally{}
	}
	var different, worded []*testCase
	perRoute := make([]tally, numRoutes)
	for _, c := range cases {
		perRoute[c.route].fired++
		agrees := c.predicted.verdict == c.observed.verdict
		if !agrees {
			different = append(different, c)
			perRoute[c.route].disagreed++
		} else if (c.observed.verdict == "reject" || c.observed.verdict == "crash") && !sameMessage(c.predicted.message, c.observed.message) {
			worded = append(worded, c)
			perRoute[c.route].silent++
		}
		for id := range c.predicted.rules {
			t := rules[id]
			t.fired++
			if !agrees {
				t.disagreed++
			} else if c.predicted.rule == id {
				t.decided++
			}
		}
		if t := rules[c.rule]; t != nil && c.near && agrees && !c.predicted.rules[c.rule] {
			t.silent++
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ROUTE\tINPUTS\tVERDICTS DIFFER\tMESSAGES DIFFER")
	for r := range numRoutes {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", r, perRoute[r].fired, perRoute[r].disagreed, perRoute[r].silent)
	}
	fmt.Fprintln(table, "\nRULE\tFIRES\tDECIDES\tNEAR MISSES\tDIFFERS\t")
	short := 0
	var notCounted []string
	for i := range lint.Rules() {
		r := &lint.Rules()[i]
		if why := hidden(r, o); why != "" {
			notCounted = append(notCounted, fmt.Sprintf("  %s: %s", r.ID, why))
			continue
		}
		t := rules[r.ID]
		note := ""
		if t.fired < enough || t.silent < enough {
			note = "TOO FEW"
			short++
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%s\n", r.ID, t.fired, t.decided, t.silent, t.disagreed, note)
	}
	_ = table.Flush() // to standard output
	fmt.Fprintf(w, "\nnot counted:\n%s\n", strings.Join(notCounted, "\n"))
	show(w, "verdict", different, o.show)
	show(w, "message", worded, o.show)
	fmt.Fprintf(w, "%d inputs, %d verdicts differ, %d messages differ, %d rules shown too little\n", len(cases), len(different), len(worded), short)
	return len(different) == 0 && short == 0
}

// show prints some of the cases: two at most of a kind.
func show(w io.Writer, what string, cases []*testCase, n int) {
	kinds := map[[5]string]int{}
	for _, c := range cases {
		key := [5]string{c.rule, c.route.String(), c.predicted.verdict, c.predicted.rule, c.observed.verdict}
		if kinds[key]++; kinds[key] > 2 || n == 0 {
			continue
		}
		n--
		kind := "breaks"
		if c.near {
			kind = "just keeps"
		}
		fmt.Fprintf(w, "\n%s differs: %s (%s %s)\n  edsctl: %s %s: %s\n  client: %s: %s\n", what, c.path, kind, c.rule,
			c.predicted.verdict, c.predicted.rule, clip(c.predicted.message), c.observed.verdict, clip(c.observed.message))
	}
}

func clip(s string) string {
	const limit = 600
	if len(s) > limit {
		return s[:limit] + "..."
	}
	return s
}

// hidden says why the run cannot show a rule; empty when it can.
func hidden(r *lint.Rule, o options) string {
	if why, ok := exceptions[r.ID]; ok {
		return why
	}
	if r.Needs == "update" {
		return "needs two versions"
	}
	if since, ok := gone[r.ID]; ok && !o.before(since) {
		return fmt.Sprintf("gone since 1.%d", since)
	}
	for _, client := range diag.Clients {
		if !slices.Equal(r.Stages[client], []string{"-"}) {
			return ""
		}
	}
	return "no verdict depends on it"
}

// exceptions are rules with a stage that these routes cannot show all the same.
var exceptions = map[string]string{
	"duplicate-endpoint-static":   "gRPC refuses a STATIC cluster before its endpoints",
	"eds-ads-not-configured":      "a CDS response comes without its bootstrap",
	"grpc-typed-metadata-invalid": "needs environment variables of gRPC",
}

// gone has the first minor version in which a rule no longer fires.
var gone = map[string]int{"additional-address-not-ip": 38, "priority-gap-crash": 39}

func (o options) before(minor int) bool {
	var major, have int
	_, err := fmt.Sscanf(o.version, "%d.%d", &major, &have)
	return err == nil && have < minor
}

var (
	blanks   = regexp.MustCompile(`[\s\x{00a0}]+`)
	position = regexp.MustCompile(`near \d+:\d+ \(offset \d+\)`)
	marker   = regexp.MustCompile(`goo\.gle/debug\w+`)
	file     = regexp.MustCompile(`\S*/[\w./-]+\.(yaml|yml|json|conf|pb)`)
)

// normalise brings a message of a client into the form of the vectors: without what changes from run to run.
func normalise(s string) string {
	s = marker.ReplaceAllString(blanks.ReplaceAllString(s, " "), "<dump>")
	s = position.ReplaceAllString(s, "near <pos>")
	if i := strings.Index(s, "Proto constraint validation failed"); i >= 0 {
		s = s[i:]
	}
	return strings.TrimSpace(s)
}

// sameMessage compares up to the first dump. Of errors of the readers only the cause counts. A NACK that is cut has none.
func sameMessage(predicted, seen string) bool {
	predicted, seen = normalise(predicted), normalise(seen)
	if strings.HasSuffix(seen, "...(truncated)") || strings.HasPrefix(seen, "Caught ") {
		return true
	}
	// Of several things that are unknown Envoy names any one.
	if strings.HasSuffix(predicted, "has unknown fields") && strings.HasSuffix(seen, "has unknown fields") {
		return true
	}
	predicted, _, _ = strings.Cut(predicted, "<dump>")
	if _, cause, ok := strings.Cut(predicted, "near <pos>"); ok {
		return strings.Contains(seen, strings.TrimPrefix(cause, ": ")) || strings.Contains(seen, "near <pos>")
	}
	return strings.Contains(file.ReplaceAllString(seen, "FILE"), file.ReplaceAllString(strings.TrimSpace(predicted), "FILE"))
}
