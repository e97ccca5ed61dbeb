package document

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/diag"
)

func TestPosition(t *testing.T) {
	src := "\ufeffaé: b\r\ncd\re\n\nf"
	f := newFile([]byte(src))
	for _, tt := range []struct {
		at           string
		line, column int
	}{
		{"a", 1, 1}, {": b", 1, 3}, {"\r\nc", 1, 6}, {"cd", 2, 1}, {"e\n", 3, 1}, {"\n\nf", 3, 2}, {"f", 5, 1},
	} {
		offset := strings.Index(src, tt.at)
		want := diag.Position{Line: tt.line, Column: tt.column}
		if got := f.position(offset); got != want {
			t.Errorf("%q at %d: got %v, want %v", tt.at, offset, got, want)
		}
		if got := f.offset(want); got != offset {
			t.Errorf("%v: got %d, want %d", want, got, offset)
		}
	}
	if got, want := f.position(len(src)), (diag.Position{Line: 5, Column: 2}); got != want {
		t.Errorf("end: got %v, want %v", got, want)
	}
}

func TestPositionsOnLongLine(t *testing.T) {
	src := "[" + strings.Repeat("é, ", 400_000) + "x]"
	docs, err := ParseYAML([]byte(src), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	column := 2
	for n := docs[0].Root.First(); n.IsValid(); n = n.Next() {
		if got := n.Span().Start; got.Column != column {
			t.Fatalf("got %v, want column %d", got, column)
		}
		column += 3
	}
}

// TestPositionsBetweenMarks compares the columns of long lines with counting from their beginning, also where the marks
// fall into a code point and into bytes that are none.
func TestPositionsBetweenMarks(t *testing.T) {
	for _, part := range []string{"a", "é", "日本", "\U0001f600x", "\x80\x80\x80\x80\x80", "\xe2\x82a", "\xf0\x9f"} {
		for shift := range 5 {
			line := strings.Repeat("b", shift) + strings.Repeat(part, 3*markEvery/len(part))
			f := newFile([]byte("first\n" + line + "\n" + line))
			begin := len("first\n")
			for _, second := range []bool{false, true} {
				if second {
					begin += len(line) + 1
				}
				for at := 0; at <= len(line); at += 61 {
					if got, want := f.position(begin+at).Column, 1+utf8.RuneCountInString(line[:at]); got != want {
						t.Fatalf("%q shifted by %d: the column of byte %d is %d, want %d", part, shift, at, got, want)
					}
				}
			}
		}
	}
}

func TestComments(t *testing.T) {
	src := "# one\na: b # two\nc: 'x # y' #three\nd: | # four\n  # text\n#five\ne: \"#\"\nf: g#h\ni: &j#k l\n---\n# six\nm: n\n# seven\n"
	docs, err := ParseYAML([]byte(src), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range docs {
		for start, end := range d.Comments() {
			got = append(got, src[start:end])
		}
	}
	want := []string{"# one", "# two", "#three", "# four", "#five", "# six", "# seven"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNodeAt(t *testing.T) {
	src := "a: 1\nb:\n- c: [d, e]\n- f\n"
	docs, err := ParseYAML([]byte(src), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, at := range []string{"a", "1", "b", "- c", "c", "[", "d", "e", "f"} {
		n := docs[0].NodeAt(strings.Index(src, at))
		got = append(got, fmt.Sprintf("%s %s", n.Kind(), n.Text()))
	}
	want := []string{
		"scalar a", "scalar 1", "scalar b", "sequence ", "scalar c", "sequence ", "scalar d", "scalar e", "scalar f",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := docs[0].NodeAtPosition(diag.Position{Line: 3, Column: 10}); n.Text() != "e" {
		t.Errorf("at 3:10 stands %s", dump(n))
	}
}

func TestApply(t *testing.T) {
	got, err := Apply([]byte("hello world"), []Patch{{6, 11, "there"}, {0, 1, "H"}, {5, 5, ","}, {11, 11, "!"}})
	if err != nil || string(got) != "Hello, there!" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range [][]Patch{{{0, 2, ""}, {1, 3, ""}}, {{-1, 0, ""}}, {{5, 4, ""}}, {{0, 12, ""}}} {
		if _, err := Apply([]byte("hello world"), slices.Clone(bad)); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// TestCommentsOfRandomTexts empties the comments of texts: what is left is the same document with as many comments.
func TestCommentsOfRandomTexts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	found := 0
	for range 20_000 {
		src := randomText(rnd)
		docs, err := ParseYAML(src, Limits{})
		if err != nil || len(docs) != 1 || newFile(src).src[0] != src[0] {
			continue
		}
		var patches []Patch
		for start, end := range docs[0].Comments() {
			patches = append(patches, Patch{start + 1, end, ""})
		}
		if len(patches) == 0 {
			continue
		}
		found++
		without, err := Apply(src, patches)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseYAML(without, Limits{})
		if err != nil || len(again) != 1 || dump(again[0].Root) != dump(docs[0].Root) {
			t.Fatalf("%q without its comments is %q: %v", src, without, err)
		}
		n := 0
		for start, end := range again[0].Comments() {
			if string(without[start:end]) != "#" {
				t.Fatalf("%q without its comments is %q, with the comment %q", src, without, without[start:end])
			}
			n++
		}
		if n != len(patches) {
			t.Fatalf("%q: %d comments, but %q has %d", src, len(patches), without, n)
		}
	}
	t.Logf("%d texts with comments", found)
}
