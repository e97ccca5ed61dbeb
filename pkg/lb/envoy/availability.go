package envoy

// Counts are the numbers of hosts of one priority that decide its load.
type Counts struct {
	Hosts    uint64 // all, with the excluded ones
	Healthy  uint64
	Degraded uint64
	Excluded uint64 // left out of the denominator: DRAINING, or waiting for a first health check
	// Sums of host weights, for weighted_priority_health only. TotalWeight is that of all hosts.
	TotalWeight, HealthyWeight, DegradedWeight, ExcludedWeight uint64
}

// eligible is the denominator of availability and panic.
func (c Counts) eligible() uint64 { return c.Hosts - c.Excluded }

// availability is the pair of integer scores of a priority (LoadBalancerBase::recalculatePerPriorityState):
// min(100, floor(factor * healthy / (hosts - excluded))), and the same for degraded hosts. Worked example: factor 140, 71
// of 100 hosts healthy: 140 * 71 / 100 = 99; 5 of 7: 140 * 5 / 7 = 100.
func (c Counts) availability(factor uint64, byWeight bool) (healthy, degraded uint32) {
	total, h, d := c.eligible(), c.Healthy, c.Degraded
	if total == 0 {
		return 0, 0
	}
	if byWeight {
		total, h, d = c.TotalWeight-c.ExcludedWeight, c.HealthyWeight, c.DegradedWeight
	}
	return uint32(min(100, factor*h/total)), uint32(min(100, factor*d/total))
}

// availablePercent is 100 * (healthy + degraded) / eligible in doubles, by counts even with weighted_priority_health
// (LoadBalancerBase::isHostSetInPanic).
func (c Counts) availablePercent() float64 {
	total := float64(c.eligible())
	if total == 0 {
		return 0
	}
	healthy := float64(100*float64(c.Healthy)) / total
	degraded := float64(100*float64(c.Degraded)) / total
	return healthy + degraded
}
