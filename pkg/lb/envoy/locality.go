package envoy

import "math"

// effectiveWeights are the weights of a level's localities under locality-weighted load balancing, for picks of one
// class, and their sum (locality_wrr.cc): weight * min(1, factor/100 * eligible/(hosts - excluded)), by counts.
// Worked example: weight 2, 50 of 100 hosts healthy, factor 140: 2 * min(1, 1.4 * 0.5) = 1.4.
//
// A sum of 0 means that there is no scheduler: the level is then used as one flat list.
func (lv *level) effectiveWeights(c Class, factor uint64) (weights []float64, sum float64) {
	if lv.unweighted || len(lv.class(c)) == 0 {
		return nil, 0
	}
	weights = make([]float64, len(lv.localities))
	for i := range lv.localities {
		loc := &lv.localities[i]
		weights[i] = effectiveWeight(loc.weight, len(loc.class(c)), len(loc.hosts)-loc.excluded, factor)
		sum += weights[i]
	}
	return weights, sum
}

func effectiveWeight(weight uint32, eligible, hosts int, factor uint64) float64 {
	if hosts <= 0 {
		return 0
	}
	ratio := float64(eligible) / float64(hosts)
	return float64(weight) * math.Min(1, float64(float64(factor)/100*ratio))
}
