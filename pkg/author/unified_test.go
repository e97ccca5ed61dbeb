package author

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnifiedDiff applies diffs of random texts with patch(1) and compares what comes out.
func TestUnifiedDiff(t *testing.T) {
	t.Parallel()
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("there is no patch")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		before := randomLines(rnd, 40)
		after := append([]string(nil), before...)
		for range 1 + rnd.IntN(5) {
			at := rnd.IntN(len(after))
			switch rnd.IntN(3) {
			case 0:
				after[at] += "x"
			case 1:
				after = append(after[:at], after[at+1:]...)
			default:
				after = append(after[:at], append([]string{"new"}, after[at:]...)...)
			}
		}
		old, want := strings.Join(before, "\n"), strings.Join(after, "\n")
		if rnd.IntN(2) == 0 {
			old, want = old+"\n", want+"\n"
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		diff := UnifiedDiff("f", []byte(old), []byte(want))
		if diff == "" && old == want {
			continue
		}
		cmd := exec.CommandContext(t.Context(), patch, "--fuzz=0", "-p0", "-s")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, diff)
		}
		if got, _ := os.ReadFile(filepath.Join(dir, "f")); string(got) != want {
			t.Fatalf("patch gives %q, want %q\n%s", got, want, diff)
		}
	}
}

func randomLines(rnd *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.Repeat("a", rnd.IntN(6))
	}
	return out
}
