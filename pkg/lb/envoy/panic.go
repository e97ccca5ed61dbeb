package envoy

import "math"

// Threshold is the healthy panic threshold as an integer: 100 * (percent / 100) in doubles, truncated
// (ProtobufPercentHelper::convertPercent), overridden by the runtime key and bounded by 100. Worked examples: 12.5 is 12,
// 0.9 is 0, which turns panic off, and 29, 57, 58 are 28, 56, 57, because 29 / 100 is slightly below 0.29.
func (in *Input) Threshold() uint64 {
	percent := float64(DefaultHealthyPanicThreshold)
	if in.HealthyPanicThreshold != nil {
		percent = *in.HealthyPanicThreshold
	}
	return runtimePercent(percent, in.Runtime.HealthyPanicThreshold)
}

func runtimePercent(percent float64, runtime *uint64) uint64 {
	if runtime != nil {
		return min(100, *runtime)
	}
	return min(100, TruncatePercent(percent))
}

// TruncatePercent is the integer that Envoy makes of a Percent. Negative and undefined values are 0.
func TruncatePercent(percent float64) uint64 {
	fraction := percent / 100
	scaled := 100 * fraction
	if math.IsNaN(scaled) || scaled <= 0 {
		return 0
	}
	return uint64(min(scaled, 1<<62))
}

// inPanic compares available hosts with the threshold; equal is no panic.
func (c Counts) inPanic(threshold uint64) bool { return c.availablePercent() < float64(threshold) }

// findPanic sets the flags (recalculatePerPriorityPanic) and, if all levels are in panic, loads by host counts.
// Worked example, threshold 50: 5, 65 of 100 healthy score 7 and 91 with factor 140, together 98, so priority 0 is in
// panic (5 < 50) and priority 1 is not; loads stay 8 and 92, and all 100 hosts of priority 0 share its 8.
func (l *Loads) findPanic(levels []Counts, cfg LoadConfig) {
	l.TotalPanic, l.Hole = false, false
	if cfg.PanicThreshold == 0 && l.NormalizedTotal == 0 {
		l.Healthy[0] = 100
		return
	}
	all := true
	for i, c := range levels {
		// A normalized total of 100 means that somebody can take the load, so that nobody panics.
		l.Panic[i] = l.NormalizedTotal != 100 && c.inPanic(cfg.PanicThreshold)
		all = all && l.Panic[i]
	}
	if all {
		l.TotalPanic = true
		l.totalPanic(levels)
	} else if l.NormalizedTotal == 0 {
		l.Hole = true
	}
}

// totalPanic distributes by host counts, the excluded ones too (recalculateLoadInTotalPanic). Worked example: 5, 6 and 3
// hosts are 500/14 = 35, 42 and 21 percent; the 2 left go to the first: 37, 42, 21.
func (l *Loads) totalPanic(levels []Counts) {
	hosts := uint64(0)
	for _, c := range levels {
		hosts += c.Hosts
	}
	if hosts == 0 {
		l.Healthy[0] = 100
		return
	}
	left, first := uint32(100), -1
	for i, c := range levels {
		l.Healthy[i], l.Degraded[i] = uint32(100*c.Hosts/hosts), 0
		left -= l.Healthy[i]
		if first < 0 && c.Hosts > 0 {
			first = i
		}
	}
	l.Healthy[first] += left
}
