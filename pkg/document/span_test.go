package document

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkDocument checks what must hold for every document: ranges lie in the file and in each other, in order, and the
// bytes in the range of a scalar read alone give its text.
func checkDocument(t testing.TB, d *Document) {
	t.Helper()
	start, end := d.Offsets()
	if start < 0 || end < start || end > len(d.Source()) {
		t.Errorf("document at %d to %d of %d", start, end, len(d.Source()))
	}
	if d.Root.IsValid() {
		checkNode(t, d.Root, start, end, d.Format == JSON)
	}
}

func checkNode(t testing.TB, n Node, from, to int, flow bool) {
	t.Helper()
	start, end := n.FullOffsets()
	if start < from || end < start || end > to {
		t.Errorf("%s at %d to %d does not lie in %d to %d", dump(n), start, end, from, to)
		return
	}
	start, end = n.Offsets()
	span := n.Span()
	doc := n.Document()
	if doc.file.outer == nil && (doc.Position(start) != span.Start || doc.Position(end) != span.End) {
		t.Errorf("%s at %d to %d has the span %v", dump(n), start, end, span)
	}
	bytesAt := doc.Source()[start:end]
	switch n.Kind() {
	case Scalar:
		if doc.Format == JSON {
			checkJSONScalar(t, n, bytesAt)
		} else {
			checkScalar(t, n, bytesAt, flow)
		}
	case Alias:
		if n.Target().IsValid() && string(bytesAt) != "*"+n.Target().Anchor() {
			t.Errorf("alias to %q at %q", n.Target().Anchor(), bytesAt)
		}
	default:
		at := start
		flow = n.Style() == Flow
		if c := string(bytesAt[:1]) + string(bytesAt[len(bytesAt)-1:]); flow && bytes.IndexByte([]byte("[{"), c[0]) >= 0 && c != "[]" && c != "{}" && !n.First().Next().IsValid() {
			t.Errorf("%s at %q", dump(n), bytesAt)
		}
		for c := n.First(); c.IsValid(); c = c.Next() {
			checkNode(t, c, at, end, flow)
			_, at = c.Offsets()
		}
	}
}

// checkScalar reads the bytes of a scalar in a context like its own.
func checkScalar(t testing.TB, n Node, text []byte, flow bool) {
	t.Helper()
	if len(text) == 0 {
		if n.Text() != "" || n.Style() != Plain {
			t.Errorf("%s at an empty range", dump(n))
		}
		return
	}
	if n.Style() == Plain && bytes.IndexByte([]byte(":-?"), text[len(text)-1]) >= 0 {
		return // whether it is a scalar depends on what follows
	}
	if bytes.IndexByte(n.src(), '\r') >= 0 && bytes.ContainsAny(text, "\r\n") {
		return // with a lone CR somewhere the columns go on over line breaks
	}
	var docs []*Document
	var err error
	var got Node
	r := n.record()
	switch {
	case n.Style() == Literal || n.Style() == Folded:
		indent := int(r.child >> 1)
		if r.child&1 != 0 {
			docs, err = ParseYAML(text, Limits{})
			break
		}
		digit := int(text[bytes.IndexAny(text, "123456789")] - '0')
		docs, err = ParseYAML(append([]byte(strings.Repeat(" ", indent-digit)+"a: "), text...), Limits{})
	case flow:
		docs, err = ParseYAML(fmt.Appendf(nil, "  [%s]", text), Limits{})
	default:
		docs, err = ParseYAML(fmt.Appendf(nil, "  %s", text), Limits{})
	}
	if len(docs) > 0 {
		got = docs[0].Root
		switch got.Kind() {
		case Sequence:
			got = got.First()
		case Mapping:
			got = got.First().Next()
		}
	}
	if got.Text() != n.Text() || got.Style() != n.Style() {
		t.Errorf("%s at %q, which reads as %s (%v)", dump(n), text, dump(got), err)
	}
}

func checkJSONScalar(t testing.TB, n Node, text []byte) {
	t.Helper()
	if n.Style() == Plain {
		if n.Text() != string(text) {
			t.Errorf("%s at %q", dump(n), text)
		}
		return
	}
	d, err := ParseJSON(text, Limits{})
	if err != nil || d.Root.Text() != n.Text() || d.Root.Style() != n.Style() {
		t.Errorf("%s at %q: %v", dump(n), text, err)
	}
}

// sharedFile finds a folder beside the project, or skips the test.
func sharedFolder(t testing.TB, name string) string {
	root := os.Getenv("EDSCTL_SHARED")
	if root == "" {
		root = "../../../shared"
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no %s", dir)
	}
	return dir
}

// eachFile calls f with the files of a folder that Envoy would read as YAML or JSON.
func eachFile(t testing.TB, dir string, f func(path string, src []byte)) {
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		switch strings.ToLower(filepath.Ext(path)) {
		case ".yaml", ".yml", ".json":
		default:
			return nil
		}
		src, err := os.ReadFile(path)
		if err == nil {
			f(path, src)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSpansOfFiles(t *testing.T) {
	for _, folder := range []string{"cases", "realworld"} {
		n := 0
		eachFile(t, sharedFolder(t, folder), func(path string, src []byte) {
			docs, err := ParseYAML(src, Limits{})
			for _, d := range docs {
				checkDocument(t, d)
				n++
			}
			if err != nil {
				t.Logf("%s: %v", filepath.Base(path), err)
			}
			if filepath.Ext(path) == ".json" {
				if d, err := ParseJSON(src, Limits{}); err != nil {
					t.Logf("%s as JSON: %v", filepath.Base(path), err)
				} else {
					checkDocument(t, d)
					n++
				}
			}
		})
		t.Logf("%s: %d documents", folder, n)
	}
}

func TestSpansOfRandomTexts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 20_000 {
		src := randomText(rnd)
		docs, _ := ParseYAML(src, Limits{})
		for _, d := range docs {
			checkDocument(t, d)
		}
		if d, err := ParseJSON(randomJSON(rnd), Limits{}); err == nil {
			checkDocument(t, d)
		}
		if t.Failed() {
			t.Fatalf("%q", src)
		}
	}
}
