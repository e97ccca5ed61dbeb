package render

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/edsctl/edsctl/pkg/diag"
)

// snippetWidth is how many columns of a source line are shown; of a longer one, those around the span.
const snippetWidth = 120

// lineRunes are the characters of a source line, which columns count.
func lineRunes(line string) []rune { return []rune(strings.ToValidUTF8(line, "\uFFFD")) }

// markedLine returns a source line as it is shown, and the line of carets that goes below it.
func markedLine(runes []rune, span diag.Span) (text, marks string) {
	start := min(max(span.Start.Column-1, 0), len(runes))
	end := len(runes)
	if span.End.Line == span.Start.Line {
		end = min(max(span.End.Column-1, start), len(runes))
	}
	from, to := window(len(runes), start, end)
	head := ""
	if from > 0 {
		head = "…"
	}
	tail := ""
	if to < len(runes) {
		tail = "…"
	}
	before, marked, after := show(runes[from:start]), show(runes[start:min(end, to)]), show(runes[min(end, to):to])
	text = head + before + marked + after + tail
	marks = strings.Repeat(" ", uniseg.StringWidth(head+before)) + strings.Repeat("^", max(1, uniseg.StringWidth(marked)))
	return strings.TrimRight(text, " "), marks
}

// window chooses the part of a line of n characters that is shown, so that [start, end) is in it as far as it fits.
func window(n, start, end int) (from, to int) {
	if n <= snippetWidth {
		return 0, n
	}
	const lead = snippetWidth / 3
	from = max(0, min(start-lead, n-snippetWidth))
	if end <= snippetWidth*2/3 {
		from = 0
	}
	return from, min(n, from+snippetWidth)
}

// show makes characters one line of printable text; a tab takes two columns.
func show(runes []rune) string {
	return strings.ReplaceAll(strings.ReplaceAll(printable(string(runes)), "\t", "  "), "\n", " ")
}
