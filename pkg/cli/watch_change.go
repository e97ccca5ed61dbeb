package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// compareAssignments says what a new version of an assignment changes, and what that does to the traffic of a client.
// old is nil for the first version.
func compareAssignments(old, new *eds.Resource, client diag.Client) render.Change {
	after := endpointsOf(new)
	change := render.Change{Endpoints: len(after)}
	if result, err := simulateQuietly(new, client); err == nil {
		change.Dropped, change.Unavailable = result.Dropped, result.Unavailable
		change.Moved = movedTraffic(old, result, client)
	}
	if old == nil {
		return change
	}
	before := endpointsOf(old)
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if was, ok := before[key]; !ok {
			change.Added = append(change.Added, key)
		} else if d := endpointDifference(was, after[key]); d != "" {
			change.Changed = append(change.Changed, key+" "+d)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[key]; !ok {
			change.Removed = append(change.Removed, key)
		}
	}
	if !proto.Equal(old.Assignment.GetPolicy(), new.Assignment.GetPolicy()) {
		change.Other = append(change.Other, "policy")
	}
	if change.IsEmpty() && !proto.Equal(old.Assignment, new.Assignment) {
		change.Other = append(change.Other, "order or fields beside the endpoints")
	}
	return change
}

// placed is an endpoint with its place.
type placed struct {
	endpoint *endpointv3.LbEndpoint
	group    *endpointv3.LocalityLbEndpoints
}

// endpointsOf are the endpoints by address; of an address that occurs twice the first, as Envoy takes it.
func endpointsOf(r *eds.Resource) map[string]placed {
	out := map[string]placed{}
	for _, group := range r.Assignment.GetEndpoints() {
		for _, ep := range group.GetLbEndpoints() {
			key := simulate.EnvoyAddress(ep.GetEndpoint().GetAddress())
			if _, ok := out[key]; !ok {
				out[key] = placed{ep, group}
			}
		}
	}
	return out
}

// endpointDifference says in words what differs between two versions of an endpoint.
func endpointDifference(a, b placed) string {
	differences := []string{}
	note := func(what string, from, to any) {
		if from != to {
			differences = append(differences, fmt.Sprintf("%s %v -> %v", what, from, to))
		}
	}
	weight := func(p placed) uint32 {
		return cmp.Or(p.endpoint.GetLoadBalancingWeight().GetValue(), 1)
	}
	locality := func(p placed) string {
		l := p.group.GetLocality()
		return l.GetRegion() + "/" + l.GetZone() + "/" + l.GetSubZone()
	}
	note("health", a.endpoint.GetHealthStatus(), b.endpoint.GetHealthStatus())
	note("weight", weight(a), weight(b))
	note("priority", a.group.GetPriority(), b.group.GetPriority())
	note("locality", locality(a), locality(b))
	note("locality weight", a.group.GetLoadBalancingWeight().GetValue(), b.group.GetLoadBalancingWeight().GetValue())
	if !proto.Equal(a.endpoint.GetMetadata(), b.endpoint.GetMetadata()) {
		differences = append(differences, "metadata")
	}
	if len(differences) == 0 && !proto.Equal(a.endpoint, b.endpoint) {
		differences = append(differences, "other fields")
	}
	if len(differences) == 0 {
		return ""
	}
	return fmt.Sprint(differences)
}

// simulateQuietly computes the shares of an assignment as if the client took it.
func simulateQuietly(r *eds.Resource, client diag.Client) (*simulate.Result, error) {
	return simulate.FromResource(r, client, &simulate.Options{Force: true})
}

// movedTraffic is the part of all requests that goes elsewhere than with the old version: half the sum of the changes
// of all shares, those of dropped and unavailable among them. It is 0 for the first version.
func movedTraffic(old *eds.Resource, after *simulate.Result, client diag.Client) float64 {
	if old == nil {
		return 0
	}
	before, err := simulateQuietly(old, client)
	if err != nil {
		return 0
	}
	delta := map[string]float64{"dropped": after.Dropped - before.Dropped, "unavailable": after.Unavailable - before.Unavailable}
	for _, e := range after.Endpoints {
		delta["@"+e.Address] += e.Share
	}
	for _, e := range before.Endpoints {
		delta["@"+e.Address] -= e.Share
	}
	sum := 0.0
	for _, key := range slices.Sorted(maps.Keys(delta)) {
		sum += math.Abs(delta[key])
	}
	return sum / 2
}
