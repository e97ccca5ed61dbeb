package cli

import (
	"fmt"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
)

// didYouMean returns the hint that names the candidate nearest to a word, as prefix+candidate, and no hint when none
// is near.
func didYouMean(word string, candidates []string, prefix string) []string {
	best, ok := diag.Nearest(word, candidates)
	if !ok {
		best, ok = diag.Nearest(strings.ToLower(word), candidates) // ROUND_ROBIN as the API writes it
	}
	if ok {
		return []string{fmt.Sprintf("did you mean '%s%s'?", prefix, best)}
	}
	return nil
}

// counted is "1 file", "2 files".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
