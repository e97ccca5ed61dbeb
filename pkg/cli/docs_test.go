package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// docsRoot is the command tree as the documentation shows it, the same on every machine.
func docsRoot() *cobra.Command {
	root := NewRoot(&Env{Getenv: func(string) string { return "" }})
	root.InitDefaultHelpCmd()
	var plain func(*cobra.Command)
	plain = func(cmd *cobra.Command) {
		cmd.DisableAutoGenTag = true
		for _, sub := range cmd.Commands() {
			plain(sub)
		}
	}
	plain(root)
	return root
}

// TestDocsCommands compares docs/cli, one page a command, and docs/man with the command tree. UPDATE=1 rewrites both.
func TestDocsCommands(t *testing.T) {
	pages := map[string]string{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "_")
		var page, man bytes.Buffer
		if err := doc.GenMarkdown(cmd, &page); err != nil {
			t.Fatal(err)
		}
		header := &doc.GenManHeader{Section: "1", Source: "edsctl", Manual: "edsctl manual", Date: new(time.Time)}
		if err := doc.GenMan(cmd, header, &man); err != nil {
			t.Fatal(err)
		}
		pages["cli/"+name+".md"] = strings.TrimRight(page.String(), "\n") + "\n"
		text := strings.Replace(man.String(), `"Jan 0001"`, `""`, 1) // a date would change from day to day
		pages["man/"+strings.ReplaceAll(name, "_", "-")+".1"] = strings.TrimRight(text, "\n") + "\n"
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(docsRoot())
	compareDocs(t, pages, "cli", "man")
}

// TestDocsExitCodes compares the table of docs/exit-codes.md with the one table of the code.
func TestDocsExitCodes(t *testing.T) {
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := "```text\n" + exitCodesHelp() + "\n```"; !strings.Contains(string(page), table) {
		t.Errorf("docs/exit-codes.md does not hold\n%s", table)
	}
}

// compareDocs compares the files of folders below docs with what they should be.
func compareDocs(t *testing.T, want map[string]string, folders ...string) {
	t.Helper()
	const docs = "../../docs"
	update := os.Getenv("UPDATE") != ""
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(docs, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := folder + "/" + e.Name()
			if _, ok := want[name]; ok {
				continue
			}
			t.Logf("%s is of no command any more", name)
			if !update {
				t.Fail()
			} else if err := os.Remove(filepath.Join(docs, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range want {
		path := filepath.Join(docs, filepath.FromSlash(name))
		if update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(got), text); diff != "" {
			t.Errorf("run make docs: %s differs (-page +commands):\n%s", path, diff)
		}
	}
}
