package author

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// contextLines is how many lines a unified diff shows around a change.
const contextLines = 3

// UnifiedDiff shows the lines that differ between two versions of a file, as diff -u does; empty when none does.
func UnifiedDiff(name string, before, after []byte) string {
	was, now := splitLines(string(before)), splitLines(string(after))
	hunks := hunksOf(was, now)
	if len(hunks) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	shift := 0 // lines that earlier hunks added
	for i := 0; i < len(hunks); {
		end := i + 1
		for end < len(hunks) && hunks[end].start-hunks[end-1].end <= 2*contextLines {
			end++
		}
		shift += writeHunk(&b, was, hunks[i:end], shift)
		i = end
	}
	return b.String()
}

// lineChange replaces the lines from start to end by others.
type lineChange struct {
	start, end int
	lines      []string
}

// hunksOf lists the changes in the order of the lines, whole lines each.
func hunksOf(old, new []string) []lineChange {
	from, to := 0, 0 // equal lines at both ends are passed over first: most edits are small
	for from < len(old) && from < len(new) && old[from] == new[from] {
		from++
	}
	for to < len(old)-from && to < len(new)-from && old[len(old)-1-to] == new[len(new)-1-to] {
		to++
	}
	middle, changed := old[from:len(old)-to], new[from:len(new)-to]
	if len(middle) == 0 && len(changed) == 0 {
		return nil
	}
	text := strings.Join(middle, "")
	var out []lineChange
	line, at := from, 0
	for _, e := range udiff.Lines(text, strings.Join(changed, "")) {
		line += strings.Count(text[at:e.Start], "\n")
		removed := len(splitLines(text[e.Start:e.End]))
		out = append(out, lineChange{line, line + removed, splitLines(e.New)})
		line, at = line+strings.Count(text[e.Start:e.End], "\n"), e.End
	}
	return out
}

// writeHunk writes neighbouring changes as one hunk and returns by how many lines the text grows.
func writeHunk(b *strings.Builder, old []string, changes []lineChange, shift int) (grown int) {
	first, last := changes[0], changes[len(changes)-1]
	start, end := max(first.start-contextLines, 0), min(last.end+contextLines, len(old))
	for _, c := range changes {
		grown += len(c.lines) - (c.end - c.start)
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", hunkRange(start, end-start), hunkRange(start+shift, end-start+grown))
	at := start
	for _, c := range changes {
		writeLines(b, " ", old[at:c.start])
		writeLines(b, "-", old[c.start:c.end])
		writeLines(b, "+", c.lines)
		at = c.end
	}
	writeLines(b, " ", old[at:end])
	return grown
}

// hunkRange is "line,count" as diff -u counts: from 1, but from 0 for nothing, and no count for one line.
func hunkRange(start, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprintf("%d", start+1)
	}
	return fmt.Sprintf("%d,%d", start+1, n)
}

func writeLines(b *strings.Builder, mark string, lines []string) {
	for _, line := range lines {
		b.WriteString(mark + line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// splitLines splits a text behind its line breaks.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		return lines[:len(lines)-1]
	}
	return lines
}
