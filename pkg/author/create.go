package author

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Creation is what an assignment is made of.
type Creation struct {
	Name            string
	Endpoints       []*EndpointSpec
	Drops           []DropSetting
	Overprovision   *uint32 // percent; nil: not set
	LocalityWeights []LocalityWeight
}

// LocalityWeight is the weight of the localities at a place; of all of them when the place is empty.
type LocalityWeight struct {
	Place  Place
	Weight uint32 // 0: the number of endpoints of the locality
	text   string
}

// autoWeight makes the weight of a locality the number of its endpoints.
const autoWeight = "auto"

// ParseLocalityWeight reads "ZONE=N", "REGION/ZONE/SUB_ZONE=N", "ZONE=auto" and "auto", which is for all localities.
func ParseLocalityWeight(text string) (LocalityWeight, error) {
	w := LocalityWeight{text: text}
	if text == autoWeight {
		return w, nil
	}
	i := strings.LastIndexByte(text, '=')
	if i <= 0 {
		return w, errors.New("must have the form ZONE=WEIGHT, REGION/ZONE/SUB_ZONE=WEIGHT or auto")
	}
	locality, value := text[:i], text[i+1:]
	if value != autoWeight {
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil || n == 0 {
			return w, fmt.Errorf("weight %q must be a whole number from 1 to 4294967295, or auto", value)
		}
		w.Weight = uint32(n)
	}
	if !strings.Contains(locality, "/") {
		w.Place.Zone = &locality
		return w, nil
	}
	_, err := w.Place.set("locality", locality)
	return w, err
}

// Create makes an assignment: a locality for each place that the endpoints name, by priority, else in the order in which
// they come. An endpoint without a place belongs to the locality without a name at priority 0.
func Create(c *Creation) (*endpointv3.ClusterLoadAssignment, error) {
	out := &endpointv3.ClusterLoadAssignment{ClusterName: c.Name}
	at := map[spot]*endpointv3.LocalityLbEndpoints{}
	for _, spec := range c.Endpoints {
		where := spec.Place.from(spot{})
		group := at[where]
		if group == nil {
			group = where.group()
			at[where] = group
			out.Endpoints = append(out.Endpoints, group)
		}
		if err := setLocalityWeight(group, spec); err != nil {
			return nil, err
		}
		group.LbEndpoints = append(group.LbEndpoints, spec.Endpoint)
	}
	slices.SortStableFunc(out.Endpoints, func(a, b *endpointv3.LocalityLbEndpoints) int {
		return int(int64(a.GetPriority()) - int64(b.GetPriority()))
	})
	if err := weighLocalities(out, c.LocalityWeights); err != nil {
		return nil, err
	}
	return out, setPolicyOf(out, c)
}

// setLocalityWeight takes the weight that an endpoint names for its locality.
func setLocalityWeight(group *endpointv3.LocalityLbEndpoints, spec *EndpointSpec) error {
	if spec.LocalityWeight == nil {
		return nil
	}
	if old := group.GetLoadBalancingWeight(); old != nil && old.GetValue() != *spec.LocalityWeight {
		return fmt.Errorf("endpoint %s gives its locality (%s) the weight %d, and one before it gave %d", addressOf(spec.Endpoint), localityText(group), *spec.LocalityWeight, old.GetValue())
	}
	group.LoadBalancingWeight = wrapperspb.UInt32(*spec.LocalityWeight)
	return nil
}

func weighLocalities(cla *endpointv3.ClusterLoadAssignment, weights []LocalityWeight) error {
	for _, w := range weights {
		found := false
		for _, g := range cla.GetEndpoints() {
			if !w.Place.matches(g) {
				continue
			}
			found = true
			n := w.Weight
			if n == 0 {
				n = uint32(len(g.GetLbEndpoints())) //nolint:gosec // a file has fewer
			}
			g.LoadBalancingWeight = wrapperspb.UInt32(n)
		}
		if !found {
			var have []string
			for _, g := range cla.GetEndpoints() {
				have = append(have, localityText(g))
			}
			return fmt.Errorf("locality weight %q: no endpoint has that locality, there is %s", w.text, strings.Join(have, "; "))
		}
	}
	return nil
}

func setPolicyOf(cla *endpointv3.ClusterLoadAssignment, c *Creation) error {
	policy := &endpointv3.ClusterLoadAssignment_Policy{}
	for _, d := range c.Drops {
		if d.Percent == nil {
			return fmt.Errorf("drop %q: there is nothing to take out of a new assignment", d.Category)
		}
		policy.DropOverloads = append(policy.DropOverloads, &endpointv3.ClusterLoadAssignment_Policy_DropOverload{Category: d.Category, DropPercentage: d.Percent})
	}
	if c.Overprovision != nil {
		policy.OverprovisioningFactor = wrapperspb.UInt32(*c.Overprovision)
	}
	if len(policy.DropOverloads) > 0 || policy.OverprovisioningFactor != nil {
		cla.Policy = policy
	}
	return nil
}
