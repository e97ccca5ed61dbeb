package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/cli"
)

// acceptance is what testdata/cases/README.md says of one file.
type acceptance struct {
	kind  string
	file  string
	envoy map[string]string // verdict by source
	grpc  string
	rules []string // nil: none is an error
	flags []string // of the case's first validate command
}

// validated is the part of `validate --output json` that the cases speak of.
type validated struct {
	Resources []struct {
		Verdicts map[string]struct{ Verdict, Message string } `json:"verdicts"`
	} `json:"resources"`
	Findings []struct {
		Rule     string `json:"rule"`
		Severity string `json:"severity"`
		Message  string `json:"message"`
	} `json:"findings"`
}

// TestCases checks the verdicts and rules of the cases from public bug reports.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, c := range readCases(t) {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			out := validate(t, append(c.flags, "../../testdata/"+c.file)...)
			checkRules(t, c, out)
			if got := worst(out, "grpc"); got != c.grpc {
				t.Errorf("gRPC: %s, want %s", got, c.grpc)
			}
			for source, want := range c.envoy {
				for _, args := range argsFor(t, c, source) {
					got := worst(validate(t, append(args, "../../testdata/"+c.file)...), "envoy")
					if got != want {
						t.Errorf("Envoy with %v: %s, want %s", args, got, want)
					}
				}
			}
		})
	}
}

func checkRules(t *testing.T, c acceptance, out validated) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range out.Findings {
		seen[f.Rule] = true
		if f.Severity == "error" && !slices.Contains(c.rules, f.Rule) {
			t.Errorf("unexpected error %s: %s", f.Rule, f.Message)
		}
	}
	for _, r := range c.rules {
		if !seen[r] {
			t.Errorf("rule %s is not reported", r)
		}
	}
}

// worst verdict of a run's resources; all are to be the same or the bad one decides.
func worst(out validated, client string) string {
	order := []string{"crash", "reject", "ignore", "unknown", "not_applicable", "accept"}
	best := len(order)
	for _, r := range out.Resources {
		if i := slices.Index(order, r.Verdicts[client].Verdict); i < best {
			best = i
		}
	}
	if best == len(order) {
		return "none"
	}
	return order[best]
}

// argsFor says how a file is given by a source. A bootstrap as an EDS file and the like are said with the shape.
func argsFor(t *testing.T, c acceptance, source string) [][]string {
	t.Helper()
	src, err := os.ReadFile("../../testdata/" + c.file)
	if err != nil {
		t.Fatal(err)
	}
	isBootstrap := bytes.Contains(src, []byte("static_resources"))
	isResponse := bytes.Contains(src, []byte("resources")) && !isBootstrap
	isOther := strings.Contains(c.file, "config-dump") || strings.Contains(c.file, "configmap")
	name, policy, withPolicy := strings.Cut(source, " with ")
	switch {
	case isOther && name == "file", isBootstrap && name == "file":
		return [][]string{{"--source", "file", "--input-shape", "response"}}
	case isOther, name == "bootstrap" && isResponse, strings.HasSuffix(c.file, ".pb") && name == "bootstrap":
		return nil // not what the file is for
	case withPolicy:
		cluster := filepath.Join(t.TempDir(), "cluster.yaml")
		text := "name: c\nconnect_timeout: 1s\nlb_policy: " + policy + "\ntype: EDS\neds_cluster_config: {eds_config: {path_config_source: {path: /eds.yaml}}}\n"
		if name == "bootstrap" {
			text = "name: c\nconnect_timeout: 1s\nlb_policy: " + policy + "\ntype: STATIC\n"
		}
		if err := os.WriteFile(cluster, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return [][]string{{"--source", name, "--cluster", cluster}}
	case isBootstrap:
		return [][]string{{}}
	}
	return [][]string{{"--source", name}}
}

func validate(t *testing.T, args ...string) validated {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, UserConfigDir: func() (string, error) { return "", errors.New("none") }}
	cli.Main(context.Background(), env, append([]string{"validate", "--output", "json"}, args...))
	var out validated
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("validate %v: %v\n%s%s", args, err, stdout.String(), stderr.String())
	}
	return out
}

var (
	caseHeading = regexp.MustCompile(`(?m)^## \d+ .*$`)
	verdictItem = regexp.MustCompile(`(accept|reject|ignore|crash) \(([^)]*)\)`)
	forFile     = regexp.MustCompile(`(?:^|; )(\.[\w.]*?): `)
)

// readCases reads the cases of all kinds that `validate` can judge.
func readCases(t *testing.T) []acceptance {
	t.Helper()
	b, err := os.ReadFile("../../testdata/cases/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []acceptance
	text := string(b)
	starts := caseHeading.FindAllStringIndex(text, -1)
	for i, s := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		out = append(out, parseCase(text[s[1]:end])...)
	}
	if len(out) < 60 { // so that a change of the format cannot empty the test
		t.Fatalf("only %d cases", len(out))
	}
	return out
}

func parseCase(text string) []acceptance {
	field := func(name string) string {
		m := regexp.MustCompile(`(?m)^- ` + regexp.QuoteMeta(name) + `: (.*)$`).FindStringSubmatch(text)
		if m == nil {
			return ""
		}
		return m[1]
	}
	if !strings.Contains(field("observed, Envoy"), " (") || field("verdict, gRPC") == "" {
		return nil // what a server serves
	}
	var out []acceptance
	for _, file := range strings.Split(field("file(s)"), ", ") {
		suffix := file[strings.IndexByte(file, '.'):]
		c := acceptance{kind: field("kind"), file: file, grpc: part(field("verdict, gRPC"), suffix), envoy: map[string]string{}}
		for _, m := range verdictItem.FindAllStringSubmatch(part(field("observed, Envoy"), suffix), -1) {
			for _, source := range strings.Split(m[2], ", ") {
				c.envoy[source] = m[1]
			}
		}
		if rules := part(field("rules"), suffix); rules != "none" {
			c.rules = strings.Split(rules, ", ")
		}
		c.flags = firstValidate(field("command"))
		out = append(out, c)
	}
	return out
}

// part is what a field says of the file with a suffix, when it tells files apart.
func part(s, suffix string) string {
	marks := forFile.FindAllStringSubmatchIndex(s, -1)
	if len(marks) == 0 {
		return strings.TrimPrefix(s, "each: ")
	}
	for i, m := range marks {
		end := len(s)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		if s[m[2]:m[3]] == suffix {
			return strings.TrimSpace(s[m[1]:end])
		}
	}
	return ""
}

// firstValidate is the flags of the first validate command.
func firstValidate(commands string) []string {
	for _, c := range strings.Split(commands, ";") {
		c = regexp.MustCompile(`\(.*?\)`).ReplaceAllString(c, "")
		if rest, ok := strings.CutPrefix(strings.TrimSpace(c), "edsctl validate"); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}
