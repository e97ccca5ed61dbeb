package lint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
)

const maxWeightSum = math.MaxUint32

// weightSums adds up endpoint weights during the walk: by priority for Envoy's hash policies, by locality for grpc-go.
type weightSums struct {
	envoy    map[uint32]*uint64
	here     *uint64          // the sum of the priority that is looked at
	over     map[uint32]place // where the sum of a priority exceeds the maximum
	locality uint64
	overHere map[place]bool // where the sum of a locality does, in localities that grpc-go reads
	grpcDone bool           // of the locality that is looked at
}

func (s *weightSums) init() {
	s.envoy, s.over, s.overHere = map[uint32]*uint64{}, map[uint32]place{}, map[place]bool{}
}

func (s *weightSums) nextLocality(priority uint32) {
	s.locality, s.grpcDone = 0, false
	if s.here = s.envoy[priority]; s.here == nil {
		s.here = new(uint64)
		s.envoy[priority] = s.here
	}
}

// add counts an endpoint. Envoy leaves out the copies in an EDS cluster (dropped).
func (s *weightSums) add(w *walk, priority uint32, dropped bool) {
	weight := uint64(1)
	if w.end.GetLoadBalancingWeight() != nil {
		weight = uint64(w.end.GetLoadBalancingWeight().GetValue())
	}
	at := place{int32(w.group), int32(w.index)}
	if !dropped {
		before := *s.here
		*s.here += weight
		if before <= maxWeightSum && before+weight > maxWeightSum {
			s.over[priority] = at
		}
	}
	s.locality += weight
	if s.locality > maxWeightSum && !s.grpcDone && w.seen.grpcTakes {
		s.grpcDone = true
		s.overHere[at] = true
	}
}

// sumProblem is a problem about the sums of a priority.
type sumProblem struct {
	priority uint32
	diag.Problem
}

// weightSumChecks reports sums of weights that are too large: Envoy goes priority by priority and looks at the endpoints
// before the localities (thread_aware_lb_impl.cc, TypedHashLbConfigBase::validateEndpoints).
func (w *walk) weightSumChecks() {
	all := append(w.hostWeightSums(), localityWeightSums(w.c)...)
	slices.SortStableFunc(all, func(a, b sumProblem) int { return cmp.Compare(a.priority, b.priority) })
	for _, p := range all {
		w.report(p.Problem)
	}
}

// hostWeightSums are the sums of endpoint weights that are too large, for grpc-go those of a locality (unmarshal_eds.go,
// parseEndpoints).
func (w *walk) hostWeightSums() []sumProblem {
	s := &w.sums
	if len(s.over) == 0 && len(s.overHere) == 0 {
		return nil
	}
	var out []sumProblem
	both := map[place]bool{}
	for _, priority := range slices.Sorted(maps.Keys(s.over)) {
		at := s.over[priority]
		p := hostSum(at, fmt.Sprintf("the endpoint weights of priority %d sum up to %d, more than %d", priority, *s.envoy[priority], uint64(maxWeightSum)))
		p.Envoy = envoySum(w.c, "The sum of weights of all upstream hosts in a locality exceeds 4294967295")
		p.GRPC.Effect = new(diag.None)
		if s.overHere[at] {
			both[at] = true
			p.GRPC = grpcHostSum
		}
		out = append(out, sumProblem{priority, p})
	}
	for _, at := range slices.SortedFunc(maps.Keys(s.overHere), comparePlaces) {
		if both[at] {
			continue
		}
		p := hostSum(at, fmt.Sprintf("the endpoint weights of endpoints[%d] sum up to more than %d", at.group, uint64(maxWeightSum)))
		p.Envoy.Effect, p.GRPC = new(diag.None), grpcHostSum
		out = append(out, sumProblem{w.c.Resource.Assignment.GetEndpoints()[at.group].GetPriority(), p})
	}
	return out
}

// envoySum is what Envoy says about a sum, nothing where no policy that adds up is asked.
func envoySum(c *Context, says string) diag.Override {
	if !c.Policy(diag.Envoy).SumsWeights() {
		return diag.Override{Effect: new(diag.None)}
	}
	return EnvoySays(says)
}

var grpcHostSum = GRPCSays("sum of weights of endpoints in the same locality exceeds maximum value 4294967295")

func hostSum(at place, message string) diag.Problem {
	path := groupPath(int(at.group)).Field("lb_endpoints").Index(int(at.index)).Field("load_balancing_weight")
	return diag.Problem{Rule: "host-weight-sum-overflow", Path: path, Message: message}
}

func comparePlaces(a, b place) int {
	if a.group != b.group {
		return int(a.group - b.group)
	}
	return int(a.index - b.index)
}

// localityWeightSums are the sums of locality weights of one priority that are too large. Envoy counts distinct
// localities with the last weight of each, grpc-go every entry with a weight, in order.
func localityWeightSums(c *Context) []sumProblem {
	total := uint64(0)
	for _, g := range c.Resource.Assignment.GetEndpoints() {
		total += uint64(g.GetLoadBalancingWeight().GetValue())
	}
	if total <= maxWeightSum {
		return nil
	}
	last := map[localityKey]uint64{}
	envoy, grpc := map[uint32]uint64{}, map[uint32]uint64{}
	envoyAt, grpcAt := map[uint32]int{}, map[uint32]int{}
	for i, g := range c.Resource.Assignment.GetEndpoints() {
		weight, p := uint64(g.GetLoadBalancingWeight().GetValue()), g.GetPriority()
		if weight == 0 {
			continue
		}
		if grpc[p] += weight; grpc[p] > maxWeightSum {
			setFirst(grpcAt, p, i)
		}
		if g.GetLocality() == nil {
			continue
		}
		key := keyOf(g)
		envoy[p] += weight - last[key]
		last[key] = weight
		if envoy[p] > maxWeightSum {
			setFirst(envoyAt, p, i)
		} else {
			delete(envoyAt, p)
		}
	}
	var out []sumProblem
	for _, p := range slices.Sorted(maps.Keys(grpcAt)) {
		i, same := envoyAt[p]
		if same && i != grpcAt[p] {
			out = append(out, sumProblem{p, localitySum(c, i, p, envoy[p], true, false)})
			same = false
		}
		out = append(out, sumProblem{p, localitySum(c, grpcAt[p], p, grpc[p], same, true)})
	}
	return out
}

func setFirst(m map[uint32]int, p uint32, i int) {
	if _, ok := m[p]; !ok {
		m[p] = i
	}
}

func localitySum(c *Context, i int, priority uint32, sum uint64, envoy, grpc bool) diag.Problem {
	p := diag.Problem{
		Rule: "locality-weight-sum-overflow", Path: groupPath(i).Field("load_balancing_weight"),
		Message: fmt.Sprintf("the locality weights of priority %d sum up to %d, more than %d", priority, sum, uint64(maxWeightSum)),
		Envoy:   envoySum(c, "The sum of weights of all localities at the same priority exceeds 4294967295"),
		GRPC:    GRPCSays(fmt.Sprintf("sum of weights of localities at the same priority %d exceeded maximal value", priority)),
	}
	if !envoy {
		p.Envoy = diag.Override{Effect: new(diag.None)}
	}
	if !grpc {
		p.GRPC = diag.Override{Effect: new(diag.None)}
	}
	return p
}
