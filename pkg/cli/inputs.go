package cli

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
)

// inputOptions are the flags that say which files are read; a profile says how each is read.
type inputOptions struct {
	include  []string
	maxBytes int64
	pathMap  []pathMapping
}

// pathMapping is one --path-map: EDS files that a bootstrap names below from are read below to.
type pathMapping struct{ from, to string }

func (o *inputOptions) bind(cmd *cobra.Command) {
	listVar(cmd.Flags(), &o.include, "include", "GLOB", "further files of directories to read (repeatable)", parseGlob)
	o.bindFile(cmd)
}

// bindFile declares the flags of a command that reads one file.
func (o *inputOptions) bindFile(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.maxBytes = input.DefaultMaxBytes
	flags.Var((*byteLimit)(&o.maxBytes), "max-bytes", "limit for one document, in bytes")
	listVar(flags, &o.pathMap, "path-map", "FROM=TO", "where to find EDS files that a bootstrap names (repeatable)", parsePathMapping)
}

func parseGlob(s string) (string, error) {
	if !input.ValidGlob(s) {
		return "", errors.New("not a valid glob")
	}
	return s, nil
}

// byteLimit is the value of --max-bytes: at least 1.
type byteLimit int64

func (l *byteLimit) String() string { return strconv.FormatInt(int64(*l), 10) }
func (l *byteLimit) Type() string   { return "int" }

func (l *byteLimit) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return errors.New("must be a number of bytes, at least 1")
	}
	*l = byteLimit(n)
	return nil
}

func parsePathMapping(s string) (pathMapping, error) {
	from, to, err := splitPair(s, "FROM=TO")
	return pathMapping{path.Clean(from), to}, err
}

// loaders makes one loader for each way to read files and keeps it: a loader knows the schema that it has read with.
type loaders struct {
	options inputOptions
	tried   func(place string) // told where an EDS file of a bootstrap may be; nil: nobody is
	mu      sync.Mutex
	made    map[loaderKey]*eds.Loader
}

type loaderKey struct {
	format, shape, apiVersion, source, origin string
	envoyVersion                              int
}

func newLoaders(o inputOptions) *loaders {
	return &loaders{options: o, made: map[loaderKey]*eds.Loader{}}
}

// of returns the loader for files of a profile.
func (l *loaders) of(p *profile) *eds.Loader {
	key := loaderKey{p.inputFormat, p.inputShape, p.apiVersion, p.source, p.origin, p.minorVersion()}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made[key] == nil {
		l.made[key] = eds.NewLoader(eds.Options{
			Format: eds.Format(key.format), Shape: eds.Shape(key.shape), APIVersion: eds.APIVersion(key.apiVersion),
			Source: eds.Source(key.source), Origin: eds.Origin(key.origin), EnvoyVersion: key.envoyVersion,
			Limits:   document.Limits{MaxBytes: int(l.options.maxBytes)},
			ReadFile: l.followed,
		})
	}
	return l.made[key]
}

func (l *loaders) followed(bootstrap, name string) (string, []byte, error) {
	if l.tried != nil {
		for _, place := range l.options.places(bootstrap, name) {
			l.tried(place)
		}
	}
	return l.options.followed(bootstrap, name)
}

// followed reads an EDS file that a bootstrap names: where a --path-map leads, else as written, else beside the bootstrap.
func (o *inputOptions) followed(bootstrap, name string) (string, []byte, error) {
	var err error
	for _, candidate := range o.places(bootstrap, name) {
		var data []byte
		if data, err = o.readLimited(candidate); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return candidate, data, err
		}
	}
	return name, nil, err
}

func (o *inputOptions) places(bootstrap, name string) []string {
	clean := path.Clean(filepath.ToSlash(name))
	for _, m := range o.pathMap {
		if rest, ok := strings.CutPrefix(clean, m.from); ok && (rest == "" || m.from == "/" || strings.HasPrefix(rest, "/")) {
			return []string{path.Join(m.to, rest)}
		}
	}
	places := []string{clean}
	if !strings.HasPrefix(bootstrap, "<") {
		dir := path.Dir(bootstrap)
		places = append(places, path.Join(dir, clean), path.Join(dir, path.Base(clean)))
	}
	return places
}

// readLimited reads a regular file up to the limit.
func (o *inputOptions) readLimited(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > o.maxBytes {
		return nil, &input.TooLargeError{Limit: o.maxBytes}
	}
	return os.ReadFile(name)
}
