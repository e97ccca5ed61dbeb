package envoy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkedGolden compares one line of testdata/vectors/shares-checked.golden, which says how many vectors are checked;
// UPDATE=1 rewrites it.
func checkedGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "testdata", "vectors", "shares-checked.golden")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	line := name + ": " + text
	if slices.Contains(lines, line) {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Errorf("%s does not have the line %q", path, line)
		return
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+": ") })
	lines = append(lines, line)
	slices.Sort(lines)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
