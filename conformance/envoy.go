package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// envoy is one running Envoy. It listens on the loopback, for its administration only.
type envoy struct {
	cmd    *exec.Cmd
	admin  string // URL
	log    logBuffer
	exited chan struct{}
}

// logBuffer keeps what a process writes.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// from returns what was written after a mark, and the mark after that.
func (b *logBuffer) from(mark int) (string, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text.Bytes()[mark:]), b.text.Len()
}

// startEnvoy runs Envoy with a bootstrap and waits until it answers on its administration port.
func startEnvoy(ctx context.Context, binary, dir string, bootstrap tree) (*envoy, error) {
	bootstrap = clone(bootstrap).(tree)
	bootstrap["admin"] = tree{"address": loopback(0)}
	config, addressFile := filepath.Join(dir, "envoy.yaml"), filepath.Join(dir, "admin")
	if err := os.WriteFile(config, []byte(yamlText(bootstrap, 3)), 0o600); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(addressFile); err != nil {
		return nil, err
	}
	e := &envoy{exited: make(chan struct{})}
	e.cmd = exec.CommandContext(ctx, binary, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning",
		"--admin-address-path", addressFile, "-c", config)
	e.cmd.Dir, e.cmd.Stdout, e.cmd.Stderr = dir, &e.log, &e.log
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = e.cmd.Wait() // how it ended is in the log
		close(e.exited)
	}()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if address, err := os.ReadFile(addressFile); err == nil && len(address) > 0 {
			e.admin = "http://" + string(address)
			return e, nil
		}
		if !e.pause(5 * time.Millisecond) {
			break
		}
	}
	e.stop()
	log, _ := e.log.from(0)
	return nil, fmt.Errorf("start envoy: no administration port:\n%s", log)
}

// pause waits a moment; false when the process has ended.
func (e *envoy) pause(d time.Duration) bool {
	select {
	case <-e.exited:
		return false
	case <-time.After(d):
		return true
	}
}

func (e *envoy) alive() bool {
	select {
	case <-e.exited:
		return false
	default:
		return true
	}
}

// stop ends the process that this program started.
func (e *envoy) stop() {
	_ = e.cmd.Process.Kill() // it may have ended
	<-e.exited
}

// stats reads the counters of a cluster.
func (e *envoy) stats(cluster string) (map[string]int, error) {
	prefix := "cluster." + cluster + "."
	resp, err := http.Get(e.admin + "/stats?filter=" + "%5E" + strings.ReplaceAll(prefix, ".", "%5C.") + "update_")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for line := range strings.Lines(string(body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, err := strconv.Atoi(value)
		if err != nil {
			continue // a histogram
		}
		out[strings.TrimPrefix(name, prefix)] = n
	}
	return out, nil
}

// crash is what is observed of a process that has ended by itself.
func (e *envoy) crash() observed {
	log, _ := e.log.from(0)
	return observed{verdict: "crash", message: crashText(log)}
}

func loopback(port int) tree {
	return tree{"socket_address": tree{"address": "127.0.0.1", "port_value": port}}
}
