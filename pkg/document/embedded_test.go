package document

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
)

func TestEmbedded(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"literal", "data:\n  a.yaml: |\n    x: 1\n    y: [2,\n      3]\n", "x@3:5 1@3:8 y@4:5 2@4:9 3@5:7"},
		{"folded", "data:\n  a.yaml: >-\n    {x: 1,\n    y: 2}\n", "x@3:6 1@3:9 y@4:5 2@4:8"},
		{"double quoted", "data:\n  a.yaml: \"x: 1\\ny: \\\"2\\\"\\n\"\n", `x@2:12 1@2:15 y@2:18 2@2:21`},
		{"single quoted", "data: {a: '{x: ''1'', y: 2}'}\n", "x@1:13 1@1:16 y@1:23 2@1:26"},
		{"plain", "data: [x]\n", "x@1:8"},
		{"tilde", "é: |\n  é: ü\n", "é@2:3 ü@2:6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := ParseYAML([]byte(tt.src), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			inner, err := lastScalar(docs[0].Root).Embedded(YAML, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			eachScalar(inner[0].Root, func(n Node) {
				s := n.Span().Start
				got = append(got, fmt.Sprintf("%s@%s", n.Text(), s))
			})
			if g := strings.Join(got, " "); g != tt.want {
				t.Errorf("got  %s\nwant %s", g, tt.want)
			}
		})
	}
}

func TestEmbeddedError(t *testing.T) {
	docs, err := ParseYAML([]byte("data:\n  a.yaml: |\n    x:\n    - a\n    y: b: c\n"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = lastScalar(docs[0].Root).Embedded(YAML, Limits{})
	var se *SyntaxError
	if !errors.As(err, &se) || se.Span.Start != (diag.Position{Line: 5, Column: 9}) {
		t.Errorf("got %v", err)
	}
	if want := "yaml-cpp: error at line 3, column 5: illegal map value"; se.Envoy != want {
		t.Errorf("got %q, want %q", se.Envoy, want)
	}
}

func TestEmbeddedTwice(t *testing.T) {
	docs, err := ParseYAML([]byte("a: |\n  b: \"{c: \\\"d\\\"}\"\n"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := lastScalar(docs[0].Root).Embedded(YAML, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	innermost, err := lastScalar(inner[0].Root).Embedded(JSON, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	d := lastScalar(innermost[0].Root)
	if got := fmt.Sprintf("%s-%s", d.Span().Start, d.Span().End); d.Text() != "d" || got != "2:11-2:16" {
		t.Errorf("%s at %s", d.Text(), got)
	}
}

// TestEmbeddedBehindFolded has texts whose last line break stands for several: it ends where the scalar does.
func TestEmbeddedBehindFolded(t *testing.T) {
	for _, tt := range []struct {
		src        string
		start, end int
	}{
		{">\n !00\"\n\n", 6, 8},
		{">\n !00\"\n\n\n\n", 6, 8},
		{"|\n !00\"\n\n", 6, 8},
		{">\n\r!00\"\r\r", 6, 8},
		{">+\n !00\"\n\n", 7, 10},
		{">\n a: b\n\n", 3, 7},
	} {
		docs, err := ParseYAML([]byte(tt.src), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		inner, _ := lastScalar(docs[0].Root).Embedded(YAML, Limits{})
		if len(inner) == 0 {
			t.Fatalf("%q: no document", tt.src)
		}
		if start, end := inner[0].Root.OuterOffsets(); start != tt.start || end != tt.end {
			t.Errorf("%q: %d to %d, want %d to %d", tt.src, start, end, tt.start, tt.end)
		}
	}
}

// TestEmbeddedBytes embeds random texts in every style and compares the bytes that the nodes inside point at.
func TestEmbeddedBytes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	checked := 0
	for range 4000 {
		text := string(bytes.Trim(randomText(rnd), "\n \x00"))
		if strings.ContainsAny(text, "\r\x00\ufeff") || text == "" {
			continue
		}
		want, _ := ParseYAML([]byte(text), Limits{})
		if len(want) == 0 {
			continue
		}
		for _, outer := range []string{
			"k:\n  k: |4-\n" + indentLines(text, "      "),
			"k: " + fmt.Sprintf("\"%s\"", strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "\t", "\\t").Replace(text)) + "\n",
			"- '" + strings.NewReplacer("'", "''", "\n", "\n\n").Replace(strings.ReplaceAll(text, "\n ", "\n")) + "'",
		} {
			docs, err := ParseYAML([]byte(outer), Limits{})
			if err != nil || lastScalar(docs[0].Root).Text() != text {
				continue // blanks at the end of lines and the like cannot be written in this style
			}
			got, _ := lastScalar(docs[0].Root).Embedded(YAML, Limits{})
			if len(got) == 0 || dump(got[0].Root) != dump(want[0].Root) {
				t.Fatalf("%q: got %v, want %s", outer, got, dump(want[0].Root))
			}
			outerScalar := lastScalar(docs[0].Root)
			eachScalar(got[0].Root, func(n Node) {
				start, end := n.OuterOffsets()
				from, to := n.Offsets()
				if decoded := outerText(outerScalar, outer[start:end]); decoded != text[from:to] {
					t.Errorf("%q: %s stands at %q, which is %q, not %q", outer, dump(n), outer[start:end], decoded, text[from:to])
				}
				checked++
			})
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d nodes", checked)
	if checked < 1000 {
		t.Error("too few texts could be embedded")
	}
}

// outerText undoes the style of a scalar for a part of it.
func outerText(n Node, part string) string {
	switch n.Style() {
	case Literal:
		return strings.ReplaceAll(part, "\n      ", "\n")
	case DoubleQuoted:
		return strings.NewReplacer(`\\`, "\\", `\"`, "\"", `\n`, "\n", `\t`, "\t").Replace(part)
	default:
		return strings.NewReplacer("''", "'", "\n\n", "\n").Replace(part)
	}
}

func indentLines(text, by string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = by + l
	}
	return strings.Join(lines, "\n")
}

// lastScalar is the last scalar of a tree.
func lastScalar(n Node) Node {
	var last Node
	eachScalar(n, func(n Node) { last = n })
	return last
}

func eachScalar(n Node, f func(Node)) {
	if n.Kind() == Scalar {
		f(n)
		return
	}
	if n.Kind() == Alias {
		return
	}
	for c := n.First(); c.IsValid(); c = c.Next() {
		eachScalar(c, f)
	}
}
