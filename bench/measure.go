package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// sample is one run of a command.
type sample struct {
	seconds float64
	bytes   float64 // maximum resident size
}

// command is what is run: its first element is the program.
type command []string

func (c command) run(ctx context.Context) (sample, error) {
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// The harness's own environment must not change what is measured.
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	start := time.Now()
	err := cmd.Run()
	elapsed := time.Since(start).Seconds()
	if err != nil {
		return sample{}, fmt.Errorf("run %s: %w\n%s", c[0], err, tail(stderr.String()))
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return sample{seconds: elapsed, bytes: float64(usage.Maxrss) * 1024}, nil
}

func tail(s string) string {
	const limit = 2000
	return s[max(0, len(s)-limit):]
}

// compare runs two commands n times, taking turns, so that whatever else the machine does meets both. It returns the
// least of each: noise only adds.
func compare(ctx context.Context, n int, a, b command) (bestA, bestB sample, err error) {
	for i := range n {
		sa, err := a.run(ctx)
		if err != nil {
			return sample{}, sample{}, err
		}
		sb, err := b.run(ctx)
		if err != nil {
			return sample{}, sample{}, err
		}
		if i == 0 {
			bestA, bestB = sa, sb
			continue
		}
		bestA = sample{min(bestA.seconds, sa.seconds), min(bestA.bytes, sa.bytes)}
		bestB = sample{min(bestB.seconds, sb.seconds), min(bestB.bytes, sb.bytes)}
	}
	return bestA, bestB, nil
}
