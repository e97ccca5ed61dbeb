package input

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes files below a new working directory; a name that ends in "/" is a folder, "a -> b" a link.
func tree(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		link, target, isLink := strings.Cut(name, " -> ")
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case isLink:
			err = os.Symlink(target, link)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(name, 0o755)
		default:
			err = os.WriteFile(name, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	tests := []struct {
		name    string
		tree    []string
		args    []string
		options Options
		want    []string // names, with a star when named
		errs    []string
	}{
		{name: "file", tree: []string{"a.txt"}, args: []string{"./a.txt"}, want: []string{"a.txt*"}},
		{name: "stdin", args: []string{"-"}, want: []string{"<stdin>*"}},
		{
			name: "directory by extension and path",
			tree: []string{"d/b.yaml", "d/a.YML", "d/x.txt", "d/sub/c.json", "d/e.pb", "d/f.pb_text", "d/g.textproto", "d/h.conf", "d/i.jsonl"},
			args: []string{"d"},
			want: []string{"d/a.YML", "d/b.yaml", "d/e.pb", "d/f.pb_text", "d/g.textproto", "d/h.conf", "d/i.jsonl", "d/sub/c.json"},
		},
		{name: "hidden", tree: []string{"d/.h.yaml", "d/.git/a.yaml", "d/a.yaml"}, args: []string{"d"}, want: []string{"d/a.yaml"}},
		{name: "a hidden directory that is named", tree: []string{".h/a.yaml"}, args: []string{".h"}, want: []string{".h/a.yaml"}},
		{
			name: "include", tree: []string{"d/a.tmpl", "d/s/b.tmpl", "d/c.txt"}, args: []string{"d"},
			options: Options{Include: []string{"*.tmpl"}}, want: []string{"d/a.tmpl", "d/s/b.tmpl"},
		},
		{
			name: "exclude", tree: []string{"d/a.yaml", "d/v/b.yaml"}, args: []string{"d"},
			options: Options{Exclude: func(p string) bool { return p == "d/v" }}, want: []string{"d/a.yaml"},
		},
		{name: "glob", tree: []string{"d/a.yaml", "d/s/b.yaml", "d/s/c.json"}, args: []string{"d/**/*.yaml"}, want: []string{"d/a.yaml", "d/s/b.yaml"}},
		{name: "glob of directories", tree: []string{"d/x1/a.yaml", "d/x2/b.yaml", "d/y/c.yaml"}, args: []string{"d/x*"}, want: []string{"d/x1/a.yaml", "d/x2/b.yaml"}},
		{name: "a file with a glob's name", tree: []string{"a[1].yaml"}, args: []string{"a[1].yaml"}, want: []string{"a[1].yaml*"}},
		{name: "glob without match", args: []string{"*.yaml"}, errs: []string{"*.yaml: no file matches"}},
		{name: "twice", tree: []string{"d/a.yaml", "d/b.yaml"}, args: []string{"d", "d/b.yaml", "./d"}, want: []string{"d/a.yaml", "d/b.yaml*"}},
		{name: "order of arguments", tree: []string{"a.yaml", "b.yaml"}, args: []string{"b.yaml", "a.yaml"}, want: []string{"b.yaml*", "a.yaml*"}},
		{
			name: "loop of links", tree: []string{"d/a.yaml", "d/s/b.yaml", "d/s/up -> ..", "d/self -> ."}, args: []string{"d"},
			want: []string{"d/a.yaml", "d/s/b.yaml"},
		},
		{
			name: "links out, to files and nowhere", tree: []string{"o/x.yaml", "d/o -> ../o", "d/f.yaml -> ../o/x.yaml", "d/n.yaml -> nowhere"},
			args: []string{"d"}, want: []string{"d/f.yaml", "d/o/x.yaml"},
		},
		{name: "missing beside present", tree: []string{"a.yaml"}, args: []string{"gone", "a.yaml"}, want: []string{"a.yaml*"}, errs: []string{"gone: no such file or directory"}},
		{name: "empty directory", tree: []string{"d/"}, args: []string{"d"}},
		{name: "bad include", tree: []string{"d/"}, args: []string{"d"}, options: Options{Include: []string{"[a"}}, errs: []string{"[a: not a valid glob"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree(t, tt.tree...)
			files, err := Find(t.Context(), tt.args, tt.options)
			var got, errs []string
			for _, f := range files {
				name := f.Name
				if f.Named {
					name += "*"
				}
				got = append(got, name)
			}
			if err != nil {
				errs = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.errs, errs); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindGoesOnAfterUnreadableDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read everything")
	}
	tree(t, "d/a.yaml", "d/secret/b.yaml")
	if err := os.Chmod("d/secret", 0); err != nil {
		t.Fatal(err)
	}
	files, err := Find(t.Context(), []string{"d"}, Options{})
	var pathErr *PathError
	if !errors.As(err, &pathErr) || !errors.Is(err, fs.ErrPermission) || pathErr.Arg != "d/secret" {
		t.Errorf("error %v, want one about d/secret", err)
	}
	if len(files) != 1 {
		t.Errorf("%d files, want 1", len(files))
	}
}

func TestFindEndsWithContext(t *testing.T) {
	tree(t, "d/a.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if files, err := Find(ctx, []string{"d"}, Options{}); !errors.Is(err, context.Canceled) || files != nil {
		t.Errorf("got %v, %v, want context.Canceled", files, err)
	}
}

func TestMatch(t *testing.T) {
	globs := []string{"*.tmpl", "conf/**/x"}
	var got []string
	for _, name := range []string{"a.tmpl", "d/a.tmpl", "x", "conf/x", "conf/a/b/x", "d/conf/x"} {
		if Match(globs, name) {
			got = append(got, name)
		}
	}
	if want := []string{"a.tmpl", "d/a.tmpl", "conf/x", "conf/a/b/x"}; !slices.Equal(got, want) {
		t.Errorf("matched %q, want %q", got, want)
	}
}
