package eds

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/document"
)

// validText is the text of a string as Envoy keeps it; see rewritten. It is false when the reader refuses it.
func (d *decoder) validText(v value) (string, bool) {
	if utf8.ValidString(v.text) {
		return v.text, true
	}
	return d.repaired(v.node, d.fieldName(), v.text)
}

// validKey is validText for the key of a map.
func (d *decoder) validKey(e entry) []byte {
	if utf8.Valid(e.raw) {
		return e.raw
	}
	text, _ := d.repaired(e.key, "a key of "+d.fieldName(), e.text())
	return []byte(text)
}

// repaired reports bytes that are no UTF-8 and returns what becomes of them.
func (d *decoder) repaired(n document.Node, what, text string) (string, bool) {
	text, ok := rewritten(text)
	if !ok {
		d.typeError(n, what+" holds bytes that are no UTF-8", "Invalid UTF-8 string")
		return "", false
	}
	d.add(d.problem(n, "invalid-utf8", "%s holds bytes that are no UTF-8: Envoy puts blanks in their place", what))
	return text, true
}

// unknownUTF8 reports a text that the reader refuses in what it passes over.
func (d *decoder) unknownUTF8(n document.Node, text string) {
	if _, ok := rewritten(text); !ok {
		d.typeError(n, fmt.Sprintf("%q holds bytes that are no UTF-8", text), "Invalid UTF-8 string")
	}
}

// rewritten is a string of YAML after its way through JSON, whose writer is less strict than its reader. The writer
// (json/internal/writer.cc) puts a blank in the place of bytes that are no character, and passes on a surrogate or
// a character in more bytes than it needs, unless it is one that it escapes. These the reader refuses: false.
func rewritten(s string) (string, bool) {
	if utf8.ValidString(s) {
		return s, true
	}
	var b strings.Builder
	for s != "" {
		c, n := utf8.DecodeRuneInString(s)
		if c == utf8.RuneError && n == 1 {
			if c, n = looseRune(s); c != ' ' && !isEscaped(c) {
				return "", false
			}
		}
		b.WriteRune(c)
		s = s[n:]
	}
	return b.String(), true
}

// looseRune decodes a character without care for how many bytes it needs, or which it may be. Bytes that are none are
// a blank: those up to the first that does not belong to it.
func looseRune(s string) (c rune, n int) {
	size := 1
	switch lead := rune(s[0]); {
	case lead>>5 == 0b110:
		size, c = 2, lead&0x1F
	case lead>>4 == 0b1110:
		size, c = 3, lead&0xF
	case lead>>3 == 0b11110:
		size, c = 4, lead&0x7
	default:
		return ' ', 1
	}
	for n = 1; n < size; n++ {
		if n == len(s) {
			return ' ', n
		}
		if s[n]&0xC0 != 0x80 {
			return ' ', n + 1
		}
		c = c<<6 | rune(s[n]&0x3F)
	}
	if c > utf8.MaxRune {
		c = ' '
	}
	return c, size
}

// isEscaped tells whether the writer escapes a character.
func isEscaped(c rune) bool {
	return c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c >= 0x7F && c < 0xA0 || c == 0xAD
}
