package document

import (
	"fmt"
	"unicode/utf8"
)

// jsonEscapes are the escape sequences of one letter.
var jsonEscapes = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '\'': '\'',
}

// str reads a string.
func (p *jsonParser) str(quote byte) (uint32, bool) {
	start := p.pos
	r := record{start: uint32(start), kind: Scalar, style: DoubleQuoted, raw: true}
	if quote == '\'' {
		r.style = SingleQuoted
	}
	p.pos++
	ascii := true
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == quote:
			if !ascii && !utf8.Valid(p.src[start:p.pos]) {
				return 0, p.fail(p.pos+1, "Invalid UTF-8 string")
			}
			p.pos++
			r.end = uint32(p.pos)
			return p.doc.nodes.add(r), true
		case c == '\\':
			r.raw = false
			if _, ok := p.escape(); !ok {
				return 0, false
			}
		default:
			ascii = ascii && c < utf8.RuneSelf
			p.pos++
		}
	}
	return 0, p.failEOF()
}

// escape passes an escape sequence and returns its character.
func (p *jsonParser) escape() (rune, bool) {
	p.pos++
	if p.pos == len(p.src) {
		return 0, p.failEOF()
	}
	c := p.src[p.pos]
	p.pos++
	if e, ok := jsonEscapes[c]; ok {
		return rune(e), true
	}
	if c != 'u' && c != 'U' {
		p.pos--
		shown := p.char()
		p.pos++
		return 0, p.fail(p.pos, fmt.Sprintf("invalid escape char: '%s'", shown))
	}
	high, ok := p.hex4()
	if !ok || high < 0xD800 || high > 0xDFFF {
		return high, ok
	}
	if high >= 0xDC00 {
		return 0, p.fail(p.pos, "unpaired low surrogate")
	}
	if !p.expect(`\u`) {
		return 0, false
	}
	low, ok := p.hex4()
	if !ok {
		return 0, false
	}
	if low < 0xDC00 || low > 0xDFFF {
		return 0, p.fail(p.pos, "invalid low surrogate")
	}
	return 0x10000 + (high-0xD800)<<10 + (low - 0xDC00), true
}

// hex4 passes four hexadecimal digits.
func (p *jsonParser) hex4() (rune, bool) {
	if len(p.src)-p.pos < 4 {
		return 0, p.failEOF()
	}
	value := rune(0)
	for _, c := range p.src[p.pos : p.pos+4] {
		if !isHex(c) {
			p.pos += 4
			return 0, p.fail(p.pos, "invalid Unicode escape")
		}
		digit := rune(c & 0xF)
		if c > '9' {
			digit += 9
		}
		value = value<<4 | digit
	}
	p.pos += 4
	return value, true
}

// decodeJSONString returns the text of a string that was read before, and where it comes from.
func decodeJSONString(src []byte, start, end int, pieces *[]piece) []byte {
	st := scalarState{pieces: pieces}
	p := jsonParser{src: src[:end-1], pos: start + 1}
	for p.pos < len(p.src) {
		from := p.pos
		if p.src[from] == '\\' {
			c, _ := p.escape()
			st.addFor(utf8.AppendRune(nil, c), from, p.pos)
			continue
		}
		for p.pos < len(p.src) && p.src[p.pos] != '\\' {
			p.pos++
		}
		st.add(src, from, p.pos)
	}
	return st.out
}
