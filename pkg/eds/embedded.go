package eds

import (
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/document"
)

// embedded reads a text that stands as a string in another document: a file in a ConfigMap, an argument of a container.
// The key is the name of the file if it has an extension; else nobody knows how Envoy gets the text.
func (r *reader) embedded(key string, n document.Node) {
	if r.depth >= maxEmbedding || n.Style() == document.Plain {
		return
	}
	text := n.Text()
	if !hasEnvoyMark([]byte(text)) || !strings.Contains(text, "\n") && !isConfigLine(text) {
		return
	}
	inner := &reader{
		Loader: r.Loader, file: &File{}, name: r.name, src: []byte(text), suffix: suffixOf(key), named: true,
		around: r.around, depth: r.depth + 1, host: n,
	}
	format := document.YAML
	if detectFormat(inner.src, inner.suffix) == JSON {
		format = document.JSON
	}
	docs, err := n.Embedded(format, r.opts.Limits)
	if err != nil && len(docs) == 0 {
		if !inner.meantAsConfig() {
			return
		}
		inner.syntax(err, Format(format.String()))
	}
	inner.documents(docs, err != nil)
	if inner.suffix != "" {
		inner.extension(Format(format.String()))
	}
	for _, res := range inner.file.Resources {
		if r.depth == 0 {
			res.Embedded = true
		}
		r.add(res)
	}
	r.file.Embedded = append(append(r.file.Embedded, inner.file.Docs...), inner.file.Embedded...)
	r.file.Followed = append(r.file.Followed, inner.file.Followed...)
	r.file.FollowedDocs = append(r.file.FollowedDocs, inner.file.FollowedDocs...)
}

var (
	configLine = pattern(`^\s*(\{|\[\s*\{|["']?(static_resources|staticResources|resources|load_assignment|loadAssignment)["']?\s*:\s*[{[])`)
	// configStart is how a file of Envoy begins: with a key, a list of mappings or JSON, maybe after comments. Scripts
	// and prose begin otherwise.
	configStart = pattern(`^(\s*(#.*|---.*|%.*)?\n)*\s*(- +)?(["']?@?\w+["']?\s*:(\s|$)|[{\[])`)
)

// isConfigLine tells whether a text of one line is meant as a document: prose may have a mark of Envoy, too.
func isConfigLine(text string) bool { return configLine().MatchString(text) }

// meantAsConfig tells whether a text that cannot be parsed is meant as a file of Envoy, and is no script, document or
// source that only speaks of one.
func (r *reader) meantAsConfig() bool {
	if slices.Contains([]string{".yaml", ".yml", ".json", ".pb_text"}, strings.ToLower(r.suffix)) {
		return true
	}
	return configStart().Match(r.src)
}
