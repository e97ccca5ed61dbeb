package document

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	yamlv4 "go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

// dumpV4 writes the tree of go.yaml.in/yaml as dump writes ours.
func dumpV4(n *yamlv4.Node) string {
	var b strings.Builder
	dumpV4To(&b, n)
	return b.String()
}

func dumpV4To(b *strings.Builder, n *yamlv4.Node) {
	if n.Style&yamlv4.TaggedStyle != 0 {
		b.WriteString(n.Tag + " ")
	}
	if n.Anchor != "" {
		b.WriteString("&" + n.Anchor + " ")
	}
	switch n.Kind {
	case yamlv4.DocumentNode:
		dumpV4To(b, n.Content[0])
	case yamlv4.ScalarNode:
		style := ""
		switch {
		case n.Style&yamlv4.DoubleQuotedStyle != 0:
			style = `"`
		case n.Style&yamlv4.SingleQuotedStyle != 0:
			style = "'"
		case n.Style&yamlv4.LiteralStyle != 0:
			style = "|"
		case n.Style&yamlv4.FoldedStyle != 0:
			style = ">"
		}
		fmt.Fprintf(b, "%s%q", style, n.Value)
	case yamlv4.AliasNode:
		b.WriteString("*" + n.Value)
	case yamlv4.MappingNode:
		b.WriteString("{")
		for i, c := range n.Content {
			b.WriteString([...]string{", ", ": "}[i%2][2*b2i(i == 0):])
			dumpV4To(b, c)
		}
		b.WriteString("}")
	case yamlv4.SequenceNode:
		b.WriteString("[")
		for i, c := range n.Content {
			if i > 0 {
				b.WriteString(", ")
			}
			dumpV4To(b, c)
		}
		b.WriteString("]")
	}
}

// compareV4 compares the first document with what go.yaml.in/yaml makes of the text, when both read it.
func compareV4(t testing.TB, src []byte) (compared bool) {
	t.Helper()
	docs, _ := ParseYAML(src, Limits{})
	var node yamlv4.Node
	if len(docs) == 0 || yamlv4.Unmarshal(src, &node) != nil || node.Kind == 0 {
		return false
	}
	if got, want := dump(docs[0].Root), dumpV4(&node); got != want {
		t.Errorf("%q\ngot  %s\nyaml %s", src, got, want)
	}
	return true
}

// TestCompareFiles compares the reading of files with that of go.yaml.in/yaml.
func TestCompareFiles(t *testing.T) {
	for _, folder := range []string{"cases", "realworld"} {
		n := 0
		eachFile(t, sharedFolder(t, folder), func(path string, src []byte) {
			if compareV4(t, src) {
				n++
				return
			}
			_, err := ParseYAML(src, Limits{})
			var node yamlv4.Node
			t.Logf("%s: %v; yaml: %v", filepath.Base(path), err, yamlv4.Unmarshal(src, &node))
		})
		t.Logf("%s: %d files compared", folder, n)
	}
}

// TestCompareGenerated compares on documents that are made to be valid YAML for everyone. Not generated is what the
// two read differently, where TestEnvoyRecordings has what Envoy does: the tag `!`, which go.yaml.in/yaml forgets, and
// `>+` with empty lines at the end, of which yaml-cpp drops one.
func TestCompareGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := yamlDocument(t)
		var node yamlv4.Node
		errV4 := yamlv4.Unmarshal([]byte(src), &node)
		docs, err := ParseYAML([]byte(src), Limits{})
		if err != nil || errV4 != nil {
			var se *SyntaxError
			errors.As(err, &se)
			t.Fatalf("%q: %v; yaml: %v", src, err, errV4)
		}
		if got, want := dump(docs[0].Root), dumpV4(&node); got != want {
			t.Fatalf("%q\ngot  %s\nyaml %s", src, got, want)
		}
		for _, d := range docs {
			checkDocument(rapidTB{t: t}, d)
		}
	})
}

// rapidTB lets checks that want a testing.TB report to rapid.
type rapidTB struct {
	testing.TB
	t *rapid.T
}

func (r rapidTB) Helper()                           {}
func (r rapidTB) Errorf(format string, args ...any) { r.t.Errorf(format, args...) }

// yamlDocument generates a document in block and flow style.
func yamlDocument(t *rapid.T) string {
	g := &generator{t: t}
	g.block(0, 3)
	return g.b.String()
}

type generator struct {
	t *rapid.T
	b strings.Builder
}

func (g *generator) pick(options ...string) string {
	return rapid.SampledFrom(options).Draw(g.t, "pick")
}

func (g *generator) chance(percent int) bool {
	return rapid.IntRange(0, 99).Draw(g.t, "chance") < percent
}

// block writes a block collection at a column, the cursor being at the begin of a line.
func (g *generator) block(column, depth int) {
	pad := strings.Repeat(" ", column)
	if g.chance(60) {
		for i := range rapid.IntRange(1, 4).Draw(g.t, "entries") {
			g.noise(pad)
			g.b.WriteString(pad + fmt.Sprintf("k%d", i) + g.pick("", " ", "_é", "-x") + ":")
			g.value(column, depth, true)
		}
		return
	}
	for range rapid.IntRange(1, 3).Draw(g.t, "items") {
		g.noise(pad)
		g.b.WriteString(pad + "-")
		g.value(column, depth, false)
	}
}

// noise writes what is no content.
func (g *generator) noise(pad string) {
	if g.chance(10) {
		g.b.WriteString(g.pick("\n", pad+"# comment\n", "  \n", "#\n"))
	}
}

func (g *generator) value(column, depth int, key bool) {
	switch n := rapid.IntRange(0, 9).Draw(g.t, "kind"); {
	case n < 3 && depth > 0:
		g.b.WriteString(g.pick("\n", " # c\n"))
		g.block(column+rapid.IntRange(1, 4).Draw(g.t, "indent"), depth-1)
	case n == 3:
		g.b.WriteString(g.pick("\n", " \n", " # c\n"))
	case n == 4:
		g.blockScalar(column)
	case n == 5:
		g.b.WriteString(" ")
		g.flow(depth)
		g.b.WriteString(g.pick("\n", " # c\n"))
	default:
		g.b.WriteString(" " + g.scalar(strings.Repeat(" ", column+2)) + g.pick("\n", "\n", " \n", " # c\n"))
	}
}

func (g *generator) blockScalar(column int) {
	g.b.WriteString(" " + g.pick("|", ">", "|-", ">-", "|+") + g.pick("\n", " # c\n"))
	pad := strings.Repeat(" ", column+rapid.IntRange(1, 3).Draw(g.t, "indent"))
	g.b.WriteString(pad + g.pick("text", "# no comment", "- x: y", "é") + "\n")
	for range rapid.IntRange(0, 4).Draw(g.t, "lines") {
		g.b.WriteString(g.pick(pad+"line\n", pad+"more: text \n", "\n", pad+"  deeper\n", pad+"\ttab\n", "\n\n"))
	}
	g.b.WriteString(g.pick("", pad+"end\n"))
}

func (g *generator) scalar(pad string) string {
	return g.pick(
		"plain", "two words", "a:b", "a#b", "-x", "?x", ":x", "1.5", "~", "true", "x,y", "http://a:80/b", "e'f", "g\"h", "a\n"+pad+"b", "a\n\n"+pad+"b",
		"''", "'it''s'", "'a: b # c'", "'x\n"+pad+"y'", `""`, `"a\tb\u00e9"`, `"\x41\\\""`, "\"x \n"+pad+"y\"", "\"x\\\n"+pad+"y\"", "\"x\n\n"+pad+" y\"", "!t x", "!!str 1", "&a z",
	)
}

func (g *generator) flow(depth int) {
	end := "]"
	isMap := g.chance(50)
	if isMap {
		g.b.WriteString("{")
		end = "}"
	} else {
		g.b.WriteString("[")
	}
	for i := range rapid.IntRange(0, 3).Draw(g.t, "flow") {
		if isMap || g.chance(10) {
			g.b.WriteString(g.pick(fmt.Sprintf("k%d: ", i), fmt.Sprintf("\"k%d\":", i), fmt.Sprintf("'k%d' : ", i)))
		}
		if depth > 0 && g.chance(30) {
			g.flow(depth - 1)
		} else {
			g.b.WriteString(g.pick("a", "b c", "1", "'q'", `"d"`, "-x", "a#b", "x y", "http://x:1"))
		}
		g.b.WriteString(g.pick(", ", ",", " , "))
	}
	g.b.WriteString(end)
}
