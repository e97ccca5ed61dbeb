package cli

import (
	"context"
	"io"

	"golang.org/x/term"

	"github.com/edsctl/edsctl/pkg/config"
)

// Env is the world around a run: streams and environment. Commands use it instead of package os.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	UserConfigDir  func() (string, error) // os.UserConfigDir
	Version        Version
	// Interruptible makes a context that ends when the user interrupts; nil: the context of Main is one already. It is
	// not called for a command that ends at once, since to wait for signals is a sixth of the time in which one starts.
	Interruptible func(context.Context) context.Context
	// Exit ends the process when a run goes on for a second after the context has ended, in the midst of a long computation;
	// nil: nothing does. Files are replaced as a whole, so nothing is left half written.
	Exit func(code int)

	projectConfig, userConfig func() (*config.File, error)
}

// Version of the program, as the linker or the module's build information tells it.
type Version struct {
	Number string // "1.2.0", or "devel"
	Commit string // of the sources, empty when unknown
	Date   string // of the commit, RFC 3339, empty when unknown
}

// isTerminal tells whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
