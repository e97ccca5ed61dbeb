package simulate

import (
	"cmp"
	"math"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/selector"
)

// applyChanges returns the resource with the what-ifs in it, itself when there are none, and the endpoints that cannot
// be reached. The resource that was passed in stays as it is.
func applyChanges(r *eds.Resource, o *Options) (*eds.Resource, []Change, error) {
	var unreachable []Change
	edits := slices.ContainsFunc(o.Changes, func(c Change) bool { return c.Kind != Unreachable })
	documented := o.AsDocumented && o.OverprovisioningFactor == nil && disablesOverprovisioning(r)
	if !edits && o.OverprovisioningFactor == nil && !documented {
		for _, c := range o.Changes {
			if _, err := c.Selector.Select(r.Assignment); err != nil {
				return nil, nil, err
			}
		}
		return r, o.Changes, nil
	}
	changed := *r
	changed.Assignment = proto.CloneOf(r.Assignment)
	if r.Original == proto.Message(r.Assignment) {
		changed.Original = changed.Assignment
	}
	for _, c := range o.Changes {
		if c.Kind == Unreachable {
			if _, err := c.Selector.Select(changed.Assignment); err != nil {
				return nil, nil, err
			}
			unreachable = append(unreachable, c)
			continue
		}
		if err := c.apply(changed.Assignment); err != nil {
			return nil, nil, err
		}
	}
	factor := o.OverprovisioningFactor
	if documented {
		factor = new(uint32(documentedFactor))
	}
	if factor != nil {
		if changed.Assignment.Policy == nil {
			changed.Assignment.Policy = &endpointv3.ClusterLoadAssignment_Policy{}
		}
		changed.Assignment.Policy.OverprovisioningFactor = wrapperspb.UInt32(*factor)
	}
	return &changed, unreachable, nil
}

// apply edits the assignment.
func (c Change) apply(cla *endpointv3.ClusterLoadAssignment) error {
	refs, err := c.Selector.Select(cla)
	if err != nil {
		return err
	}
	if c.Kind == Fail {
		refs = spread(refs)[:c.amount(len(refs))]
	}
	for _, ref := range refs {
		e := cla.Endpoints[ref.Group].LbEndpoints[ref.Index]
		switch c.Kind {
		case SetHealth:
			e.HealthStatus = c.Health
		case SetWeight:
			e.LoadBalancingWeight = wrapperspb.UInt32(c.Weight)
		case Fail:
			e.HealthStatus = corev3.HealthStatus_UNHEALTHY
		}
	}
	return nil
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
