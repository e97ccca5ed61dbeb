package diff_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/diff"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// drawCLA draws an assignment of few addresses, so that two of them have some in common, also twice.
func drawCLA(t *rapid.T, label string) *endpointv3.ClusterLoadAssignment {
	cla := &endpointv3.ClusterLoadAssignment{ClusterName: "c"}
	for range rapid.IntRange(0, 4).Draw(t, label+" groups") {
		group := &endpointv3.LocalityLbEndpoints{
			Priority: rapid.Uint32Range(0, 1).Draw(t, label+" priority"),
			Locality: &corev3.Locality{Zone: rapid.SampledFrom([]string{"a", "b"}).Draw(t, label+" zone")},
		}
		if w := rapid.Uint32Range(0, 2).Draw(t, label+" locality weight"); w > 0 {
			group.LoadBalancingWeight = wrapperspb.UInt32(w)
		}
		for range rapid.IntRange(0, 4).Draw(t, label+" endpoints") {
			e := &endpointv3.LbEndpoint{
				HealthStatus: corev3.HealthStatus(rapid.Int32Range(0, 5).Draw(t, label+" health")),
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
					Hostname: rapid.SampledFrom([]string{"", "h"}).Draw(t, label+" hostname"),
					Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
						Address:       fmt.Sprintf("192.0.2.%d", rapid.IntRange(1, 6).Draw(t, label+" address")),
						PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 80},
					}}},
				}},
			}
			if w := rapid.Uint32Range(0, 2).Draw(t, label+" weight"); w > 0 {
				e.LoadBalancingWeight = wrapperspb.UInt32(w)
			}
			group.LbEndpoints = append(group.LbEndpoints, e)
		}
		cla.Endpoints = append(cla.Endpoints, group)
	}
	if n := rapid.Uint32Range(0, 2).Draw(t, label+" drop"); n > 0 {
		cla.Policy = &endpointv3.ClusterLoadAssignment_Policy{DropOverloads: []*endpointv3.ClusterLoadAssignment_Policy_DropOverload{
			{Category: "lb", DropPercentage: &typev3.FractionalPercent{Numerator: n * 10}},
		}}
	}
	return cla
}

func resource(cla *endpointv3.ClusterLoadAssignment) *eds.Resource {
	return &eds.Resource{Name: cla.GetClusterName(), Source: eds.FromSotW, Assignment: cla, Original: cla}
}

func compared(t *rapid.T, old, new *endpointv3.ClusterLoadAssignment) *diff.Result {
	pair := diff.Pair{Old: resource(old), New: resource(new)}
	r := diff.Compare(pair)
	if err := r.Impact(pair, diag.Envoy, &simulate.Options{}, &simulate.Options{}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSameIsEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cla := drawCLA(t, "only")
		if r := compared(t, cla, proto.CloneOf(cla)); !r.Same() || len(r.Traffic) > 0 {
			t.Fatalf("changes %v, traffic %v", r.Changes, r.Traffic)
		}
	})
}

// mirror turns a change around.
func mirror(c diff.Change) diff.Change {
	c.Old, c.New, c.OldPath, c.NewPath = c.New, c.Old, c.NewPath, c.OldPath
	switch c.Kind {
	case diff.Added:
		c.Kind = diff.Removed
	case diff.Removed:
		c.Kind = diff.Added
	case diff.Moved, diff.Weight, diff.Health, diff.Hostname, diff.Endpoint, diff.Metadata:
		c.Priority, c.Locality = nil, nil // they are those afterwards
	}
	return c
}

func texts(changes []diff.Change, turn bool) []string {
	var out []string
	for _, c := range changes {
		if turn {
			c = mirror(c)
		} else if c.Kind != diff.Added && c.Kind != diff.Removed {
			c = mirror(mirror(c))
		}
		place := ""
		if c.Priority != nil {
			place = fmt.Sprint(*c.Priority, *c.Locality)
		}
		c.Priority, c.Locality = nil, nil
		out = append(out, fmt.Sprintf("%+v %s", c, place))
	}
	slices.Sort(out)
	return out
}

func TestMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawCLA(t, "old"), drawCLA(t, "new")
		there, back := compared(t, a, b), compared(t, b, a)
		if want, got := strings.Join(texts(there.Changes, false), "\n"), strings.Join(texts(back.Changes, true), "\n"); want != got {
			t.Fatalf("there:\n%s\nback:\n%s", want, got)
		}
		if there.Same() {
			return
		}
		x, y := there.Traffic[0], back.Traffic[0]
		if x.Dropped.Delta != -y.Dropped.Delta || x.Unavailable.Delta != -y.Unavailable.Delta || len(x.Endpoints) != len(y.Endpoints) {
			t.Fatalf("there %+v\nback %+v", x, y)
		}
		sum := x.Dropped.Delta + x.Unavailable.Delta + x.Others.Delta
		for _, e := range x.Endpoints {
			sum += e.Delta
		}
		if math.Abs(sum) > 1e-9 {
			t.Fatalf("differences add up to %v", sum)
		}
	})
}

func TestMatch(t *testing.T) {
	named := func(names ...string) []*eds.Resource {
		var out []*eds.Resource
		for _, n := range names {
			out = append(out, &eds.Resource{Name: n})
		}
		return out
	}
	tests := []struct {
		name     string
		old, new []*eds.Resource
		want     string
	}{
		{"one each", named("a"), named("b"), "a-b"},
		{"by name", named("a", "b"), named("b", "c"), "b-b -c a-"},
		{"a name twice", named("a", "a", "b"), named("a", "b"), "a-a b-b a-"},
		{"nothing", nil, named("a"), "-a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range diff.Match(tt.old, tt.new) {
				text := "-"
				if p.Old != nil {
					text = p.Old.Name + text
				}
				if p.New != nil {
					text += p.New.Name
				}
				got = append(got, text)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("pairs %q, want %q", strings.Join(got, " "), tt.want)
			}
		})
	}
}
