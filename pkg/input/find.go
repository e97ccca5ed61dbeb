package input

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Extensions that a walk over a directory reads (product.md, What it reads).
var extensions = []string{".yaml", ".yml", ".json", ".jsonl", ".pb", ".pb_text", ".textproto", ".conf"}

// globSigns make an argument that names no file a glob.
const globSigns = "*?[{"

// Options say what Find takes.
type Options struct {
	Stdin    io.Reader              // what "-" reads
	Include  []string               // globs of further files that a directory walk takes (--include)
	Exclude  func(path string) bool // tells whether a walk leaves a path out; nil: none
	MaxBytes int64                  // limit for each file; 0: DefaultMaxBytes
}

// PathError tells which argument could not be used, and why.
type PathError struct {
	Arg string
	Err error
}

func (e *PathError) Error() string {
	if e.Arg == "" {
		return `"": ` + e.Err.Error()
	}
	return e.Arg + ": " + e.Err.Error()
}

func (e *PathError) Unwrap() error { return e.Err }

// Find returns the files that the arguments name: in the order of the arguments, those of a directory or a glob by
// path, none twice. The error joins a *PathError for each argument that names nothing; the files of the others are
// returned with it. A bad --include glob is reported alone.
func Find(ctx context.Context, args []string, o Options) ([]*File, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	for _, glob := range o.Include {
		if !ValidGlob(glob) {
			return nil, &PathError{glob, errors.New("not a valid glob")}
		}
	}
	f := finder{Options: o, at: map[string]*File{}}
	for _, arg := range args {
		if err := f.add(ctx, arg); err != nil {
			f.fail(arg, err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return f.files, errors.Join(f.errs...)
}

// ValidGlob tells whether a glob can be an Include.
func ValidGlob(glob string) bool { return doublestar.ValidatePattern(glob) }

type finder struct {
	Options
	files []*File
	at    map[string]*File // by name
	errs  []error
}

func (f *finder) fail(path string, err error) { f.errs = append(f.errs, &PathError{path, bare(err)}) }

func (f *finder) add(ctx context.Context, arg string) error {
	if arg == "-" {
		f.take(Stdin, true).reader = f.Stdin
		return nil
	}
	info, err := os.Stat(arg)
	switch {
	case err != nil && strings.ContainsAny(arg, globSigns):
		return f.glob(ctx, arg)
	case err != nil:
		return err
	case info.IsDir():
		f.walk(ctx, clean(arg))
		return nil
	default:
		f.take(clean(arg), true)
		return nil
	}
}

func (f *finder) take(name string, named bool) *File {
	if file, ok := f.at[name]; ok {
		file.Named = file.Named || named
		return file
	}
	file := &File{Name: name, Named: named, maxBytes: f.MaxBytes}
	f.at[name] = file
	f.files = append(f.files, file)
	return file
}

// glob takes the files that match, whatever their extension, and walks the directories that do.
func (f *finder) glob(ctx context.Context, pattern string) error {
	pattern = clean(pattern)
	if !doublestar.ValidatePattern(pattern) {
		return errors.New("no such file, and not a valid glob")
	}
	matches, err := doublestar.FilepathGlob(pattern, doublestar.WithNoHidden())
	if err != nil {
		return err
	}
	if len(matches) == 0 {
		return errors.New("no file matches")
	}
	slices.Sort(matches)
	recursive := strings.Contains(pattern, "**")
	for _, match := range matches {
		match = clean(match)
		info, err := os.Stat(match)
		switch {
		case err != nil || f.excluded(match): // a dangling link
		case info.Mode().IsRegular():
			f.take(match, false)
		case info.IsDir() && !recursive: // ** names what is in it by itself
			f.walk(ctx, match)
		}
	}
	return nil
}

// walk takes the files in a directory. Links to directories are followed after everything else and only to places not
// yet seen, which ends loops and keeps the shortest names. A directory that cannot be read does not stop the walk.
func (f *finder) walk(ctx context.Context, root string) {
	seen := map[string]bool{}
	var names []string
	queue := []string{root}
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		queue = append(queue, f.walkReal(ctx, dir, seen, &names)...)
	}
	slices.Sort(names)
	for _, name := range names {
		f.take(name, false)
	}
}

// walkReal adds the files below dir to names, without following links to directories, which it returns.
func (f *finder) walkReal(ctx context.Context, dir string, seen map[string]bool, names *[]string) (links []string) {
	if ctx.Err() != nil {
		return nil
	}
	realDir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		realDir, err = filepath.Abs(realDir)
	}
	if err != nil {
		f.fail(dir, err)
		return nil
	}
	if seen[realDir] {
		return nil
	}
	seen[realDir] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		f.fail(dir, err)
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") || f.excluded(name) {
			continue
		}
		mode := entry.Type()
		isLink := mode&os.ModeSymlink != 0
		if isLink {
			info, err := os.Stat(name)
			if err != nil {
				continue // a dangling link
			}
			mode = info.Mode()
		}
		switch {
		case mode.IsDir() && isLink:
			links = append(links, name)
		case mode.IsDir():
			links = append(links, f.walkReal(ctx, name, seen, names)...)
		case mode.IsRegular() && f.wanted(name):
			*names = append(*names, name)
		}
	}
	return links
}

func (f *finder) excluded(name string) bool { return f.Exclude != nil && f.Exclude(name) }

func (f *finder) wanted(name string) bool {
	return slices.Contains(extensions, strings.ToLower(path.Ext(name))) || Match(f.Include, name)
}

// Match tells whether one of the globs fits a path. A glob without a slash is matched against the last element only.
func Match(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		subject := name
		if !strings.Contains(glob, "/") {
			subject = path.Base(name)
		}
		return doublestar.MatchUnvalidated(glob, subject)
	})
}
