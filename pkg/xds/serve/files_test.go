package serve

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWatchFiles changes files in the ways in which they are changed: in place, by a rename, by the symlink swap of
// Kubernetes' volumes, and by a file in a new folder.
func TestWatchFiles(t *testing.T) {
	t.Parallel()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, path string) {
		t.Helper()
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		setup  func(dir string) []string // the paths to watch
		change func(dir string)
	}{
		{
			name:   "in place",
			setup:  func(dir string) []string { write(dir+"/a.yaml", "1"); return []string{dir + "/a.yaml"} },
			change: func(dir string) { write(dir+"/a.yaml", "2") },
		},
		{
			name:  "renamed into place",
			setup: func(dir string) []string { write(dir+"/a.yaml", "1"); return []string{dir + "/a.yaml"} },
			change: func(dir string) {
				write(dir+"/.new", "2")
				if err := os.Rename(dir+"/.new", dir+"/a.yaml"); err != nil {
					t.Error(err)
				}
			},
		},
		{
			name: "the swap of a volume",
			setup: func(dir string) []string {
				write(dir+"/..1/a.yaml", "1")
				link("..1", dir+"/..data")
				link("..data/a.yaml", dir+"/a.yaml")
				return []string{dir + "/a.yaml"}
			},
			change: func(dir string) {
				write(dir+"/..2/a.yaml", "2")
				link("..2", dir+"/..data_tmp")
				if err := os.Rename(dir+"/..data_tmp", dir+"/..data"); err != nil {
					t.Error(err)
				}
			},
		},
		{
			name:   "below a directory",
			setup:  func(dir string) []string { write(dir+"/sub/a.yaml", "1"); return []string{dir} },
			change: func(dir string) { write(dir+"/sub/b.yaml", "2") },
		},
		{
			name:   "a glob",
			setup:  func(dir string) []string { write(dir+"/a.yaml", "1"); return []string{dir + "/*.yaml"} },
			change: func(dir string) { write(dir+"/b.yaml", "2") },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			paths := tt.setup(dir)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			changed := make(chan struct{}, 100)
			ready := make(chan struct{})
			done := make(chan error, 1)
			go func() {
				done <- WatchFiles(ctx, paths, func() { close(ready) }, func() { changed <- struct{}{} })
			}()
			<-ready
			tt.change(dir)
			select {
			case <-changed:
			case <-ctx.Done():
				t.Error("the change was not seen")
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
