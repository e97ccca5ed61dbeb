package lb

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Ring sizes that apply where the configuration is silent (ring_hash_lb.h).
const (
	DefaultMinimumRingSize = 1024
	DefaultMaximumRingSize = 8 << 20
)

// RingConfig is the size and hash function of a ring. Both sizes are taken as given; a minimum of 0 is an empty ring.
type RingConfig struct {
	MinimumSize, MaximumSize uint64
	Function                 HashFunction
}

// maxRingEntries bounds what is built; Envoy's own limit on maximum_ring_size is 8388608.
const maxRingEntries = 1 << 26

// Ring is a ketama ring: hosts have entries in proportion to their weights, and a hash belongs to the first entry at or
// after it.
type Ring struct {
	hashes []uint64 // ascending
	hosts  []uint32 // of each entry, an index into the hosts given to NewRing
	// start[b] is the first entry whose hash has at least b in its leading bits; picks begin there instead of searching.
	start []uint32
	shift uint

	n        int
	size     uint64
	min, max uint64
}

// NewRing builds a ring as ring_hash_lb.cc and grpc-go's ring.go do. The order of hosts decides who gets the entries
// that remain when weights do not divide the ring.
//
// Worked example: weights 1/6, 2/6, 3/6 and sizes 12 to 8388608: scale = min(ceil(12/6)/(1/6), 8388608) = 12, so the
// hosts have 2, 4 and 6 entries. With a maximum of 10 the scale is 10: targets 1.67, 5 and 10, that is 2, 3 and 5 entries.
//
// Errors: minimum above maximum, or a ring above 67108864 entries.
func NewRing(hosts []Weighted, cfg RingConfig) (*Ring, error) {
	if cfg.MinimumSize > cfg.MaximumSize {
		return nil, fmt.Errorf("ring hash: minimum_ring_size (%d) > maximum_ring_size (%d)", cfg.MinimumSize, cfg.MaximumSize)
	}
	r := &Ring{n: len(hosts)}
	if len(hosts) == 0 {
		return r, nil
	}
	least := 1.0
	for _, h := range hosts {
		least = math.Min(least, h.Weight)
	}
	scale := math.Min(math.Ceil(least*float64(cfg.MinimumSize))/least, float64(cfg.MaximumSize))
	r.size = uint64(math.Ceil(scale))
	if r.size > maxRingEntries {
		return nil, fmt.Errorf("ring hash: a ring of %d entries is above the limit of %d", r.size, maxRingEntries)
	}

	hashes := make([]uint64, 0, r.size+1)
	owners := make([]uint32, 0, r.size+1)
	text := make([]byte, 0, 64)
	r.min = r.size
	var current, target float64
	for i, h := range hosts {
		// The product is rounded on its own: a fused multiply-add gives other rings than Envoy's on amd64.
		target += float64(scale * h.Weight)
		text = append(append(text[:0], h.Key...), '_')
		prefix := len(text)
		count := uint64(0)
		for ; current < target; current++ {
			text = strconv.AppendUint(text[:prefix], count, 10)
			hashes = append(hashes, cfg.Function.Sum(text))
			owners = append(owners, uint32(i))
			count++
		}
		r.min, r.max = min(r.min, count), max(r.max, count)
	}
	r.sort(hashes, owners)
	return r, nil
}

// sort orders entries by hash, stably. Hashes are spread evenly, so that about two land in each of the buckets by leading
// bits; the few of a bucket are then inserted in order.
func (r *Ring) sort(hashes []uint64, owners []uint32) {
	n := len(hashes)
	r.hashes, r.hosts = make([]uint64, n), make([]uint32, n)
	depth := uint(max(1, bits.Len(uint(n))-1))
	r.shift = 64 - depth
	r.start = make([]uint32, 1<<depth+1)
	for _, h := range hashes {
		r.start[h>>r.shift+1]++
	}
	for b := 1; b < len(r.start); b++ {
		r.start[b] += r.start[b-1]
	}
	// Fill from the back with the end of each bucket as cursor: start[b+1] ends as the start of bucket b, and the array is
	// moved by one afterwards.
	next := r.start[1:]
	for i := n - 1; i >= 0; i-- {
		b := hashes[i] >> r.shift
		next[b]--
		r.hashes[next[b]], r.hosts[next[b]] = hashes[i], owners[i]
	}
	copy(r.start, next)
	r.start[len(r.start)-1] = uint32(n)
	for b := range len(r.start) - 1 {
		sortBucket(r.hashes[r.start[b]:r.start[b+1]], r.hosts[r.start[b]:r.start[b+1]])
	}
}

// sortBucket sorts a few entries by insertion; many of them only occur when keys are equal or chosen for it.
func sortBucket(hashes []uint64, hosts []uint32) {
	if len(hashes) > 32 {
		type entry struct {
			hash uint64
			host uint32
		}
		entries := make([]entry, len(hashes))
		for i := range entries {
			entries[i] = entry{hashes[i], hosts[i]}
		}
		slices.SortStableFunc(entries, func(a, b entry) int {
			if a.hash < b.hash {
				return -1
			}
			if a.hash > b.hash {
				return 1
			}
			return 0
		})
		for i, e := range entries {
			hashes[i], hosts[i] = e.hash, e.host
		}
		return
	}
	for i := 1; i < len(hashes); i++ {
		hash, host := hashes[i], hosts[i]
		j := i
		for ; j > 0 && hashes[j-1] > hash; j-- {
			hashes[j], hosts[j] = hashes[j-1], hosts[j-1]
		}
		hashes[j], hosts[j] = hash, host
	}
}

// Pick returns the host that owns a hash, or -1 when the ring is empty. Attempt counts the re-selections of one request:
// each moves one entry on.
func (r *Ring) Pick(hash uint64, attempt uint32) int {
	n := len(r.hashes)
	if n == 0 {
		return -1
	}
	i := int(r.start[hash>>r.shift])
	for i < n && r.hashes[i] < hash {
		i++
	}
	if i == n {
		i = 0
	}
	if attempt > 0 {
		i = (i + int(attempt)) % n
	}
	return int(r.hosts[i])
}

// Shares is the exact part of all 2^64 hashes that each host owns: the arcs that end at its entries.
func (r *Ring) Shares() []float64 { return ArcShares(r.hashes, r.hosts, r.n) }

// ArcShares is the part of all 2^64 hashes that each of n owners has whose entries stand at the hashes, in ascending order.
// Arcs are added up as integers, so that no rounding makes a share of more than 1. An owner of all 2^64 has 0 in 64 bits,
// and then so have the others; that is the owner of the first entry, also when all entries have one hash.
func ArcShares[T int32 | uint32](hashes []uint64, owners []T, n int) []float64 {
	shares := make([]float64, n)
	if len(hashes) == 0 {
		return shares
	}
	// Entry 0 also owns what is above the last entry: the subtraction wraps around.
	previous := hashes[len(hashes)-1]
	owned := make([]uint64, n)
	for i, hash := range hashes {
		owned[owners[i]] += hash - previous
		previous = hash
	}
	if !slices.ContainsFunc(owned, func(arcs uint64) bool { return arcs > 0 }) {
		shares[owners[0]] = 1
		return shares
	}
	for i, arcs := range owned {
		shares[i] = float64(arcs) / (1 << 64)
	}
	return shares
}

// Len is the number of entries, which rounding can make differ from Size.
func (r *Ring) Len() int { return len(r.hashes) }

// Size is Envoy's gauge ring_hash_lb.size.
func (r *Ring) Size() uint64 { return r.size }

// Range is the fewest and most entries of a host: the gauges min_hashes_per_host and max_hashes_per_host.
func (r *Ring) Range() (least, most uint64) { return r.min, r.max }

// Entry is the i-th entry in ascending order of hashes.
func (r *Ring) Entry(i int) (hash uint64, host int) { return r.hashes[i], int(r.hosts[i]) }

// Counts is the number of entries of each host.
func (r *Ring) Counts() []int {
	counts := make([]int, r.n)
	for _, h := range r.hosts {
		counts[h]++
	}
	return counts
}
