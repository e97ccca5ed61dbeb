// Command edsctl checks, simulates, fetches and serves Envoy's endpoint assignments.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/edsctl/edsctl/pkg/cli"
)

// version is set by the linker; without it the build information tells.
var version string

func main() {
	// Most commands end before the memory that they no longer need matters, and those that run on have small heaps: less
	// of the time goes to collecting it.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(cli.Main(context.Background(), cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, UserConfigDir: os.UserConfigDir,
		Version: cli.BuildVersion(version), Interruptible: interruptible, Exit: os.Exit,
	}, os.Args[1:]))
}

// interruptible ends the context with the first signal; a second one ends the process at once.
func interruptible(ctx context.Context) context.Context {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}
