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
	fmt.Fprint(b, "\n| | health | weight |")
	for _, c := range columns {
		title := c.title
		if len(columns) == 1 {
			title = "share"
		}
		fmt.Fprintf(b, " %s |", title)
	}
	if compared {
		fmt.Fprint(b, " points |")
	}
	fmt.Fprint(b, "\n|---|---|--:|"+strings.Repeat("--:|", len(columns)))
	if compared {
		fmt.Fprint(b, "--:|")
	}
	fmt.Fprintln(b)
	for _, row := range rows {
		name := escapeMarkdown(row.name)
		switch row.depth {
		case 0:
			name = "**" + name + "**"
		case 1:
			name = "*" + name + "*"
		}
		fmt.Fprintf(b, "| %s | %s | %s |", name, row.health, row.weight)
		for i, share := range row.shares {
			fmt.Fprintf(b, " %s |", columns[i].cell(share))
		}
		if compared {
			fmt.Fprintf(b, " %s |", points(row.shares[1]-row.shares[0]))
		}
		fmt.Fprintln(b)
	}
}

func markdownHead(b *bufio.Writer, r *simulate.Result) {
	fmt.Fprintf(b, "- %s, %s: **%s**", r.Client, r.Policy, r.Verdict)
	if r.Message != "" {
		fmt.Fprintf(b, " (%s)", escapeMarkdown(r.Message))
	}
	fmt.Fprintf(b, ", dropped %s, unavailable %s\n", percent(r.Dropped), percent(r.Unavailable))
	for _, note := range r.Notes {
		fmt.Fprintf(b, "  - %s\n", escapeMarkdown(note))
	}
}

// escapeMarkdown takes the meaning from characters in texts of files, which stand in tables and lists.
func escapeMarkdown(s string) string {
	r := strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "\n", " ", "\\", `\\`)
	return r.Replace(printable(s))
}
