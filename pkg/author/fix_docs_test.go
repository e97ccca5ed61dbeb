package author

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestFixDocs compares the table of docs/fix.md with the rules that have a fix. UPDATE=1 rewrites it.
func TestFixDocs(t *testing.T) {
	t.Parallel()
	const page = "../../docs/fix.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| rule | what the fix does |\n|---|---|\n"
	before, _, ok := strings.Cut(string(data), head)
	if !ok {
		t.Fatalf("%s has no table", page)
	}
	_, after, _ := strings.Cut(string(data)[len(before):], "\n\n")
	if after != "" {
		after = "\n" + after
	}
	want := before + head
	for _, r := range FixRules() {
		want += fmt.Sprintf("| `%s` | %s |\n", r.ID, r.What)
	}
	want += after
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Errorf("%s: the table differs from the rules that have a fix: run UPDATE=1 go test ./pkg/author", page)
	}
}
