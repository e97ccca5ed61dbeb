package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/cli"
	"github.com/edsctl/edsctl/pkg/lint"
)

const lintInputs = "../../testdata/lint"

// finding is what the inputs of a rule speak of.
type finding struct {
	Rule, Severity, File, Message, Hint string
	Line, Column                        int
	Clients                             map[string]struct{ Effect, Message string }
}

// line is a finding as the .out files have it, with the file named from the folder of the rule.
func (f finding) line(folder string) string {
	place := strings.TrimPrefix(filepath.ToSlash(f.File), folder+"/")
	if f.Line > 0 {
		place += fmt.Sprintf(":%d:%d", f.Line, f.Column)
	}
	return fmt.Sprintf("%s: %s: %s [%s]", place, f.Severity, f.Message, f.Rule)
}

// lintInput is one file of testdata/lint: bad ones fire their rule, good ones do not.
type lintInput struct {
	folder, name string
	flags, env   []string // from NAME.flags: command-line flags and NAME=value words
}

func (in lintInput) path() string { return in.folder + "/" + in.name }

// inputsOf a rule, in order of name.
func inputsOf(t *testing.T, id string) (bad, good []lintInput) {
	t.Helper()
	folder := lintInputs + "/" + id
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		in := lintInput{folder: folder, name: e.Name()}
		kind, _, _ := strings.Cut(strings.TrimSuffix(in.name, filepath.Ext(in.name)), "-")
		if ext := filepath.Ext(in.name); ext == ".out" || ext == ".flags" || kind != "bad" && kind != "good" {
			continue
		}
		words, err := os.ReadFile(in.path() + ".flags")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(words)) {
			if strings.HasPrefix(word, "-") || !strings.Contains(word, "=") {
				in.flags = append(in.flags, word)
			} else {
				in.env = append(in.env, word)
			}
		}
		if kind == "bad" {
			bad = append(bad, in)
		} else {
			good = append(good, in)
		}
	}
	return bad, good
}

// findings of validate on an input.
func (in lintInput) findings(t *testing.T) []finding {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := cli.Env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, UserConfigDir: func() (string, error) { return "", errors.New("none") },
		Getenv: func(name string) string {
			for _, word := range in.env {
				if value, ok := strings.CutPrefix(word, name+"="); ok {
					return value
				}
			}
			return ""
		},
	}
	cli.Main(t.Context(), env, append(append([]string{"validate", "--output", "json"}, in.flags...), in.path()))
	var out struct{ Findings []finding }
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("%s: %v\n%s%s", in.path(), err, stdout.Bytes(), stderr.Bytes())
	}
	return out.Findings
}

func (in lintInput) fires(t *testing.T, id string) bool {
	t.Helper()
	return slices.ContainsFunc(in.findings(t), func(f finding) bool { return f.Rule == id })
}

// TestRuleInputs: each rule has bad inputs that give what their .out files say, the rule among it, and a good input on
// which it is silent. UPDATE=1 rewrites the .out files.
func TestRuleInputs(t *testing.T) {
	t.Parallel()
	for _, rule := range lint.Rules() {
		if rule.Needs == "update" {
			continue // two versions: tested with what compares them
		}
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			bad, good := inputsOf(t, rule.ID)
			if len(bad) == 0 || len(good) == 0 {
				t.Fatalf("%s needs a bad and a good input", lintInputs+"/"+rule.ID)
			}
			for _, in := range bad {
				checkBad(t, in, rule.ID)
			}
			for _, in := range good {
				if in.fires(t, rule.ID) {
					t.Errorf("%s fires %s", in.path(), rule.ID)
				}
			}
		})
	}
}

func checkBad(t *testing.T, in lintInput, id string) {
	t.Helper()
	var got strings.Builder
	fires := false
	for _, f := range in.findings(t) {
		fires = fires || f.Rule == id
		got.WriteString(f.line(in.folder) + "\n")
	}
	if !fires {
		t.Errorf("%s does not fire %s", in.path(), id)
	}
	golden(t, in.path()+".out", got.String())
}

// golden compares text with a file. UPDATE=1 rewrites the file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), UPDATE=1 rewrites it:\n%s", path, diff)
	}
}

// TestRuleExplanations: each rule has an explanation, and there are no others.
func TestRuleExplanations(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("../../pkg/lint/explain")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if lint.Lookup(strings.TrimSuffix(e.Name(), ".md")) == nil {
			t.Errorf("explain/%s is of no rule", e.Name())
		}
	}
	for _, rule := range lint.Rules() {
		text := lint.Explanation(rule.ID)
		for _, part := range []string{"\n\n**Envoy** ", "\n\n**gRPC** ", "\n\n**Fix:** "} {
			if !strings.Contains(text, part) {
				t.Errorf("the explanation of %s has no paragraph %q", rule.ID, strings.TrimSpace(part))
			}
		}
	}
	folders, err := os.ReadDir(lintInputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range folders {
		if lint.Lookup(e.Name()) == nil {
			t.Errorf("%s/%s is of no rule", lintInputs, e.Name())
		}
	}
}
