package lint

import "embed"

//go:embed explain examples
var texts embed.FS

// Explanation is what a rule is about, in Markdown: the condition, what Envoy and gRPC do, and the fix. It is empty for
// an id that is none.
func Explanation(id string) string {
	return text("explain/" + id + ".md")
}

// Examples are an input that fires a rule, what validate says about it, and one that does not, in Markdown: a heading and
// code blocks each. They are made of testdata/lint (make docs).
func Examples(id string) string { return text("examples/" + id + ".md") }

func text(path string) string {
	text, err := texts.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
