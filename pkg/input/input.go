// Package input turns the arguments of a command (files, directories, globs, "-") into named bytes: found in a stable
// order, read when asked, with a limit on the size.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Stdin is the name under which standard input is shown.
const Stdin = "<stdin>"

// DefaultMaxBytes is the default limit of a document (product.md, --max-bytes).
const DefaultMaxBytes = 256 << 20

// writerWait bounds the wait for somebody to write to a named pipe, so that a pipe without a writer ends in an error.
const writerWait = 5 * time.Second

// File is one input: where to read it and how to name it. Its content is read by Read only.
type File struct {
	Name  string // as shown to the user; Stdin for "-"
	Named bool   // an argument of its own, not found in a directory or by a glob

	reader   io.Reader // set for "-"
	maxBytes int64
}

// TooLargeError tells that a file has more bytes than the limit; it was not read.
type TooLargeError struct{ Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("more than %d bytes (--max-bytes)", e.Limit)
}

// ReadFile reads a file that is no document: with the care of Read for pipes and devices, and a limit of its own. Errors are
// those of Read.
func ReadFile(ctx context.Context, name string, maxBytes int64) ([]byte, error) {
	data, err := (&File{Name: name, maxBytes: maxBytes}).Read(ctx)
	var tooLarge *TooLargeError
	if errors.As(err, &tooLarge) {
		return nil, fmt.Errorf("more than %d bytes", maxBytes)
	}
	return data, err
}

// Read returns the bytes of the file. Errors: *TooLargeError, those of the file system without the path (the caller
// names the file), and the context's.
func (f *File) Read(ctx context.Context) ([]byte, error) {
	if f.reader != nil {
		return f.await(ctx, func() ([]byte, error) { return f.readAll(f.reader) })
	}
	info, err := os.Stat(f.Name)
	if err != nil {
		return nil, bare(err)
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return f.readRegular(info.Size())
	case mode&fs.ModeNamedPipe != 0:
		return f.readPipe(ctx)
	case mode&fs.ModeSocket != 0:
		return nil, errors.New("is a socket, not a file")
	default: // a device such as /dev/stdin
		return f.await(ctx, func() ([]byte, error) {
			file, err := os.Open(f.Name)
			if err != nil {
				return nil, bare(err)
			}
			defer file.Close()
			return f.readAll(file)
		})
	}
}

func (f *File) readRegular(size int64) ([]byte, error) {
	if size > f.maxBytes {
		return nil, &TooLargeError{f.maxBytes}
	}
	data, err := os.ReadFile(f.Name)
	if err == nil && int64(len(data)) > f.maxBytes { // it grew, or /proc does not tell sizes
		return nil, &TooLargeError{f.maxBytes}
	}
	return data, bare(err)
}

func (f *File) readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, f.maxBytes+1))
	if err == nil && int64(len(data)) > f.maxBytes {
		return nil, &TooLargeError{f.maxBytes}
	}
	return data, bare(err)
}

// readPipe reads a named pipe. It is opened without waiting for a writer, which would wait for ever where there is
// none; until the writer comes, reads report the end of the file.
func (f *File) readPipe(ctx context.Context) ([]byte, error) {
	file, err := os.OpenFile(f.Name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, bare(err)
	}
	defer file.Close()
	return f.await(ctx, func() ([]byte, error) {
		for deadline := time.Now().Add(writerWait); ; {
			data, err := f.readAll(file)
			if err != nil || len(data) > 0 {
				return data, err
			}
			if time.Now().After(deadline) || ctx.Err() != nil {
				return nil, fmt.Errorf("nothing was written to the pipe for %v", writerWait)
			}
			time.Sleep(writerWait / 500)
		}
	})
}

// await returns what read does, or the context's error as soon as that ends: a read of a pipe or a terminal cannot be
// interrupted otherwise.
func (f *File) await(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := read()
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bare takes operation and path off an error of package os.
func bare(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// clean is filepath.Clean with the slashes that patterns and output use.
func clean(path string) string { return filepath.ToSlash(filepath.Clean(path)) }
