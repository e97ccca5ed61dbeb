package grpc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// drawAssignment draws an assignment that gRPC takes: contiguous priorities, unique localities and addresses.
func drawAssignment(t *rapid.T) *Assignment {
	a := &Assignment{}
	n := 0
	for priority := range rapid.Uint32Range(0, 3).Draw(t, "priorities") {
		for range rapid.IntRange(1, 3).Draw(t, "localities") {
			l := Locality{Zone: fmt.Sprint("z", len(a.Localities)), Priority: priority, Weight: rapid.Uint32Range(0, 5).Draw(t, "locality weight")}
			for range rapid.IntRange(0, 4).Draw(t, "endpoints") {
				n++
				e := Endpoint{
					Weight: rapid.Uint32Range(1, 9).Draw(t, "weight"), Usable: rapid.IntRange(0, 3).Draw(t, "usable") > 0,
					Addresses: []Address{{Text: fmt.Sprintf("192.0.2.%d:80", n), Reachable: rapid.IntRange(0, 3).Draw(t, "reachable") > 0}},
				}
				if rapid.IntRange(0, 3).Draw(t, "additional") == 0 {
					e.Addresses = append(e.Addresses, Address{Text: fmt.Sprintf("[2001:db8::%d]:80", n), Reachable: rapid.Bool().Draw(t, "reachable too")})
				}
				l.Endpoints = append(l.Endpoints, e)
			}
			a.Localities = append(a.Localities, l)
		}
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "drops") {
		a.Drops = append(a.Drops, Drop{Category: fmt.Sprint("c", i), Numerator: rapid.Uint32Range(0, 120).Draw(t, "numerator"), Denominator: 100})
	}
	return a
}

func drawPolicy(t *rapid.T) Policy {
	return Policy{
		Kind:        rapid.SampledFrom([]PolicyKind{RoundRobin, LeastRequest, PickFirst, ClientSideWRR, RingHash}).Draw(t, "kind"),
		WrrLocality: rapid.IntRange(0, 2).Draw(t, "wrr_locality"),
		Shuffle:     rapid.Bool().Draw(t, "shuffle"),
		ChoiceCount: rapid.Uint32Range(0, 20).Draw(t, "choices"),
		MinRingSize: new(rapid.Uint64Range(0, 300).Draw(t, "minimum")),
		RawWeights:  rapid.Bool().Draw(t, "raw"),
	}
}

// TestSharesAddUp: dropped, unavailable and the endpoints' shares are everything, and no reason contradicts its share.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAssignment(t)
		r := Simulate(a, drawPolicy(t))
		sum := r.Dropped + r.Unavailable
		for i := range r.Endpoints {
			part := 0.0
			for j, share := range r.Endpoints[i] {
				sum += share
				part += share
				if (share > 0) != (r.Reasons[i][j] == Serves) && r.Dropped < 1 {
					t.Fatalf("endpoint %d/%d: share %v, reason %v", i, j, share, r.Reasons[i][j])
				}
			}
			if math.Abs(part-r.Localities[i]) > 1e-12 {
				t.Fatalf("locality %d: %v, its endpoints %v", i, r.Localities[i], part)
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("sum %v", sum)
		}
	})
}

// TestPicksFollowShares: seeded picks agree with the shares within 4.5 standard errors, and nothing is picked that has
// none. Round robin is even inside a locality, so that 1 is allowed for.
func TestPicksFollowShares(t *testing.T) {
	const n = 4000
	rapid.Check(t, func(t *rapid.T) {
		a := drawAssignment(t)
		r := Simulate(a, drawPolicy(t))
		picker := r.NewPicker(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		counts := map[Ref]int{}
		dropped, unavailable := 0, 0
		for range n {
			switch p := picker.Pick(nil); p.Outcome {
			case Served:
				counts[p.Endpoint]++
			case Dropped:
				dropped++
			default:
				unavailable++
			}
		}
		check := func(what any, p float64, count int) {
			if off := math.Abs(float64(count) - p*n); off > 5.5*math.Sqrt(n*p*(1-p))+1 {
				t.Fatalf("%v: %d of %d, share %v", what, count, n, p)
			}
		}
		check("dropped", r.Dropped, dropped)
		check("unavailable", r.Unavailable, unavailable)
		for i := range r.Endpoints {
			for j, share := range r.Endpoints[i] {
				check(Ref{i, j}, share, counts[Ref{i, j}])
			}
		}
	})
}

// TestRenaming: shares follow the endpoints whatever their names, but for ring_hash, which hashes them.
func TestRenaming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, p := drawAssignment(t), drawPolicy(t)
		if p.Kind == RingHash {
			p.Kind = RoundRobin
		}
		before := Simulate(a, p)
		for i := range a.Localities {
			for j := range a.Localities[i].Endpoints {
				for k := range a.Localities[i].Endpoints[j].Addresses {
					a.Localities[i].Endpoints[j].Addresses[k].Text = fmt.Sprintf("198.51.100.%d:%d", i*20+j, 1000+k)
				}
			}
		}
		if p.Kind == PickFirst {
			return // pick_first interleaves address families, so that the text counts
		}
		after := Simulate(a, p)
		for i := range before.Endpoints {
			for j := range before.Endpoints[i] {
				if before.Endpoints[i][j] != after.Endpoints[i][j] {
					t.Fatalf("endpoint %d/%d: %v, then %v", i, j, before.Endpoints[i][j], after.Endpoints[i][j])
				}
			}
		}
	})
}

func TestFirstToConnect(t *testing.T) {
	address := func(text string, up bool) Endpoint { return Endpoint{Usable: true, Addresses: []Address{{text, up}}} }
	tests := []struct {
		name      string
		endpoints []Endpoint
		want      int
	}{
		{"the first that answers", []Endpoint{address("192.0.2.1:80", false), address("192.0.2.2:80", true), address("192.0.2.3:80", true)}, 1},
		{"families are interleaved", []Endpoint{address("[2001:db8::1]:80", false), address("[2001:db8::2]:80", true), address("192.0.2.3:80", true)}, 2},
		{"from the family of the first", []Endpoint{address("192.0.2.1:80", false), address("[2001:db8::2]:80", false), address("192.0.2.3:80", true)}, 2},
		{"names are a family of their own", []Endpoint{address("a.example:80", false), address("b.example:80", true), address("192.0.2.3:80", true)}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Simulate(&Assignment{Localities: []Locality{{Weight: 1, Endpoints: tt.endpoints}}}, Policy{Kind: PickFirst})
			for i, share := range r.Endpoints[0] {
				if (share == 1) != (i == tt.want) {
					t.Errorf("endpoint %d has %v, want %d to have all", i, share, tt.want)
				}
			}
		})
	}
}

func TestRingSizes(t *testing.T) {
	size := func(n uint64) *uint64 { return &n }
	tests := []struct {
		name             string
		minimum, maximum *uint64
		limit            uint64
		wantMin, wantMax uint64
		wantErr          string
	}{
		{name: "defaults", wantMin: 1024, wantMax: 4096},
		{name: "zeros", minimum: size(0), maximum: size(0), wantMin: 1024, wantMax: 4096},
		{name: "capped", minimum: size(100000), wantMin: 4096, wantMax: 4096},
		{name: "another cap", minimum: size(100000), limit: 8192, wantMin: 8192, wantMax: 8192},
		{name: "minimum above maximum", minimum: size(100), maximum: size(10), wantErr: "min 100 is greater than max 10"},
		{name: "maximum below the default minimum", maximum: size(1000), wantErr: "min 1024 is greater than max 1000"},
		{name: "minimum above what a zero maximum means", minimum: size(5000), maximum: size(0), wantErr: "min 5000 is greater than max 4096"},
		{name: "too large", maximum: size(8388609), wantErr: "max_ring_size value of 8388609 is greater than max supported value 8388608 for this field"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Policy{Kind: RingHash, MinRingSize: tt.minimum, MaxRingSize: tt.maximum, RingSizeCap: tt.limit}
			gotMin, gotMax, err := p.RingSizes()
			if err != nil || tt.wantErr != "" {
				if err == nil || err.Error() != tt.wantErr {
					t.Errorf("error %v, want %q", err, tt.wantErr)
				}
				return
			}
			if gotMin != tt.wantMin || gotMax != tt.wantMax {
				t.Errorf("sizes %d and %d, want %d and %d", gotMin, gotMax, tt.wantMin, tt.wantMax)
			}
		})
	}
}

func TestMaxRequestsZero(t *testing.T) {
	a := &Assignment{
		Localities: []Locality{{Weight: 1, Endpoints: []Endpoint{{Usable: true, Addresses: []Address{{"192.0.2.1:80", true}}}}}},
		Drops:      []Drop{{Category: "lb", Numerator: 25, Denominator: 100}},
	}
	r := Simulate(a, Policy{Kind: RoundRobin, WrrLocality: 1, MaxRequests: new(uint32(0))})
	if r.Dropped != 0.25 || r.Unavailable != 0.75 {
		t.Errorf("dropped %v, unavailable %v", r.Dropped, r.Unavailable)
	}
}
