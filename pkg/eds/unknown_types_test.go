package eds

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// messageComment is how protoc-gen-go names a message in the list of a file's types.
var messageComment = regexp.MustCompile(`(?m)^\s*\(\*\w+\)\(nil\),\s+// \d+: (envoy\.[\w.]+)$`)

// TestEnvoyTypes: envoy_types.txt has all messages of the module with Envoy's API. UPDATE=1 adds what it lacks; nothing is
// taken away, since older versions of Envoy may have it.
func TestEnvoyTypes(t *testing.T) {
	t.Parallel()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/envoyproxy/go-control-plane/envoy").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(strings.Trim(envoyTypes, "\n"), "\n")
	if !slices.IsSorted(known) || !strings.HasPrefix(envoyTypes, "\n") {
		t.Error("envoy_types.txt: want an empty line and then sorted names")
	}
	var missing []string
	err = filepath.WalkDir(strings.TrimSpace(string(dir)), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".pb.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range messageComment.FindAllSubmatch(src, -1) {
			name := outermost(string(m[1]))
			if !v2Package().MatchString(packageOf(name)) && !slices.Contains(known, name) && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
		return err
	})
	switch {
	case err != nil:
		t.Fatal(err)
	case len(missing) > 0 && os.Getenv("UPDATE") != "":
		all := slices.Sorted(slices.Values(append(known, missing...)))
		if err := os.WriteFile("envoy_types.txt", []byte("\n"+strings.Join(all, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	case len(missing) > 0:
		t.Errorf("envoy_types.txt lacks %q: run with UPDATE=1", missing)
	}
}

func TestOutermost(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"envoy.config.cluster.v3.Cluster":                  "envoy.config.cluster.v3.Cluster",
		"envoy.config.cluster.v3.Cluster.CommonLbConfig.X": "envoy.config.cluster.v3.Cluster",
		"envoy.type.v3.": "envoy.type.v3..",
		"Cluster":        ".Cluster",
	} {
		if got := outermost(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
