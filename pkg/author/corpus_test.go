package author

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/eds"
)

// text is one file of the corpus.
type text struct{ name, data string }

// corpus reads the public cases, the assignments of the rules and, where they are at hand, the files of real projects.
func corpus(t *testing.T) []text {
	t.Helper()
	shared := os.Getenv("EDSCTL_SHARED")
	if shared == "" {
		shared = "../../../shared"
	}
	var out []text
	seen := map[string]bool{}
	for _, dir := range []string{"../../testdata/cases", "../../testdata/lint", "../../testdata/example", filepath.Join(shared, "cases"), filepath.Join(shared, "realworld")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".out") || strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".tsv") {
				return nil //nolint:nilerr // a folder that is not there
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if seen[string(data)] {
				return nil
			}
			seen[string(data)] = true
			out = append(out, text{filepath.ToSlash(strings.TrimPrefix(path, "../../")), string(data)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// variants are a text as it is, with CRLF line ends, and inside a ConfigMap.
func variants(f text) []text {
	out := []text{f}
	if strings.Contains(f.data, "\r") || strings.Contains(f.data, "\x00") {
		return out
	}
	out = append(out, text{f.name + " with CRLF", strings.ReplaceAll(f.data, "\n", "\r\n")})
	if !strings.HasPrefix(strings.TrimSpace(f.data), "{") && !strings.HasPrefix(f.data, " ") && f.data != "" {
		lines := strings.Split(strings.TrimRight(f.data, "\n"), "\n")
		for i, line := range lines {
			if line != "" {
				lines[i] = "    " + line
			}
		}
		out = append(out, text{f.name + " in a ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  envoy.yaml: |\n" + strings.Join(lines, "\n") + "\n  other: x\n"})
	}
	return out
}

// fileName is the name under which a text of the corpus is read.
func (f text) fileName() string {
	name, _, _ := strings.Cut(f.name, " ")
	if strings.HasSuffix(f.name, " in a ConfigMap") {
		return "configmap.yaml"
	}
	return filepath.Base(name)
}

// assignments of a file that can be edited.
func assignments(f *eds.File) []*eds.Resource {
	var out []*eds.Resource
	for _, r := range f.Resources {
		if editable(r) {
			out = append(out, r)
		}
	}
	return out
}
