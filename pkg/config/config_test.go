package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/diag"
)

var known = Known{
	Rules: []string{"port-zero", "enum-case"}, Flags: []string{"client", "output", "fail-on"}, PathFlags: []string{"client"},
}

func TestParse(t *testing.T) {
	file, err := Parse("c.yaml", []byte(`
rules:
  port-zero: off
  enum-case: "warning"
exclude: [./vendor/**, "*.gen.yaml"]
flags:
  client: grpc
  output:
    - text
    - json
overrides:
  - paths: [staging/]
    rules: {port-zero: error}
    flags: {client: all}
`), known)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]diag.Severity{"port-zero": diag.Off, "enum-case": diag.Warning}, file.RuleLevels()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"vendor/**", "*.gen.yaml"}, file.Exclude); diff != "" {
		t.Errorf("exclude (-want +got):\n%s", diff)
	}
	output, ok := file.Flag("output")
	if diff := cmp.Diff(Setting{Values: []string{"text", "json"}, Where: "c.yaml:9:5: output"}, output); diff != "" || !ok {
		t.Errorf("flag (-want +got):\n%s", diff)
	}
	if _, ok := file.Flag("fail-on"); ok {
		t.Error("fail-on is set")
	}
	want := []Override{{
		Paths: []string{"staging/"}, Rules: map[string]diag.Severity{"port-zero": diag.Error},
		Flags: map[string]Setting{"client": {Values: []string{"all"}, Where: "c.yaml:14:21: client"}},
	}}
	if diff := cmp.Diff(want, file.All()); diff != "" {
		t.Errorf("overrides (-want +got):\n%s", diff)
	}
}

func TestParseEmpty(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "rules:\nexclude:\nflags:\noverrides:\n", "~"} {
		if _, err := Parse("c.yaml", []byte(text), known); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "ruls: {}", `c.yaml:1:1: unknown key "ruls": must be one of exclude, flags, overrides, rules`},
		{"unknown rule", "rules:\n  port-zeor: off", `c.yaml:2:3: unknown rule "port-zeor": 'edsctl rules' lists them`},
		{"unknown level", "rules:\n  port-zero: never", `c.yaml:2:14: unknown severity "never": must be one of off, info, warning, error`},
		{"unknown flag", "flags: {colour: never}", `c.yaml:1:9: flag "colour" cannot be set here: must be one of client, output, fail-on`},
		{"flag not for paths", "overrides: [{paths: [a], flags: {output: json}}]", `c.yaml:1:34: flag "output" cannot be set here: must be one of client`},
		{"no paths", "overrides: [{rules: {}}]", `c.yaml:1:13: an override needs "paths"`},
		{"bad glob", "exclude: ['[a']", `c.yaml:1:11: "[a" is not a valid glob`},
		{"not a list", "exclude: a", "c.yaml:1:10: must be a list"},
		{"not a mapping", "rules: [a]", "c.yaml:1:8: must be a mapping"},
		{"not a mapping at all", "- a", "c.yaml:1:1: must be a mapping"},
		{"twice", "rules: {}\nrules: {}", `c.yaml:2:1: key "rules" occurs twice`},
		{"a value missing", "flags: {client: }", "c.yaml:1:16: must be a text, a number or a boolean"},
		{"two mistakes", "a: 1\nb: 2", "c.yaml:1:1: unknown key \"a\": must be one of exclude, flags, overrides, rules\nc.yaml:2:1: unknown key \"b\": must be one of exclude, flags, overrides, rules"},
		{"two documents", "rules: {}\n---\nrules: {}", "c.yaml:2:1: a configuration file has one document"},
		{"not YAML", "rules: {", "c.yaml:1:9: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("c.yaml", []byte(tt.text), known)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("deploy/staging", 0o755); err != nil {
		t.Fatal(err)
	}
	text := "exclude: [deploy/vendor, '*.gen.yaml', 'deploy/**/tmp/']\noverrides: [{paths: ['deploy/staging/**'], rules: {port-zero: off}}]\n"
	if err := os.WriteFile(ProjectFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("deploy/staging")
	name, err := FindProject(".")
	if name != "../../.edsctl.yaml" || err != nil {
		t.Fatalf("found %q, %v", name, err)
	}
	file, err := Load(name, func() Known { return known })
	if err != nil {
		t.Fatal(err)
	}
	excluded := map[string]bool{
		"a.yaml": false, "x.gen.yaml": true, "../vendor/a.yaml": true, "../vendor/d/a.yaml": true, "../vendored/a.yaml": false,
		"../a/b/tmp/x.yaml": true, root + "/deploy/vendor/a.yaml": true, root + "/vendor/a.yaml": false,
	}
	for name, want := range excluded {
		if got := file.Excluded(name); got != want {
			t.Errorf("%s: excluded %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]int{"a.yaml": 1, "d/a.yaml": 1, "../a.yaml": 0} {
		if got := len(file.For(name)); got != want {
			t.Errorf("%s: %d overrides, want %d", name, got, want)
		}
	}
}

func TestNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	file, err := Load("config.yaml", func() Known { return known })
	if file != nil || err != nil {
		t.Fatalf("loaded %v, %v", file, err)
	}
	if _, ok := file.Flag("client"); ok || file.Excluded("a") || file.For("a") != nil || file.RuleLevels() != nil || file.All() != nil {
		t.Error("a file that does not exist says something")
	}
}
