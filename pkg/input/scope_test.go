package input

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScope walks as a scope says and finds what Find finds.
func TestScope(t *testing.T) {
	names := []string{
		"a.yaml", "a.log", ".a.yaml", "d/a.yaml", "d/a.log", "d/x.tmpl", "d/.h.yaml", "d/.git/a.yaml", "d/sub/a.json", "d/sub/deep/a.pb",
		"e/a.yaml", "e/sub/a.yaml", "e/a.d/b.yaml", "e/a.d/b.log", "e/.h/a.yaml", "e/not/here/a.yaml", "w[1]/a.yaml",
	}
	tests := []struct {
		arg     string
		include []string
		root    string
	}{
		{arg: "d", root: "d"},
		{arg: "d/", root: "d"},
		{arg: ".", root: "."},
		{arg: "d", include: []string{"*.tmpl"}, root: "d"},
		{arg: "d", include: []string{"d/*.log"}, root: "d"},
		{arg: "*.yaml", root: "."},
		{arg: "*", root: "."},
		{arg: "?/*.log", root: "."},
		{arg: "e/*", root: "e"},
		{arg: "e/*.d", root: "e"},
		{arg: "e/**/*.yaml", root: "e"},
		{arg: "{d,e/sub}/*.yaml", root: "."},
		{arg: "w[1]", root: "w[1]"},
		{arg: "nothing/*.yaml", root: "nothing"},
	}
	tree(t, names...)
	for _, tt := range tests {
		t.Run(tt.arg, func(t *testing.T) {
			o := Options{Include: tt.include}
			s, ok := ScopeOf(tt.arg, o)
			if !ok || s.Root() != tt.root {
				t.Fatalf("ScopeOf: %q, %v", s.Root(), ok)
			}
			var got []string
			_ = filepath.WalkDir(s.Root(), func(name string, d fs.DirEntry, err error) error {
				name = path.Clean(name)
				switch {
				case err != nil || name == s.Root():
				case d.IsDir() && !s.Enters(name):
					return fs.SkipDir
				case !d.IsDir() && s.Takes(name):
					got = append(got, name)
				}
				return nil
			})
			files, _ := Find(context.Background(), []string{tt.arg}, o)
			var want []string
			for _, f := range files {
				want = append(want, f.Name)
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-Find +Scope)\n%s", diff)
			}
		})
	}
	for _, arg := range []string{"-", "a.yaml", "missing.yaml"} {
		if s, ok := ScopeOf(arg, Options{}); ok {
			t.Errorf("%s has the scope %q", arg, s.Root())
		}
	}
	for _, name := range []string{"d/.git", ".git"} { // a walk over a repository must not watch it
		if s, _ := ScopeOf("**/*.yaml", Options{}); s.Enters(name) {
			t.Errorf("** enters %s", name)
		}
	}
	if s, _ := ScopeOf("*.yaml", Options{}); s.Enters("d") {
		t.Error("*.yaml enters d")
	}
}
