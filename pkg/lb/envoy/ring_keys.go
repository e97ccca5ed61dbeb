package envoy

// RingKey is an endpoint of a ring with the number of its entries.
type RingKey struct {
	Endpoint int // index into Result.Endpoints
	Key      string
	Weight   float64 // normalised: the weights of a ring sum to 1
	Entries  int
}

// RingKeys lists the endpoints of the ring of a priority in the order in which Envoy makes their entries; nil for other
// policies.
func (m *Model) RingKeys(priority int) []RingKey {
	if len(m.balancers) == 0 || priority >= len(m.balancers[0].tables) || m.balancers[0].tables[priority].ring == nil {
		return nil
	}
	return m.balancers[0].tables[priority].keys()
}

func (t *table) keys() []RingKey {
	counts := t.ring.Counts()
	keys := make([]RingKey, len(t.weights))
	for i, w := range t.weights {
		keys[i] = RingKey{Endpoint: int(t.hosts[i]), Key: w.Key, Weight: w.Weight, Entries: counts[i]}
	}
	return keys
}

// RingShares are the shares of the endpoints of RingKeys in the hashes of their ring.
func (m *Model) RingShares(priority int) []float64 {
	if m.RingKeys(priority) == nil {
		return nil
	}
	return m.balancers[0].tables[priority].ring.Shares()
}
