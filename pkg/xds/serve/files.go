package serve

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// The waits of WatchFiles: a change is reported when the files have been quiet for the first, or at the latest after
// the second.
const (
	debounceTime = 100 * time.Millisecond
	debounceMax  = time.Second
)

// WatchFiles calls changed, in this goroutine, whenever something happened to the files and directories until the
// context ends. Directories are watched rather than files, so that renames into place and the symlink swaps of
// Kubernetes' volumes (..data) are seen. ready is called once the first watches are set.
func WatchFiles(ctx context.Context, paths []string, ready, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close()
	if err := addAll(w, paths); err != nil {
		return err
	}
	ready()
	var quiet, latest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return err
			}
			quiet, latest = time.After(debounceTime), firstTimer(latest)
		case ev := <-w.Events:
			if ev.Op == fsnotify.Chmod {
				continue
			}
			quiet, latest = time.After(debounceTime), firstTimer(latest)
		case <-quiet:
			quiet, latest = nil, nil
			if err := addAll(w, paths); err != nil {
				return err
			}
			changed()
		case <-latest:
			quiet, latest = nil, nil
			if err := addAll(w, paths); err != nil {
				return err
			}
			changed()
		}
	}
}

func firstTimer(running <-chan time.Time) <-chan time.Time {
	if running != nil {
		return running
	}
	return time.After(debounceMax)
}

// addAll watches the directories of all paths. Those already watched cost nothing; those that vanished are left out.
func addAll(w *fsnotify.Watcher, paths []string) error {
	for _, p := range paths {
		for _, dir := range directories(p) {
			if err := w.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// directories are those in which a change can concern a path: of a file its own and that of what it links to, of a
// directory itself and all below, of a glob those below its fixed part.
func directories(p string) []string {
	if i := strings.IndexAny(p, "*?[{"); i >= 0 {
		p = filepath.Dir(p[:i] + "x")
	}
	info, err := os.Stat(p)
	if err != nil || !info.IsDir() {
		out := []string{filepath.Dir(p)}
		if real, err := filepath.EvalSymlinks(p); err == nil && filepath.Dir(real) != out[0] {
			out = append(out, filepath.Dir(real))
		}
		return out
	}
	var out []string
	_ = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not watched
		}
		if d.IsDir() {
			out = append(out, path)
		}
		return nil
	})
	return out
}
