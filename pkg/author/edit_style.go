package author

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/edsctl/edsctl/pkg/document"
)

// style is how the text around an edit is written, for what is added to it.
type style struct {
	src   []byte
	json  bool
	eol   string
	camel bool // keys are in lowerCamelCase
	step  int  // columns by which a nested mapping is indented
	dash  int  // columns by which the dashes of a list are indented
	small bool // mappings of scalars are written in flow style
	flow  flowStyle
	// quotes of keys, and of strings that have no counterpart.
	quotes document.Style
	line   span // the line that was looked at last: a file may be one line of many megabytes
}

// lineStart is where the line of an offset begins.
func (s *style) lineStart(at int) int { return s.lineOf(at).start }

// lineEnd is the offset behind the line break that ends the line of an offset, or the end of the text.
func (s *style) lineEnd(at int) int { return s.lineOf(at).end }

func (s *style) lineOf(at int) span {
	if l := s.line; at < l.start || at >= l.end || l.end == 0 {
		s.line = span{lineStart(s.src, at), lineEnd(s.src, at)}
	}
	return s.line
}

// indentAt is the number of blanks at the start of the line of an offset.
func (s *style) indentAt(at int) int {
	start := s.lineStart(at)
	n := 0
	for start+n < len(s.src) && s.src[start+n] == ' ' {
		n++
	}
	return n
}

// flowStyle is how a flow collection is laid out.
type flowStyle struct {
	multi               bool // an element a line
	step                int  // columns by which the elements are indented, of multi
	pad, colon, between string
}

// sampleSize is how many nodes are looked at to learn the style of an assignment.
const sampleSize = 400

// styleOf learns the style of a document from the part of it below root.
func styleOf(root document.Node) *style {
	d := root.Document()
	s := &style{src: d.Source(), json: d.Format == document.JSON, eol: eolOf(d.Source()), step: 2}
	s.flow = flowStyle{step: 2, colon: ": ", between: ", "}
	s.quotes = s.beside(root).quotes
	seen := learned{}
	s.learn(root, &seen, 0)
	if s.json && !seen.flow { // nothing to learn from but the file as a whole
		s.flow.multi = bytes.Count(s.src, []byte("\n")) > 1
	}
	return s
}

// learned says which parts of a style are known.
type learned struct {
	nodes                   int
	camel, step, dash, flow bool
}

func (s *style) learn(n document.Node, seen *learned, depth int) {
	if seen.nodes++; seen.nodes > sampleSize || depth > 32 || n.Kind() == document.Alias {
		return
	}
	if !seen.flow && isFlow(n) && n.First().IsValid() {
		if f, ok := s.flowStyleOf(n); ok {
			s.flow, seen.flow = f, true
		}
	}
	switch n.Kind() {
	case document.Mapping:
		s.learnMapping(n, seen, depth)
	case document.Sequence:
		for c := n.First(); c.IsValid() && seen.nodes <= sampleSize; c = c.Next() {
			s.learn(c, seen, depth+1)
		}
	}
}

func (s *style) learnMapping(n document.Node, seen *learned, depth int) {
	for k := n.First(); k.IsValid() && seen.nodes <= sampleSize; k = k.Next().Next() {
		v := k.Next()
		if text := k.Target().Text(); !seen.camel && text != strings.ToLower(text) && !strings.ContainsAny(text, "_.@/-") {
			s.camel, seen.camel = true, true
		} else if strings.Contains(text, "_") {
			seen.camel = true
		}
		if isBlock(n) && isBlock(v) && v.Kind() != document.Alias {
			switch from, to := s.column(k), s.column(v); {
			case v.Kind() == document.Mapping && !seen.step && to > from:
				s.step, seen.step = to-from, true
			case v.Kind() == document.Sequence && !seen.dash && to >= from:
				s.dash, seen.dash = to-from, true
			}
		}
		if isBlock(n) && isFlow(v) && v.Kind() == document.Mapping && v.First().IsValid() {
			s.small = true
		}
		s.learn(v, seen, depth+1)
	}
}

// column of a node on its line, in bytes from 0.
func (s *style) column(n document.Node) int {
	start, _ := n.FullOffsets()
	return start - s.lineStart(start)
}

// flowStyleOf reads the layout of a flow collection with at least one element.
func (s *style) flowStyleOf(n document.Node) (flowStyle, bool) {
	f := s.flow
	start, _ := n.Offsets()
	first := n.First()
	if !first.IsValid() || s.isBarePair(n) {
		return f, false
	}
	from, _ := first.FullOffsets()
	gap := string(s.src[start+1 : from])
	f.multi = strings.ContainsAny(gap, "\r\n")
	if f.multi {
		if step := from - s.lineStart(from) - s.indentAt(start); step > 0 {
			f.step = step
		}
		f.pad = ""
	} else if strings.Trim(gap, " ") == "" {
		f.pad = gap
	}
	if n.Kind() == document.Mapping {
		_, keyEnd := first.Offsets()
		valStart, _ := first.Next().FullOffsets()
		if colon := string(s.src[keyEnd:max(valStart, keyEnd)]); strings.Trim(colon, " ") == ":" {
			f.colon = colon
		}
	}
	if next, end, ok := secondElement(n); ok && !f.multi {
		if between := string(s.src[end:next]); strings.Trim(between, " ") == "," {
			f.between = between
		}
	} else if !f.multi && f.colon == ":" {
		f.between = ","
	}
	return f, true
}

// secondElement is where the second element of a collection begins and the first ends.
func secondElement(n document.Node) (start, firstEnd int, ok bool) {
	first := n.First()
	if n.Kind() == document.Mapping {
		first = first.Next()
	}
	second := first.Next()
	if !second.IsValid() {
		return 0, 0, false
	}
	_, firstEnd = first.Offsets()
	start, _ = second.FullOffsets()
	return start, firstEnd, start >= firstEnd
}

// eolOf is the line end of a text: that of its first line.
func eolOf(src []byte) string {
	i := bytes.IndexAny(src, "\r\n")
	switch {
	case i < 0 || src[i] == '\n':
		return "\n"
	case i+1 < len(src) && src[i+1] == '\n':
		return "\r\n"
	case bytes.IndexByte(src, '\n') >= 0:
		return "\n"
	}
	return "\r"
}

// lineStart is where the line of an offset begins, behind a byte order mark.
func lineStart(src []byte, at int) int {
	start := bytes.LastIndexAny(src[:at], "\r\n") + 1
	if start == 0 && bytes.HasPrefix(src, utf8BOM) && at >= len(utf8BOM) {
		return len(utf8BOM)
	}
	return start
}

var utf8BOM = []byte("\xef\xbb\xbf")

// lineEnd is the offset behind the line break that ends the line of an offset, or the end of the text.
func lineEnd(src []byte, at int) int {
	i := bytes.IndexAny(src[at:], "\r\n")
	if i < 0 {
		return len(src)
	}
	at += i + 1
	if src[at-1] == '\r' && at < len(src) && src[at] == '\n' {
		at++
	}
	return at
}

// plainWord is a text that every YAML reader takes as a string when it is not in quotes.
var (
	plainWord    = pattern(`^[A-Za-z_/]([A-Za-z0-9_./|:+=@~$()-]*[A-Za-z0-9_./|+=@~$()-])?$`)
	plainAddress = pattern(`^[0-9]+(\.[0-9]+){3}(/[0-9]+)?$`)
	plainSeconds = pattern(`^[0-9]+(\.[0-9]+)?s$`)
)

// pattern compiles a regular expression when it is first asked for, so that other commands do not pay for it.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// isPlain tells whether a string needs no quotes in YAML, in block and flow style, whoever reads it.
func isPlain(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return plainWord().MatchString(s) || plainAddress().MatchString(s) || plainSeconds().MatchString(s)
}

// quoted writes a string in double quotes, as JSON and YAML both read it.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has an encoding
	text := strings.TrimSuffix(b.String(), "\n")
	if isPrintable(text) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if isPrintableRune(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !isPrintableRune(r) })
}

// isPrintableRune tells whether all readers of YAML take a character as it is (YAML 1.2.2, 5.1, without what breaks
// lines). None of those above U+FFFF needs an escape.
func isPrintableRune(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}
