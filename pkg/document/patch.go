package document

import (
	"fmt"
	"slices"
)

// Patch replaces the bytes of a text from Start to End by New.
type Patch struct {
	Start, End int
	New        string
}

// Apply returns src with patches made, in any order of the list. Patches that overlap or lie outside are an error; of
// several insertions at one place the order of the list is kept.
func Apply(src []byte, patches []Patch) ([]byte, error) {
	sorted := slices.Clone(patches)
	slices.SortStableFunc(sorted, func(a, b Patch) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End
	})
	out := make([]byte, 0, len(src)+64)
	at := 0
	for _, p := range sorted {
		if p.Start < 0 || p.End < p.Start || p.End > len(src) {
			return nil, fmt.Errorf("patch of bytes %d to %d does not lie in a text of %d bytes", p.Start, p.End, len(src))
		}
		if p.Start < at {
			return nil, fmt.Errorf("patch of bytes %d to %d overlaps the one before", p.Start, p.End)
		}
		out = append(out, src[at:p.Start]...)
		out = append(out, p.New...)
		at = p.End
	}
	return append(out, src[at:]...), nil
}
