package envoy

import (
	"fmt"
	"strconv"
)

// drops is the effect of drop_overloads: the parts of all requests that fail before load balancing.
//
// Envoy takes one category: its ratio is a 32-bit float, bounded by the runtime limit (upstream_impl.cc,
// parseDropOverloadConfig), and rejected holds its message when it refuses the configuration. Several categories follow
// the API's documentation, each on what the ones before let through: 60 % and 50 % drop 0.6 and 0.4 * 0.5 = 0.2.
func (in *Input) drops() (shares []DropShare, dropped float64, rejected string) {
	if len(in.Drops) > 1 && !in.AsDocumented {
		rejected = fmt.Sprintf("Cluster drop_overloads config has %d categories. Envoy only support one.", len(in.Drops))
	}
	limit := 1.0
	if in.DropLimitPercent != nil && len(in.Drops) == 1 {
		if *in.DropLimitPercent > 100 {
			rejected = fmt.Sprintf("load_balancing_policy.drop_overload_limit runtime key config %d is invalid. The valid range is 0~100",
				*in.DropLimitPercent)
		} else {
			limit = float64(float32(*in.DropLimitPercent) / float32(100))
		}
	}
	pass := 1.0
	for _, d := range in.Drops {
		rate, why := d.rate()
		if why != "" && rejected == "" {
			rejected = why
		}
		if len(in.Drops) > 1 && d.Denominator > 0 {
			rate = min(1, float64(d.Numerator)/float64(d.Denominator)) // as documented, without Envoy's rounding
		}
		rate = min(rate, limit)
		shares = append(shares, DropShare{Category: d.Category, Rate: rate, Share: pass * rate})
		dropped += pass * rate
		pass *= 1 - rate
	}
	return shares, dropped, rejected
}

// rate is numerator / denominator as Envoy's 32-bit float, at most 1.
func (d Drop) rate() (rate float64, rejected string) {
	switch d.Denominator {
	case 100, 10_000, 1_000_000:
	default:
		return 0, "Cluster drop_overloads config denominator setting is invalid : " + fmt.Sprint(d.Denominator) +
			". Valid range 0~2."
	}
	ratio := float32(d.Numerator) / float32(d.Denominator)
	if ratio > 1 {
		return 1, fmt.Sprintf("Cluster drop_overloads config is invalid. drop_ratio=%s(Numerator %d / Denominator %d). The valid range is 0~1.",
			strconv.FormatFloat(float64(ratio), 'g', -1, 32), d.Numerator, d.Denominator)
	}
	return float64(ratio), ""
}
