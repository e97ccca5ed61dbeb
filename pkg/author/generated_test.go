package author

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generated makes texts of assignments in many layouts.
func generated() []text {
	rnd := rand.New(rand.NewPCG(7, 7))
	var out []text
	for i := range 90 {
		g := generator{rnd: rnd, step: 1 + rnd.IntN(4), dash: rnd.IntN(3), camel: rnd.IntN(4) == 0, comments: rnd.IntN(2) == 0, flow: rnd.Float64()}
		out = append(out, text{fmt.Sprintf("generated-%d.yaml", i), g.assignment()})
	}
	for i := range 40 {
		g := generator{rnd: rnd, json: true, multi: rnd.IntN(2) == 0, step: 1 + rnd.IntN(4), colon: []string{":", ": "}[rnd.IntN(2)]}
		out = append(out, text{fmt.Sprintf("generated-%d.json", i), g.assignment()})
	}
	return out
}

// generator writes random assignments in one layout.
type generator struct {
	rnd                          *rand.Rand
	step, dash                   int
	camel, comments, json, multi bool
	flow                         float64 // how likely a collection is in flow style
	colon                        string
}

func (g *generator) assignment() string {
	root := &literal{kind: mapLiteral}
	root.put("cluster_name", str("generated"))
	endpoints := &literal{kind: listLiteral}
	for p := range 1 + g.rnd.IntN(3) {
		group := &literal{kind: mapLiteral}
		locality := &literal{kind: mapLiteral}
		locality.put("region", str("eu"))
		locality.put("zone", str(fmt.Sprintf("z%d", p)))
		list := &literal{kind: listLiteral}
		for e := range g.rnd.IntN(4) {
			list.vals = append(list.vals, g.endpoint(p, e))
		}
		for _, k := range g.rnd.Perm(4) {
			switch k {
			case 0:
				group.put("locality", locality)
			case 1:
				group.put("lb_endpoints", list)
			case 2:
				group.put("priority", number(uint32(p)))
			case 3:
				group.put("load_balancing_weight", number(uint32(1+g.rnd.IntN(9))))
			}
		}
		endpoints.vals = append(endpoints.vals, group)
	}
	root.put("endpoints", endpoints)
	if g.json {
		return g.flowText(root, 0)
	}
	return g.blockText(root, 0)
}

func (g *generator) endpoint(p, e int) *literal {
	address := &literal{kind: mapLiteral}
	address.put("address", str(fmt.Sprintf("192.0.2.%d", p*16+e)))
	address.put("port_value", number(80))
	inner := &literal{kind: mapLiteral}
	inner.put("socket_address", address)
	outer := &literal{kind: mapLiteral}
	outer.put("address", inner)
	out := &literal{kind: mapLiteral}
	out.put("endpoint", outer)
	if g.rnd.IntN(2) == 0 {
		out.put("health_status", &literal{kind: enumLiteral, text: "HEALTHY"})
	}
	if g.rnd.IntN(2) == 0 {
		out.put("load_balancing_weight", number(uint32(1+g.rnd.IntN(50))))
	}
	return out
}

func (g *generator) key(k string) string {
	if g.camel {
		k = camelCase(k)
	}
	if g.json {
		return quoted(k)
	}
	return k
}

func (g *generator) scalar(l *literal) string {
	if l.kind == bareLiteral || !g.json && g.rnd.IntN(3) > 0 {
		return l.text
	}
	return quoted(l.text)
}

func (g *generator) flowText(l *literal, column int) string {
	if l.isScalar() {
		return g.scalar(l)
	}
	open, end, between := "{", "}", ", "
	if l.kind == listLiteral {
		open, end = "[", "]"
	}
	colon := g.colon
	if colon == "" {
		colon = ": "
	}
	if g.multi && len(l.vals) > 0 {
		pad := "\n" + strings.Repeat(" ", column+g.step)
		open, between, end = open+pad, ","+pad, "\n"+strings.Repeat(" ", column)+end
	} else if g.json && colon == ":" {
		between = ","
	}
	var parts []string
	for i, v := range l.vals {
		text := g.flowText(v, column+g.step)
		if l.kind == mapLiteral {
			text = g.key(l.keys[i]) + colon + text
		}
		parts = append(parts, text)
	}
	return open + strings.Join(parts, between) + end
}

func (g *generator) comment(pad string) string {
	if !g.comments || g.rnd.IntN(4) > 0 {
		return ""
	}
	return pad + fmt.Sprintf("# comment %d\n", g.rnd.IntN(1000))
}

func (g *generator) trail() string {
	if !g.comments || g.rnd.IntN(5) > 0 {
		return "\n"
	}
	return " # trailing\n"
}

func (g *generator) blockText(l *literal, column int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", column)
	for i, v := range l.vals {
		b.WriteString(g.comment(pad))
		head, inner := pad+"-", column+2
		if l.kind == mapLiteral {
			head, inner = pad+g.key(l.keys[i])+":", column+g.step
			if v.kind == listLiteral {
				inner = column + g.dash
			}
		}
		switch {
		case v.isScalar(), len(v.vals) == 0, g.rnd.Float64() < g.flow/3:
			b.WriteString(head + " " + g.flowText(v, column) + g.trail())
		case l.kind == listLiteral && v.kind == mapLiteral:
			text := g.blockText(v, inner)
			for strings.HasPrefix(strings.TrimLeft(text, " "), "#") {
				_, text, _ = strings.Cut(text, "\n")
			}
			b.WriteString(head + " " + text[inner:])
		default:
			b.WriteString(head + g.trail() + g.blockText(v, inner))
		}
	}
	return b.String()
}
