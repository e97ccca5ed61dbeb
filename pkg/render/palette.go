package render

import (
	"strings"
	"unicode"

	"github.com/edsctl/edsctl/pkg/diag"
)

// palette paints text with ANSI sequences, or leaves it when colour is off.
type palette bool

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	cyan   = "36"
)

func (p palette) paint(text string, codes ...string) string {
	if !bool(p) || text == "" {
		return text
	}
	return "\x1b[" + strings.Join(codes, ";") + "m" + text + "\x1b[0m"
}

func (p palette) severity(s diag.Severity) string {
	colour := map[diag.Severity]string{diag.Error: red, diag.Warning: yellow, diag.Info: cyan}[s]
	return p.paint(s.String(), bold, colour)
}

func (p palette) verdict(v diag.VerdictKind) string {
	switch v {
	case diag.Accept:
		return p.paint(string(v), green)
	case diag.NotApplicable:
		return p.paint(string(v), dim)
	default:
		return p.paint(string(v), bold, red)
	}
}

// printable replaces control characters, which could drive the user's terminal: files come from other people.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// oneLine is printable text for a place where a newline or a tab would break the form.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, printable(text))
}
