package simulate

import "math"

// addSamples writes what seeded requests gave each endpoint, in the order of the endpoints, beside its expected share.
func (r *Result) addSamples(counts []int64) {
	n := float64(r.Sample.Requests)
	samples := make([]Sampled, len(r.Endpoints))
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		samples[i] = Sampled{Requests: counts[i], SampledShare: float64(counts[i]) / n, StandardError: math.Sqrt(max(0, e.Share*(1-e.Share)) / n)}
		e.Sampled = &samples[i]
	}
}
