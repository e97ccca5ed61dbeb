package envoy

import (
	"maps"
	"reflect"
	"slices"
)

// Checking is how a cluster checks the health of its endpoints itself.
type Checking struct {
	// Active: the cluster has health_checks, and they pass.
	Active bool
	// IgnoreOnRemoval is ignore_health_on_host_removal.
	IgnoreOnRemoval bool
}

// Update returns the input that a fresh Envoy would have to get to be in the state of one that had before and then got
// after by EDS (eds.cc, upstream_impl.cc updateDynamicHostList). Policy and surroundings are those of after.
//
//   - A priority changes only if an endpoint came, went or differs in weight, class, metadata, hostname or locality, or if
//     a locality weight or one of the two policy values differs. If nothing but the order or UNHEALTHY and DRAINING
//     differ, it keeps its old order and health.
//   - With active health checks an endpoint that is gone stays while they pass, at the end of its priority, unless its
//     last health was UNHEALTHY or TIMEOUT. That alone is no change either.
//   - Before 1.39 a new hostname of a known address was not noticed.
func Update(before, after Input, checking Checking) Input {
	old, now := byPriority(before.Groups), byPriority(after.Groups)
	policy := before.OverprovisioningFactor != after.OverprovisioningFactor || before.WeightedPriorityHealth != after.WeightedPriorityHealth
	if after.Version != 0 && after.Version < 39 {
		now = keepHostnames(old, now)
	}
	addresses := map[string]bool{}
	for _, groups := range now {
		for g := range groups {
			for i := range groups[g].Endpoints {
				addresses[groups[g].Endpoints[i].Address] = true
			}
		}
	}
	out := after
	out.Groups = nil
	// A priority that is gone still exists, and may keep endpoints.
	for p := range max(len(old), len(now)) {
		was, is := at(old, p), at(now, p)
		var kept []Group
		if checking.Active && !checking.IgnoreOnRemoval {
			kept = retained(was, addresses)
		}
		is = slices.Concat(is, kept)
		switch {
		case !policy && same(was, is):
			out.Groups = append(out.Groups, was...)
		case len(is) == 0:
			out.Groups = append(out.Groups, Group{Priority: uint32(p)})
		default:
			out.Groups = append(out.Groups, is...)
		}
	}
	return out
}

func at(levels [][]Group, p int) []Group {
	if p < len(levels) {
		return levels[p]
	}
	return nil
}

// byPriority sorts groups into levels, without the copies of an address.
func byPriority(groups []Group) [][]Group {
	var levels [][]Group
	seen := map[string]bool{}
	for _, g := range groups {
		for uint32(len(levels)) <= g.Priority && g.Priority <= MaxPriority {
			levels = append(levels, nil)
		}
		if g.Priority > MaxPriority {
			continue
		}
		var kept []Endpoint
		for i := range g.Endpoints {
			if address := g.Endpoints[i].Address; !seen[address] {
				seen[address] = true
				kept = append(kept, g.Endpoints[i])
			}
		}
		g.Endpoints = kept
		levels[g.Priority] = append(levels[g.Priority], g)
	}
	return levels
}

// known is what an update compares an endpoint by.
type known struct {
	endpoint Endpoint
	locality Locality
}

func same(was, is []Group) bool {
	weights, hosts := summary(was)
	newWeights, newHosts := summary(is)
	if !maps.Equal(weights, newWeights) || len(hosts) != len(newHosts) {
		return false
	}
	for address, h := range hosts {
		n, ok := newHosts[address]
		if !ok || h.locality != n.locality || h.endpoint.HostWeight() != n.endpoint.HostWeight() || h.endpoint.Class() != n.endpoint.Class() ||
			h.endpoint.Hostname != n.endpoint.Hostname || h.endpoint.HashKey != n.endpoint.HashKey ||
			!reflect.DeepEqual(h.endpoint.Metadata, n.endpoint.Metadata) {
			return false
		}
	}
	return true
}

func summary(groups []Group) (weights map[Locality]uint32, hosts map[string]known) {
	weights, hosts = map[Locality]uint32{}, map[string]known{}
	for i := range groups {
		g := &groups[i]
		if g.Locality != nil && g.Weight > 0 {
			weights[*g.Locality] = g.Weight
		}
		for j := range g.Endpoints {
			hosts[g.Endpoints[j].Address] = known{g.Endpoints[j], g.locality()}
		}
	}
	return weights, hosts
}

// retained are the endpoints of a level that EDS removed and active checks keep; their localities have no weight of their
// own any more.
func retained(was []Group, present map[string]bool) []Group {
	var kept []Group
	for _, g := range was {
		g.Weight = 0
		g.Endpoints = slices.DeleteFunc(slices.Clone(g.Endpoints), func(e Endpoint) bool {
			return present[e.Address] || e.Health == Unhealthy || e.Health == Timeout
		})
		if len(g.Endpoints) > 0 {
			kept = append(kept, g)
		}
	}
	return kept
}

// keepHostnames gives endpoints that were known before their old hostname.
func keepHostnames(old, now [][]Group) [][]Group {
	names := map[string]string{}
	for _, groups := range old {
		for i := range groups {
			for j := range groups[i].Endpoints {
				names[groups[i].Endpoints[j].Address] = groups[i].Endpoints[j].Hostname
			}
		}
	}
	for _, groups := range now {
		for i := range groups {
			for j := range groups[i].Endpoints {
				e := &groups[i].Endpoints[j] // byPriority made the slice
				if name, ok := names[e.Address]; ok {
					e.Hostname = name
				}
			}
		}
	}
	return now
}
