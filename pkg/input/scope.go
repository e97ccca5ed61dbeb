package input

import (
	"os"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Scope tells of names alone whether Find looks at them for an argument that is a directory or a glob. Who watches for
// changes needs that: a file that has just gone cannot be found any more.
type Scope struct {
	options Options
	root    string
	pattern string // empty for a directory
}

// ScopeOf returns the scope of an argument as it is now; ok is false for a file, for standard input, and for what names
// nothing.
func ScopeOf(arg string, o Options) (s Scope, ok bool) {
	if arg == "-" {
		return Scope{}, false
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return Scope{options: o, root: clean(arg)}, true
	case err != nil && strings.ContainsAny(arg, globSigns):
		pattern := clean(arg)
		root, _ := doublestar.SplitPattern(pattern)
		return Scope{options: o, root: root, pattern: pattern}, true
	}
	return Scope{}, false
}

// Root is the directory itself, or the one that the fixed part of a glob names.
func (s Scope) Root() string { return s.root }

// Takes tells whether a file of this name, which begins with Root, is an input.
func (s Scope) Takes(name string) bool {
	f := finder{Options: s.options}
	switch {
	case f.excluded(name):
		return false
	case s.pattern == "":
		return !hidden(name) && f.wanted(name)
	case s.matches(name):
		return !s.hides(name)
	}
	return s.below(name) && !hidden(name) && f.wanted(name)
}

// Enters tells whether inputs can be in a directory of this name, whose parent is one of them.
func (s Scope) Enters(name string) bool {
	f := finder{Options: s.options}
	switch {
	case f.excluded(name):
		return false
	case s.pattern == "" || s.below(name):
		return !hidden(name)
	case s.hides(name):
		return false
	case s.recursive() || strings.Contains(s.pattern, "{"): // braces may hold slashes, so that parts cannot be counted
		return true
	}
	parts := strings.Split(s.pattern, "/")
	depth := strings.Count(name, "/") + 1
	return depth < len(parts) && doublestar.MatchUnvalidated(strings.Join(parts[:depth], "/"), name) || s.matches(name)
}

func (s Scope) recursive() bool { return strings.Contains(s.pattern, "**") }

func (s Scope) matches(name string) bool { return doublestar.MatchUnvalidated(s.pattern, name) }

// below tells whether a name is in a directory that a glob names, which is walked.
func (s Scope) below(name string) bool {
	if s.recursive() {
		return false
	}
	for dir := path.Dir(name); dir != s.root && dir != path.Dir(dir); dir = path.Dir(dir) {
		if s.matches(dir) {
			return true
		}
	}
	return false
}

// hides tells whether a glob leaves a name out because it is hidden: the signs do not stand for a dot at the beginning.
func (s Scope) hides(name string) bool {
	return hidden(name) && !strings.Contains("/"+s.pattern, "/.")
}

func hidden(name string) bool { return strings.HasPrefix(path.Base(name), ".") }
