package envoy

// LoadConfig is what the loads of priorities depend on beside the hosts.
type LoadConfig struct {
	// OverprovisioningFactor in percent; 0 means DefaultOverprovisioningFactor.
	OverprovisioningFactor uint32
	WeightedPriorityHealth bool
	// PanicThreshold is the integer percent (see Threshold).
	PanicThreshold uint64
	// LevelByLevel: the priorities of the cluster reach the load balancer one after the other (before 1.40).
	LevelByLevel bool
}

func (c LoadConfig) factor() uint64 {
	if c.OverprovisioningFactor == 0 {
		return DefaultOverprovisioningFactor
	}
	return uint64(c.OverprovisioningFactor)
}

// Loads are the integer loads and panic flags of all priorities.
type Loads struct {
	// HealthyAvailability and DegradedAvailability are the scores 0 to 100 by priority.
	HealthyAvailability, DegradedAvailability []uint32
	// NormalizedTotal is min(100, sum of all scores).
	NormalizedTotal uint32
	// Healthy and Degraded are percents by priority. They sum to 100 but in a hole, where Rest is missing: the healthy
	// hosts of priority 0 get it.
	Healthy, Degraded []uint32
	Rest              uint32
	Panic             []bool
	TotalPanic        bool
	// Hole: no priority scores above 0, yet one is not in panic, so that Envoy computes no loads.
	Hole bool
}

// PriorityLoads computes the loads of a fresh cluster with these priorities, which are 0, 1, ... with gaps as zero
// Counts (load_balancer_impl.cc, recalculatePerPriorityState and what follows it).
//
// Worked example, factor 140, threshold 0: 25, 25 and 20 of 100 healthy score 35, 35 and 28, together 98. Loads are
// 35 * 100 / 98 = 35, 35 and 28 in integers; the 2 that remain go to priority 0: 37, 35, 28.
func PriorityLoads(levels []Counts, cfg LoadConfig) Loads {
	n := len(levels)
	l := Loads{
		HealthyAvailability: make([]uint32, n), DegradedAvailability: make([]uint32, n),
		Healthy: make([]uint32, n), Degraded: make([]uint32, n), Panic: make([]bool, n),
	}
	if n == 0 {
		l.Rest = 100
		return l
	}
	if cfg.LevelByLevel {
		// What an intermediate total panic gave stays where no later step computes loads (pull request 46302 ended this).
		l.Healthy[0] = 100
		for i := range levels {
			l.step(levels[:i+1], i, cfg)
		}
	} else {
		for i := range levels {
			l.score(levels, i, cfg)
		}
		l.compute(levels, cfg)
	}
	sum := uint32(0)
	for i := range levels {
		sum += l.Healthy[i] + l.Degraded[i]
	}
	l.Rest = 100 - sum
	return l
}

// step takes one more priority into account.
func (l *Loads) step(known []Counts, level int, cfg LoadConfig) {
	l.score(known, level, cfg)
	l.compute(known, cfg)
}

func (l *Loads) score(levels []Counts, i int, cfg LoadConfig) {
	l.HealthyAvailability[i], l.DegradedAvailability[i] = levels[i].availability(cfg.factor(), cfg.WeightedPriorityHealth)
}

// compute distributes the load over the levels known and then looks for panic.
func (l *Loads) compute(levels []Counts, cfg LoadConfig) {
	total := uint32(0)
	for i := range levels {
		total = min(100, total+l.HealthyAvailability[i]+l.DegradedAvailability[i])
	}
	l.NormalizedTotal = total
	if total > 0 {
		l.distribute(len(levels))
	}
	l.findPanic(levels, cfg)
}

// distribute splits 100 by score: all healthy scores in order of priority, then all degraded ones. What integer division
// leaves goes to the first priority with a healthy score, or else with a degraded one (distributeLoad).
func (l *Loads) distribute(levels int) {
	left := uint32(100)
	pass := func(loads, scores []uint32) (first int) {
		first = -1
		for i := range levels {
			if first < 0 && scores[i] > 0 {
				first = i
			}
			loads[i] = min(left, scores[i]*100/l.NormalizedTotal)
			left -= loads[i]
		}
		return first
	}
	healthy := pass(l.Healthy, l.HealthyAvailability)
	degraded := pass(l.Degraded, l.DegradedAvailability)
	if healthy >= 0 {
		l.Healthy[healthy] += left
	} else if degraded >= 0 {
		l.Degraded[degraded] += left
	}
}
