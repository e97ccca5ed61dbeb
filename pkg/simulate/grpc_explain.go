package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/lb/grpc"
)

// grpcSteps are gRPC's decisions in its order, with the numbers put in.
func grpcSteps(a *grpc.Assignment, g *grpc.Result) []Step {
	x := newGRPCExplainer(a, g)
	var steps []Step
	add := func(stage, format string, args ...any) {
		steps = append(steps, Step{Stage: stage, Text: fmt.Sprintf(format, args...)})
	}
	for i, l := range a.Localities {
		if l.Weight == 0 {
			add("locality", "endpoints[%d] has no locality weight: gRPC does not see it", i)
		}
	}
	for i, p := range g.Priorities {
		usable, up, total := 0, 0, 0
		for _, l := range p.Localities {
			total += len(a.Localities[l].Endpoints)
			up += x.up[l]
			for j := range a.Localities[l].Endpoints {
				if a.Localities[l].Endpoints[j].Usable {
					usable++
				}
			}
		}
		what := "is not needed"
		switch {
		case i == g.Active && g.Ready:
			what = "is the first that can be reached: it gets 100 %"
		case i == g.Active:
			what = "is the last that is tried: " + g.Error
		case i < g.Active:
			what = "cannot be reached: the next one is tried"
		}
		add("priority", "priority %d: %d of %d endpoints are HEALTHY or UNKNOWN, %d can be reached; it %s", p.Number, usable, total, up, what)
	}
	if len(g.Priorities) == 0 {
		add("priority", "there is no locality with a weight: %s", g.Error)
	}
	steps = append(steps, grpcDropSteps(g)...)
	if g.Ready {
		steps = append(steps, x.policySteps(1-g.Dropped)...)
	}
	return steps
}

// grpcDropSteps shows how the drop categories compose.
func grpcDropSteps(g *grpc.Result) []Step {
	if len(g.Drops) == 0 {
		return nil
	}
	if !g.Ready {
		return []Step{{"drop", "no RPC is picked, so the drop categories are not asked"}}
	}
	var steps []Step
	left := 1.0
	for _, d := range g.Drops {
		rate := float64(d.PerMillion) / 1e6
		steps = append(steps, Step{"drop", fmt.Sprintf("category %q drops %s of what is left: %s x %s = %s", d.Category,
			decimal(rate), decimal(left), decimal(rate), decimal(d.Share))})
		left *= 1 - rate
	}
	return append(steps, Step{"drop", fmt.Sprintf("%s pass", decimal(left))})
}

// policySteps shows how the active priority divides what passed the drops.
func (x *grpcExplainer) policySteps(pass float64) []Step {
	if x.policy.Kind == grpc.RingHash {
		return x.ringSteps(pass)
	}
	stage := "policy"
	if x.policy.WrrLocality == 0 {
		return []Step{{stage, fmt.Sprintf("%s without wrr_locality: %s of the %d endpoints that can be reached; locality and endpoint weights are not used",
			x.policy.Kind, x.eachOf(pass, x.activeUp), x.activeUp)}}
	}
	var steps []Step
	for _, i := range x.g.Priorities[x.g.Active].Localities {
		l := &x.a.Localities[i]
		name := LocalityID{l.Region, l.Zone, l.SubZone}
		if x.up[i] == 0 {
			steps = append(steps, Step{"locality", fmt.Sprintf("locality %s: no endpoint can be reached, its weight %d does not count", name, l.Weight)})
			continue
		}
		share := pass * float64(l.Weight) / float64(x.weight)
		steps = append(steps,
			Step{"locality", fmt.Sprintf("locality %s: %s x weight %d / %d = %s", name, decimal(pass), l.Weight, x.weight, decimal(share))},
			Step{stage, fmt.Sprintf("locality %s: %s gives %s of its %d endpoints that can be reached; endpoint weights are not used", name, x.policy.Kind, x.eachOf(share, x.up[i]), x.up[i])})
	}
	return steps
}

func (x *grpcExplainer) eachOf(share float64, n int) string {
	if x.policy.Kind == grpc.PickFirst {
		if x.policy.Shuffle {
			return fmt.Sprintf("%s in proportion to the weights, to the first of a shuffle,", decimal(share))
		}
		return fmt.Sprintf("%s to the first that connects", decimal(share))
	}
	return fmt.Sprintf("%s / %d = %s to each", decimal(share), n, decimal(share/float64(n)))
}

// maxRingSteps bounds how many endpoints of a ring are worked out one by one.
const maxRingSteps = 64

func (x *grpcExplainer) ringSteps(pass float64) []Step {
	minSize, maxSize, err := x.policy.RingSizes()
	if err != nil {
		return nil
	}
	steps := []Step{{"hash", fmt.Sprintf("ring of %d entries (minimum %d, maximum %d after gRPC's cap), endpoints in the order of their hash keys; a hash goes to the first entry at or after it",
		x.g.Ring.Size(), minSize, maxSize)}}
	var sum uint64
	refs := x.onRing()
	for _, ref := range refs {
		sum += uint64(x.g.Weights[ref.Locality][ref.Endpoint])
	}
	for n, ref := range refs {
		if n == maxRingSteps {
			steps = append(steps, Step{"hash", fmt.Sprintf("and %d more endpoints", len(refs)-n)})
			break
		}
		e := &x.a.Localities[ref.Locality].Endpoints[ref.Endpoint]
		weight := x.g.Weights[ref.Locality][ref.Endpoint]
		steps = append(steps, Step{"hash", fmt.Sprintf("%s: weight %d of %d in 1/2^31, ideal %s; %d entries own %s of the hashes",
			e.Key(), weight, sum, decimal(pass*float64(weight)/float64(sum)), x.entries[ref], decimal(x.g.Endpoints[ref.Locality][ref.Endpoint]))})
	}
	return steps
}

// onRing lists the usable endpoints of the active priority in the order of their hash keys.
func (x *grpcExplainer) onRing() []grpc.Ref {
	refs := make([]grpc.Ref, 0, len(x.entries))
	for ref := range x.entries {
		refs = append(refs, ref)
	}
	key := func(r grpc.Ref) string { return x.a.Localities[r.Locality].Endpoints[r.Endpoint].Key() }
	slices.SortFunc(refs, func(a, b grpc.Ref) int {
		if c := strings.Compare(key(a), key(b)); c != 0 {
			return c
		}
		if a.Locality != b.Locality {
			return a.Locality - b.Locality
		}
		return a.Endpoint - b.Endpoint
	})
	return refs
}
