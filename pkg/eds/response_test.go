package eds

import (
	"fmt"
	"testing"
)

// TestNameUses compares what a response tells of its names with counting them.
func TestNameUses(t *testing.T) {
	var names, removed []string
	for i := range 1000 {
		names = append(names, fmt.Sprint("n", i*i%701))
		removed = append(removed, fmt.Sprint("n", 5*i))
	}
	resp := NewResponse("", names, removed)
	for i, name := range names {
		own := *resp
		own.Index = i
		want := [3]any{0, -1, false}
		for j, other := range names {
			if other == name {
				want[0] = want[0].(int) + 1
				if want[1] == -1 {
					want[1] = j
				}
			}
		}
		for _, other := range removed {
			want[2] = want[2].(bool) || other == name
		}
		if count, first, gone := own.Uses(); [3]any{count, first, gone} != want {
			t.Errorf("%d: %d %d %t, want %v", i, count, first, gone, want)
		}
	}
}
