package render

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/validate"
)

// validationText writes for people: each finding with its source line, then what the clients do with the assignments
// that they do not take, then a summary.
func validationText(w io.Writer, v *Validation, o Options) error {
	t := textWriter{Writer: bufio.NewWriter(w), palette: palette(o.Color), v: v}
	for i := range v.Findings {
		t.finding(&v.Findings[i])
	}
	t.verdicts()
	t.summary()
	return t.Flush()
}

type textWriter struct {
	*bufio.Writer // keeps the first error until Flush
	palette
	v *Validation

	last      string // the source line that was shown last: one of megabytes can have thousands of findings
	lastRunes []rune
}

func (t *textWriter) printf(format string, args ...any) { fmt.Fprintf(t.Writer, format, args...) }

func (t *textWriter) finding(f *diag.Finding) {
	t.printf("%s: %s: %s %s\n", t.paint(place(printable(f.File), f.Span.Start), bold), t.severity(f.Severity),
		t.indented(f.Message), t.paint("["+f.Rule+"]", dim))
	indent := t.snippet(f)
	for _, client := range diag.Clients {
		outcome := f.Clients[client]
		if outcome.Effect == diag.None {
			continue
		}
		text := outcome.Effect.String()
		if outcome.Message != "" {
			text += ": " + t.indented(outcome.Message)
		}
		t.printf("%s%s %s\n", indent, t.paint(client.String()+":", bold), text)
	}
	if f.Hint != "" {
		t.printf("%s%s %s\n", indent, t.paint("hint:", bold, green), t.indented(f.Hint))
	}
}

// maxText and maxName bound what is shown of a text and of a name, in bytes: files can hold values of megabytes. Envoy
// cuts what it sends at the same length as maxText.
const maxText, maxName = 4096, 120

// shortened cuts a text that is longer than a bound.
func shortened(text string, bound int) string {
	if len(text) <= bound {
		return text
	}
	return strings.ToValidUTF8(text[:bound], "") + "…"
}

// indented makes a text of a file or a client fit below the line that it belongs to.
func (t *textWriter) indented(text string) string {
	return strings.ReplaceAll(printable(shortened(strings.TrimRight(text, "\n"), maxText)), "\n", "\n      ")
}

// snippet writes the source line of a finding with a caret under its span, and returns the indent of what follows.
func (t *textWriter) snippet(f *diag.Finding) string {
	const indent = "  "
	if t.v.Line == nil || !f.Span.IsKnown() {
		return indent
	}
	line, ok := t.v.Line(f.File, f.Span.Start.Line)
	if !ok {
		return indent
	}
	number := strconv.Itoa(f.Span.Start.Line)
	bar := t.paint("|", blue)
	if line != t.last {
		t.last, t.lastRunes = line, lineRunes(line)
	}
	text, marks := markedLine(t.lastRunes, f.Span)
	t.printf("  %s %s%s\n", t.paint(number, blue), bar, strings.TrimRight(" "+text, " "))
	t.printf("  %s %s %s\n", strings.Repeat(" ", len(number)), bar, t.paint(marks, bold, green))
	return indent
}

// verdicts says what the selected clients do with each assignment that one of them does not accept. The message is
// left to the finding that decides, when that is shown.
func (t *textWriter) verdicts() {
	shown := map[string]bool{}
	key := func(index int, rule string) string { return strconv.Itoa(index) + " " + rule }
	for i := range t.v.Findings {
		shown[key(t.v.Findings[i].ResourceIndex, t.v.Findings[i].Rule)] = true
	}
	for i := range t.v.Resources {
		r := &t.v.Resources[i]
		for _, client := range t.v.Clients {
			verdict := r.Verdicts[client]
			if verdict.Kind == diag.Accept || verdict.Kind == diag.NotApplicable {
				continue
			}
			t.printf("%s: %s: %s", t.paint(place(printable(r.File), r.Start), bold), label(r), t.verdictText(client, verdict))
			if verdict.Message != "" && !shown[key(i, verdict.Rule)] {
				t.printf("\n  %s", t.indented(verdict.Message))
			}
			t.printf("\n")
		}
	}
}

func (t *textWriter) verdictText(client diag.Client, v diag.Verdict) string {
	text := client.String() + " verdict " + t.verdict(v.Kind)
	if v.Rule != "" {
		text += " " + t.paint("["+v.Rule+"]", dim)
	}
	return text
}

// label names a resource in text.
func label(r *validate.Resource) string {
	if r.Name == "" {
		return "no assignment"
	}
	return "assignment " + strconv.Quote(shortened(r.Name, maxName))
}

// summary is the last line: what was looked at, the verdicts of the selected clients, and the findings by severity.
func (t *textWriter) summary() {
	v := t.v
	if v.Files+v.Skipped > 0 { // none: the assignments came from a control plane
		t.printf("%s", plural(v.Files, "file"))
		if v.Skipped > 0 {
			t.printf(" (and %d skipped)", v.Skipped)
		}
		t.printf(", ")
	}
	t.printf("%s", plural(v.countResources(), "assignment"))
	for _, client := range v.Clients {
		t.printf("; %s: %s", client, t.tally(client))
	}
	counts := v.count()
	t.printf("; %s, %s, %s", plural(counts[diag.Error], "error"), plural(counts[diag.Warning], "warning"), plural(counts[diag.Info], "info"))
	if v.Ignored > 0 {
		t.printf(", %d ignored", v.Ignored)
	}
	t.printf("\n")
}

func (t *textWriter) tally(client diag.Client) string {
	var parts []string
	for _, kind := range []diag.VerdictKind{diag.Accept, diag.Rejected, diag.Crashes, diag.Ignored, diag.NotApplicable, diag.Unknown} {
		n := 0
		for i := range t.v.Resources {
			if t.v.Resources[i].Verdicts[client].Kind == kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, t.verdict(kind)))
		}
	}
	if len(parts) == 0 {
		return "nothing to judge"
	}
	return strings.Join(parts, ", ")
}
