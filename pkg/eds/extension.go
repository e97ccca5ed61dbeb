package eds

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// envoyParser is the reader that Envoy chooses for a file by its extension (MessageUtil::loadFromFile).
func envoyParser(suffix string) Format {
	switch strings.ToLower(suffix) {
	case ".yaml", ".yml":
		return YAML
	case ".pb":
		return Binary
	case ".pb_text":
		return TextProto
	}
	return JSON
}

// extension reports a file whose content is not what Envoy takes its extension for.
func (r *reader) extension(content Format) {
	if r.name == "<stdin>" && r.depth == 0 || len(r.file.Resources) == 0 {
		return
	}
	first := r.file.Resources[0]
	switch first.Shape {
	case ShapeBootstrap, ShapeResponse, ShapeCDS:
	default:
		return
	}
	if !r.readFromFile(first) || hasRule(first.Problems, "template-unrendered") {
		return
	}
	parser := envoyParser(r.suffix)
	if parser == content || parser == YAML && content == JSON {
		return
	}
	p := diag.Problem{
		Rule:    "file-extension-mismatch",
		Message: fmt.Sprintf("the content is %s, but Envoy reads a file with the extension %q as %s", formatWords[content], r.suffix, formatWords[parser]),
		Hint:    "name it " + formatSuffixes[content],
	}
	if content == YAML || content == JSON {
		p.Span = r.spanOf(0, min(1, len(r.src)))
	}
	if !r.misread(&p, first, content, parser) {
		return
	}
	if p.Rule == "file-extension-mismatch" && (first.Shape == ShapeBootstrap || first.Shape == ShapeCDS) {
		reject := diag.Reject // the registry speaks of EDS files
		p.Envoy.Effect = &reject
	}
	p.Message = strings.Replace(p.Message, `the extension ""`, "no extension", 1)
	for _, res := range r.file.Resources {
		if !res.Followed {
			res.Around = append(res.Around[:len(res.Around):len(res.Around)], p)
		}
	}
}

// misread adds what Envoy says when it reads the text with the wrong parser; false when that reads it all the same.
func (r *reader) misread(p *diag.Problem, first *Resource, content, parser Format) bool {
	w := wire{root: responseMessage, file: r.name}
	if first.Source == FromBootstrap {
		w = wire{root: bootstrapMessage}
	}
	var se *document.SyntaxError
	switch parser {
	case JSON:
		_, err := document.ParseJSON(r.src, r.opts.Limits)
		if !errors.As(err, &se) {
			return false // JSON after all
		}
		p.Envoy.Message = w.parseText(jsonErrorText(w.root, "", cmp.Or(notAnObject(r.src), se.Envoy)))
	case YAML:
		p.Envoy.Message = w.inFile("Unable to convert YAML as JSON: " + string(r.src[:min(200, len(r.src))]))
		if _, err := document.ParseYAML(r.src, r.opts.Limits); errors.As(err, &se) {
			p.Envoy.Message = w.inFile(se.Envoy)
		}
	case TextProto:
		p.Envoy.Message = w.inFile(fmt.Sprintf("Unable to parse file %q as a text protobuf (type %s)", r.name, w.root))
	case Binary:
		p.Envoy.Message = r.asBytes(first.Source, content)
		if p.Envoy.Message == "" {
			p.Rule = "file-eds-pb-garbage"
			p.Message = "the content is no binary protobuf: Envoy takes a .pb file that it cannot read as empty, without an error"
		}
	}
	return true
}

// asBytes is what Envoy says of the fields that a text seems to have when it is read as binary protobuf, up to where it
// cannot be: empty when it takes them.
func (r *reader) asBytes(source Source, content Format) string {
	number, _, _ := protowire.ConsumeTag(r.src)
	switch {
	case source == FromBootstrap:
		src, _ := salvage(r.src, outlineType(bootstrapOutline()), 0)
		if found := r.outlineProblems(src, bootstrapOutline(), nil, nil); len(found) > 0 {
			return "Protobuf message (" + found[0].Envoy.Message + ") has unknown fields"
		}
	case source != FromFile && content == JSON: // the brace begins a group, whose field is kept until the damage is met
		return fmt.Sprintf("Protobuf message (type %s(root) with unknown field set {%d}) has unknown fields", responseMessage, number)
	}
	return ""
}

// notAnObject is what protobuf's reader says of a text that does not begin with an object: a message is wanted, so no
// other kind is tried. It is empty when there is no such text.
func notAnObject(src []byte) string {
	start := bytes.TrimLeft(src, " \t\r\n")
	if len(start) == 0 || start[0] == '{' {
		return ""
	}
	first := rune(start[0])
	if first >= utf8.RuneSelf {
		first = utf8.RuneError // the first byte of a character, as logs are read
	}
	return fmt.Sprintf("unexpected character: '%c'; expected '{'", first)
}

var formatSuffixes = map[Format]string{YAML: ".yaml", JSON: ".json", Binary: ".pb", TextProto: ".pb_text"}

var formatWords = map[Format]string{YAML: "YAML", JSON: "JSON", Binary: "binary protobuf", TextProto: "text protobuf"}

// readFromFile tells whether Envoy reads the text of a resource from a file.
func (r *reader) readFromFile(res *Resource) bool {
	switch res.Source {
	case FromBootstrap, FromCDS, FromFile:
		return true
	}
	return false
}
