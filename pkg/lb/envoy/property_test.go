package envoy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawInput draws a cluster with several priorities, localities, weights and a mix of health.
func drawInput(t *rapid.T) Input {
	in := Input{
		Version:                rapid.SampledFrom([]Version{36, 39, 40}).Draw(t, "version"),
		OverprovisioningFactor: rapid.SampledFrom([]uint32{0, 1, 100, 140, 200}).Draw(t, "factor"),
		WeightedPriorityHealth: rapid.Bool().Draw(t, "weighted health"),
		Policy: Policy{
			Name:             rapid.SampledFrom([]Name{RoundRobin, LeastRequest, Random, RingHash, Maglev, ClientSideWeighted, LoadAwareLocality}).Draw(t, "policy"),
			LocalityWeighted: rapid.Bool().Draw(t, "locality weighted"),
			ZoneAware: ZoneAware{
				FailTrafficOnPanic: rapid.Bool().Draw(t, "fail on panic"), ByWeight: rapid.Bool().Draw(t, "by weight"),
				MinClusterSize: new(rapid.Uint64Range(0, 4).Draw(t, "least cluster")),
			},
			Hash: Hash{TableSize: new(uint64(251))},
		},
		HealthyPanicThreshold: new(rapid.SampledFrom([]float64{0, 29, 50, 80, 100}).Draw(t, "threshold")),
		Groups:                drawGroups(t, 4, "group"),
	}
	if rapid.Bool().Draw(t, "drops") {
		in.Drops = []Drop{{Category: "a", Numerator: rapid.Uint32Range(0, 100).Draw(t, "numerator"), Denominator: 100}}
	}
	if rapid.Bool().Draw(t, "zone aware") {
		in.NodeLocality = &Locality{Zone: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "own zone")}
		in.Local = &Local{Groups: drawGroups(t, 3, "local"), KeepCopies: true}
		in.Policy.ZoneAware.RoutingEnabled = new(rapid.SampledFrom([]float64{0, 30, 100}).Draw(t, "enabled"))
	}
	if rapid.Bool().Draw(t, "subset") {
		in.Match = map[string]any{"v": rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "match")}
		in.Policy.Subset = &Subset{
			Fallback:            rapid.SampledFrom([]Fallback{NoFallback, AnyEndpoint, DefaultSubset}).Draw(t, "fallback"),
			DefaultSubset:       map[string]any{"v": "2"},
			Selectors:           []Selector{{Keys: []string{"v"}, SingleHostPerSubset: rapid.Bool().Draw(t, "single")}},
			LocalityWeightAware: rapid.Bool().Draw(t, "aware"), ScaleLocalityWeight: rapid.Bool().Draw(t, "scale"),
			PanicModeAny: rapid.Bool().Draw(t, "panic mode any"),
		}
	}
	return in
}

func drawGroups(t *rapid.T, most int, label string) []Group {
	var groups []Group
	for g := range rapid.IntRange(0, most).Draw(t, label+" count") {
		group := Group{
			Priority: rapid.Uint32Range(0, 2).Draw(t, label+" priority"),
			Weight:   rapid.Uint32Range(0, 3).Draw(t, label+" weight"),
			Locality: &Locality{Zone: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, label+" zone")},
		}
		for i := range rapid.IntRange(0, 5).Draw(t, label+" endpoints") {
			group.Endpoints = append(group.Endpoints, Endpoint{
				Address:  fmt.Sprintf("10.0.%d.%d:80", g, i),
				Weight:   rapid.Uint32Range(0, 4).Draw(t, label+" endpoint weight"),
				Health:   Health(rapid.SampledFrom([]int{0, 0, 0, 2, 3, 5}).Draw(t, label+" health")),
				Metadata: map[string]any{"v": rapid.SampledFrom([]string{"1", "2"}).Draw(t, label+" version")},
			})
		}
		groups = append(groups, group)
	}
	return groups
}

func TestSharesSumToOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		r, err := Compute(in)
		if err != nil {
			t.Fatal(err)
		}
		total := r.Dropped + r.Unavailable
		for _, e := range r.Endpoints {
			if e.Share < 0 || e.Share > 1+1e-12 {
				t.Errorf("share %v", e.Share)
			}
			total += e.Share
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("shares, dropped and unavailable sum to %v", total)
		}
		load := uint32(0)
		byLevel := 0.0
		for _, p := range r.Priorities {
			load += p.HealthyLoad + p.DegradedLoad
			byLevel += p.Share
		}
		if load != 100 && !(in.Policy.Subset != nil && load == 0) {
			t.Errorf("loads sum to %d", load)
		}
		if math.Abs(byLevel+r.Dropped+r.Unavailable-1) > 1e-9 {
			t.Errorf("shares of the priorities sum to %v", byLevel)
		}
	})
}

func TestLoadsSumToHundred(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var levels []Counts
		for range rapid.IntRange(1, 6).Draw(t, "levels") {
			c := Counts{Healthy: rapid.Uint64Range(0, 50).Draw(t, "healthy"), Degraded: rapid.Uint64Range(0, 50).Draw(t, "degraded"),
				Excluded: rapid.Uint64Range(0, 20).Draw(t, "excluded")}
			c.Hosts = c.Healthy + c.Degraded + c.Excluded + rapid.Uint64Range(0, 50).Draw(t, "unhealthy")
			levels = append(levels, c)
		}
		l := PriorityLoads(levels, LoadConfig{
			OverprovisioningFactor: rapid.Uint32Range(1, 300).Draw(t, "factor"), PanicThreshold: rapid.Uint64Range(0, 100).Draw(t, "threshold"),
			LevelByLevel: rapid.Bool().Draw(t, "level by level"),
		})
		total := l.Rest
		for i := range levels {
			total += l.Healthy[i] + l.Degraded[i]
		}
		if total != 100 || l.Rest != 0 && !l.Hole {
			t.Errorf("loads %+v", l)
		}
	})
}

// TestRenamePermute: renaming endpoints renames their shares, and permuting the endpoints of a group permutes them, but
// for random, whose pick depends on the place, and for ring hash.
func TestRenamePermute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		if in.Policy.Name == Random || in.Policy.hashes() {
			in.Policy.Name = RoundRobin
		}
		if in.Policy.Subset != nil {
			in.Policy.Subset.Selectors[0].SingleHostPerSubset = false
		}
		shares := func(in Input) map[string]float64 {
			r, err := Compute(in)
			if err != nil {
				t.Fatal(err)
			}
			byName := map[string]float64{}
			for _, e := range r.Endpoints {
				byName[e.Address] = e.Share
			}
			return byName
		}
		want := shares(in)
		changed := in
		changed.Groups = slices.Clone(in.Groups)
		for g := range changed.Groups {
			endpoints := slices.Clone(changed.Groups[g].Endpoints)
			if len(endpoints) > 0 {
				endpoints = rapid.Permutation(endpoints).Draw(t, "permuted")
			}
			for i := range endpoints {
				endpoints[i].Address = "x" + endpoints[i].Address
			}
			changed.Groups[g].Endpoints = endpoints
		}
		for address, share := range shares(changed) {
			if math.Abs(share-want[address[1:]]) > 1e-12 {
				t.Errorf("%s has %v, was %v", address, share, want[address[1:]])
			}
		}
	})
}

// TestRunAgrees: seeded runs agree with the expected shares within 4 standard errors (and the few picks that a scheduler
// can be ahead of its share).
func TestRunAgrees(t *testing.T) {
	t.Parallel()
	const requests = 20_000
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		m, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		r := m.Compute()
		s := m.Run(requests, rand.New(rand.NewPCG(7, 11)))
		check := func(what string, got int64, share float64) {
			// The draws are many: 4 standard errors would be exceeded once in 16,000 of them.
			limit := 5.5*math.Sqrt(requests*share*(1-share)) + 2
			if math.Abs(float64(got)-requests*share) > limit {
				t.Errorf("%s: %d of %d, expected share %v", what, got, requests, share)
			}
			if share < 1e-15 && got > 0 {
				t.Errorf("%s: %d requests without a share", what, got)
			}
		}
		total := s.Dropped + s.Unavailable
		check("dropped", s.Dropped, r.Dropped)
		check("unavailable", s.Unavailable, r.Unavailable)
		for i, e := range r.Endpoints {
			check(e.Address, s.Endpoints[i], e.Share)
			total += s.Endpoints[i]
		}
		if total != requests {
			t.Errorf("%d outcomes of %d requests", total, requests)
		}
	})
}

// TestUpdateToItself: an update to the same assignment, or to a permuted one, leaves the state as it was.
func TestUpdateToItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Policy.Name = RingHash
		in.Policy.Subset, in.Local = nil, nil
		after := in
		if len(in.Groups) > 0 {
			after.Groups = rapid.Permutation(in.Groups).Draw(t, "permuted")
		}
		want, err := Build(Update(in, in, Checking{}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Build(Update(in, after, Checking{}))
		if err != nil {
			t.Fatal(err)
		}
		a, b := want.Compute(), got.Compute()
		name := func(r *Result, i int) string {
			if i < 0 {
				return "-"
			}
			return r.Endpoints[i].Address
		}
		// A locality weight that is written twice can differ by order, which is a change.
		weights := map[string]uint32{}
		for _, g := range in.Groups {
			key := fmt.Sprint(g.Priority, *g.Locality)
			if w, ok := weights[key]; ok && w != g.Weight {
				t.Skip("a locality has two weights")
			}
			weights[key] = g.Weight
		}
		for i := range 200 {
			hash := rand.New(rand.NewPCG(uint64(i), 0)).Uint64()
			if x, y := name(a, want.Pick(hash)), name(b, got.Pick(hash)); x != y {
				t.Fatalf("hash %d goes to %s and %s", hash, x, y)
			}
		}
	})
}
