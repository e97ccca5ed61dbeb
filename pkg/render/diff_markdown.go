package render

import (
	"bufio"
	"fmt"
	"io"

	"github.com/edsctl/edsctl/pkg/diff"
)

// maxListed bounds the changes that are shown openly; more are folded.
const maxListed = 10

// diffMarkdown writes a comment for a pull request.
func diffMarkdown(w io.Writer, d *Diff) error {
	b := bufio.NewWriter(w)
	if d.Same() {
		fmt.Fprintln(b, "No change to the assignments.")
		return b.Flush()
	}
	first := true
	for i := range d.Assignments {
		a := &d.Assignments[i]
		if a.Same() {
			continue
		}
		if !first {
			fmt.Fprintln(b)
		}
		first = false
		markdownAssignment(b, a)
	}
	return b.Flush()
}

func markdownAssignment(b *bufio.Writer, a *DiffAssignment) {
	fmt.Fprintf(b, "### %s: %s\n\n", escapeMarkdown(a.Name), plural(len(a.Changes), "change"))
	for _, f := range a.Findings {
		fmt.Fprintf(b, "> **%s**: %s (`%s`)\n\n", f.Severity, escapeMarkdown(f.Message), f.Rule)
	}
	for i := range a.Traffic {
		markdownTraffic(b, &a.Traffic[i])
	}
	folded := len(a.Changes) > maxListed
	if folded {
		fmt.Fprintf(b, "<details><summary>%s</summary>\n\n", plural(len(a.Changes), "change"))
	}
	for i := range a.Changes {
		c := &a.Changes[i]
		fmt.Fprintf(b, "- `%s` %s: %s\n", changeMark(c), escapeMarkdown(changeSubject(c)), escapeMarkdown(changeWords(c)))
	}
	if folded {
		fmt.Fprintf(b, "\n</details>\n")
	}
}

func markdownTraffic(b *bufio.Writer, t *diff.Traffic) {
	if shift := verdictShift(t); shift != "" {
		fmt.Fprintf(b, "**%s**: %s\n\n", t.Client, escapeMarkdown(shift))
	}
	rows, left := shiftRows(t, maxShifts)
	if len(rows) > 0 {
		fmt.Fprintf(b, "| %s, %s | before | after | points |\n|---|--:|--:|--:|\n", t.Client, policies(t))
		for _, r := range rows {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escapeMarkdown(r.name), percent(r.Before), percent(r.After), signed(r.Delta))
		}
		fmt.Fprintln(b)
	}
	if left > 0 {
		fmt.Fprintf(b, "And %s more.\n\n", plural(left, "endpoint"))
	}
	if t.Others.Count > 0 {
		fmt.Fprintf(b, "And %s by less than 0.005 points each, %s in all.\n\n", plural(t.Others.Count, "other endpoint"), signed(t.Others.Delta))
	}
	if t.KeysMoved != nil {
		fmt.Fprintf(b, "%s of the hash keys move to another endpoint.\n\n", percent(*t.KeysMoved))
	}
	for _, note := range t.Notes {
		fmt.Fprintf(b, "Note: %s.\n\n", escapeMarkdown(note))
	}
}
