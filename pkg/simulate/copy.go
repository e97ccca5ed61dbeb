package simulate

import (
	"slices"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
)

// editable copies an assignment as far as what-ifs edit it: its policy, its groups and their lists of endpoints are its
// own; the endpoints are shared until editableEndpoint copies one. A deep copy of 100,000 endpoints takes longer than
// balancing over them.
func editable(cla *endpointv3.ClusterLoadAssignment) *endpointv3.ClusterLoadAssignment {
	out := &endpointv3.ClusterLoadAssignment{
		ClusterName: cla.ClusterName, NamedEndpoints: cla.NamedEndpoints, Policy: proto.CloneOf(cla.Policy),
		Endpoints: make([]*endpointv3.LocalityLbEndpoints, len(cla.Endpoints)),
	}
	keepUnknown(out, cla)
	for i, g := range cla.Endpoints {
		group := &endpointv3.LocalityLbEndpoints{
			Locality: g.Locality, Metadata: g.Metadata, LbEndpoints: slices.Clone(g.LbEndpoints), LbConfig: g.LbConfig,
			LoadBalancingWeight: g.LoadBalancingWeight, Priority: g.Priority, Proximity: g.Proximity,
		}
		keepUnknown(group, g)
		out.Endpoints[i] = group
	}
	return out
}

// editableEndpoint puts a copy of an endpoint into its place, whose health and weight are its own.
func editableEndpoint(cla *endpointv3.ClusterLoadAssignment, group, index int) *endpointv3.LbEndpoint {
	e := cla.Endpoints[group].LbEndpoints[index]
	out := &endpointv3.LbEndpoint{
		HostIdentifier: e.HostIdentifier, HealthStatus: e.HealthStatus, Metadata: e.Metadata, LoadBalancingWeight: e.LoadBalancingWeight,
	}
	keepUnknown(out, e)
	cla.Endpoints[group].LbEndpoints[index] = out
	return out
}

func keepUnknown(to, from proto.Message) {
	if unknown := from.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		to.ProtoReflect().SetUnknown(unknown)
	}
}
