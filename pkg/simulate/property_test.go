package simulate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/selector"
)

// drawCLA draws an assignment that both clients take.
func drawCLA(t *rapid.T) *endpointv3.ClusterLoadAssignment {
	cla := &endpointv3.ClusterLoadAssignment{ClusterName: "c"}
	n := 0
	for priority := range rapid.Uint32Range(1, 3).Draw(t, "priorities") {
		for range rapid.IntRange(1, 3).Draw(t, "localities") {
			group := &endpointv3.LocalityLbEndpoints{
				Priority: priority, Locality: &corev3.Locality{Zone: fmt.Sprint("z", len(cla.Endpoints))},
				LoadBalancingWeight: wrapperspb.UInt32(rapid.Uint32Range(1, 5).Draw(t, "locality weight")),
			}
			for range rapid.IntRange(0, 4).Draw(t, "endpoints") {
				n++
				group.LbEndpoints = append(group.LbEndpoints, drawEndpoint(t, n))
			}
			cla.Endpoints = append(cla.Endpoints, group)
		}
	}
	if rapid.Bool().Draw(t, "drop") {
		cla.Policy = &endpointv3.ClusterLoadAssignment_Policy{DropOverloads: []*endpointv3.ClusterLoadAssignment_Policy_DropOverload{{
			Category: "lb", DropPercentage: &typev3.FractionalPercent{Numerator: rapid.Uint32Range(0, 100).Draw(t, "numerator")},
		}}}
	}
	return cla
}

func drawEndpoint(t *rapid.T, n int) *endpointv3.LbEndpoint {
	e := endpointAt(fmt.Sprintf("192.0.2.%d", n))
	e.HealthStatus = corev3.HealthStatus(rapid.Int32Range(0, 5).Draw(t, "health"))
	if w := rapid.Uint32Range(0, 4).Draw(t, "weight"); w > 0 {
		e.LoadBalancingWeight = wrapperspb.UInt32(w)
	}
	return e
}

func endpointAt(ip string) *endpointv3.LbEndpoint {
	return &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{
		Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: ip, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 80},
		}},
	}}}}
}

func simulated(t *rapid.T, cla *endpointv3.ClusterLoadAssignment, client diag.Client, o *Options) *Result {
	r, err := FromResource(&eds.Resource{Name: "c", Source: eds.FromSotW, Assignment: cla, Original: cla}, client, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// drawOptions draws a policy that the client has.
func drawOptions(t *rapid.T, client diag.Client) *Options {
	policies := []string{"round_robin", "least_request", "ring_hash", "random", "maglev"}
	if client == diag.GRPC {
		policies = []string{"round_robin", "least_request", "ring_hash", "pick_first", "weighted_round_robin"}
	}
	return &Options{Policy: rapid.SampledFrom(policies).Draw(t, "policy")}
}

func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client := rapid.SampledFrom(diag.Clients[:]).Draw(t, "client")
		r := simulated(t, drawCLA(t), client, drawOptions(t, client))
		sum, levels, load := r.Dropped+r.Unavailable, 0.0, uint32(0)
		for _, e := range r.Endpoints {
			sum += e.Share
			if e.Why == "" {
				t.Fatalf("%s has no reason", e.Address)
			}
			wantShare(t, e.Address, e.Share)
		}
		wantShare(t, "unavailable", r.Unavailable)
		for _, p := range r.Priorities {
			levels += p.Share
			wantShare(t, "priority", p.Share)
			for _, l := range p.Localities {
				wantShare(t, l.String(), l.Share)
			}
			load += p.Load.Healthy + p.Load.Degraded
		}
		if math.Abs(sum-1) > 1e-9 || math.Abs(levels-(1-r.Dropped-r.Unavailable)) > 1e-9 {
			t.Fatalf("all %v, by priority %v", sum, levels)
		}
		if load != 100 {
			t.Fatalf("loads add up to %d", load)
		}
	})
}

func wantShare(t *rapid.T, what string, share float64) {
	if !(share >= 0 && share <= 1) {
		t.Fatalf("%s has the share %v", what, share)
	}
}

// TestSingleEndpoint: it has all of the requests, and the selection of all endpoints has no more than that.
func TestSingleEndpoint(t *testing.T) {
	t.Parallel()
	all, err := selector.Parse("all")
	if err != nil {
		t.Fatal(err)
	}
	cla := &endpointv3.ClusterLoadAssignment{ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{{
		Locality: &corev3.Locality{Zone: "a"}, LoadBalancingWeight: wrapperspb.UInt32(1), LbEndpoints: []*endpointv3.LbEndpoint{endpointAt("127.1.0.1")},
	}}}
	for _, client := range diag.Clients {
		for _, policy := range Policies() {
			r, err := FromResource(&eds.Resource{Name: "c", Source: eds.FromSotW, Assignment: cla, Original: cla}, client, &Options{Policy: policy, Requests: 100})
			if err != nil {
				t.Fatal(err)
			}
			if share, err := r.Share(all); err != nil || len(r.Endpoints) == 1 && (share != 1 || r.Endpoints[0].Share != 1 || r.Endpoints[0].StandardError != 0) {
				t.Errorf("%s, %s: share %v, %v; endpoint %+v", client, policy, share, err, r.Endpoints[0])
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("%s, %s: %v", client, policy, err)
			}
		}
	}
}

// TestSeededRunsAgree: what the client's pick algorithms give is what the formulas say.
func TestSeededRunsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client := rapid.SampledFrom(diag.Clients[:]).Draw(t, "client")
		o := drawOptions(t, client)
		o.Requests, o.Seed = 3000, rapid.Uint64().Draw(t, "seed")
		r := simulated(t, drawCLA(t), client, o)
		total := r.Sample.Dropped + r.Sample.Unavailable
		for _, e := range r.Endpoints {
			total += e.Requests
			if off := math.Abs(e.SampledShare - e.Share); off > 5.5*e.StandardError+0.002 {
				t.Fatalf("%s: share %v, sampled %v", e.Address, e.Share, e.SampledShare)
			}
		}
		if total != o.Requests {
			t.Fatalf("%d requests are accounted for", total)
		}
	})
}

// TestPermuting: the order of endpoints inside a locality and of localities plays no part, but for rings, whose rounding
// follows it, pick_first, which takes the first, and random, which reuses one number.
func TestPermuting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cla := drawCLA(t)
		client := rapid.SampledFrom(diag.Clients[:]).Draw(t, "client")
		o := &Options{Policy: rapid.SampledFrom([]string{"round_robin", "least_request"}).Draw(t, "policy")}
		before := byAddress(simulated(t, cla, client, o))
		for _, group := range cla.Endpoints {
			slices.Reverse(group.LbEndpoints)
		}
		slices.Reverse(cla.Endpoints)
		for address, share := range byAddress(simulated(t, cla, client, o)) {
			if math.Abs(share-before[address]) > 1e-12 {
				t.Fatalf("%s: %v, then %v", address, before[address], share)
			}
		}
	})
}

func byAddress(r *Result) map[string]float64 {
	out := map[string]float64{}
	for _, e := range r.Endpoints {
		out[e.Address] += e.Share
	}
	return out
}

// TestWhatIfLeavesTheResource: a what-if works on a copy.
func TestWhatIfLeavesTheResource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cla := drawCLA(t)
		before := proto.CloneOf(cla)
		all, err := selector.Parse("all")
		if err != nil {
			t.Fatal(err)
		}
		factor := uint32(100)
		o := &Options{OverprovisioningFactor: &factor, Policy: "ring_hash"}
		if _, err := all.Select(cla); err == nil {
			o.Changes = []Change{{Kind: SetWeight, Selector: all, Weight: 7}, {Kind: Fail, Selector: all}, {Kind: Unreachable, Selector: all}}
		}
		for _, client := range diag.Clients {
			simulated(t, cla, client, o)
		}
		if !proto.Equal(before, cla) {
			t.Fatal("the assignment was changed")
		}
	})
}
