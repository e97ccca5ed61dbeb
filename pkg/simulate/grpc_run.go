package simulate

import (
	"math/rand/v2"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/lb/envoy"
	"github.com/edsctl/edsctl/pkg/lb/grpc"
)

// grpc runs gRPC's model.
func (s *run) grpc() {
	env := readGRPCEnv(s.o.Getenv)
	a := grpcAssignment(s.assignment(), env, s.reachable())
	if s.kind == kindLogicalDNS {
		a = logicalDNSAssignment(a)
		s.result.Notes = append(s.result.Notes, "gRPC reads only the address out of a LOGICAL_DNS cluster: no locality, weight, health or drop counts")
	}
	g := grpc.Simulate(a, grpcPolicy(s.cluster(), env))
	s.result.fillGRPC(s.assignment(), a, g)
	s.result.ZoneAware.Reason = "gRPC has no zone-aware routing"
	if g.Ring != nil {
		s.result.Method = string(envoy.HashSpace)
		first := firstIndices(a)
		s.result.pick = func(hash uint64) int {
			if ref, ok := g.Ring.Pick(hash); ok {
				return first[ref.Locality] + ref.Endpoint
			}
			return -1
		}
	}
	s.addKeys()
	if s.o.Requests > 0 {
		s.sampleGRPC(a, g)
	}
	if s.o.Explain {
		s.result.Steps = grpcSteps(a, g)
	}
}

// reachable tells whether connections to an address succeed, after the Unreachable changes. A selector by address makes
// only the addresses that it names unreachable, any other all of the endpoint's.
func (s *run) reachable() func(*endpointv3.LocalityLbEndpoints, *endpointv3.LbEndpoint, *corev3.Address) bool {
	if len(s.unreachable) == 0 {
		return func(*endpointv3.LocalityLbEndpoints, *endpointv3.LbEndpoint, *corev3.Address) bool { return true }
	}
	return func(group *endpointv3.LocalityLbEndpoints, e *endpointv3.LbEndpoint, a *corev3.Address) bool {
		for _, c := range s.unreachable {
			if c.Selector.MatchAddress(group, e, a) {
				return false
			}
		}
		return true
	}
}

// firstIndices are the places in the result of the first endpoint of each locality.
func firstIndices(a *grpc.Assignment) []int {
	first := make([]int, len(a.Localities))
	for i := 1; i < len(first); i++ {
		first[i] = first[i-1] + len(a.Localities[i-1].Endpoints)
	}
	return first
}

// sampleGRPC makes seeded requests with gRPC's pickers.
func (s *run) sampleGRPC(a *grpc.Assignment, g *grpc.Result) {
	rng := rand.New(rand.NewPCG(s.o.Seed, 0))
	picker := g.NewPicker(rng)
	first := firstIndices(a)
	counts := make([]int64, len(s.result.Endpoints))
	out := &Run{Requests: s.o.Requests, Seed: s.o.Seed}
	for range s.o.Requests {
		switch p := picker.Pick(nil); p.Outcome {
		case grpc.Served:
			counts[first[p.Endpoint.Locality]+p.Endpoint.Endpoint]++
		case grpc.Dropped:
			out.Dropped++
		default:
			out.Unavailable++
		}
	}
	s.result.Sample = out
	s.result.addSamples(counts)
}
