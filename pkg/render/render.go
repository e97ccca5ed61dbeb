// Package render writes values for people and machines: one file an output format. It takes a writer and values and
// decides nothing.
package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/validate"
)

// Validation is what a run of validate found.
type Validation struct {
	validate.Report
	Files   int           // that were read
	Skipped int           // files of directories that hold no assignment
	Clients []diag.Client // whose verdicts count
	// Line returns the text of a line of a file, without its end; false when it is not known. It may be nil.
	Line func(file string, line int) (string, bool)
}

// count tells how many findings have each severity.
func (v *Validation) count() (counts [diag.Error + 1]int) {
	for i := range v.Findings {
		counts[v.Findings[i].Severity]++
	}
	return counts
}

// Options say how a format is written; the formats for machines do not look at them.
type Options struct {
	Color bool
	// Terminal: the output is a terminal, which shows bars and charts.
	Terminal bool
	Version  string // of edsctl, for formats that name the tool
}

type validationFormat struct {
	name  string
	write func(io.Writer, *Validation, Options) error
}

// validationFormats is the one ordered list of the values of validate --output.
var validationFormats = [...]validationFormat{
	{"text", validationText},
	{"json", validationJSON},
	{"sarif", validationSARIF},
	{"junit", validationJUnit},
	{"github", validationGitHub},
}

// ValidationFormats names the formats of Write, the default first.
func ValidationFormats() []string {
	names := make([]string, len(validationFormats))
	for i, f := range validationFormats {
		names[i] = f.name
	}
	return names
}

// Write writes what validate found in one of ValidationFormats.
func (v *Validation) Write(w io.Writer, format string, o Options) error {
	for _, f := range validationFormats {
		if f.name == format {
			return f.write(w, v, o)
		}
	}
	return fmt.Errorf("unknown output format %q: must be one of %s", format, strings.Join(ValidationFormats(), ", "))
}

// place is "file:line:column", as far as it is known.
func place(file string, p diag.Position) string {
	if !p.IsKnown() {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
}

// plural is "1 file", "2 files".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
