// Package config reads the configuration files: the project's .edsctl.yaml and the user's config.yaml, which have one
// form (docs/configuration.md). It knows the form, not the flags and rules: its user tells which there are.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/edsctl/edsctl/pkg/diag"
)

// ProjectFile is the name of the project's file, found in the working directory or the nearest folder above it.
const ProjectFile = ".edsctl.yaml"

// File is what a configuration file says. A nil File says nothing.
type File struct {
	Dir       string // absolute, with slashes: what the globs are relative to
	Rules     map[string]diag.Severity
	Exclude   []string // globs
	Overrides []Override
	flags     map[string]Setting
}

// Override is what holds for some paths only; of two that fit a path, the later one wins.
type Override struct {
	Paths []string // globs
	Rules map[string]diag.Severity
	Flags map[string]Setting
}

// Setting is the value of a flag.
type Setting struct {
	Values []string // one, or the items of a repeatable flag
	Where  string   // "file:line:column: name", for messages
}

// Flag returns the setting for a flag.
func (f *File) Flag(name string) (Setting, bool) {
	if f == nil {
		return Setting{}, false
	}
	s, ok := f.flags[name]
	return s, ok
}

// RuleLevels returns the levels of rules for all paths.
func (f *File) RuleLevels() map[string]diag.Severity {
	if f == nil {
		return nil
	}
	return f.Rules
}

// All returns the overrides for all paths.
func (f *File) All() []Override {
	if f == nil {
		return nil
	}
	return f.Overrides
}

// Excluded tells whether the file excludes a path (relative to the working directory, or absolute).
func (f *File) Excluded(name string) bool { return f != nil && f.match(f.Exclude, name) }

// For returns the overrides that apply to a path, in the order of the file.
func (f *File) For(name string) []Override {
	if f == nil {
		return nil
	}
	var out []Override
	for _, o := range f.Overrides {
		if f.match(o.Paths, name) {
			out = append(out, o)
		}
	}
	return out
}

// match tells whether one of the globs fits a path, or a folder above it. Globs are relative to the file's folder; one
// without a slash fits a name at any depth, as in .gitignore.
func (f *File) match(globs []string, name string) bool {
	if len(globs) == 0 {
		return false
	}
	rel := name
	if abs, err := filepath.Abs(name); err == nil {
		if r, err := filepath.Rel(filepath.FromSlash(f.Dir), abs); err == nil {
			rel = filepath.ToSlash(r)
		}
	}
	for sub := rel; sub != "." && sub != "/" && sub != ".."; sub = path.Dir(sub) {
		for _, glob := range globs {
			subject := sub
			if !strings.Contains(glob, "/") {
				subject = path.Base(sub)
			}
			if doublestar.MatchUnvalidated(strings.TrimSuffix(glob, "/"), subject) {
				return true
			}
		}
	}
	return false
}

// FindProject returns the path of the project's file for a folder, relative to it where possible; empty when there is none.
func FindProject(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for name := ProjectFile; ; name = "../" + name {
		_, err := os.Stat(filepath.Join(dir, ProjectFile))
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s: %w", name, errors.Unwrap(err))
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", nil
	}
}

// Load reads a configuration file. A file that does not exist is a nil File, and known is then not asked.
func Load(name string, known func() Known) (*File, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return nil, fmt.Errorf("%s: %w", name, pathErr.Err)
	}
	if err != nil {
		return nil, err
	}
	file, err := Parse(name, data, known())
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	file.Dir = filepath.ToSlash(abs)
	return file, nil
}
