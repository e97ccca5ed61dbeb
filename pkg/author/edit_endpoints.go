package author

import (
	"fmt"
	"math/big"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/selector"
)

// SetWeight gives the selected endpoints a load_balancing_weight, or their localities with locality; nil takes it out.
func SetWeight(s selector.Selector, weight *uint32, locality bool) Verb {
	var w *wrapperspb.UInt32Value
	if weight != nil {
		w = wrapperspb.UInt32(*weight)
	}
	return weightVerb(s, locality, func(*wrapperspb.UInt32Value) (*wrapperspb.UInt32Value, error) { return w, nil })
}

// ScaleWeights multiplies the weights of the selected endpoints, or of their localities. An endpoint without a weight
// has 1, a locality without one stays without. Results are rounded to the nearest whole number, at least 1.
func ScaleWeights(s selector.Selector, factor *big.Rat, locality bool) Verb {
	return weightVerb(s, locality, func(w *wrapperspb.UInt32Value) (*wrapperspb.UInt32Value, error) {
		if w == nil && locality {
			return nil, nil
		}
		old := uint32(1)
		if w != nil {
			old = w.GetValue()
		}
		scaled, err := scale(old, factor)
		if err != nil || w == nil && scaled == 1 {
			return nil, err
		}
		return wrapperspb.UInt32(scaled), nil
	})
}

// scale is old * factor, rounded half up, at least 1: scale(3, 1/2) is 2, scale(1, 1/10) is 1.
func scale(old uint32, factor *big.Rat) (uint32, error) {
	product := new(big.Rat).Mul(new(big.Rat).SetInt64(int64(old)), factor)
	product.Add(product, big.NewRat(1, 2))
	q := new(big.Int).Quo(product.Num(), product.Denom())
	switch {
	case !q.IsUint64() || q.Uint64() > 1<<32-1:
		return 0, fmt.Errorf("weight %d times %s is more than 4294967295", old, factor.RatString())
	case q.Sign() == 0:
		return 1, nil
	}
	return uint32(q.Uint64()), nil //nolint:gosec // bounded above
}

func weightVerb(s selector.Selector, locality bool, next func(*wrapperspb.UInt32Value) (*wrapperspb.UInt32Value, error)) Verb {
	return verbOf(func(d *draft) error {
		refs, err := s.Select(d.old)
		if err != nil {
			return err
		}
		if locality {
			for g := range byGroup(refs) {
				group := d.old.Endpoints[g]
				w, err := next(group.GetLoadBalancingWeight())
				if err != nil {
					return err
				}
				if d.weight(groupPath(g), localityText(group), group.GetLoadBalancingWeight(), w) {
					d.group(g).LoadBalancingWeight = w
				}
			}
			return nil
		}
		for _, r := range refs {
			e := d.old.Endpoints[r.Group].LbEndpoints[r.Index]
			w, err := next(e.GetLoadBalancingWeight())
			if err != nil {
				return err
			}
			if d.weight(endpointPath(r), addressOf(e), e.GetLoadBalancingWeight(), w) {
				d.endpoint(r).LoadBalancingWeight = w
			}
		}
		return nil
	})
}

// weight changes the text of one weight, and tells whether there is anything to change.
func (d *draft) weight(path diag.Path, what string, old, w *wrapperspb.UInt32Value) bool {
	if (old == nil) == (w == nil) && old.GetValue() == w.GetValue() {
		return false
	}
	d.say("%s: load_balancing_weight %s -> %s", what, weightText(old), weightText(w))
	if w == nil {
		d.changes.set(path.Field("load_balancing_weight"), nil)
	} else {
		d.changes.set(path.Field("load_balancing_weight"), number(w.GetValue()))
	}
	return true
}

// SetHealth gives the selected endpoints a health_status; nil takes it out, which is UNKNOWN.
func SetHealth(s selector.Selector, status *corev3.HealthStatus) Verb {
	return verbOf(func(d *draft) error {
		refs, err := s.Select(d.old)
		if err != nil {
			return err
		}
		for _, r := range refs {
			d.health(r, status)
		}
		return nil
	})
}

// Drain is SetHealth DRAINING.
func Drain(s selector.Selector) Verb {
	status := corev3.HealthStatus_DRAINING
	return SetHealth(s, &status)
}

// Undrain takes the health_status out of those selected endpoints that are DRAINING.
func Undrain(s selector.Selector) Verb {
	return verbOf(func(d *draft) error {
		refs, err := s.Select(d.old)
		if err != nil {
			return err
		}
		for _, r := range refs {
			if d.old.Endpoints[r.Group].LbEndpoints[r.Index].GetHealthStatus() == corev3.HealthStatus_DRAINING {
				d.health(r, nil)
			}
		}
		return nil
	})
}

func (d *draft) health(r selector.Ref, status *corev3.HealthStatus) {
	e := d.old.Endpoints[r.Group].LbEndpoints[r.Index]
	path := endpointPath(r).Field("health_status")
	var to corev3.HealthStatus
	var value *literal
	if status != nil {
		to = *status
		value = &literal{kind: enumLiteral, text: to.String()}
	}
	if e.GetHealthStatus() == to && (to != 0 || status != nil) {
		return // UNKNOWN is what an absent status means
	}
	d.changes.set(path, value)
	if e.GetHealthStatus() == to {
		return
	}
	d.say("%s: health_status %s -> %s", addressOf(e), e.GetHealthStatus(), to)
	d.endpoint(r).HealthStatus = to
}

// Remove takes out the selected endpoints. A locality that is left without any stays, unless prune.
func Remove(s selector.Selector, prune bool) Verb {
	emptied := newMarks()
	verb := verbOf(func(d *draft) error {
		refs, err := s.Select(d.old)
		if err != nil {
			return err
		}
		for _, r := range refs {
			e := d.old.Endpoints[r.Group].LbEndpoints[r.Index]
			d.say("%s: removed (%s)", addressOf(e), localityText(d.old.Endpoints[r.Group]))
		}
		d.take(refs)
		emptied.mark(d)
		return nil
	})
	if prune {
		verb.Steps = append(verb.Steps, pruneStep(emptied))
	}
	return verb
}

// take removes endpoints from their groups.
func (d *draft) take(refs []selector.Ref) {
	for g, part := range byGroup(refs) {
		gone := d.changes.list(listPath(g)).removed
		for _, r := range part {
			gone[r.Index] = true
		}
		group := d.group(g)
		kept := make([]*endpointv3.LbEndpoint, 0, len(group.LbEndpoints))
		for i, e := range d.old.Endpoints[g].LbEndpoints {
			if !gone[i] {
				kept = append(kept, e)
			}
		}
		group.LbEndpoints = append(kept, group.LbEndpoints[len(d.old.Endpoints[g].LbEndpoints):]...)
	}
}

// marks remembers which groups of an assignment a step left empty, by the name of the assignment.
type marks map[string]map[int]bool

func newMarks() marks { return marks{} }

func (m marks) mark(d *draft) {
	for g, group := range d.groups {
		if len(group.GetLbEndpoints()) == 0 && len(d.old.Endpoints[g].GetLbEndpoints()) > 0 {
			if m[d.old.GetClusterName()] == nil {
				m[d.old.GetClusterName()] = map[int]bool{}
			}
			m[d.old.GetClusterName()][g] = true
		}
	}
}

// pruneStep removes the groups that were left empty.
func pruneStep(emptied marks) Step {
	return stepOf(func(d *draft) error {
		gone := emptied[d.old.GetClusterName()]
		if len(gone) == 0 {
			return nil
		}
		d.Want.Endpoints = nil
		for g, group := range d.old.Endpoints {
			if gone[g] && len(group.GetLbEndpoints()) == 0 {
				d.changes.list(diag.Path{{Name: "endpoints"}}).removed[g] = true
				d.say("%s: removed, it has no endpoint left", localityText(group))
				continue
			}
			d.Want.Endpoints = append(d.Want.Endpoints, group)
		}
		return nil
	})
}
