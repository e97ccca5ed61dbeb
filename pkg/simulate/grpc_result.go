package simulate

import (
	"fmt"
	"strconv"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/lb/grpc"
)

// fillGRPC writes the outcome of the gRPC model into a result.
func (r *Result) fillGRPC(cla *endpointv3.ClusterLoadAssignment, a *grpc.Assignment, g *grpc.Result) {
	r.Dropped, r.Unavailable = g.Dropped, g.Unavailable
	r.Drops = grpcDrops(g.Drops)
	if g.Unavailable > 0 {
		r.Notes = append(r.Notes, "RPCs without an endpoint fail with UNAVAILABLE: "+g.Error)
	}
	if g.Ring != nil && len(g.Ring.Ties) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("several endpoints have the hash key %q: one of them gets all their requests, and which one differs from run to run; shares are the mean", g.Ring.Ties[0]))
	}
	r.Priorities = grpcPriorities(a, g)
	r.Endpoints = grpcEndpoints(cla, a, g)
}

func grpcDrops(shares []grpc.DropShare) []Drop {
	drops := make([]Drop, len(shares))
	for i, d := range shares {
		drops[i] = Drop{Category: d.Category, Configured: float64(d.PerMillion) / 1e6, Share: d.Share}
	}
	return drops
}

func grpcPriorities(a *grpc.Assignment, g *grpc.Result) []Priority {
	priorities := make([]Priority, len(g.Priorities))
	for i, p := range g.Priorities {
		out := Priority{Priority: p.Number, Localities: make([]Locality, len(p.Localities))}
		if i == g.Active {
			out.Load.Healthy = 100
			out.Unavailable = g.Unavailable
		}
		for j, l := range p.Localities {
			out.Localities[j] = grpcLocality(&a.Localities[l], g.Localities[l])
			out.Share += g.Localities[l]
			out.Hosts += out.Localities[j].Hosts
			out.Healthy += out.Localities[j].Healthy
		}
		out.Why = grpcPriorityWhy(g, i, out.Healthy)
		priorities[i] = out
	}
	return priorities
}

func grpcLocality(l *grpc.Locality, share float64) Locality {
	out := Locality{LocalityID: LocalityID{l.Region, l.Zone, l.SubZone}, Weight: l.Weight, Share: share, Hosts: len(l.Endpoints)}
	for i := range l.Endpoints {
		if l.Endpoints[i].Up() {
			out.Healthy++
		}
	}
	if out.Healthy > 0 {
		out.EffectiveWeight = float64(l.Weight)
	}
	return out
}

func grpcPriorityWhy(g *grpc.Result, i, up int) string {
	switch {
	case i == g.Active && g.Ready:
		return "the first priority that can be reached gets everything"
	case i == g.Active:
		return "no priority can be reached: the last one that was tried answers with its error"
	case i < g.Active && up == 0:
		return "no endpoint is usable and reachable: the next priority is tried"
	default:
		return "an earlier priority gets everything"
	}
}

// grpcEndpoints lists the endpoints in document order. The words for a share are made once for neighbours that have the
// same.
func grpcEndpoints(cla *endpointv3.ClusterLoadAssignment, a *grpc.Assignment, g *grpc.Result) []Endpoint {
	total := 0
	for i := range a.Localities {
		total += len(a.Localities[i].Endpoints)
	}
	out := make([]Endpoint, 0, total)
	explain := newGRPCExplainer(a, g)
	for i := range a.Localities {
		l := &a.Localities[i]
		id := LocalityID{l.Region, l.Zone, l.SubZone}
		for j := range l.Endpoints {
			e := &l.Endpoints[j]
			proto := cla.GetEndpoints()[i].GetLbEndpoints()[j]
			out = append(out, Endpoint{
				Address: e.Addresses[0].Text, Hostname: proto.GetEndpoint().GetHostname(), Path: endpointPath(i, j),
				Priority: l.Priority, Locality: id, Health: proto.GetHealthStatus().String(), Class: grpcClass(l, e),
				Weight: max(e.Weight, 1), Share: g.Endpoints[i][j], Why: explain.why(i, j), Group: i, Index: j,
			})
		}
	}
	return out
}

func grpcClass(l *grpc.Locality, e *grpc.Endpoint) string {
	switch {
	case l.Weight == 0:
		return ClassIgnored
	case e.Usable:
		return ClassHealthy
	default:
		return ClassUnhealthy
	}
}

// endpointPath is the canonical path of an endpoint.
func endpointPath(group, index int) string {
	b := make([]byte, 0, 40)
	b = append(b, "endpoints["...)
	b = strconv.AppendInt(b, int64(group), 10)
	b = append(b, "].lb_endpoints["...)
	b = strconv.AppendInt(b, int64(index), 10)
	return string(append(b, ']'))
}

// grpcExplainer puts reasons into words. Counts are made once: there may be very many endpoints.
type grpcExplainer struct {
	a      *grpc.Assignment
	g      *grpc.Result
	policy grpc.Policy

	up       []int  // by locality
	activeUp int    // in the active priority
	weight   uint64 // sum over the active priority's localities that can be reached
	entries  map[grpc.Ref]int

	group int // that texts are about
	texts map[grpc.Reason]string
}

func newGRPCExplainer(a *grpc.Assignment, g *grpc.Result) *grpcExplainer {
	x := &grpcExplainer{a: a, g: g, policy: g.Policy(), up: make([]int, len(a.Localities)), group: -1}
	for i := range a.Localities {
		x.up[i] = upIn(&a.Localities[i])
	}
	if g.Active >= 0 {
		for _, i := range g.Priorities[g.Active].Localities {
			x.activeUp += x.up[i]
			if x.up[i] > 0 {
				x.weight += uint64(a.Localities[i].Weight)
			}
		}
	}
	if g.Ring != nil {
		x.entries = g.Ring.Entries()
	}
	return x
}

func (x *grpcExplainer) why(group, index int) string {
	if group != x.group {
		x.group, x.texts = group, map[grpc.Reason]string{}
	}
	reason := x.g.Reasons[group][index]
	if reason == grpc.Serves && x.policy.Kind == grpc.RingHash {
		return fmt.Sprintf("%d of %d ring entries", x.entries[grpc.Ref{Locality: group, Endpoint: index}], x.g.Ring.Size()) + x.peer(group, index)
	}
	text, ok := x.texts[reason]
	if !ok {
		text = x.text(group, reason)
		x.texts[reason] = text
	}
	if reason == grpc.Serves {
		text += x.peer(group, index)
	}
	return text
}

// peer says that another address than the primary answers.
func (x *grpcExplainer) peer(group, index int) string {
	e := &x.a.Localities[group].Endpoints[index]
	if peer := e.Peer(); peer != e.Addresses[0].Text {
		return "; reached at " + peer
	}
	return ""
}

func (x *grpcExplainer) text(group int, reason grpc.Reason) string {
	switch reason {
	case grpc.Health:
		return "gRPC uses HEALTHY and UNKNOWN endpoints only"
	case grpc.LocalityWeight:
		return "the locality has no weight: gRPC does not see it"
	case grpc.InactivePriority:
		return fmt.Sprintf("priority %d gets everything", x.g.Priorities[x.g.Active].Number)
	case grpc.Unreachable:
		return "no connection succeeds"
	case grpc.NoRingEntry:
		return "too light for an entry on the ring"
	case grpc.NotFirst:
		return "pick_first connected to another endpoint"
	case grpc.PolicyFails:
		return "no RPC is sent: " + x.g.Error
	}
	if x.policy.WrrLocality > 0 {
		return fmt.Sprintf("locality weight %d of %d, %s", x.a.Localities[group].Weight, x.weight, x.among(x.up[group]))
	}
	return x.among(x.activeUp) + ", locality weights not used"
}

func (x *grpcExplainer) among(n int) string {
	switch {
	case x.policy.Kind != grpc.PickFirst:
		return fmt.Sprintf("1 of %d", n)
	case x.policy.Shuffle:
		return fmt.Sprintf("the first of %d in a shuffle by weight", n)
	default:
		return fmt.Sprintf("the first of %d that connects", n)
	}
}

func upIn(l *grpc.Locality) int {
	n := 0
	for i := range l.Endpoints {
		if l.Endpoints[i].Up() {
			n++
		}
	}
	return n
}
