package envoy

import (
	"errors"
	"fmt"
)

// Model is an Input with everything resolved that does not depend on a request. It is not changed by its methods.
type Model struct {
	in    *Input
	hosts []host // all endpoints in the order of the Input, with the duplicates
	full  []level
	// balancers are tried one after the other; all but the first are fallbacks of subsets.
	balancers []*balancer
	subset    SubsetResult

	drops    []DropShare
	dropped  float64
	rejected string
}

// balancer is one load balancer over one set of hosts: the cluster's, or a subset's.
type balancer struct {
	m      *Model
	kind   string
	levels []level
	single int32 // see attempt
	// criteria for a subset inside load_aware_locality.
	criteria map[string]any
	counts   []Counts
	loads    Loads
	// wrr has the effective locality weights by level and class (healthy, degraded); nil without a scheduler.
	wrr    [][2]localityWeights
	zone   zone
	tables []*table // by level, hash policies only
	slow   bool     // some host is in its slow start window
	// inside has the models of the subset inside load_aware_locality, by the list of the locality.
	inside map[listKey]*insideModel
}

type localityWeights struct {
	weights []float64
	sum     float64
}

// ErrNoPriority is the error for a priority that the API does not allow.
var ErrNoPriority = errors.New("priority above 128")

// Build resolves an input, which must not change afterwards.
//
// Errors: a priority above MaxPriority, or a hash policy that Envoy refuses (the message is Envoy's).
func Build(in Input) (*Model, error) {
	for i := range in.Groups {
		if p := in.Groups[i].Priority; p > MaxPriority {
			return nil, fmt.Errorf("%w: %d", ErrNoPriority, p)
		}
	}
	if in.Version == 0 {
		in.Version = Newest
	}
	if in.Policy.Name == "" {
		in.Policy.Name = RoundRobin
	}
	in.Policy.Subset, in.Policy.Inside = in.Policy.Subset.sorted(), in.Policy.Inside.sorted()
	m := &Model{in: &in}
	m.drops, m.dropped, m.rejected = in.drops()
	m.hosts = collect(in.Groups, in.KeepCopies)
	m.full = arrange(in.Groups, m.hosts, in.NodeLocality)
	if len(m.full) == 0 {
		m.full = make([]level, 1) // priority 0 always exists
	}
	if err := m.assemble(); err != nil {
		return nil, err
	}
	return m, nil
}

// assemble builds the load balancers over the hosts.
func (m *Model) assemble() error {
	attempts, reason := m.attempts()
	m.subset = SubsetResult{Used: m.in.Policy.Subset != nil, Reason: reason}
	if m.subset.Used {
		m.subset.Kind = "no host"
		if len(attempts) > 0 {
			m.subset.Kind, m.subset.Match, m.subset.Hosts = attempts[0].kind, attempts[0].match, attempts[0].hosts
			m.subset.Single = attempts[0].single >= 0
			for _, a := range attempts[1:] {
				m.subset.Later = append(m.subset.Later, a.kind)
			}
		}
	}
	for i := range attempts {
		b, err := m.balance(&attempts[i])
		if err != nil {
			return err
		}
		m.balancers = append(m.balancers, b)
	}
	m.insideResult()
	return nil
}

// balance builds one load balancer.
func (m *Model) balance(a *attempt) (*balancer, error) {
	in := m.in
	b := &balancer{m: m, kind: a.kind, criteria: a.criteria, levels: a.levels, single: a.single}
	if a.single >= 0 {
		return b, nil
	}
	b.counts = make([]Counts, len(b.levels))
	for i := range b.levels {
		b.counts[i] = b.levels[i].counts(m.hosts)
	}
	config := LoadConfig{
		OverprovisioningFactor: in.OverprovisioningFactor,
		WeightedPriorityHealth: in.WeightedPriorityHealth,
		PanicThreshold:         in.Threshold(),
		LevelByLevel:           in.levelByLevel(),
	}
	b.loads = PriorityLoads(b.counts, config)
	if in.Policy.hashes() {
		return b, b.buildTables()
	}
	b.slow = b.inSlowStart()
	if in.Policy.Name == LoadAwareLocality {
		return b, b.buildInside()
	}
	if in.Policy.LocalityWeighted {
		b.wrr = make([][2]localityWeights, len(b.levels))
		for i := range b.levels {
			for _, c := range []Class{ClassHealthy, ClassDegraded} {
				weights, sum := b.levels[i].effectiveWeights(c, config.factor())
				if sum > 0 {
					b.wrr[i][c] = localityWeights{weights, sum}
				}
			}
		}
	}
	b.zone = m.zoneAware(b.levels, config.PanicThreshold)
	return b, nil
}

// levelByLevel: before 1.40 always; in 1.40 for the hash policies of a STATIC cluster, inside subsets (observed), or with
// a guard off.
func (in *Input) levelByLevel() bool {
	return in.Version < 40 || in.Runtime.LevelByLevel || in.Policy.Subset != nil || in.Static && in.Policy.hashes()
}

func (p *Policy) hashes() bool { return p.Name == RingHash || p.Name == Maglev }

// load of a level and class, with what a hole leaves to the healthy hosts of priority 0.
func (b *balancer) load(level int, c Class) uint32 {
	if c == ClassDegraded {
		return b.loads.Degraded[level]
	}
	if level == 0 {
		return b.loads.Healthy[0] + b.loads.Rest
	}
	return b.loads.Healthy[level]
}

// cell is the part of the residues r mod 100 that leads to a level and class: from lo to below hi
// (LoadBalancerBase::choosePriority).
type cell struct {
	level  int
	class  Class
	lo, hi int
}

// cells cover the residues 0 to 99: healthy loads in order of priority, then degraded ones, then the rest of a hole.
func (b *balancer) cells() []cell {
	var cells []cell
	at := 0
	for _, c := range []Class{ClassHealthy, ClassDegraded} {
		loads := b.loads.Healthy
		if c == ClassDegraded {
			loads = b.loads.Degraded
		}
		for i, load := range loads {
			if load > 0 {
				cells = append(cells, cell{i, c, at, at + int(load)})
				at += int(load)
			}
		}
	}
	if at < 100 {
		cells = append(cells, cell{0, ClassHealthy, at, 100})
	}
	return cells
}

// ChoosePriority is the level and class that a random number or hash leads to.
func (l *Loads) ChoosePriority(random uint64) (level int, class Class) {
	k, sum := uint32(random%100)+1, uint32(0)
	for i, load := range l.Healthy {
		if sum += load; k <= sum {
			return i, ClassHealthy
		}
	}
	for i, load := range l.Degraded {
		if sum += load; k <= sum {
			return i, ClassDegraded
		}
	}
	return 0, ClassHealthy
}
