package lint

import "embed"

//go:embed explain
var explanations embed.FS

// Explanation is what a rule is about, in Markdown: the condition, what Envoy and gRPC do, and the fix. It is empty for
// an id that is none.
func Explanation(id string) string {
	text, err := explanations.ReadFile("explain/" + id + ".md")
	if err != nil {
		return ""
	}
	return string(text)
}
