package author

import (
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/document"
)

// scalar writes a scalar as a node of the same meaning is written: in its quotes, or without.
func (s *style) scalar(l *literal, like document.Node) string {
	if l.kind == bareLiteral && !(like.Kind() == document.Scalar && like.Style() != document.Plain && !isBlockScalar(like)) {
		return l.text
	}
	quotes := like.Style()
	switch {
	case s.json && l.kind == bareLiteral && like.Style() == document.Plain:
		return l.text
	case s.json:
		return quoted(l.text)
	case isNull(like): // nothing, or null: it has no quotes to follow
		quotes = s.quotes
	}
	return inQuotes(l.text, quotes, l.kind != stringLiteral || isPlain(l.text))
}

// inQuotes writes a text in the quotes of a style; without any if it can be written so.
func inQuotes(text string, quotes document.Style, plain bool) string {
	switch {
	case quotes == document.SingleQuoted && isPrintable(text):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case quotes != document.DoubleQuoted && plain:
		return text
	}
	return quoted(text)
}

func isBlockScalar(n document.Node) bool {
	return n.Style() == document.Literal || n.Style() == document.Folded
}

// key writes the key of a mapping: as its counterpart in like, else in the spelling and the quotes of the text around.
func (s *style) key(name string, data bool, like document.Node) string {
	if p, ok := pairOf(like, name, camelCase(name)); ok && p.key.Kind() == document.Scalar {
		start, end := p.key.Offsets()
		return string(s.src[start:end])
	}
	if s.camel && !data {
		name = camelCase(name)
	}
	if s.json {
		return quoted(name)
	}
	return inQuotes(name, s.beside(like).quotes, isPlain(name))
}

// beside is the style of what stands beside the entries of a mapping: where its keys are in quotes, strings and the keys
// of new mappings are too.
func (s *style) beside(like document.Node) *style {
	if like.Target().Kind() != document.Mapping {
		return s
	}
	return s.quotedLike(like.Target().First())
}

// quotedLike is the style with the quotes of a key.
func (s *style) quotedLike(key document.Node) *style {
	if key.Kind() != document.Scalar || key.Style() == s.quotes {
		return s
	}
	out := *s
	out.quotes = key.Style()
	return &out
}

// flowEntry writes an entry of a flow mapping. A key without quotes needs a blank behind its colon.
func (s *style) flowEntry(l *literal, i int, like document.Node, f flowStyle, base int) string {
	key := s.key(l.keys[i], l.data, like)
	colon := f.colon
	if colon == ":" && !strings.ContainsAny(key[len(key)-1:], `"'`) {
		colon = ": "
	}
	return key + colon + s.beside(like).inFlow(l.vals[i], likeOf(like, l.keys[i]), f, base)
}

// order lists the indices of a mapping's entries: those that like has in its order, then the others.
func (l *literal) order(like document.Node) []int {
	out := make([]int, len(l.keys))
	for i := range out {
		out[i] = i
	}
	rank := map[string]int{}
	for i, p := range pairsOf(like) {
		rank[p.key.Target().Text()] = i
	}
	of := func(i int) int {
		for _, name := range []string{l.keys[i], camelCase(l.keys[i])} {
			if r, ok := rank[name]; ok {
				return r
			}
		}
		return len(rank) + i
	}
	slices.SortStableFunc(out, func(a, b int) int { return of(a) - of(b) })
	return out
}

// likeOf is the counterpart of an entry in a mapping, or nothing.
func likeOf(like document.Node, name string) document.Node {
	p, _ := pairOf(like, name, camelCase(name))
	return p.val.Target()
}

// inFlow writes a value in flow style. base is the indentation of the line on which it begins.
func (s *style) inFlow(l *literal, like document.Node, f flowStyle, base int) string {
	if l.isScalar() {
		return s.scalar(l, like)
	}
	like = like.Target()
	open, end := "{", "}"
	if l.kind == listLiteral {
		open, end = "[", "]"
	}
	if len(l.vals) == 0 {
		return open + end
	}
	if isFlow(like) {
		f, _ = s.flowStyleOf(like)
	}
	inner := base
	if f.multi {
		inner += f.step
	}
	parts := s.flowElements(l, like, f, inner)
	if f.multi {
		pad := s.eol + strings.Repeat(" ", inner)
		return open + pad + strings.Join(parts, ","+pad) + s.eol + strings.Repeat(" ", base) + end
	}
	return open + f.pad + strings.Join(parts, f.between) + f.pad + end
}

func (s *style) flowElements(l *literal, like document.Node, f flowStyle, inner int) []string {
	var parts []string
	if l.kind == listLiteral {
		var likeItem document.Node
		if like.Kind() == document.Sequence {
			likeItem = like.First()
		}
		for _, v := range l.vals {
			parts = append(parts, s.inFlow(v, likeItem.Target(), f, inner))
		}
		return parts
	}
	for _, i := range l.order(like) {
		parts = append(parts, s.flowEntry(l, i, like, f, inner))
	}
	return parts
}

// wantsFlow tells whether a value in a block collection is to be written in flow style.
func (s *style) wantsFlow(l *literal, like document.Node) bool {
	switch {
	case l.isScalar(), len(l.vals) == 0, s.json:
		return true
	case like.IsValid() && like.First().IsValid():
		return isFlow(like)
	}
	return s.small && l.kind == mapLiteral && !slices.ContainsFunc(l.vals, func(v *literal) bool { return !v.isScalar() })
}

// inBlock writes a collection in block style, a string a line, each with its indentation.
func (s *style) inBlock(l *literal, like document.Node, indent int) []string {
	like = like.Target()
	pad := strings.Repeat(" ", indent)
	var out []string
	if l.kind == listLiteral {
		var likeItem document.Node
		if like.Kind() == document.Sequence {
			likeItem = like.First()
		}
		for _, v := range l.vals {
			out = append(out, s.item(v, likeItem, indent)...)
		}
		return out
	}
	for _, i := range l.order(like) {
		out = append(out, s.entry(pad, l.keys[i], l.data, l.vals[i], like)...)
	}
	return out
}

// entry writes a key with its value; pad is what stands before the key.
func (s *style) entry(pad, name string, data bool, v *literal, like document.Node) []string {
	head := pad + s.key(name, data, like) + ":"
	s = s.beside(like)
	child := likeOf(like, name)
	if s.wantsFlow(v, child) {
		return strings.Split(head+" "+s.inFlow(v, child, s.flow, len(pad)), s.eol)
	}
	indent := len(pad) + s.step
	if v.kind == listLiteral {
		indent = len(pad) + s.dash
	}
	return append([]string{head}, s.inBlock(v, child, indent)...)
}

// item writes an item of a block sequence whose dash stands at the column indent.
func (s *style) item(v *literal, like document.Node, indent int) []string {
	like = like.Target()
	pad := strings.Repeat(" ", indent)
	if s.wantsFlow(v, like) {
		return strings.Split(pad+"- "+s.inFlow(v, like, s.flow, indent+2), s.eol)
	}
	lines := s.inBlock(v, like, indent+2)
	lines[0] = pad + "- " + lines[0][indent+2:]
	return lines
}
