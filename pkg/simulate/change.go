package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/selector"
)

// changedResource is a resource with the what-ifs in it.
type changedResource struct {
	*eds.Resource
	unreachable []Change // that gRPC has to apply: connections, not settings
	missed      []Missed
	notes       []string // on changes that do less than they say
}

// applyChanges returns the resource with the what-ifs in it, itself when there are none. The resource that was passed in
// stays as it is.
func applyChanges(r *eds.Resource, o *Options) (changedResource, error) {
	out := changedResource{Resource: r}
	edits := slices.ContainsFunc(o.Changes, func(c Change) bool { return c.Kind != Unreachable })
	documented := o.AsDocumented && o.OverprovisioningFactor == nil && disablesOverprovisioning(r)
	if edits || o.OverprovisioningFactor != nil || documented {
		clone := *r
		clone.Assignment = editable(r.Assignment)
		if r.Original == proto.Message(r.Assignment) {
			clone.Original = clone.Assignment
		}
		out.Resource = &clone
	}
	for i, c := range o.Changes {
		refs, err := c.Selector.Select(out.Assignment)
		switch {
		case err != nil && !o.Optional:
			return out, err
		case err != nil:
			out.missed = append(out.missed, Missed{i, err})
		case c.Kind == Unreachable:
			out.unreachable = append(out.unreachable, c)
		default:
			if c.Kind == Fail && c.Count != nil && *c.Count > len(refs) {
				out.notes = append(out.notes, fmt.Sprintf("%q selects fewer than %d endpoints: all of them fail", c.Selector, *c.Count))
			}
			c.apply(out.Assignment, refs)
		}
	}
	factor := o.OverprovisioningFactor
	if documented {
		factor = new(uint32(documentedFactor))
	}
	if factor != nil {
		if out.Assignment.Policy == nil {
			out.Assignment.Policy = &endpointv3.ClusterLoadAssignment_Policy{}
		}
		out.Assignment.Policy.OverprovisioningFactor = wrapperspb.UInt32(*factor)
	}
	return out, nil
}

// apply edits the endpoints of the assignment that the selector picks.
func (c Change) apply(cla *endpointv3.ClusterLoadAssignment, refs []selector.Ref) {
	if c.Kind == Fail {
		refs = spread(refs)[:c.amount(len(refs))]
	}
	for _, ref := range refs {
		e := editableEndpoint(cla, ref.Group, ref.Index)
		switch c.Kind {
		case SetHealth:
			e.HealthStatus = c.Health
		case SetWeight:
			e.LoadBalancingWeight = wrapperspb.UInt32(c.Weight)
		case Fail:
			if e.HealthStatus != corev3.HealthStatus_DRAINING { // which no failed check takes from it: it stays excluded
				e.HealthStatus = corev3.HealthStatus_UNHEALTHY
			}
		}
	}
}

// amount is how many of n endpoints fail.
func (c Change) amount(n int) int {
	switch {
	case c.Count != nil:
		return min(*c.Count, n)
	case c.Percent != nil:
		return int(math.Round(*c.Percent * float64(n) / 100))
	default:
		return n
	}
}

// spread orders endpoints so that each prefix takes the same part of every group: endpoint j of the g that are selected
// in a group stands at (j + 1/2) / g. Equal places keep document order. Two groups of 2 and 4 fail in the order b0 a0 b1 b2
// a1 b3.
func spread(refs []selector.Ref) []selector.Ref {
	type placed struct {
		selector.Ref
		at float64
	}
	size := map[int]int{}
	for _, r := range refs {
		size[r.Group]++
	}
	seen := map[int]int{}
	order := make([]placed, len(refs))
	for i, r := range refs {
		order[i] = placed{r, (float64(seen[r.Group]) + 0.5) / float64(size[r.Group])}
		seen[r.Group]++
	}
	slices.SortStableFunc(order, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	out := make([]selector.Ref, len(order))
	for i, p := range order {
		out[i] = p.Ref
	}
	return out
}
