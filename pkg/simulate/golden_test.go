package simulate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// goldenFile is written by tests that run at the same time.
var goldenFile sync.Mutex

// checkedGolden compares one line of testdata/vectors/shares-checked.golden, "name: text"; UPDATE=1 rewrites it.
func checkedGolden(t *testing.T, name, text string) {
	t.Helper()
	goldenFile.Lock()
	defer goldenFile.Unlock()
	path := filepath.Join("..", "..", "testdata", "vectors", "shares-checked.golden")
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	line := name + ": " + text
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+": ") })
	if i >= 0 && lines[i] == line {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Errorf("%s does not have the line %q", path, line)
		return
	}
	if i >= 0 {
		lines = slices.Delete(lines, i, i+1)
	}
	lines = slices.DeleteFunc(append(lines, line), func(l string) bool { return l == "" })
	slices.Sort(lines)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
