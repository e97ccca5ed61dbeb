package envoy

import "math"

// inSlowStart reports whether the newest healthy host is still inside the window; only then are weights scaled
// (EdfLoadBalancerBase::noHostsAreInSlowStart). The window's end counts as inside here, though not for the factor.
func (b *balancer) inSlowStart() bool {
	p := &b.m.in.Policy
	if p.SlowStart.WindowMillis <= 0 || p.Name != RoundRobin && p.Name != LeastRequest {
		return false
	}
	for i := range b.levels {
		for _, h := range b.levels[i].healthy {
			if age := b.m.hosts[h].HealthyMillis; age != nil && *age <= p.SlowStart.WindowMillis {
				return true
			}
		}
	}
	return false
}

// Factor is what a host's weight is multiplied with after it has been healthy for some time (applySlowStartFactor):
// max((age/window)^(1/aggression), min_weight_percent/100) inside the window, 1 from its end on.
// Worked example: window 60 s, age 26 s, aggression 2: (26/60)^(1/2) = 0.658.
func (s SlowStart) Factor(ageMillis int64) float64 {
	if ageMillis >= s.WindowMillis {
		return 1
	}
	aggression, least := 1.0, 10.0
	if s.Aggression != nil && *s.Aggression > 0 { // not for NaN
		aggression = *s.Aggression
	}
	if s.MinWeightPercent != nil {
		least = *s.MinWeightPercent
	}
	elapsed := float64(max(1, ageMillis)) / float64(s.WindowMillis)
	if aggression != 1 && elapsed != 1 {
		elapsed = math.Pow(elapsed, 1/aggression)
	}
	return math.Max(elapsed, least/100)
}
