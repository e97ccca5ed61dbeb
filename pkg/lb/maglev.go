package lb

import (
	"cmp"
	"container/heap"
	"errors"
	"math"
	"slices"
)

// DefaultTableSize is Envoy's (maglev_lb.h).
const DefaultTableSize = 65537

// maxTableSize bounds what is built: the API's limit is 5000011, which the extension form does not enforce.
const maxTableSize = 1 << 28

// Errors of NewTable. A size of 1 passes Envoy's check for primes and then ends the process with a division by zero.
var (
	//lint:ignore ST1005 these are Envoy's words
	ErrTableNotPrime = errors.New("The table size of maglev must be prime number")
	ErrTableOne      = errors.New("a maglev table of size 1 ends the Envoy process")
	ErrTableTooLarge = errors.New("a maglev table above 268435456 entries is not built")
)

// Table is a Maglev table: each entry names a host.
type Table struct {
	entries  []uint32
	n        int
	min, max uint64
}

// NewTable fills a table as Envoy does (maglev_lb.cc): hosts take turns in the order of their keys, each turn claims the
// next free entry of the host's own permutation, and a host with a smaller weight skips turns. In the first round every
// host gets one entry whatever its weight.
//
// Worked example: weights 1/3 and 2/3: the second host has a turn in each round. The first has one in round 1, is then
// due at target 2/3 and has its next in round 2 (2 * 1/3 >= 2/3), then round 4, 6 and so on: half as many.
//
// A single host has a table of one entry (1.38 and later); older versions filled it with the same host.
func NewTable(hosts []Weighted, size uint64) (*Table, error) {
	switch {
	case size == 1:
		return nil, ErrTableOne
	case size > maxTableSize:
		return nil, ErrTableTooLarge
	case !isPrime(size):
		return nil, ErrTableNotPrime
	}
	t := &Table{n: len(hosts)}
	switch len(hosts) {
	case 0:
		return t, nil
	case 1:
		t.entries, t.min, t.max = []uint32{0}, 1, 1
		return t, nil
	}
	t.fill(hosts, size)
	return t, nil
}

// turn is a host's place in the building of a table.
type turn struct {
	host   uint32
	weight float64
	target float64
	next   uint64 // the entry that its permutation names next
	skip   uint64
	count  uint64
}

func (t *Table) fill(hosts []Weighted, size uint64) {
	order := make([]uint32, len(hosts))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(hosts[a].Key, hosts[b].Key) })

	turns := make([]turn, len(hosts))
	most := 0.0
	for i, h := range order {
		key := hosts[h].Key
		turns[i] = turn{host: h, weight: hosts[h].Weight, next: Sum64(key) % size, skip: Sum64Seed(key, 1)%(size-1) + 1}
		most = math.Max(most, hosts[h].Weight)
	}
	t.entries = make([]uint32, size)
	// Most of the time goes into looking for a free entry near the end. One bit for each keeps that inside the cache.
	taken := make([]uint64, size/64+1)

	left := size
	take := func(u *turn) {
		u.target += most
		next, skip := u.next, u.skip
		for taken[next/64]&(1<<(next%64)) != 0 {
			next = advance(next, skip, size)
		}
		taken[next/64] |= 1 << (next % 64)
		t.entries[next] = u.host
		u.next = advance(next, skip, size)
		u.count++
		left--
	}
	// Hosts of an eighth of the largest weight or less wait in a queue for their turn instead of being asked each round:
	// one heavy host among many light ones would otherwise cost size * hosts steps.
	var frequent []int
	queue := &waiting{}
	for i := range turns {
		if turns[i].weight > most/8 {
			frequent = append(frequent, i)
		} else {
			queue.add(i, 1)
		}
	}
	for round := uint64(1); left > 0; round++ {
		for _, i := range frequent {
			for queue.due(round, i) && left > 0 {
				light := queue.pop()
				take(&turns[light])
				queue.add(light, turns[light].nextRound(round))
			}
			if left == 0 {
				break
			}
			if u := &turns[i]; float64(float64(round)*u.weight) >= u.target {
				take(u)
			}
		}
		for queue.due(round, len(turns)) && left > 0 {
			light := queue.pop()
			take(&turns[light])
			queue.add(light, turns[light].nextRound(round))
		}
	}
	t.min = size
	for i := range turns {
		t.min, t.max = min(t.min, turns[i].count), max(t.max, turns[i].count)
	}
}

// advance is the next entry of a permutation: (offset + skip * n) mod size without the division.
func advance(entry, skip, size uint64) uint64 {
	if entry += skip; entry >= size {
		return entry - size
	}
	return entry
}

// nextRound is the first round after the given one in which the host is due, in the same double arithmetic.
func (u *turn) nextRound(round uint64) uint64 {
	next := max(round+1, uint64(u.target/u.weight))
	for next > round+1 && float64(float64(next-1)*u.weight) >= u.target {
		next--
	}
	for float64(float64(next)*u.weight) < u.target {
		next++
	}
	return next
}

// waiting is a queue of hosts by round, then by place.
type waiting struct{ items []waiter }

type waiter struct {
	round uint64
	place int
}

func (w *waiting) Len() int { return len(w.items) }
func (w *waiting) Less(i, j int) bool {
	a, b := w.items[i], w.items[j]
	return a.round < b.round || a.round == b.round && a.place < b.place
}
func (w *waiting) Swap(i, j int) { w.items[i], w.items[j] = w.items[j], w.items[i] }
func (w *waiting) Push(x any)    { w.items = append(w.items, x.(waiter)) }
func (w *waiting) Pop() any {
	last := w.items[len(w.items)-1]
	w.items = w.items[:len(w.items)-1]
	return last
}

func (w *waiting) add(place int, round uint64) { heap.Push(w, waiter{round, place}) }
func (w *waiting) pop() int                    { return heap.Pop(w).(waiter).place }

// due reports whether the first in the queue has its turn in this round before the host at a place.
func (w *waiting) due(round uint64, place int) bool {
	return len(w.items) > 0 && w.items[0].round <= round && w.items[0].place < place
}

// Pick returns the host of a hash, or -1 when there is none. Attempt counts the re-selections of one request.
func (t *Table) Pick(hash uint64, attempt uint32) int {
	if len(t.entries) == 0 {
		return -1
	}
	if attempt > 0 {
		hash ^= math.MaxUint64 - uint64(attempt) + 1
	}
	return int(t.entries[hash%uint64(len(t.entries))])
}

// Shares is the part of the table that each host has.
func (t *Table) Shares() []float64 {
	shares := make([]float64, t.n)
	for i, count := range t.Counts() {
		shares[i] = float64(count) / float64(max(1, len(t.entries)))
	}
	return shares
}

// Counts is the number of entries of each host.
func (t *Table) Counts() []int {
	counts := make([]int, t.n)
	for _, h := range t.entries {
		counts[h]++
	}
	return counts
}

// Range is the fewest and most entries of a host: the gauges min_entries_per_host and max_entries_per_host.
func (t *Table) Range() (least, most uint64) { return t.min, t.max }

// Len is the number of entries.
func (t *Table) Len() int { return len(t.entries) }

// Entry is the host of the i-th entry.
func (t *Table) Entry(i int) int { return int(t.entries[i]) }

func isPrime(n uint64) bool {
	if n < 2 {
		return false
	}
	for d := uint64(2); d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return true
}
