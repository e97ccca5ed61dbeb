package lb

import "math"

// Bounded is consistent hashing with bounded load (thread_aware_lb_impl.cc, BoundedLoadHashingLoadBalancer): a host that
// has more than its slots of active requests passes the request on to others in an order that the hash decides.
type Bounded struct {
	Weights []float64 // normalized, in the order of the hosts
	Factor  uint32    // hash_balance_factor, percent
}

// Overload is a host's active requests over its slots; above 1 it is overloaded. Worked example: 9 active requests in the
// cluster, factor 120, weight 0.25: slots = ceil((10*120+99)/100 * 0.25) = ceil(12 * 0.25) = 3.
func (b Bounded) Overload(host int, active, clusterActive uint32) float64 {
	total := ((clusterActive+1)*b.Factor + 99) / 100 // uint32, which wraps as Envoy's does
	slots := max(uint32(math.Ceil(float64(total)*b.Weights[host])), 1)
	return float64(active) / float64(slots)
}

// Pick returns the host for a hash whose ring or table names first. overload is asked for a host's factor; the first
// candidate at or below 1 wins, else the one with the smallest.
func (b Bounded) Pick(hash uint64, first int, overload func(host int) float64) int {
	least := overload(first)
	if least <= 1 {
		return first
	}
	n := len(b.Weights)
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	random := newMT19937(uint32(hash))
	best := first
	for i := range n {
		j := i + int(random.below(uint32(n-i)))
		order[i], order[j] = order[j], order[i]
		host := int(order[i])
		if host == first {
			continue
		}
		factor := overload(host)
		if factor <= 1 {
			return host
		}
		if factor < least {
			best, least = host, factor
		}
	}
	return best
}

// mt19937 is the 32-bit Mersenne Twister with the initialization by one value (std::mt19937).
type mt19937 struct {
	state [624]uint32
	index int
}

func newMT19937(seed uint32) *mt19937 {
	m := &mt19937{index: 624}
	m.state[0] = seed
	for i := uint32(1); i < 624; i++ {
		m.state[i] = 1812433253*(m.state[i-1]^m.state[i-1]>>30) + i
	}
	return m
}

func (m *mt19937) next() uint32 {
	if m.index == 624 {
		for i := range 624 {
			y := m.state[i]&0x80000000 | m.state[(i+1)%624]&0x7fffffff
			m.state[i] = m.state[(i+397)%624] ^ y>>1
			if y&1 == 1 {
				m.state[i] ^= 0x9908b0df
			}
		}
		m.index = 0
	}
	y := m.state[m.index]
	m.index++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// below is uniform in [0, k): 2^32/k sized buckets, drawn again when the number falls behind the last.
func (m *mt19937) below(k uint32) uint32 {
	bucket := (uint64(1) << 32) / uint64(k)
	for {
		if x := uint64(m.next()) / bucket; x < uint64(k) {
			return uint32(x)
		}
	}
}
