package document

import "strings"

func (s *scanner) scanAnchor(kind tokenKind) {
	s.insertSimpleKey()
	s.simpleKeyAllowed, s.jsonFlow = false, false
	start := s.pos
	i := s.pos + 1
	for i < len(s.src) && !is(s.src[i], chNoAnchor) {
		i++
	}
	s.skipTo(i)
	what := "anchor"
	if kind == tokAlias {
		what = "alias"
	}
	switch {
	case i == start+1 && kind == tokAlias:
		s.fail(i, "alias not found after *")
	case i == start+1:
		s.fail(i, "anchor not found after &")
	case i < len(s.src) && !is(s.src[i], chAnchorEnd):
		s.fail(i, "illegal character found while scanning "+what)
	default:
		s.pushSpan(kind, start, i)
	}
}

func (s *scanner) scanTag() {
	s.insertSimpleKey()
	s.simpleKeyAllowed, s.jsonFlow = false, false
	start := s.pos
	s.pos++
	var ok bool
	if s.at(s.pos) == '<' && !s.eof() {
		ok = s.scanVerbatimTag()
	} else {
		ok = s.scanShortTag()
	}
	if ok {
		s.pushSpan(tokTag, start, s.pos)
	}
}

func (s *scanner) scanVerbatimTag() bool {
	s.pos++
	for !s.eof() {
		if s.src[s.pos] == '>' {
			s.pos++
			return true
		}
		n := s.tagCharAt(s.pos, chURI)
		if n == 0 {
			break
		}
		s.pos += n
	}
	s.fail(s.pos, "end of verbatim tag not found")
	return false
}

// scanShortTag scans the rest of `!`, `!suffix`, `!!suffix` and `!handle!suffix`.
func (s *scanner) scanShortTag() bool {
	notWord := -1
	for !s.eof() {
		c := s.src[s.pos]
		if c == '!' {
			if notWord >= 0 {
				s.fail(notWord, "illegal character found while scanning tag handle")
				return false
			}
			s.pos++
			return s.scanTagSuffix()
		}
		if notWord < 0 && !is(c, chWord) {
			notWord = s.pos
		}
		n := s.tagCharAt(s.pos, chTag)
		if n == 0 {
			return true
		}
		s.pos += n
	}
	return true
}

func (s *scanner) scanTagSuffix() bool {
	start := s.pos
	for n := s.tagCharAt(s.pos, chTag); n > 0; n = s.tagCharAt(s.pos, chTag) {
		s.pos += n
	}
	if s.pos == start {
		s.fail(s.pos, "tag handle with no suffix")
		return false
	}
	return true
}

// tagCharAt is the length of the character of a tag at offset i, 0: none.
func (s *scanner) tagCharAt(i int, class uint16) int {
	if i >= len(s.src) {
		return 0
	}
	if is(s.src[i], class|chWord) {
		return 1
	}
	if s.src[i] == '%' && isHex(s.at(i+1)) && isHex(s.at(i+2)) {
		return 3
	}
	return 0
}

// directives of a document.
type directives struct {
	hasVersion bool
	handles    map[string]string
}

// resolveTag replaces the handle of a tag by what it stands for. atEnd: nothing follows the tag in the text.
func (d *directives) resolveTag(tag string, atEnd bool) string {
	if rest, ok := strings.CutPrefix(tag, "!<"); ok {
		return strings.TrimSuffix(rest, ">")
	}
	rest := tag[1:]
	if i := strings.IndexByte(rest, '!'); i >= 0 {
		return d.handle(tag[:i+2]) + rest[i+1:]
	}
	switch {
	case rest != "":
		return d.handle("!") + rest
	case atEnd:
		return d.handle("!!") // a peculiarity of yaml-cpp
	default:
		return "!"
	}
}

func (d *directives) handle(h string) string {
	if prefix, ok := d.handles[h]; ok {
		return prefix
	}
	if h == "!!" {
		return "tag:yaml.org,2002:"
	}
	return h
}
