package cli

import (
	"bytes"

	"github.com/edsctl/edsctl/pkg/diag"
)

// lineIndex holds the lines that findings start on, by file and number.
type lineIndex map[string]map[int]string

// wantsLines tells whether an output shows source lines.
func wantsLines(targets []target) bool {
	for _, t := range targets {
		if t.format == "text" {
			return true
		}
	}
	return false
}

// collect keeps the lines of a file that findings start on, so that its bytes need not be kept.
func (x lineIndex) collect(name string, data []byte, findings []diag.Finding) {
	lines := map[int]string{}
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
	if last > 0 {
		x[name] = lines
	}
}

func (x lineIndex) line(file string, number int) (string, bool) {
	text, ok := x[file][number]
	return text, ok
}
