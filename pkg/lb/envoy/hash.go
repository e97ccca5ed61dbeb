package envoy

import (
	"fmt"
	"math"
	"slices"

	"github.com/edsctl/edsctl/pkg/lb"
)

// table is the ring or Maglev table of one priority (thread_aware_lb_impl.cc). Hash policies use raw locality weights
// and healthy hosts only, or all hosts in panic; degraded ones never get a request outside panic.
type table struct {
	hosts   list // those with a normalized weight, in order
	weights []lb.Weighted
	ring    *lb.Ring
	maglev  *lb.Table
}

func (b *balancer) buildTables() error {
	b.tables = make([]*table, len(b.levels))
	for i := range b.levels {
		t := &table{}
		b.normalize(t, &b.levels[i], b.loads.Panic[i])
		if same := b.m.in.Tables.same(i, t); same != nil {
			b.tables[i] = same
			continue
		}
		if err := t.build(&b.m.in.Policy); err != nil {
			return fmt.Errorf("priority %d: %w", i, err)
		}
		b.tables[i] = t
		b.m.in.Tables.keep(i, t)
	}
	return nil
}

// Tables keeps the newest ring or table of each priority from one Build to the next, both of one policy: in panic, or where
// another priority changes, it has the same hosts. It is for one goroutine.
type Tables struct{ newest map[int]*table }

// same is the kept table of a priority that has the same hosts and weights; nil when there is none.
func (k *Tables) same(priority int, t *table) *table {
	if k == nil || k.newest[priority] == nil {
		return nil
	}
	if kept := k.newest[priority]; slices.Equal(kept.hosts, t.hosts) && slices.Equal(kept.weights, t.weights) {
		return kept
	}
	return nil
}

func (k *Tables) keep(priority int, t *table) {
	if k == nil {
		return
	}
	if k.newest == nil {
		k.newest = map[int]*table{}
	}
	k.newest[priority] = t
}

func (t *table) build(p *Policy) (err error) {
	if p.Name == Maglev {
		t.maglev, err = lb.NewTable(t.weights, value(p.Hash.TableSize, lb.DefaultTableSize))
		return err
	}
	t.ring, err = lb.NewRing(t.weights, lb.RingConfig{
		MinimumSize: value(p.Hash.MinimumRingSize, lb.DefaultMinimumRingSize),
		MaximumSize: value(p.Hash.MaximumRingSize, lb.DefaultMaximumRingSize),
		Function:    p.Hash.Function,
	})
	return err
}

func value(set *uint64, otherwise uint64) uint64 {
	if set != nil {
		return *set
	}
	return otherwise
}

// normalize fills in the hosts with their weights (normalizeWeights). Flat: weight / sum. With locality weighting:
// weight * (locality weight / sum of the weights of all localities with hosts) / sum of the host weights in the locality;
// the part of a locality without eligible hosts is missing then.
func (b *balancer) normalize(t *table, lv *level, panic bool) {
	p := &b.m.in.Policy
	pick := func(all, healthy list) list {
		if panic {
			return all
		}
		return healthy
	}
	if !p.LocalityWeighted || lv.unweighted {
		hosts := pick(lv.hosts, lv.healthy)
		sum := float64(b.sum(hosts))
		for _, h := range hosts {
			t.add(h, b.hashKey(h), float64(b.m.hosts[h].weight)/sum)
		}
		return
	}
	total := uint64(0)
	for i := range lv.localities {
		total += uint64(lv.localities[i].weight)
	}
	for i := range lv.localities {
		loc := &lv.localities[i]
		if loc.weight == 0 {
			continue
		}
		share := float64(loc.weight) / float64(total)
		hosts := pick(loc.hosts, loc.healthy)
		sum := float64(b.sum(hosts))
		for _, h := range hosts {
			t.add(h, b.hashKey(h), float64(float64(b.m.hosts[h].weight)*share)/sum)
		}
	}
}

func (b *balancer) sum(hosts list) uint64 {
	sum := uint64(0)
	for _, h := range hosts {
		sum += uint64(b.m.hosts[h].weight)
	}
	return sum
}

func (t *table) add(h int32, key string, weight float64) {
	t.hosts = append(t.hosts, h)
	t.weights = append(t.weights, lb.Weighted{Key: key, Weight: weight})
}

// hashKey is the text that is hashed for a host (HashingLoadBalancer::hashKey): the string in its metadata, else its
// hostname if that is asked for, even when empty, else its address.
func (b *balancer) hashKey(h int32) string {
	return b.m.hosts[h].hashKey(b.m.in.Policy.Hash.UseHostname)
}

func (e *Endpoint) hashKey(useHostname bool) string {
	switch {
	case e.HashKey != "":
		return e.HashKey
	case useHostname:
		return e.Hostname
	}
	return e.Address
}

// pick is the host of a hash, or -1.
func (t *table) pick(hash uint64, attempt uint32) int {
	if t.maglev != nil {
		return t.maglev.Pick(hash, attempt)
	}
	return t.ring.Pick(hash, attempt)
}

// shares are the exact parts of the hash space by host of the table.
func (t *table) shares() []float64 {
	if t.maglev != nil {
		return t.maglev.Shares()
	}
	return t.ring.Shares()
}

// empty: no hash leads to a host.
func (t *table) empty() bool {
	if t.maglev != nil {
		return t.maglev.Len() == 0
	}
	return t.ring.Len() == 0
}

// bounded passes a pick on when the host has too many active requests; active is by endpoint, nil for idle.
func (t *table) bounded(hash uint64, first int, factor uint32, active []uint32) int {
	if factor == 0 || active == nil || first < 0 {
		return first
	}
	bounded := t.limits(factor)
	total := uint32(0)
	for _, n := range active {
		total += n
	}
	return bounded.Pick(hash, first, func(i int) float64 { return bounded.Overload(i, active[t.hosts[i]], total) })
}

func (t *table) limits(factor uint32) lb.Bounded {
	weights := make([]float64, len(t.weights))
	for i := range weights {
		weights[i] = t.weights[i].Weight
	}
	return lb.Bounded{Weights: weights, Factor: factor}
}

// boundedShares moves the share of overloaded hosts: the order of the others is a shuffle by the hash, so that each host
// with room is equally often first. Without room the host with the smallest factor takes all.
func (t *table) boundedShares(shares []float64, factor uint32, hosts []host) []float64 {
	total := uint32(0)
	for i := range hosts {
		total += hosts[i].ActiveRequests
	}
	if factor == 0 || total == 0 {
		return shares
	}
	bounded := t.limits(factor)
	free, over, least, best := 0, 0.0, math.Inf(1), 0
	overloaded := make([]bool, len(shares))
	for i := range shares {
		load := bounded.Overload(i, hosts[t.hosts[i]].ActiveRequests, total)
		overloaded[i] = load > 1
		if load < least {
			least, best = load, i
		}
		if overloaded[i] {
			over += shares[i]
		} else {
			free++
		}
	}
	moved := make([]float64, len(shares))
	for i := range shares {
		if !overloaded[i] {
			moved[i] = shares[i] + over/float64(free)
		}
	}
	if free == 0 && len(shares) > 0 {
		moved[best] = over
	}
	return moved
}
