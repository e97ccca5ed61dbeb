package lb

import "slices"

// LeastOfN draws choices indices below n with replacement and keeps the one with the fewest active requests; the earlier
// of two equal ones stays (least_request_lb.cc, unweightedHostPickNChoices). draw returns random 64-bit numbers.
func LeastOfN(n, choices int, active func(index int) uint32, draw func() uint64) int {
	best := -1
	for range choices {
		i := int(draw() % uint64(n))
		if best < 0 || active(i) < active(best) {
			best = i
		}
	}
	return best
}

// LeastOfAll picks uniformly among those with the fewest active requests (unweightedHostPickFullScan): it replaces the
// candidate by the k-th equal one with probability 1/k.
func LeastOfAll(n int, active func(index int) uint32, draw func() uint64) int {
	best, equal := -1, uint64(0)
	for i := range n {
		switch {
		case best < 0 || active(i) < active(best):
			best, equal = i, 1
		case active(i) == active(best):
			if equal++; draw()%equal == 0 {
				best = i
			}
		}
	}
	return best
}

// LeastOfNShares is the exact share of each index under LeastOfN with constant active requests: those with v requests win
// if all draws have v or more, but not all have more, ((n_ge)^c - (n_gt)^c) / n^c, and equal ones win equally often.
// Worked example: active 1 and 2, two choices: (2*2 - 1*1) / 4 = 0.75 and 0.25. With choices 0 it is LeastOfAll.
func LeastOfNShares(active []uint32, choices int) []float64 {
	n := len(active)
	shares := make([]float64, n)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(int64(active[a]) - int64(active[b])) })
	for lo := 0; lo < n; {
		hi := lo
		for hi < n && active[order[hi]] == active[order[lo]] {
			hi++
		}
		won := 0.0
		if choices == 0 {
			if lo == 0 {
				won = 1
			}
		} else {
			won = power(float64(n-lo)/float64(n), choices) - power(float64(n-hi)/float64(n), choices)
		}
		for _, i := range order[lo:hi] {
			shares[i] = won / float64(hi-lo)
		}
		lo = hi
	}
	return shares
}

// power is x^n by repeated squaring; n may be large (choice_count is any uint32).
func power(x float64, n int) float64 {
	result := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result *= x
		}
		x *= x
	}
	return result
}
