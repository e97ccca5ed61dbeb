package grpc

// distribute divides what passed the drops among the endpoints of the active priority.
func (r *Result) distribute(pass float64) {
	p := r.Priorities[r.Active]
	switch {
	case r.m.p.Kind == RingHash:
		r.distributeRing(pass, p)
	case r.m.p.WrrLocality > 0:
		r.distributeLocalities(pass, p)
	default:
		r.pickAmong(pass, r.usable(p.Localities))
	}
	for _, l := range p.Localities {
		for _, share := range r.Endpoints[l] {
			r.Localities[l] += share
		}
	}
}

// distributeLocalities is weighted_target: a random locality among those that are READY, in proportion to their
// weights (weightedaggregator, build), then the child policy. A locality keeps its whole weight with one endpoint left.
func (r *Result) distributeLocalities(pass float64, p Priority) {
	var sum uint64
	for _, l := range p.Localities {
		if r.localityUp(l) {
			sum += uint64(r.m.a.Localities[l].Weight)
		}
	}
	for _, l := range p.Localities {
		if r.localityUp(l) {
			r.pickAmong(pass*float64(r.m.a.Localities[l].Weight)/float64(sum), r.usable([]int{l}))
		}
	}
}

func (r *Result) localityUp(l int) bool {
	for j := range r.m.a.Localities[l].Endpoints {
		if r.m.a.Localities[l].Endpoints[j].Up() {
			return true
		}
	}
	return false
}

// usable lists the usable endpoints of localities in document order.
func (r *Result) usable(localities []int) []Ref {
	var refs []Ref
	for _, l := range localities {
		for j := range r.m.a.Localities[l].Endpoints {
			if r.m.a.Localities[l].Endpoints[j].Usable {
				refs = append(refs, Ref{l, j})
			}
		}
	}
	return refs
}

func (r *Result) endpoint(ref Ref) *Endpoint {
	return &r.m.a.Localities[ref.Locality].Endpoints[ref.Endpoint]
}

func (r *Result) give(ref Ref, share float64) {
	r.Endpoints[ref.Locality][ref.Endpoint] += share
	r.Reasons[ref.Locality][ref.Endpoint] = Serves
}

// pickAmong divides a share among usable endpoints, of which at least one is up, by the policy without its localities.
// Round robin, least request on idle endpoints and weighted round robin without load reports give each READY endpoint
// the same, whatever its weight.
func (r *Result) pickAmong(share float64, refs []Ref) {
	if r.m.p.Kind == PickFirst {
		r.pickFirst(share, refs)
		return
	}
	up := r.up(refs)
	for _, ref := range up {
		r.give(ref, share/float64(len(up)))
	}
}

func (r *Result) up(refs []Ref) []Ref {
	up := make([]Ref, 0, len(refs))
	for _, ref := range refs {
		if r.endpoint(ref).Up() {
			up = append(up, ref)
		}
	}
	return up
}

// pickFirst gives everything to the endpoint that connects first. With shuffle_address_list the endpoints are ordered
// by u^(1/w) with u uniform, so that an endpoint is the first of those that answer with probability w / sum of their w
// (A113); one draw per connection list.
func (r *Result) pickFirst(share float64, refs []Ref) {
	for _, ref := range r.up(refs) {
		r.Reasons[ref.Locality][ref.Endpoint] = NotFirst
	}
	if !r.m.p.Shuffle {
		if ref, ok := r.firstToConnect(refs); ok {
			r.give(ref, share)
		}
		return
	}
	up := r.up(refs)
	var sum uint64
	for _, ref := range up {
		sum += uint64(r.weight(ref))
	}
	for _, ref := range up {
		r.give(ref, share*float64(r.weight(ref))/float64(sum))
	}
}

func (r *Result) weight(ref Ref) uint32 { return r.Weights[ref.Locality][ref.Endpoint] }

// firstToConnect follows pick_first: the addresses of all endpoints in order, each once, the families interleaved from
// that of the first address on; the first that answers wins (pickfirst.go, interleaveAddresses).
func (r *Result) firstToConnect(refs []Ref) (Ref, bool) {
	type candidate struct {
		ref Ref
		up  bool
	}
	seen := map[string]bool{}
	families := map[int][]candidate{}
	var order []int
	total := 0
	for _, ref := range refs {
		for _, a := range r.endpoint(ref).Addresses {
			if seen[a.Text] {
				continue
			}
			seen[a.Text] = true
			f := family(a.Text)
			if _, ok := families[f]; !ok {
				order = append(order, f)
			}
			families[f] = append(families[f], candidate{ref, a.Reachable})
			total++
		}
	}
	for round := 0; total > 0; round++ {
		for _, f := range order {
			if round >= len(families[f]) {
				continue
			}
			total--
			if c := families[f][round]; c.up {
				return c.ref, true
			}
		}
	}
	return Ref{}, false
}
