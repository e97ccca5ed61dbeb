package simulate

import (
	"math/rand/v2"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/lb"
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
	for _, text := range s.o.HashKeys {
		s.result.Keys = append(s.result.Keys, grpcKey(a, g, text))
	}
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

func grpcKey(a *grpc.Assignment, g *grpc.Result, text string) Key {
	key := Key{Key: text, Hash: lb.Sum64(text)}
	if g.Ring != nil {
		if ref, ok := g.Ring.Pick(key.Hash); ok {
			key.Address = a.Localities[ref.Locality].Endpoints[ref.Endpoint].Addresses[0].Text
		}
	}
	return key
}

// sampleGRPC makes seeded requests with gRPC's pickers.
func (s *run) sampleGRPC(a *grpc.Assignment, g *grpc.Result) {
	rng := rand.New(rand.NewPCG(s.o.Seed, 0))
	picker := g.NewPicker(rng)
	first := make([]int, len(a.Localities)) // of a locality's endpoints, in the order of the result
	for i := 1; i < len(first); i++ {
		first[i] = first[i-1] + len(a.Localities[i-1].Endpoints)
	}
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
