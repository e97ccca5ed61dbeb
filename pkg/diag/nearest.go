package diag

// Nearest returns the candidate with the smallest Distance to a word, the first of equals, if it is at most a third of
// the word's length (at least 1).
func Nearest(word string, candidates []string) (string, bool) {
	best, bound := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if d := Distance(word, c); d < bound {
			best, bound = c, d
		}
	}
	return best, best != ""
}

// Distance is the optimal string alignment distance in bytes: insertions, deletions, substitutions and swaps of
// neighbours.
func Distance(a, b string) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
