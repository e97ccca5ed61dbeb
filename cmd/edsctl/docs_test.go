package main

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDocsExamples runs the examples of README.md and docs/: every line "$ command" of a console block, through a shell,
// in a folder that holds testdata/example and the files of the page's earlier blocks ("```yaml title=eds.yaml"). What
// comes out, on either stream, must be the lines below the command. UPDATE=1 rewrites them.
func TestDocsExamples(t *testing.T) {
	bin := edsctlOnPath(t)
	pages := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		t.Run(filepath.ToSlash(strings.TrimPrefix(page, "../../")), func(t *testing.T) {
			t.Parallel()
			runPage(t, page, bin)
		})
	}
}

// edsctlOnPath makes a folder with this test binary under the name edsctl, with which it is edsctl (see TestMain).
func edsctlOnPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "edsctl")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runPage(t *testing.T, page, bin string) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("```console")) {
		return
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "testdata/example"), os.DirFS("../../testdata/example")); err != nil {
		t.Fatal(err)
	}
	got := rewritePage(string(data), func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}, func(command string) string {
		return runExample(t, dir, bin, command)
	})
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(data), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("run UPDATE=1 go test -run TestDocs ./cmd/... (-page +run):\n%s", diff)
	}
}

// runExample runs one command line and returns what it printed; its exit code does not matter.
func runExample(t *testing.T, dir, bin, command string) string {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, "go run ./cmd/edsctl", "edsctl"))
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatalf("%s: %v", command, err)
	}
	if listen := listenFlag.FindStringSubmatch(command); listen != nil {
		waitForSocket(t, filepath.Join(dir, listen[1]))
	}
	return string(out)
}

// listenFlag finds the socket of an example that starts a server in the background.
var listenFlag = regexp.MustCompile(`--listen unix:(\S+) .* & `)

// waitForSocket returns when somebody accepts connections on a unix socket, so that what the next example prints does not
// depend on which of the two processes is faster.
func waitForSocket(t *testing.T, path string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		conn, err := net.Dial("unix", path)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-deadline:
			t.Fatalf("no server on %s: %v", path, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// rewritePage goes through the blocks of a page: it hands files to write, and commands to run, whose results take the
// place of the lines below the commands.
func rewritePage(page string, write func(name, text string), run func(command string) string) string {
	var out strings.Builder
	lines := strings.SplitAfter(page, "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		info, opens := strings.CutPrefix(strings.TrimRight(lines[i], "\n"), "```")
		if !opens || info == "" {
			continue
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "```") {
			end++
		}
		block := lines[i+1 : min(end, len(lines))]
		_, title, hasTitle := strings.Cut(info, " title=")
		switch {
		case hasTitle:
			write(title, strings.Join(block, ""))
			out.WriteString(strings.Join(block, ""))
		case info == "console":
			out.WriteString(runBlock(block, run))
		default:
			out.WriteString(strings.Join(block, ""))
		}
		if end < len(lines) {
			out.WriteString(lines[end])
		}
		i = end
	}
	return out.String()
}

// runBlock runs the commands of a console block. A backslash at the end of a line continues a command.
func runBlock(block []string, run func(command string) string) string {
	var out strings.Builder
	for i := 0; i < len(block); i++ {
		command, ok := strings.CutPrefix(block[i], "$ ")
		if !ok {
			continue // what an earlier run printed
		}
		out.WriteString(block[i])
		for strings.HasSuffix(strings.TrimRight(command, "\n"), "\\") && i+1 < len(block) {
			i++
			command += block[i]
			out.WriteString(block[i])
		}
		result := run(strings.TrimSpace(command))
		out.WriteString(result)
		if result != "" && !strings.HasSuffix(result, "\n") {
			out.WriteString("\n")
		}
	}
	return out.String()
}
