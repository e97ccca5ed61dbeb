package eds

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// instead are words of files that speak of endpoints but hold no assignment, and where there is one instead.
var instead = []struct{ words, hint string }{
	{"host_statuses hostStatuses", "this is the state of hosts, as /clusters and istioctl proxy-config endpoints print it: take /config_dump?include_eds, or edsctl fetch --admin URL"},
	{"dynamic_active_clusters dynamicActiveClusters dynamic_warming_clusters dynamicWarmingClusters", "a dump has the assignments of EDS if it is asked for them: take /config_dump?include_eds, or edsctl fetch --admin URL"},
	{"EndpointSlice", "make an assignment of it with edsctl create --endpoint-slice FILE"},
	{"xds_servers", "this is the bootstrap of a gRPC client: edsctl fetch NAME --bootstrap FILE asks its server"},
}

// insteadOf is a hint about a file without an assignment; empty when nothing is known of it.
func insteadOf(src []byte) string {
	for _, i := range instead {
		for word := range bytes.FieldsSeq([]byte(i.words)) {
			if bytes.Contains(src, word) {
				return i.hint
			}
		}
	}
	return ""
}

// syntaxHint is the remedy for an error of the readers that has one.
func (r *reader) syntaxHint(se *document.SyntaxError) string {
	switch {
	case strings.HasPrefix(se.Message, "unexpected character: '/'"), strings.HasPrefix(se.Message, "unexpected character: '#'"):
		return "JSON has no comments"
	case se.Message == "unknown token" && r.depth == 0:
		if c, ok := runeAt(r.src, se.Span.Start); ok && strings.ContainsRune("@`%", c) {
			return fmt.Sprintf("put it in quotes: no plain text of YAML begins with %c", c)
		}
	}
	return ""
}

// runeAt is the character at a position of a text in UTF-8 whose lines end with a line feed.
func runeAt(src []byte, at diag.Position) (r rune, ok bool) {
	line := 1
	for l := range bytes.Lines(src) {
		if line++; line <= at.Line {
			continue
		}
		text := []rune(string(l))
		if i := at.Column - 1; i >= 0 && i < len(text) {
			return text[i], true
		}
		break
	}
	return 0, false
}
