// Command edsctl checks, simulates, fetches and serves Envoy's endpoint assignments.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/edsctl/edsctl/pkg/cli"
)

// version is set by the linker; without it the build information tells.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	env := cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, UserConfigDir: os.UserConfigDir, Version: cli.BuildVersion(version),
	}
	os.Exit(cli.Main(ctx, env, os.Args[1:]))
}
