package eds

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// pattern compiles a regular expression when it is first asked for: most commands need none, and compiling is a good
// part of the time in which they start.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// sniffLen is how much of a file decides about its format.
const sniffLen = 4096

var (
	// textProtoLine is a line that occurs in text proto only: a field name before a brace, or an expanded Any.
	textProtoLine = pattern(`(?m)^\s*(\w+\s*[{<]\s*$|\w+\s*:?\s*[{<].*[}>]\s*$|\[[\w./]+/[\w.]+\]\s*[{<])`)
	// textProtoField begins a message at the left margin, where a mapping of YAML has nothing but keys, or is a field
	// behind a string in the same line.
	textProtoField = pattern(`(?m)^(\w+[ \t]*[{<]([^{]|$)|\w+:[ \t]*("[^"\n]*"|'[^'\n]*')[ \t]+\w+[ \t]*[:{<])`)
	// textProtoColon is what begins a message or a flow mapping.
	textProtoColon = pattern(`(?m)^\w+:[ \t]*[{<][ \t]*$`)
	yamlFlowLine   = pattern(`(?m)^\s*[\w@"']+\s*:\s`)
)

// detectFormat finds the format of a file from its content; the extension decides only between readings that are both
// possible.
func detectFormat(src []byte, suffix string) Format {
	head := src[:min(len(src), sniffLen)]
	ext := strings.ToLower(suffix)
	switch ext {
	case ".yaml", ".yml", ".json", ".jsonl", ".ndjson": // a stray control character does not make it binary
		if strings.HasPrefix(ext, ".y") && !isBinary(document.ToUTF8(head)) {
			return YAML // yaml-cpp finds UTF-16 and UTF-32 without a byte order mark
		}
		if bytes.IndexByte(head, 0) >= 0 && isBinary(head) && isBinary(bytes.ReplaceAll(head, []byte{0}, []byte{1})) {
			return Binary // a few NULs among much text do neither: Envoy's readers take them
		}
	default:
		if isBinary(head) {
			return Binary
		}
	}
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	switch ext {
	case ".yaml", ".yml":
		return YAML
	case ".jsonl", ".ndjson":
		return JSONLines
	case ".pb":
		if looksLikeResponse(src) || !hasEnvoyMark(src) {
			return Binary
		}
	case ".pb_text", ".textproto", ".txtpb", ".textpb", ".prototxt", ".pbtxt":
		if len(trimmed) == 0 || !bytes.HasPrefix(trimmed, []byte("{")) && textProtoLine().Match(head) || textProtoColon().Match(head) || isTextProto(src) {
			return TextProto
		}
	}
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		if ext == "" || ext == ".json" || jsonFirst(trimmed) {
			return JSON
		}
		return YAML
	}
	if ext == ".json" && (len(trimmed) == 0 || trimmed[0] == '/') {
		return JSON
	}
	if textProtoField().Match(head) || textProtoColon().Match(head) && noFlow(src) {
		return TextProto
	}
	if m := textProtoLine().FindIndex(head); m != nil && !strings.Contains(string(head[m[0]:m[1]]), ": ") {
		if y := yamlFlowLine().FindIndex(head); y == nil || y[0] > m[0] {
			return TextProto
		}
	}
	return YAML
}

// isTextProto tells whether a whole text can be text proto.
func isTextProto(src []byte) bool {
	_, err := scanText(src)
	return err == nil
}

// noFlow tells whether a text can be text proto and no flow mappings of YAML, which have a comma between their entries.
func noFlow(src []byte) bool {
	root, err := scanText(src)
	if err != nil {
		return false
	}
	some := false
	root.each(func(n *textNode) bool {
		for i := 1; i < len(n.fields); i++ {
			from, to := n.fields[i-1].end, n.fields[i].at
			some = some || from <= to && bytes.IndexByte(src[from:to], ',') < 0
		}
		return !some
	})
	return some
}

// jsonFirst tells whether a text that begins with a bracket looks like JSON rather than flow YAML: its first key is
// quoted, or it is a list of objects.
func jsonFirst(trimmed []byte) bool {
	rest := bytes.TrimLeft(trimmed[1:], " \t\r\n")
	return len(rest) == 0 || rest[0] == '"' || rest[0] == '}' || rest[0] == ']' || trimmed[0] == '[' && rest[0] == '{'
}

// isBinary tells whether the bytes are no text: a NUL, or more than one in two hundred is a control character that no
// text format has, or no UTF-8.
func isBinary(head []byte) bool {
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return false // UTF-16
	}
	bad, size := 0, len(head)
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	for len(head) > 0 {
		c, n := utf8.DecodeRune(head)
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b || c == utf8.RuneError && n == 1 && len(head) > utf8.UTFMax {
			bad++
		}
		head = head[n:]
	}
	return bad > 0 && bad*200 > size
}

var templateMarks = []struct {
	re     func() *regexp.Regexp
	engine string
}{
	{pattern(`\{%-?\s*\w`), "Jinja"},
	{pattern(`\{\{[-#/^>]?\s*(\.|\$|range|if|with|end|include|template|define|toYaml|tpl|printf|index)`), "Go or Helm"},
	{pattern(`\{\{[{&#/^>!]?-?\s*["\w.$]`), "Mustache or Jinja"},
	{pattern(`<%[=-]?\s`), "ERB"},
	{pattern(`\$\{[\w.:?-]+[^}\n]*\}`), "shell or Terraform"},
}

// template looks for the first mark of a template that is not yet rendered, outside comments.
func (r *reader) template() (p diag.Problem, start, end int, ok bool) {
	if !bytes.Contains(r.src, []byte("{{")) && !bytes.Contains(r.src, []byte("{%")) && !bytes.Contains(r.src, []byte("${")) && !bytes.Contains(r.src, []byte("<%")) {
		return diag.Problem{}, 0, 0, false
	}
	engine := ""
	start = -1
	for _, t := range templateMarks {
		for _, m := range t.re().FindAllIndex(r.src, -1) {
			length := closingMark(r.src[m[0]:])
			if length == 0 || inComment(r.src, m[0]) {
				continue
			}
			if start < 0 || m[0] < start {
				start, end, engine = m[0], m[0]+length, t.engine
			}
			break
		}
	}
	if start < 0 {
		return diag.Problem{}, 0, 0, false
	}
	return diag.Problem{
		Rule:    "template-unrendered",
		Span:    r.spanOf(start, end),
		Message: fmt.Sprintf("the file is a template (%s) that has not been rendered: %s", engine, r.src[start:end]),
		Hint:    "render it first and validate the result",
	}, start, end, true
}

// closingMark is the length of the template expression at the beginning of text, 0 when it does not end in its line.
func closingMark(text []byte) int {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	for open, end := range map[string]string{"{{": "}}", "{%": "%}", "${": "}", "<%": "%>"} {
		if bytes.HasPrefix(line, []byte(open)) {
			if i := bytes.Index(line, []byte(end)); i >= 0 {
				return i + len(end)
			}
		}
	}
	return 0
}

// spanOf is where a range of the reader's text stands in the file.
func (r *reader) spanOf(start, end int) diag.Span {
	if r.host.IsValid() {
		return r.host.TextSpan(start, end)
	}
	return spanOf(r.src, start, end)
}

// spanOf is the span of a range of bytes of a file.
func spanOf(src []byte, start, end int) diag.Span {
	at := func(offset int) diag.Position {
		before := src[:offset]
		line := 1 + bytes.Count(before, []byte("\n"))
		return diag.Position{Line: line, Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])}
	}
	return diag.Span{Start: at(start), End: at(end)}
}

// inComment tells whether an offset is behind a # that begins a comment in its line.
func inComment(src []byte, at int) bool {
	line := src[bytes.LastIndexByte(src[:at], '\n')+1 : at]
	return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) || bytes.Contains(line, []byte(" #"))
}
