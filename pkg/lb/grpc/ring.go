package grpc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/lb"
)

// Ring sizes (balancer/ringhash/config.go, unmarshal_cds.go, envconfig.RingHashCap).
const (
	DefaultMinRingSize = 1024
	DefaultMaxRingSize = 8388608 // what xDS sends when the field is absent; the cap follows
	zeroMaxRingSize    = 4096    // what a written 0 means
	RingSizeUpperBound = 8388608
	DefaultRingSizeCap = 4096
)

// RingSizes returns the sizes that the ring is built with, after defaults and cap. The error is the text of a
// configuration that gRPC's parser refuses; it does not depend on the cap.
func (p Policy) RingSizes() (minSize, maxSize uint64, err error) {
	minSize, maxSize = DefaultMinRingSize, DefaultMaxRingSize
	if p.MinRingSize != nil {
		minSize = *p.MinRingSize
	}
	if p.MaxRingSize != nil {
		maxSize = *p.MaxRingSize
	}
	for _, size := range []struct {
		field string
		value uint64
	}{{"min_ring_size", minSize}, {"max_ring_size", maxSize}} {
		if size.value > RingSizeUpperBound {
			return 0, 0, fmt.Errorf("%s value of %d is greater than max supported value %d for this field", size.field, size.value, RingSizeUpperBound)
		}
	}
	minSize, maxSize = cmp.Or(minSize, DefaultMinRingSize), cmp.Or(maxSize, zeroMaxRingSize)
	if minSize > maxSize {
		return 0, 0, fmt.Errorf("min %d is greater than max %d", minSize, maxSize)
	}
	limit := cmp.Or(p.RingSizeCap, DefaultRingSizeCap)
	return min(minSize, limit), min(maxSize, limit), nil
}

// member is a usable endpoint on the ring.
type member struct {
	ref    Ref
	key    string
	weight uint32
	up     bool
}

// Ring is the ring of one priority, over its usable endpoints in the order of their hash keys.
type Ring struct {
	members []member
	ring    *lb.Ring
	// hashes and owners are the entries of the endpoints that can be reached: an entry in TRANSIENT_FAILURE is skipped
	// clockwise (picker.go), which is the same as a ring without it.
	hashes []uint64
	owners []int32
	// Ties are the hash keys that several endpoints have: one of them gets all, and which one differs from run to run.
	Ties []string
}

// newRing builds the ring of a priority (ring.go, newRing): members sorted by hash key, weights divided by their uint32
// sum, sizes after the cap.
func newRing(r *Result, p Priority, minSize, maxSize uint64) (*Ring, error) {
	ring := &Ring{}
	var sum uint32
	for _, ref := range r.usable(p.Localities) {
		e := r.endpoint(ref)
		ring.members = append(ring.members, member{ref: ref, key: e.Key(), weight: r.weight(ref), up: e.Up()})
		sum += r.weight(ref)
	}
	slices.SortStableFunc(ring.members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	hosts := make([]lb.Weighted, len(ring.members))
	for i, e := range ring.members {
		hosts[i] = lb.Weighted{Key: e.key, Weight: float64(e.weight) / float64(sum)}
		if i > 0 && e.key == ring.members[i-1].key && (len(ring.Ties) == 0 || ring.Ties[len(ring.Ties)-1] != e.key) {
			ring.Ties = append(ring.Ties, e.key)
		}
	}
	var err error
	ring.ring, err = lb.NewRing(hosts, lb.RingConfig{MinimumSize: minSize, MaximumSize: maxSize})
	if err != nil {
		return nil, err
	}
	ring.resolve()
	return ring, nil
}

// resolve lists the entries that serve.
func (r *Ring) resolve() {
	n := r.ring.Len()
	r.hashes, r.owners = make([]uint64, 0, n), make([]int32, 0, n)
	for i := range n {
		hash, host := r.ring.Entry(i)
		if r.members[host].up {
			r.hashes, r.owners = append(r.hashes, hash), append(r.owners, int32(host))
		}
	}
}

// Pick returns the endpoint that a request hash goes to; false when no entry's endpoint can be reached.
func (r *Ring) Pick(hash uint64) (Ref, bool) {
	if len(r.hashes) == 0 {
		return Ref{}, false
	}
	if len(r.hashes) == r.ring.Len() {
		return r.members[r.ring.Pick(hash, 0)].ref, true
	}
	i, _ := slices.BinarySearch(r.hashes, hash)
	return r.members[r.owners[i%len(r.hashes)]].ref, true
}

// arcs returns the part of the hash space that each member owns, by index. Members with one key share theirs evenly,
// which is the mean over many runs.
func (r *Ring) arcs() []float64 {
	arcs := lb.ArcShares(r.hashes, r.owners, len(r.members))
	for lo := 0; lo < len(r.members); {
		hi, up, sum := lo, 0, 0.0
		for ; hi < len(r.members) && r.members[hi].key == r.members[lo].key; hi++ {
			sum += arcs[hi]
			if r.members[hi].up {
				up++
			}
		}
		for i := lo; i < hi && hi-lo > 1; i++ {
			arcs[i] = 0
			if r.members[i].up {
				arcs[i] = sum / float64(up)
			}
		}
		lo = hi
	}
	return arcs
}

// Size is the number of entries of the ring.
func (r *Ring) Size() int { return r.ring.Len() }

// Entries returns the number of entries of each usable endpoint.
func (r *Ring) Entries() map[Ref]int {
	entries := make(map[Ref]int, len(r.members))
	for i, count := range r.ring.Counts() {
		entries[r.members[i].ref] = count
	}
	return entries
}

// distributeRing gives each endpoint the arcs that end at its entries. Requests whose entries all fail are unavailable:
// that happens when the only endpoints on the ring are those that cannot be reached.
func (r *Result) distributeRing(pass float64, p Priority) {
	minSize, maxSize, err := r.m.p.RingSizes()
	if err == nil {
		r.Ring, err = newRing(r, p, minSize, maxSize)
	}
	if err != nil {
		r.Unavailable, r.Error = pass, err.Error()
		return
	}
	if len(r.Ring.hashes) == 0 {
		r.Unavailable, r.Error = pass, "connection error: the endpoints on the ring cannot be reached"
	}
	for i, arc := range r.Ring.arcs() {
		m := r.Ring.members[i]
		switch {
		case arc > 0:
			r.give(m.ref, pass*arc)
		case m.up:
			r.Reasons[m.ref.Locality][m.ref.Endpoint] = NoRingEntry
		}
	}
}
