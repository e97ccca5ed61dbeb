package serve

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Watched says what is watched: files, and the files of scopes.
type Watched struct {
	Files  []string
	Scopes []Scope
}

// Scope is a directory or a glob (input.Scope).
type Scope interface {
	Root() string            // the directory where it begins
	Takes(name string) bool  // whether a file of this name is one of its inputs
	Enters(name string) bool // whether inputs can be in a directory of this name
}

// targets are the places where a change can concern the files. All paths are absolute and free of links, so that one
// directory has one name however it was reached.
type targets struct {
	cwd   string
	dirs  map[string][]place // to watch
	names map[string]bool    // files, folders and links that matter by themselves, there or not
}

// place is what a directory is for a scope.
type place struct {
	scope Scope
	name  string // as the scope knows it
}

// maxLinks bounds the links on the way to a file, as Linux does.
const maxLinks = 40

func findTargets(what Watched) *targets {
	t := &targets{cwd: ".", dirs: map[string][]place{}, names: map[string]bool{}}
	if cwd, err := os.Getwd(); err == nil {
		if t.cwd, err = filepath.EvalSymlinks(cwd); err != nil {
			t.cwd = cwd
		}
	}
	for _, name := range what.Files {
		t.follow(name)
	}
	for _, s := range what.Scopes {
		if dir, ok := t.follow(s.Root()); ok {
			t.walk(s, dir)
		}
	}
	return t
}

// cheapWatches: folders around others are watched as well, in case they are replaced as a whole. Not so with kqueue,
// where a watch holds every file of a folder open.
const cheapWatches = runtime.GOOS == "linux"

// follow notes the names on the way to a path: each is looked up in a directory, where it can be replaced, and each link
// leads on. It returns where the path leads to, and whether that is a directory.
func (t *targets) follow(name string) (at string, isDir bool) {
	at = t.cwd
	rest := strings.Split(filepath.ToSlash(name), "/")
	if filepath.IsAbs(name) {
		at, rest = fromRoot(name)
	}
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		info, err := os.Lstat(next)
		if cheapWatches || err != nil || !info.IsDir() {
			t.names[next] = true
			if _, ok := t.dirs[at]; !ok {
				t.dirs[at] = nil
			}
		}
		switch {
		case err != nil: // it may come
			return next, false
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return next, false
			}
			parts := strings.Split(filepath.ToSlash(target), "/")
			if filepath.IsAbs(target) {
				at, parts = fromRoot(target)
			}
			rest = append(parts, rest...)
		case !info.IsDir():
			return next, false
		default:
			at = next
		}
	}
	return at, true
}

func fromRoot(name string) (root string, parts []string) {
	volume := filepath.VolumeName(name)
	return volume + string(filepath.Separator), strings.Split(filepath.ToSlash(name[len(volume):]), "/")
}

// walk notes the directories of a scope and the links in them, in the order of input.Find: links to directories are
// followed last.
func (t *targets) walk(s Scope, root string) {
	type dir struct{ at, name string }
	seen := map[string]bool{}
	queue, linked := []dir{{root, s.Root()}}, []dir(nil)
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		if !seen[d.at] {
			seen[d.at] = true
			t.dirs[d.at] = append(t.dirs[d.at], place{s, d.name})
			entries, _ := os.ReadDir(d.at) // what cannot be read is not watched
			for _, e := range entries {
				at, name := filepath.Join(d.at, e.Name()), path.Join(d.name, e.Name())
				switch {
				case e.IsDir() && s.Enters(name):
					queue = append(queue, dir{at, name})
				case e.Type()&fs.ModeSymlink != 0 && (s.Takes(name) || s.Enters(name) && leadsToDir(at)):
					if to, isDir := t.follow(at); isDir && s.Enters(name) {
						linked = append(linked, dir{to, name})
					}
				}
			}
		}
		if len(queue) == 0 {
			queue, linked = linked, nil
		}
	}
}

// leadsToDir tells whether something is a directory, or a link that leads to one or nowhere yet.
func leadsToDir(at string) bool {
	info, err := os.Stat(at)
	if err != nil {
		_, err = os.Lstat(at)
		return err == nil
	}
	return info.IsDir()
}

// concerns tells whether a change of a path can concern the files.
func (t *targets) concerns(changed string) bool {
	if changed == "" {
		return false
	}
	changed = filepath.Clean(changed)
	if _, ok := t.dirs[changed]; ok || t.names[changed] {
		return true
	}
	for _, p := range t.dirs[filepath.Dir(changed)] {
		name := path.Join(p.name, filepath.Base(changed))
		if p.scope.Takes(name) || p.scope.Enters(name) && leadsToDir(changed) {
			return true
		}
	}
	return false
}

// equal tells whether the same is watched.
func (t *targets) equal(other *targets) bool {
	sameDir := func(_, _ []place) bool { return true } // scopes do not change
	return maps.EqualFunc(t.dirs, other.dirs, sameDir) && maps.Equal(t.names, other.names)
}
