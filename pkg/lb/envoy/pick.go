package envoy

import "github.com/edsctl/edsctl/pkg/lb"

// Pick is the endpoint that a request hash goes to, by its place in Result.Endpoints, or -1 when it finds no host
// (ThreadAwareLoadBalancerBase::LoadBalancerImpl::chooseHost). The same hash chooses the priority and the place on its
// ring. It is for hash policies only.
func (m *Model) Pick(hash uint64) int { return m.PickActive(hash, nil) }

// PickActive is Pick with requests in flight by endpoint, for bounded load; nil is an idle cluster.
func (m *Model) PickActive(hash uint64, active []uint32) int {
	for _, b := range m.balancers {
		if endpoint := b.pickHash(hash, 0, active); endpoint >= 0 {
			return endpoint
		}
	}
	return -1
}

// PickRetry is Pick for a request whose host predicates refuse endpoints: up to attempts more entries are tried, and if
// all are refused the last one is used.
func (m *Model) PickRetry(hash uint64, attempts uint32, refused func(endpoint int) bool) int {
	for _, b := range m.balancers {
		endpoint := -1
		for attempt := uint32(0); attempt <= attempts; attempt++ {
			endpoint = b.pickHash(hash, attempt, nil)
			if endpoint < 0 || !refused(endpoint) {
				break
			}
		}
		if endpoint >= 0 {
			return endpoint
		}
	}
	return -1
}

func (b *balancer) pickHash(hash uint64, attempt uint32, active []uint32) int {
	if b.single >= 0 {
		return int(b.single)
	}
	if b.tables == nil {
		return -1
	}
	level, _ := b.loads.ChoosePriority(hash)
	return b.pickTable(level, hash, attempt, active)
}

// TableStats describes the ring or table of one priority: Envoy's gauges and the true number of entries.
type TableStats struct {
	Priority int
	// Size is ring_hash_lb.size, or the number of entries of a Maglev table.
	Size uint64
	// Entries can differ from Size in a ring, by rounding or where a weight has no host.
	Entries int
	// Least and Most are the entries of an endpoint.
	Least, Most uint64
	// Endpoints that take part.
	Endpoints int
	// Ties are the groups of endpoints with an equal hash key: which of a group gets a hash cannot be predicted.
	Ties [][]int
}

// Tables describes the rings or tables by priority; nil for other policies.
func (m *Model) Tables() []TableStats {
	if len(m.balancers) == 0 || m.balancers[0].tables == nil {
		return nil
	}
	var stats []TableStats
	for i, t := range m.balancers[0].tables {
		s := TableStats{Priority: i, Endpoints: len(t.hosts), Ties: t.ties()}
		if t.maglev != nil {
			s.Size, s.Entries = uint64(t.maglev.Len()), t.maglev.Len()
			s.Least, s.Most = t.maglev.Range()
			if s.Endpoints == 1 && m.in.Version < 38 {
				// A table of one host was a full one before 1.38 (pull request 44478); the picks are the same.
				s.Size = value(m.in.Policy.Hash.TableSize, lb.DefaultTableSize)
				s.Entries, s.Least, s.Most = int(s.Size), s.Size, s.Size
			}
		} else {
			s.Size, s.Entries = t.ring.Size(), t.ring.Len()
			s.Least, s.Most = t.ring.Range()
		}
		stats = append(stats, s)
	}
	return stats
}

// ties groups endpoints by equal keys.
func (t *table) ties() [][]int {
	seen := make(map[string]int, len(t.weights))
	var groups [][]int
	at := map[string]int{}
	for i := range t.weights {
		key := t.weights[i].Key
		first, again := seen[key]
		if !again {
			seen[key] = i
			continue
		}
		g, known := at[key]
		if !known {
			g = len(groups)
			at[key] = g
			groups = append(groups, []int{int(t.hosts[first])})
		}
		groups[g] = append(groups[g], int(t.hosts[i]))
	}
	return groups
}
