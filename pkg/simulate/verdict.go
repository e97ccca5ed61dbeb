package simulate

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/grpc"
)

// judge asks for the client's verdict and writes it into the result.
func (s *run) judge() {
	s.result.Verdict = string(diag.Accept)
	if s.kind == kindNoEndpoints {
		s.result.Verdict = string(diag.NotApplicable)
		s.result.Message = "a cluster of type " + s.result.Cluster.Type + " does not balance over the endpoints of an assignment"
		return
	}
	if s.o.Check == nil {
		return
	}
	v := s.o.Check(s.judged())[s.client]
	s.result.Verdict, s.result.Message = string(v.Kind), v.Message
}

// judged is the resource that the verdict is about. With AsDocumented it has one drop category at most: the API allows
// several, Envoy's limit is what the option looks past.
func (s *run) judged() *eds.Resource {
	drops := s.assignment().GetPolicy().GetDropOverloads()
	if !s.o.AsDocumented || s.client != diag.Envoy || len(drops) < 2 {
		return s.resource
	}
	out := *s.resource
	out.Assignment = &endpointv3.ClusterLoadAssignment{
		ClusterName: s.assignment().ClusterName, Endpoints: s.assignment().Endpoints, NamedEndpoints: s.assignment().NamedEndpoints,
		Policy: proto.CloneOf(s.assignment().Policy),
	}
	out.Assignment.Policy.DropOverloads = drops[:1]
	if s.resource.Original == proto.Message(s.resource.Assignment) {
		out.Original = out.Assignment
	}
	s.result.Notes = append(s.result.Notes, "Envoy refuses more than one drop category; computed as the API documents it: each acts on what the previous let through")
	return &out
}

// composedDrops are the effective rates of the drop categories as the API documents them: 60 % then 50 % of what is
// left drop 0.6 and 0.2, and 0.2 pass. No category takes more than everything.
func composedDrops(cla *endpointv3.ClusterLoadAssignment) (drops []Drop, pass float64) {
	pass = 1
	drops = []Drop{}
	for _, d := range cla.GetPolicy().GetDropOverloads() {
		p := d.GetDropPercentage()
		rate := float64(grpc.PerMillion(p.GetNumerator(), denominator(p.GetDenominator().Number()))) / 1e6
		drops = append(drops, Drop{Category: d.GetCategory(), Configured: rate, Share: pass * rate})
		pass *= 1 - rate
	}
	return drops, pass
}
