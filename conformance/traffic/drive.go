package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/edsctl/edsctl/pkg/simulate"
)

// outcome is what a scenario came to.
type outcome struct {
	scenario *scenario
	expected *simulate.Result
	requests int
	counts   map[string]int
	wrong    []string // keys that went elsewhere, with both endpoints
}

// drive runs a batch through one Envoy.
func (b *batch) drive(ctx context.Context, o options) ([]outcome, error) {
	dir, err := filepath.Abs(filepath.Join(o.dir, b.name))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	keys := make([]string, o.keys)
	for i := range keys {
		keys[i] = "key-" + strconv.Itoa(i)
	}
	outcomes := make([]outcome, len(b.scenarios))
	for i, s := range b.scenarios {
		var asked []string
		if s.hash {
			asked = keys
		}
		outcomes[i] = outcome{scenario: s, counts: map[string]int{}}
		if outcomes[i].expected, err = b.predict(s, asked); err != nil {
			return nil, err
		}
	}
	address, stop, err := b.start(ctx, o.envoy, dir)
	if err != nil {
		return nil, err
	}
	// client_side_weighted_round_robin balances by the weights of the assignment until its first update, after a second.
	time.Sleep(1200 * time.Millisecond)
	for i := range outcomes {
		if err := outcomes[i].send(address, "/"+strconv.Itoa(i), o, keys); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", outcomes[i].scenario.name, err, stop())
		}
	}
	stop()
	return outcomes, nil
}

func (out *outcome) send(address, path string, o options, keys []string) error {
	out.requests = o.requests
	key := strconv.Itoa
	if out.scenario.hash {
		out.requests, key = len(keys), func(i int) string { return keys[i] }
	}
	ahead := 32
	if out.expected.Unavailable+out.expected.Dropped > 0 {
		ahead = 1
	}
	return send(address, out.requests, ahead, path, key, func(i int, got string) {
		out.counts[got]++
		if !out.scenario.hash || got == dropped {
			return
		}
		want := out.expected.Keys[i].Address
		if want == "" {
			want = unavailable
		}
		if got != want {
			out.wrong = append(out.wrong, fmt.Sprintf("%s went to %s, predicted %s", keys[i], got, want))
		}
	})
}

// start runs Envoy with the batch and waits for its listener; stop ends it and returns its log.
func (b *batch) start(ctx context.Context, binary, dir string) (address string, stop func() (log string), err error) {
	bootstrap, err := b.bootstrap(dir)
	if err != nil {
		return "", nil, err
	}
	config, adminFile := filepath.Join(dir, "envoy.json"), filepath.Join(dir, "admin")
	if err := writeJSON(config, bootstrap); err != nil {
		return "", nil, err
	}
	if err := os.RemoveAll(adminFile); err != nil {
		return "", nil, err
	}
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning", "--admin-address-path", adminFile, "-c", config)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in the log
		close(exited)
	}()
	stop = func() string {
		_ = cmd.Process.Kill() // it may have ended
		<-exited
		return log.String()
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if admin, err := os.ReadFile(adminFile); err == nil && len(admin) > 0 {
			if address := listenerAddress(ctx, string(admin)); address != "" {
				return address, stop, nil
			}
		}
		select {
		case <-exited:
			return "", nil, fmt.Errorf("envoy ended:\n%s", log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return "", nil, fmt.Errorf("envoy is not ready:\n%s", stop())
}

func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
