package envoy

import (
	"math"

	"github.com/edsctl/edsctl/pkg/lb"
)

// EndpointPolicy is the policy that picks a host from a list.
func (p *Policy) EndpointPolicy() Name {
	if p.Name != LoadAwareLocality {
		return p.Name
	}
	if p.Endpoint == "" {
		return RoundRobin
	}
	return p.Endpoint
}

// spread adds the shares of a list's hosts to out: mass is the part of all requests that reach the list, and it comes
// from the residues lo to below hi of the random number. It returns what finds no host.
func (b *balancer) spread(l list, mass float64, lo, hi int, out []float64) (unavailable float64) {
	if len(l) == 0 {
		return mass
	}
	switch b.m.in.Policy.EndpointPolicy() {
	case Random:
		b.spreadRandom(l, mass, lo, hi, out)
	case ClientSideWeighted:
		// Weights come from load reports; without any, all are equal.
		for _, h := range l {
			out[h] += mass / float64(len(l))
		}
	case LeastRequest:
		if active, equal := b.unweighted(l); equal {
			b.spreadLeast(l, mass, active, out)
			return 0
		}
		b.spreadWeights(l, mass, out)
	default:
		b.spreadWeights(l, mass, out)
	}
	return 0
}

// spreadWeights is the long run of an EDF scheduler, and of plain rotation when all weights are equal.
func (b *balancer) spreadWeights(l list, mass float64, out []float64) {
	sum := 0.0
	for _, h := range l {
		sum += b.weight(h)
	}
	for _, h := range l {
		out[h] += mass * b.weight(h) / sum
	}
}

// weight is a host's weight in an EDF scheduler: with the factor of slow start, and for least_request divided by
// (active requests + 1) ^ bias (LeastRequestLoadBalancer::hostWeight).
func (b *balancer) weight(h int32) float64 {
	host := &b.m.hosts[h]
	weight := float64(host.weight)
	if p := &b.m.in.Policy; p.Name == LeastRequest {
		weight = p.LeastRequest.weight(weight, host.ActiveRequests)
	}
	if b.slow && host.class == ClassHealthy && host.HealthyMillis != nil {
		weight *= b.m.in.Policy.SlowStart.Factor(*host.HealthyMillis)
	}
	return weight
}

// weight of a host with active requests. A bias below 0 or NaN counts as 1.
func (c LeastChoices) weight(weight float64, active uint32) float64 {
	bias := 1.0
	if c.ActiveRequestBias != nil && *c.ActiveRequestBias >= 0 {
		bias = *c.ActiveRequestBias
	}
	switch bias {
	case 0:
		return weight
	case 1:
		return weight / (float64(active) + 1)
	}
	return weight / math.Pow(float64(active)+1, bias)
}

// unweighted reports whether a list has no EDF scheduler: its weights are equal and nobody is in slow start. It returns
// the active requests if there are any.
func (b *balancer) unweighted(l list) (active []uint32, equal bool) {
	if b.slow {
		return nil, false
	}
	for _, h := range l {
		host := &b.m.hosts[h]
		if host.weight != b.m.hosts[l[0]].weight {
			return nil, false
		}
		if host.ActiveRequests > 0 && active == nil {
			active = make([]uint32, len(l))
		}
	}
	for i := range active {
		active[i] = b.m.hosts[l[i]].ActiveRequests
	}
	return active, true
}

// spreadLeast is least_request among equal weights: even when nobody has active requests, else the chances of a draw.
func (b *balancer) spreadLeast(l list, mass float64, active []uint32, out []float64) {
	if active == nil {
		for _, h := range l {
			out[h] += mass / float64(len(l))
		}
		return
	}
	for i, share := range lb.LeastOfNShares(active, b.m.in.Policy.LeastRequest.choices()) {
		out[l[i]] += mass * share
	}
}

// choices is the number of draws; 0 stands for a full scan.
func (c LeastChoices) choices() int {
	switch {
	case c.FullScan:
		return 0
	case c.ChoiceCount == 0:
		return DefaultChoiceCount
	}
	return int(c.ChoiceCount)
}

// spreadRandom is random without weights: host number r mod size, with the number r whose r mod 100 chose the level. A
// residue t leads to the hosts that are equal to t modulo g = gcd(100, size), all alike. Worked example: residues 0 to 69
// and 4 hosts: g = 4; 0, 4, ... 68 are 18 residues for host 0 and for host 1, and 17 for hosts 2 and 3.
//
// load_aware_locality draws again inside the locality, so that nothing is skewed.
func (b *balancer) spreadRandom(l list, mass float64, lo, hi int, out []float64) {
	if b.m.in.Policy.Name != Random {
		lo, hi = 0, 100
	}
	g := gcd(100, len(l))
	residues := make([]int, g)
	for t := lo; t < hi; t++ {
		residues[t%g]++
	}
	for i, h := range l {
		out[h] += mass * float64(residues[i%g]*g) / float64((hi-lo)*len(l))
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
