package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/edsctl/edsctl/pkg/lint"
)

// explanationWidth is where the lines of an explanation end on a terminal.
const explanationWidth = 100

// explanation writes the text about a rule, broken into lines, without the marks of Markdown for bold.
func explanation(w io.Writer, id string) {
	text := strings.NewReplacer("**Envoy** ", "Envoy: ", "**gRPC** ", "gRPC: ", "**", "").Replace(lint.Explanation(id))
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		fmt.Fprintln(w)
		fill(w, paragraph, "  ")
	}
}

// examples writes the inputs of a rule: what is in code blocks is indented, and stays as it is.
func examples(w io.Writer, id string) {
	headings := strings.NewReplacer("## Fires: ", "Bad example, ", "## Silent: ", "Good example, ")
	code := false
	for line := range strings.Lines(lint.Examples(id)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case line == "":
			fmt.Fprintln(w)
		case code:
			fmt.Fprintln(w, "    "+line)
		case strings.HasPrefix(line, "## "):
			fmt.Fprintln(w, "  "+strings.ReplaceAll(headings.Replace(line), "`", "")+":")
		default:
			fmt.Fprintln(w, "  "+strings.ReplaceAll(line, "`", ""))
		}
	}
}

// fill writes words in lines of at most explanationWidth characters.
func fill(w io.Writer, text, indent string) {
	words := bufio.NewScanner(strings.NewReader(text))
	words.Split(bufio.ScanWords)
	line := ""
	for words.Scan() {
		switch word := words.Text(); {
		case line == "":
			line = indent + word
		case len(line)+1+len(word) > explanationWidth:
			fmt.Fprintln(w, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	if line != "" {
		fmt.Fprintln(w, line)
	}
}
