package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/edsctl/edsctl/pkg/simulate"
)

// simulationMarkdown writes a heading and a table for each assignment, for reports and pull requests.
func simulationMarkdown(w io.Writer, s *Simulation, _ Options) error {
	b := bufio.NewWriter(w)
	for i, columns := range s.columnGroups() {
		if i > 0 {
			fmt.Fprintln(b)
		}
		markdownGroup(b, columns, s.Before != nil)
	}
	return b.Flush()
}

func markdownGroup(b *bufio.Writer, columns []column, compared bool) {
	first := columns[0].result
	fmt.Fprintf(b, "### %s\n\n", escapeMarkdown(first.Name))
	for i, c := range columns {
		if !compared || i > 0 {
			markdownHead(b, c.result)
		}
	}
	rows := tree(columns, compared)
	if len(rows) == 0 {
		return
	}
	header := shareHeader(columns, compared)
	fmt.Fprintf(b, "\n| %s |\n|---|---|%s\n", strings.Join(header, " | "), strings.Repeat("--:|", len(header)-2))
	for _, row := range rows {
		name := escapeMarkdown(row.name)
		switch row.depth {
		case 0:
			name = "**" + name + "**"
		case 1:
			name = "*" + name + "*"
		}
		fmt.Fprintf(b, "| %s | %s | %s |", name, row.health, row.weight)
		for _, cell := range shareCells(columns, row, compared) {
			fmt.Fprintf(b, " %s |", cell)
		}
		fmt.Fprintln(b)
	}
	for i, c := range columns {
		if !compared || i > 0 {
			markdownKeys(b, c.result, beforeOf(columns, compared), len(columns) > 1 && !compared)
			markdownSteps(b, c.result, len(columns) > 1 && !compared)
		}
	}
}

func markdownKeys(b *bufio.Writer, r, before *simulate.Result, named bool) {
	if len(r.Keys) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| key%s | hash | endpoint |\n|---|--:|---|\n", of(r, named))
	for i, k := range r.Keys {
		fmt.Fprintf(b, "| %s | %d | %s |\n", escapeMarkdown(k.Key), k.Hash, escapeMarkdown(keyWay(r, before, i)))
	}
}

func markdownSteps(b *bufio.Writer, r *simulate.Result, named bool) {
	if len(r.Steps) == 0 {
		return
	}
	fmt.Fprintf(b, "\nComputation%s:\n\n", of(r, named))
	for i, s := range r.Steps {
		fmt.Fprintf(b, "%d. %s: %s\n", i+1, s.Stage, escapeMarkdown(s.Text))
	}
}

func markdownHead(b *bufio.Writer, r *simulate.Result) {
	fmt.Fprintf(b, "- %s, %s: **%s**", r.Client, policyWords(r), r.Verdict)
	if r.Message != "" {
		fmt.Fprintf(b, " (%s)", escapeMarkdown(r.Message))
	}
	fmt.Fprintf(b, ", dropped %s, unavailable %s", percent(r.Dropped), percent(r.Unavailable))
	if r.RPS > 0 {
		fmt.Fprintf(b, " (%.4g and %.4g of %.4g requests/s)", r.Dropped*r.RPS, r.Unavailable*r.RPS, r.RPS)
	}
	fmt.Fprintln(b)
	for _, d := range r.Drops {
		fmt.Fprintf(b, "  - drop %s: %s of all requests (configured %s)\n", escapeMarkdown(d.Category), percent(d.Share), percent(d.Configured))
	}
	if s := r.Sample; s != nil {
		fmt.Fprintf(b, "  - %d seeded requests (seed %d): %d dropped, %d unavailable\n", s.Requests, s.Seed, s.Dropped, s.Unavailable)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(b, "  - %s\n", escapeMarkdown(note))
	}
}

// escapeMarkdown takes the meaning from characters in texts of files, which stand in tables and lists.
func escapeMarkdown(s string) string {
	r := strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "\n", " ", "\\", `\\`)
	return r.Replace(printable(s))
}
