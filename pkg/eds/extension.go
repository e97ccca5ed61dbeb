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
func (r *reader) extension(content document.Format) {
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
	if parser == YAML || parser == JSON && content == document.JSON {
		return
	}
	w := wire{root: responseMessage, file: r.name}
	if first.Source == FromBootstrap {
		w = wire{root: bootstrapMessage}
	}
	p := diag.Problem{
		Rule:    "file-extension-mismatch",
		Span:    r.spanOf(0, min(1, len(r.src))),
		Message: fmt.Sprintf("the content is %s, but Envoy reads a file with the extension %q as %s", strings.ToUpper(content.String()), r.suffix, formatWords[parser]),
		Hint:    fmt.Sprintf("name it .%s", content),
	}
	switch parser {
	case JSON:
		_, err := document.ParseJSON(r.src, r.opts.Limits)
		var se *document.SyntaxError
		if !errors.As(err, &se) {
			return // JSON after all
		}
		p.Envoy.Message = w.parseText(jsonErrorText(w.root, "", cmp.Or(notAnObject(r.src), se.Envoy)))
	case TextProto:
		p.Envoy.Message = w.inFile(fmt.Sprintf("Unable to parse file %q as a text protobuf (type %s)", r.name, w.root))
	case Binary:
		number, typ, n := protowire.ConsumeTag(r.src)
		switch {
		case first.Source == FromFile, n < 0, typ > protowire.Fixed32Type, typ == protowire.EndGroupType:
			p.Rule = "file-eds-pb-garbage"
			p.Message = "the content is no binary protobuf: Envoy takes a .pb file that it cannot read as empty, without an error"
		case content == document.JSON: // the brace begins a group, whose field is kept until the damage is met
			p.Envoy.Message = fmt.Sprintf("Protobuf message (type %s(root) with unknown field set {%d}) has unknown fields", w.root, number)
		}
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

var formatWords = map[Format]string{YAML: "YAML", JSON: "JSON", Binary: "binary protobuf", TextProto: "text protobuf"}

// readFromFile tells whether Envoy reads the text of a resource from a file.
func (r *reader) readFromFile(res *Resource) bool {
	switch res.Source {
	case FromBootstrap, FromCDS, FromFile:
		return true
	}
	return false
}
