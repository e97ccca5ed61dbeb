package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// driveBootstrap puts each bootstrap to a process of its own: one that fails ends it.
func driveBootstrap(ctx context.Context, binary string, cases []*testCase) error {
	work := make(chan *testCase)
	errs := make(chan error, len(cases))
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range work {
				var err error
				if c.observed, err = validateMode(ctx, binary, c.path); err != nil {
					errs <- err
				}
			}
		})
	}
	for _, c := range cases {
		work <- c
	}
	close(work)
	workers.Wait()
	close(errs)
	return <-errs
}

// validateMode is one run of envoy --mode validate.
func validateMode(ctx context.Context, binary, path string) (observed, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "--mode", "validate", "--log-level", "warning", "-c", filepath.Base(path))
	cmd.Dir = filepath.Dir(path)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return observed{verdict: "accept", warned: strings.Contains(out.String(), "[warning]")}, nil
	case !errors.As(err, &exit) || ctx.Err() != nil:
		return observed{}, err
	}
	text := out.String()
	if exit.ExitCode() != 1 {
		return observed{verdict: "crash", message: crashText(text)}, nil
	}
	_, message, _ := strings.Cut(text, "error initializing configuration '"+filepath.Base(path)+"': ")
	return observed{verdict: "reject", message: strings.TrimSpace(message), warned: strings.Contains(text, "[warning]")}, nil
}

func crashText(log string) string {
	for line := range strings.Lines(log) {
		if _, text, ok := strings.Cut(line, "[critical]"); ok && (strings.Contains(text, "Caught ") || strings.Contains(text, "panic:")) {
			return strings.TrimSpace(text[strings.LastIndexByte(text, ']')+1:])
		}
	}
	return ""
}
