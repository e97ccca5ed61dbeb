package cli

import (
	"bytes"

	"github.com/edsctl/edsctl/pkg/diag"
)

// sourceLines are the lines of a file that its findings stand on, by number.
type sourceLines map[int]string

// wantsLines tells whether an output shows source lines.
func wantsLines(targets []target) bool {
	for _, t := range targets {
		if t.format == "text" {
			return true
		}
	}
	return false
}

// collectLines keeps the lines of a file that findings start on, so that its bytes need not be kept.
func collectLines(name string, data []byte, findings []diag.Finding) sourceLines {
	lines := sourceLines{}
	last := 0
	for i := range findings {
		if f := &findings[i]; f.File == name && f.Span.IsKnown() {
			lines[f.Span.Start.Line] = ""
			last = max(last, f.Span.Start.Line)
		}
	}
	for number := 1; number <= last; number++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		if _, ok := lines[number]; ok {
			lines[number] = string(bytes.TrimSuffix(line, []byte("\r")))
		}
	}
	return lines
}

// lineIndex holds the source lines of a run, by file.
type lineIndex map[string]sourceLines

func (x lineIndex) add(file string, lines sourceLines) {
	if len(lines) > 0 {
		x[file] = lines
	}
}

func (x lineIndex) line(file string, number int) (string, bool) {
	text, ok := x[file][number]
	return text, ok
}
