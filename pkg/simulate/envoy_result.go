package simulate

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// fillEnvoy writes the outcome of Envoy's model into a result.
func (r *Result) fillEnvoy(cla *endpointv3.ClusterLoadAssignment, in *envoy.Input, e *envoy.Result) {
	why := newEnvoyExplainer(in, e)
	r.Method = string(e.Method)
	r.Dropped, r.Unavailable, r.Panic = e.Dropped, e.Unavailable, len(e.Priorities) > 0
	for _, d := range e.Drops {
		r.Drops = append(r.Drops, Drop{Category: d.Category, Configured: d.Rate, Share: d.Share})
	}
	for i := range e.Priorities {
		r.Panic = r.Panic && e.Priorities[i].Panic
		r.Priorities = append(r.Priorities, envoyPriority(&e.Priorities[i]))
	}
	r.ZoneAware = envoyZoneAware(in, e)
	if e.Subset.Used {
		r.Subset = &Subset{Kind: e.Subset.Kind, Match: e.Subset.Match, Hosts: e.Subset.Hosts, Reason: e.Subset.Reason}
	}
	r.Endpoints = make([]Endpoint, len(e.Endpoints))
	for i := range e.Endpoints {
		r.Endpoints[i] = envoyEndpoint(cla, &e.Endpoints[i])
		r.Endpoints[i].Why = why.text(&e.Endpoints[i])
	}
}

func envoyPriority(p *envoy.Priority) Priority {
	out := Priority{
		Priority:     uint32(p.Priority),
		Availability: &Percents{p.HealthyAvailability, p.DegradedAvailability},
		Load:         Percents{p.HealthyLoad, p.DegradedLoad},
		Panic:        p.Panic, Share: p.Share, Unavailable: p.Unavailable,
		Hosts: p.Hosts, Healthy: p.Healthy, Degraded: p.Degraded, Excluded: p.Excluded,
		Localities: make([]Locality, len(p.Localities)), Why: p.Why,
	}
	for i := range p.Localities {
		l := &p.Localities[i]
		out.Localities[i] = Locality{
			LocalityID: LocalityID(l.Locality), Weight: l.Weight, EffectiveWeight: l.EffectiveWeight,
			Share: l.Share, Hosts: l.Hosts, Healthy: l.Healthy,
		}
	}
	return out
}

func envoyEndpoint(cla *endpointv3.ClusterLoadAssignment, e *envoy.EndpointShare) Endpoint {
	proto := cla.GetEndpoints()[e.Group].GetLbEndpoints()[e.Index]
	out := Endpoint{
		Address: e.Address, Hostname: proto.GetEndpoint().GetHostname(), Path: endpointPath(e.Group, e.Index),
		Priority: uint32(e.Priority), Locality: LocalityID(e.Locality), Health: proto.GetHealthStatus().String(),
		Weight: e.Weight, Share: e.Share, Group: e.Group, Index: e.Index,
	}
	switch {
	case e.Duplicate:
		out.Class = ClassDuplicate
	case e.Excluded:
		out.Class = ClassExcluded
	default:
		out.Class = e.Class.String()
	}
	return out
}
