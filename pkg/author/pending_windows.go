package author

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Pending is a file that stands beside its place until it is complete and on disk.
type Pending struct {
	*os.File
	path  string
	moved bool
}

// NewPending begins a file that is to come to path.
func NewPending(path string) (*Pending, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return nil, err
	}
	return &Pending{File: f, path: path}, nil
}

// CloseAtomicallyReplace puts the file into its place.
func (p *Pending) CloseAtomicallyReplace() error {
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.Close(); err != nil {
		return err
	}
	err := os.Rename(p.Name(), p.path)
	p.moved = err == nil
	return err
}

// Cleanup removes a file that did not come to its place.
func (p *Pending) Cleanup() error {
	if p.moved {
		return nil
	}
	_ = p.Close() // may be closed already
	return os.Remove(p.Name())
}

// KeepOwner does nothing: a file's owner is a matter of its folder here.
func KeepOwner(*Pending, fs.FileInfo) error { return nil }

// syncDir does nothing: folders cannot be written to disk here.
func syncDir(string) error { return nil }
