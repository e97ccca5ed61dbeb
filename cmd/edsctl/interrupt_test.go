package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestInterrupt sends SIGINT to a run of validate that is in the middle of its input: it ends with 130, says nothing on
// standard output and leaves the file that it would have written as it was.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	report := filepath.Join(dir, "report.json")
	if err := os.WriteFile(report, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(edsctlOnPath(t), "edsctl"), "validate", "-", "-o", "text", "-o", "json="+report)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: when it is written, the program is reading.
	if _, err := stdin.Write(bytes.Repeat([]byte("# comment\n"), 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if stdout.Len() > 0 || stderr.Len() > 0 {
		t.Errorf("stdout %q, stderr %q, want none", stdout.String(), stderr.String())
	}
	if data, err := os.ReadFile(report); err != nil || string(data) != "old" {
		t.Errorf("report holds %q, %v", data, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind %v, %v", entries, err)
	}
}
