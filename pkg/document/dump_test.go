package document

import (
	"fmt"
	"strings"
)

// dump writes a tree in one line: {key: value}, [item], texts quoted, *alias, with tags and anchors.
func dump(n Node) string {
	var b strings.Builder
	dumpTo(&b, n)
	return b.String()
}

func dumpTo(b *strings.Builder, n Node) {
	if t := n.Tag(); t != "" {
		b.WriteString(t + " ")
	}
	if a := n.Anchor(); a != "" {
		b.WriteString("&" + a + " ")
	}
	switch n.Kind() {
	case Scalar:
		if n.Style() == Plain {
			fmt.Fprintf(b, "%q", n.Text())
		} else {
			fmt.Fprintf(b, "%s%q", [...]string{"", "'", `"`, "|", ">"}[n.Style()], n.Text())
		}
	case Alias:
		s, e := n.Offsets()
		b.Write(n.Document().Source()[s:e])
	case Mapping:
		b.WriteString("{")
		i := 0
		for c := n.First(); c.IsValid(); c = c.Next() {
			b.WriteString([...]string{", ", ": "}[i%2][2*b2i(i == 0):])
			dumpTo(b, c)
			i++
		}
		b.WriteString("}")
	case Sequence:
		b.WriteString("[")
		i := 0
		for c := n.First(); c.IsValid(); c = c.Next() {
			if i > 0 {
				b.WriteString(", ")
			}
			dumpTo(b, c)
			i++
		}
		b.WriteString("]")
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
