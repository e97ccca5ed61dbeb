package serve

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// yamlBelow is the scope of a directory: YAML files that are not hidden.
type yamlBelow string

func (s yamlBelow) Root() string            { return string(s) }
func (s yamlBelow) Takes(name string) bool  { return s.Enters(name) && path.Ext(name) == ".yaml" }
func (s yamlBelow) Enters(name string) bool { return !strings.HasPrefix(path.Base(name), ".") }

// tree makes files below a new directory: "a" is a file, "a/" a folder, "a -> b" a link.
func tree(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		putFile(t, dir, name)
	}
	return dir
}

// putFile makes one of them; what is there is replaced by a rename.
func putFile(t *testing.T, dir, name string) {
	t.Helper()
	name, target, isLink := strings.Cut(name, " -> ")
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	switch {
	case isLink:
		err = os.Symlink(target, at+"_tmp")
	case strings.HasSuffix(name, "/"):
		err = os.MkdirAll(at+"_tmp", 0o755)
	default:
		err = os.WriteFile(at+"_tmp", []byte(name), 0o600)
	}
	if err == nil {
		err = os.Rename(at+"_tmp", at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// watchedIn is a file in a folder, or else the YAML files below one in it.
func watchedIn(dir, file, scope string) Watched {
	if file != "" {
		return Watched{Files: []string{filepath.Join(dir, file)}}
	}
	return Watched{Scopes: []Scope{yamlBelow(filepath.Join(dir, scope))}}
}

// TestWatchFiles changes files in the ways in which they are changed.
func TestWatchFiles(t *testing.T) {
	t.Parallel()
	write := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("changed"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	put := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { putFile(t, dir, name) }
	}
	move := func(from, to string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
				t.Error(err)
			}
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
	}
	volume := []string{"..1/a.yaml", "..2/a.yaml", "..data -> ..1", "a.yaml -> ..data/a.yaml"}
	current := []string{"v1/x.yaml", "v2/x.yaml", "current -> v1"}
	chain := []string{"l1/x.yaml -> ../l2/x.yaml", "l2/x.yaml -> ../l3/x1.yaml", "l3/x1.yaml", "l3/x2.yaml"}
	type step = func(t *testing.T, dir string)
	type test struct {
		name    string
		tree    []string
		file    string // what is watched
		scope   string
		changes []step // each has to be seen
	}
	tests := []test{
		{name: "in place", tree: []string{"a.yaml"}, file: "a.yaml", changes: []step{write("a.yaml"), write("a.yaml")}},
		{name: "renamed into place", tree: []string{"a.yaml"}, file: "a.yaml", changes: []step{put("a.yaml"), put("a.yaml")}},
		{name: "removed and made again", tree: []string{"a.yaml"}, file: "a.yaml", changes: []step{remove("a.yaml"), write("a.yaml")}},
		{name: "not there yet", tree: []string{"x"}, file: "some/where/a.yaml", changes: []step{put("some/where/"), write("some/where/a.yaml")}},
		{name: "the swap of a volume", tree: volume, file: "a.yaml", changes: []step{put("..data -> ..2"), write("..2/a.yaml"), put("..data -> ..1")}},
		{name: "the swap of a volume that is a directory", tree: volume, scope: ".", changes: []step{put("..data -> ..2"), write("..2/a.yaml"), put("..data -> ..1")}},
		{name: "a link above a file", tree: current, file: "current/x.yaml", changes: []step{put("current -> v2"), write("v2/x.yaml"), put("current -> v1")}},
		{name: "a link to a directory", tree: current, scope: "current", changes: []step{put("current -> v2"), write("v2/x.yaml"), put("current -> v1")}},
		{name: "links of a file", tree: chain, file: "l1/x.yaml", changes: []step{write("l3/x1.yaml"), put("l2/x.yaml -> ../l3/x2.yaml"), write("l3/x2.yaml")}},
		{name: "links out of a directory", tree: chain, scope: "l1", changes: []step{write("l3/x1.yaml"), put("l2/x.yaml -> ../l3/x2.yaml"), write("l3/x2.yaml"), remove("l3/x2.yaml"), put("l3/x2.yaml")}},
		{name: "a link that leads nowhere yet", tree: []string{"l1/sub -> ../later"}, scope: "l1", changes: []step{put("later/"), write("later/a.yaml")}},
		{name: "below a directory", tree: []string{"sub/a.yaml"}, scope: ".", changes: []step{write("sub/b.yaml"), remove("sub/a.yaml"), remove("sub")}},
		{name: "in a new folder", tree: []string{"a.yaml"}, scope: ".", changes: []step{put("new/"), write("new/b.yaml")}},
		{name: "a directory replaced", tree: []string{"h/a.yaml", "g/a.yaml"}, scope: "h", changes: []step{move("h", "old"), move("g", "h"), write("h/a.yaml")}},
	}
	if cheapWatches {
		tests = append(tests, test{
			name: "a folder around others replaced", tree: []string{"v/s/a.yaml", "w/s/a.yaml"}, file: "v/s/a.yaml",
			changes: []step{move("v", "old"), move("w", "v"), write("v/s/a.yaml")},
		})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, tt.tree...)
			what := watchedIn(dir, tt.file, tt.scope)
			w, err := WatchFiles(func() Watched { return what })
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			changed := make(chan struct{})
			done := make(chan error, 1)
			go func() {
				done <- w.Run(ctx, func() {
					select {
					case changed <- struct{}{}:
					case <-ctx.Done():
					}
				})
			}()
			for i, change := range tt.changes {
				change(t, dir)
				select {
				case <-changed:
				case <-ctx.Done():
					t.Fatalf("change %d was not seen", i)
				}
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestConcerns tells changes that matter from those beside them.
func TestConcerns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		tree        []string
		file, scope string
		yes, no     []string
	}{
		{
			name: "a file", tree: []string{"h/a.yaml"}, file: "h/a.yaml",
			yes: []string{"h/a.yaml"}, no: []string{"h/serve.log", "h/b.yaml", "h/.a.yaml.swp", "x"},
		},
		{
			name: "a file that is gone", tree: []string{"h/"}, file: "h/a.yaml",
			yes: []string{"h/a.yaml"}, no: []string{"h/serve.log"},
		},
		{
			name: "a volume", tree: []string{"h/..1/a.yaml", "h/..data -> ..1", "h/a.yaml -> ..data/a.yaml"}, file: "h/a.yaml",
			yes: []string{"h/a.yaml", "h/..data", "h/..1/a.yaml"}, no: []string{"h/..2", "h/..1/b.yaml", "h/serve.log"},
		},
		{
			name: "links of a file", tree: []string{"l1/x.yaml -> ../l2/x.yaml", "l2/x.yaml -> ../l3/s/x1.yaml", "l3/s -> ../l4", "l4/x1.yaml"}, file: "l1/x.yaml",
			yes: []string{"l1/x.yaml", "l2/x.yaml", "l3/s", "l4/x1.yaml"}, no: []string{"l1/y.yaml", "l2/y.yaml", "l3/x1.yaml", "l4/y.yaml"},
		},
		{
			name: "a directory", tree: []string{"h/a.yaml", "h/sub/.git/", "h/log -> ../o/serve.log", "o/serve.log", "h/l.yaml -> ../o/l", "o/l", "h/ext -> ../e", "e/a.yaml"}, scope: "h",
			yes: []string{"h/a.yaml", "h/new.yaml", "h", "h/sub", "h/sub/b.yaml", "o/l", "h/ext", "e", "e/new.yaml"},
			no:  []string{"h/serve.log", "h/xds.sock", "h/.a.yaml", "h/sub/.git", "h/sub/.git/a.yaml", "h/log", "o/serve.log", "o/a.yaml", "e/serve.log"},
		},
		{name: "links in a circle", tree: []string{"a -> b", "b -> a"}, file: "a/x.yaml", yes: []string{"a", "b"}, no: []string{"c"}},
		{name: "a directory in itself", tree: []string{"h/self -> .", "h/up -> ../h/self/self"}, scope: "h", yes: []string{"h/self", "h/up", "h/a.yaml"}, no: []string{"a.yaml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, tt.tree...)
			what := watchedIn(dir, tt.file, tt.scope)
			real, err := filepath.EvalSymlinks(dir)
			if err != nil {
				t.Fatal(err)
			}
			targets := findTargets(what)
			for _, name := range tt.yes {
				if !targets.concerns(filepath.Join(real, name)) {
					t.Errorf("a change of %s does not concern", name)
				}
			}
			for _, name := range tt.no {
				if targets.concerns(filepath.Join(real, name)) {
					t.Errorf("a change of %s concerns", name)
				}
			}
		})
	}
}
