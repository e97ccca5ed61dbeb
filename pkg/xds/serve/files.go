package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// The waits of FileWatch: a change is reported when the files have been quiet for the first, or at the latest after
// the second.
const (
	debounceTime = 100 * time.Millisecond
	debounceMax  = time.Second
)

// FileWatch sees changes of files. Directories are watched rather than files, so that renames into place and swaps of
// links are seen, and those of all links and folders on the way to a file.
type FileWatch struct {
	watcher *fsnotify.Watcher
	what    func() Watched
	targets *targets
}

// WatchFiles begins to watch. What to watch is asked again after every change, since links lead elsewhere then.
func WatchFiles(what func() Watched) (*FileWatch, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	f := &FileWatch{watcher: w, what: what, targets: &targets{}}
	if _, err := f.update(); err != nil {
		_ = w.Close()
		return nil, err
	}
	return f, nil
}

// Close ends the watch.
func (f *FileWatch) Close() error { return f.watcher.Close() }

// Run calls changed, in this goroutine, whenever something happened to the files since WatchFiles until the context ends.
func (f *FileWatch) Run(ctx context.Context, changed func()) error {
	var quiet, latest <-chan time.Time
	due, err := f.update()
	for {
		if err != nil {
			return err
		}
		if due {
			quiet = time.After(debounceTime)
			if latest == nil {
				latest = time.After(debounceMax)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err = <-f.watcher.Errors:
			// Events were lost, or a folder was moved and removed before its watch could be: look at everything.
			due = errors.Is(err, fsnotify.ErrEventOverflow) || errors.Is(err, syscall.EINVAL)
			if due {
				err = nil
			}
			continue
		case ev := <-f.watcher.Events:
			due = ev.Op != fsnotify.Chmod && f.targets.concerns(ev.Name)
			continue
		case <-quiet:
		case <-latest:
		}
		quiet, latest = nil, nil
		if _, err = f.update(); err != nil {
			return err
		}
		changed()
		// What was not watched while it was read may have changed, and what is not watched any more went away.
		due, err = f.update()
	}
}

// update watches what leads to the files now, and tells whether that is something else than before.
func (f *FileWatch) update() (changed bool, err error) {
	for {
		// A link can be swapped between the look at it and the watch: the look is repeated until it finds nothing new.
		next := findTargets(f.what())
		same := next.equal(f.targets)
		// In order, so that the folder around another is watched first.
		for _, dir := range slices.Sorted(maps.Keys(next.dirs)) {
			if err := f.watcher.Add(dir); err != nil && !unwatchable(err) {
				return false, fmt.Errorf("watch %q: %w", dir, err)
			}
		}
		for dir := range f.targets.dirs {
			if _, ok := next.dirs[dir]; !ok {
				_ = f.watcher.Remove(dir) // most are gone
			}
		}
		f.targets = next
		if same {
			return changed, nil
		}
		changed = true
	}
}

// unwatchable tells that a folder went away, or may not be listed, as those around a home can be.
func unwatchable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}
