package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
)

// validationGitHub writes workflow commands, which GitHub shows as annotations of the lines.
func validationGitHub(w io.Writer, v *Validation, _ Options) error {
	out := bufio.NewWriter(w)
	for i := range v.Findings {
		f := &v.Findings[i]
		fmt.Fprintf(out, "::%s file=%s", githubLevel(f.Severity), escapeProperty(f.File))
		if s := f.Span; s.IsKnown() {
			fmt.Fprintf(out, ",line=%d", s.Start.Line)
			if s.End.IsKnown() {
				fmt.Fprintf(out, ",endLine=%d", s.End.Line)
			}
			fmt.Fprintf(out, ",col=%d", s.Start.Column)
			if s.End.Line == s.Start.Line { // GitHub refuses columns of an annotation over several lines
				fmt.Fprintf(out, ",endColumn=%d", s.End.Column)
			}
		}
		fmt.Fprintf(out, ",title=%s::%s\n", escapeProperty(f.Rule), escapeData(printable(details(f))))
	}
	return out.Flush()
}

func githubLevel(s diag.Severity) string {
	if s == diag.Info {
		return "notice"
	}
	return s.String()
}

// details is a finding's message with what the clients do and the hint, for formats that hold one text.
func details(f *diag.Finding) string {
	lines := []string{f.Message}
	for _, client := range diag.Clients {
		if o := f.Clients[client]; o.Effect != diag.None {
			line := client.String() + ": " + o.Effect.String()
			if o.Message != "" {
				line += ": " + o.Message
			}
			lines = append(lines, line)
		}
	}
	if f.Hint != "" {
		lines = append(lines, "hint: "+f.Hint)
	}
	return strings.Join(lines, "\n")
}

// The escapes of @actions/core (packages/core/src/command.ts).
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
