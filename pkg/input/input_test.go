//go:build !windows

package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

func find(t *testing.T, arg string, o Options) *File {
	t.Helper()
	files, err := Find(t.Context(), []string{arg}, o)
	if err != nil || len(files) != 1 {
		t.Fatalf("found %v, %v", files, err)
	}
	return files[0]
}

func TestRead(t *testing.T) {
	tree(t, "a.yaml")
	for _, arg := range []string{"a.yaml", "-"} {
		data, err := find(t, arg, Options{Stdin: strings.NewReader("a.yaml")}).Read(t.Context())
		if err != nil || string(data) != "a.yaml" {
			t.Errorf("%s: read %q, %v", arg, data, err)
		}
	}
}

func TestReadLimit(t *testing.T) {
	tree(t, "a.yaml")
	for _, arg := range []string{"a.yaml", "-", "/dev/zero"} {
		_, err := find(t, arg, Options{Stdin: strings.NewReader("a.yaml"), MaxBytes: 5}).Read(t.Context())
		var tooLarge *TooLargeError
		if !errors.As(err, &tooLarge) || tooLarge.Limit != 5 {
			t.Errorf("%s: error %v, want TooLargeError", arg, err)
		}
	}
	if data, err := find(t, "a.yaml", Options{MaxBytes: 6}).Read(t.Context()); err != nil || len(data) != 6 {
		t.Errorf("at the limit: read %q, %v", data, err)
	}
}

func TestReadVanishedFile(t *testing.T) {
	tree(t, "a.yaml")
	file := find(t, "a.yaml", Options{})
	if err := os.Remove("a.yaml"); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Read(t.Context()); err == nil || err.Error() != "no such file or directory" {
		t.Errorf("error %v", err)
	}
}

func TestReadPipeWhoseWriterComesLater(t *testing.T) {
	tree(t)
	if err := syscall.Mkfifo("p", 0o600); err != nil {
		t.Skip(err)
	}
	want := bytes.Repeat([]byte("pipe\n"), 50_000) // more than a pipe holds
	wrote := make(chan error, 1)
	go func() {
		f, err := os.OpenFile("p", os.O_WRONLY, 0) // waits for the reader
		if err == nil {
			_, err = f.Write(want)
			f.Close()
		}
		wrote <- err
	}()
	got, err := find(t, "p", Options{}).Read(t.Context())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v, want %d", len(got), err, len(want))
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

func TestReadEndsWithContext(t *testing.T) {
	tree(t)
	if err := syscall.Mkfifo("p", 0o600); err != nil {
		t.Skip(err)
	}
	never, _ := io.Pipe()
	for _, arg := range []string{"p", "-"} {
		file := find(t, arg, Options{Stdin: never})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := file.Read(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", arg, err)
		}
	}
}
