package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// leastP is the probability below which counts disagree with shares. Counts of schedulers scatter less than independent
// draws, so that the test only errs on the side of agreement.
const leastP = 1e-6

// judge compares counts with shares, and for hash policies key by key.
func (out *outcome) judge() (verdict string, ok bool) {
	if out.scenario.hash {
		if len(out.wrong) > 0 {
			return fmt.Sprintf("%d of %d keys: %s", len(out.wrong), out.requests, strings.Join(out.wrong[:min(3, len(out.wrong))], "; ")), false
		}
		return fmt.Sprintf("%d keys go where they were predicted", out.requests), true
	}
	shares := map[string]float64{dropped: out.expected.Dropped, unavailable: out.expected.Unavailable}
	for _, e := range out.expected.Endpoints {
		shares[e.Address] += e.Share
	}
	for got := range out.counts {
		if _, known := shares[got]; !known {
			return "requests went to " + got, false
		}
	}
	statistic, bins, rest, restCount := 0.0, 0, 0.0, 0.0
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		share, count := shares[name], float64(out.counts[name])
		want := share * float64(out.requests)
		switch {
		case share < 1e-12 && count > 0:
			return fmt.Sprintf("%s got %v requests and should get none", name, count), false
		case want < 5:
			rest, restCount = rest+want, restCount+count
		default:
			statistic += (count - want) * (count - want) / want
			bins++
		}
	}
	if rest > 0 {
		statistic += (restCount - rest) * (restCount - rest) / max(rest, 1)
		bins++
	}
	p := 1.0
	if bins > 1 {
		p = upperGamma(float64(bins-1)/2, statistic/2)
	}
	text := fmt.Sprintf("chi-square %.1f over %d bins, p = %.3g", statistic, bins, p)
	if p < leastP {
		return text + out.table(shares), false
	}
	return text, true
}

func (out *outcome) table(shares map[string]float64) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		if shares[name] > 0 || out.counts[name] > 0 {
			fmt.Fprintf(&b, "\n  %-24s %8d  expected %.1f", name, out.counts[name], shares[name]*float64(out.requests))
		}
	}
	for _, p := range out.expected.Priorities {
		fmt.Fprintf(&b, "\n  priority %d: load %+v, panic %v, %s", p.Priority, p.Load, p.Panic, p.Why)
	}
	return b.String()
}

// upperGamma is the regularized upper incomplete gamma function Q(a, x): by its series below a+1, by its continued
// fraction above.
func upperGamma(a, x float64) float64 {
	if x <= 0 {
		return 1
	}
	logGamma, _ := math.Lgamma(a)
	scale := math.Exp(a*math.Log(x) - x - logGamma)
	if x < a+1 {
		term := 1 / a
		sum := term
		for n := a + 1; term > sum*1e-15; n++ {
			term *= x / n
			sum += term
		}
		return 1 - sum*scale
	}
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for i := 1.0; i < 10_000; i++ {
		an := -i * (i - a)
		b += 2
		d = an*d + b
		if math.Abs(d) < tiny {
			d = tiny
		}
		if c = b + an/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		h *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return scale * h
}
