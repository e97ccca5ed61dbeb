package author

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged tells that a file is not any more what was read.
var ErrChanged = errors.New("the file was changed by somebody else in the meantime")

// WriteFile puts data into the place of a file that held old: a new file beside it, complete and on disk, that is
// renamed. At any moment the old or the new content is there. Mode and owner stay; where path is a symbolic link, what
// it leads to is replaced. A file that is not writable is an error, and nothing is written when the context has ended.
// Errors name no path.
func WriteFile(ctx context.Context, path string, old, data []byte) error {
	path, info, err := writable(path)
	if err != nil {
		return bareError(err)
	}
	f, err := NewPending(path)
	if err != nil {
		return bareError(err)
	}
	defer func() { _ = f.Cleanup() }() // a no-op once the file is in its place
	if err := fill(f, info, data); err != nil {
		return bareError(err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, old) {
		return ErrChanged
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return bareError(err)
	}
	return syncDir(filepath.Dir(path))
}

// fill writes the data and gives the new file the owner and mode of the old one.
func fill(f *Pending, info fs.FileInfo, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := KeepOwner(f, info); err != nil {
		return fmt.Errorf("keep the owner: %w", bareError(err))
	}
	return f.Chmod(info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)) // chown may clear bits
}

// writable follows links to a regular file that may be written. The mode counts also for root, whom the system lets
// write everything: a file is made read-only for a reason.
func writable(path string) (string, fs.FileInfo, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", nil, err
	case !info.Mode().IsRegular():
		return "", nil, errors.New("not a regular file")
	case info.Mode().Perm()&0o222 == 0:
		return "", nil, errors.New("the file is read-only")
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return "", nil, err
	}
	return path, info, f.Close()
}

// bareError takes operation and path off an error of package os: the caller names the file.
func bareError(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
