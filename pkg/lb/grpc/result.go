package grpc

// Ref names an endpoint by its place in the Assignment.
type Ref struct{ Locality, Endpoint int }

// Reason tells why an endpoint has the share that it has.
type Reason uint8

// The reasons. Serves is the only one with a share above 0.
const (
	Serves           Reason = iota
	Health                  // neither HEALTHY nor UNKNOWN
	LocalityWeight          // the locality has no weight
	InactivePriority        // another priority gets everything
	Unreachable             // no address answers
	NoRingEntry             // too light for an entry on the ring
	NotFirst                // pick_first connected to another endpoint
	PolicyFails             // the policy sends nothing at all
)

// Result is what a policy makes of an assignment. Shares are fractions of all requests: Dropped, Unavailable and the
// endpoints' shares add up to 1.
type Result struct {
	Drops       []DropShare
	Dropped     float64
	Unavailable float64
	// Error is the status text of the RPCs in Unavailable; empty when there are none.
	Error string

	Priorities []Priority
	Active     int  // index into Priorities of the one that gets everything; -1 when there is none
	Ready      bool // RPCs are sent; the drops are asked only then (clusterimpl picker)

	Localities []float64   // share by index into Assignment.Localities
	Endpoints  [][]float64 // share by locality and endpoint
	Reasons    [][]Reason
	// Weights are the endpoint weight attributes (A113) by locality and endpoint; nil for a locality that gRPC does not
	// see.
	Weights [][]uint32
	// Ring of the active priority; nil unless the policy is ring_hash and endpoints are usable.
	Ring *Ring

	m *model
}

// model carries the inputs through the stages.
type model struct {
	a      *Assignment
	p      Policy
	groups []Priority
}

// Simulate computes the shares of all endpoints under the policy.
func Simulate(a *Assignment, p Policy) *Result {
	m := &model{a: a, p: p, groups: priorities(a)}
	r := &Result{Priorities: m.groups, Active: -1, m: m}
	r.allocate()
	if err := p.configError(); err != nil {
		return r.fail("failed to push new configuration: " + err.Error())
	}
	r.Active, r.Ready = m.active()
	r.explainIdle()
	if !r.Ready {
		return r.fail(m.unavailable(r.Active))
	}
	pass := r.drops(true)
	if r.refusesAll() {
		r.Unavailable = pass
		r.Error = "max requests 0 exceeded on service"
		return r
	}
	r.distribute(pass)
	return r
}

// refusesAll tells whether the circuit breaker lets nothing through (requests_counter.go, A32).
func (r *Result) refusesAll() bool { return r.m.p.MaxRequests != nil && *r.m.p.MaxRequests == 0 }

// allocate makes the tables of the result, zeroed, and sets the reasons that do not depend on the policy.
func (r *Result) allocate() {
	a := r.m.a
	r.Localities = make([]float64, len(a.Localities))
	r.Endpoints = make([][]float64, len(a.Localities))
	r.Reasons = make([][]Reason, len(a.Localities))
	r.Weights = make([][]uint32, len(a.Localities))
	for i := range a.Localities {
		l := &a.Localities[i]
		r.Endpoints[i] = make([]float64, len(l.Endpoints))
		r.Reasons[i] = make([]Reason, len(l.Endpoints))
		for j := range l.Endpoints {
			e := &l.Endpoints[j]
			switch {
			case l.Weight == 0:
				r.Reasons[i][j] = LocalityWeight
			case !e.Usable:
				r.Reasons[i][j] = Health
			case !e.Up():
				r.Reasons[i][j] = Unreachable
			default:
				r.Reasons[i][j] = PolicyFails
			}
		}
	}
	for _, p := range r.m.groups {
		localities := make([]*Locality, len(p.Localities))
		for i, l := range p.Localities {
			localities[i] = &a.Localities[l]
		}
		weights := endpointWeights
		if r.m.p.RawWeights {
			weights = rawWeights
		}
		for i, w := range weights(localities) {
			r.Weights[p.Localities[i]] = w
		}
	}
}

// explainIdle marks the endpoints of the priorities that get nothing.
func (r *Result) explainIdle() {
	for i, p := range r.Priorities {
		if i == r.Active {
			continue
		}
		for _, l := range p.Localities {
			for j, reason := range r.Reasons[l] {
				if reason == PolicyFails {
					r.Reasons[l][j] = InactivePriority
				}
			}
		}
	}
}

// drops fills in the categories and returns what passes them. Without a READY child the dropper is not asked, so the
// categories get no share.
func (r *Result) drops(asked bool) (pass float64) {
	r.Drops, pass = Drops(r.m.a.Drops)
	if !asked {
		for i := range r.Drops {
			r.Drops[i].Share = 0
		}
		return 1
	}
	r.Dropped = 1 - pass
	return pass
}

// fail makes all RPCs fail with an error text.
func (r *Result) fail(text string) *Result {
	r.drops(false)
	r.Unavailable, r.Error = 1, text
	return r
}

// unavailable is the error text of RPCs when the active priority is not ready (grpc-eds.md 4.2).
func (m *model) unavailable(active int) string {
	if m.p.WrrLocality > 1 {
		return "no children to pick from"
	}
	if active >= 0 && m.p.stuckIdle() && m.anyUsable(active) {
		return "context deadline exceeded while waiting for connections to become ready"
	}
	if active >= 0 && m.anyUsable(active) {
		return "connection error: the endpoints cannot be reached"
	}
	if m.p.WrrLocality == 1 {
		return "weighted-target: no targets to pick from"
	}
	switch m.p.Kind {
	case PickFirst:
		return "name resolver error: produced zero addresses"
	case RingHash:
		return "produced zero addresses"
	default:
		return "no children to pick from"
	}
}

func (m *model) anyUsable(group int) bool {
	for _, l := range m.groups[group].Localities {
		for i := range m.a.Localities[l].Endpoints {
			if m.a.Localities[l].Endpoints[i].Usable {
				return true
			}
		}
	}
	return false
}

// configError is the error of a policy configuration that grpc-go accepts with the Cluster and refuses when it builds
// the balancer.
func (p Policy) configError() error {
	if p.Kind != RingHash {
		return nil
	}
	_, _, err := p.RingSizes()
	return err
}

// Policy returns the policy that the result was computed for.
func (r *Result) Policy() Policy { return r.m.p }
