package envoy

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/edsctl/edsctl/pkg/lb"
)

// lbVector is one case of envoy-lb-vectors.yaml; input and expect depend on the kind.
type lbVector struct {
	ID     string
	Kind   string
	Input  yaml.Node
	Expect yaml.Node
}

func vectorFile(t testing.TB, parts ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "..", "testdata", "vectors"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// decode reads a node strictly: a field that the test does not know must not go unnoticed.
func decode[T any](t *testing.T, n *yaml.Node) T {
	t.Helper()
	text, err := yaml.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := yaml.Load(text, &v, yaml.WithKnownFields()); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

func TestLBVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Meta struct {
			Totals struct{ Vectors int }
		}
		Vectors []lbVector
	}
	if err := yaml.Unmarshal(vectorFile(t, "envoy-lb-vectors.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != file.Meta.Totals.Vectors {
		t.Errorf("%d vectors, the file says %d", len(file.Vectors), file.Meta.Totals.Vectors)
	}
	checks := map[string]func(*testing.T, *lbVector){
		"priority_load": checkPriorityLoad, "choose_priority": checkChoosePriority, "locality_wrr": checkLocalityWRR,
		"locality_share": checkLocalityWRR, "edf_first_pick": checkFirstPick, "edf_sequence": checkSequence,
		"edf_counts": checkEDFCounts, "rr_unweighted": checkUnweighted, "panic_hosts": checkPanicHosts,
		"lr_sequence": checkLeastSequence, "lr_n_choices": checkChoices, "lr_full_scan": checkFullScan,
		"random_pick": checkRandomPick, "random_share": checkRandomShare, "zone_aware": checkZoneAware,
		"zone_aware_panic": checkZonePanic, "slow_start_factor": checkSlowStart, "drop_overload": checkDrop,
		"percent_to_int": checkPercent, "coarse_health": checkCoarseHealth, "host_weight": checkHostWeight,
	}
	for i := range file.Vectors {
		v := &file.Vectors[i]
		check := checks[v.Kind]
		if check == nil {
			t.Errorf("%s: unknown kind %q", v.ID, v.Kind)
			continue
		}
		t.Run(v.ID, func(t *testing.T) { check(t, v) })
	}
	checkedGolden(t, "envoy-lb-vectors", fmt.Sprintf("%d vectors of %d kinds", len(file.Vectors), len(checks)))
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

func wantShares(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("shares %v, want %v", got, want)
	}
	for i := range got {
		// The vectors are written with nine to twelve digits.
		if math.Abs(got[i]-want[i]) > 5e-10+5e-13 {
			t.Fatalf("shares %v, want %v", got, want)
		}
	}
}

func checkPriorityLoad(t *testing.T, v *lbVector) {
	in := decode[struct {
		Factor    uint32 `yaml:"overprovisioning_factor"`
		Threshold uint64 `yaml:"healthy_panic_threshold"`
		Weighted  bool   `yaml:"weighted_priority_health"`
		Levels    []struct {
			Hosts, Healthy, Degraded, Excluded uint64
			Weights                            struct{ Healthy, Degraded, Unhealthy, Excluded []uint64 }
		} `yaml:"priorities"`
	}](t, &v.Input)
	want := decode[struct {
		Healthy    []uint32 `yaml:"healthy_load"`
		Degraded   []uint32 `yaml:"degraded_load"`
		Panic      []bool
		By         string   `yaml:"panic_asserted_by"`
		Score      []uint32 `yaml:"health_score"`
		Degradeds  []uint32 `yaml:"degraded_score"`
		Normalized uint32   `yaml:"normalized_total"`
		Total      bool     `yaml:"total_panic"`
	}](t, &v.Expect)
	sum := func(weights ...[]uint64) (total uint64) {
		for _, w := range slices.Concat(weights...) {
			total += w
		}
		return total
	}
	var counts []Counts
	for _, l := range in.Levels {
		w := l.Weights
		counts = append(counts, Counts{
			Hosts: l.Hosts, Healthy: l.Healthy, Degraded: l.Degraded, Excluded: l.Excluded,
			TotalWeight:   sum(w.Healthy, w.Degraded, w.Unhealthy, w.Excluded),
			HealthyWeight: sum(w.Healthy), DegradedWeight: sum(w.Degraded), ExcludedWeight: sum(w.Excluded),
		})
	}
	got := PriorityLoads(counts, LoadConfig{OverprovisioningFactor: in.Factor, WeightedPriorityHealth: in.Weighted, PanicThreshold: in.Threshold})
	equal := slices.Equal(got.Healthy, want.Healthy) && slices.Equal(got.Degraded, want.Degraded) && slices.Equal(got.Panic, want.Panic) &&
		slices.Equal(got.HealthyAvailability, want.Score) && slices.Equal(got.DegradedAvailability, want.Degradeds) &&
		got.NormalizedTotal == want.Normalized && got.TotalPanic == want.Total
	if !equal {
		t.Errorf("loads %+v, want %+v", got, want)
	}
}

func checkChoosePriority(t *testing.T, v *lbVector) {
	in := decode[struct {
		Healthy  []uint32 `yaml:"healthy_load"`
		Degraded []uint32 `yaml:"degraded_load"`
		Random   uint64
	}](t, &v.Input)
	want := decode[struct {
		Priority     int
		Availability string
	}](t, &v.Expect)
	loads := Loads{Healthy: in.Healthy, Degraded: in.Degraded}
	if level, class := loads.ChoosePriority(in.Random); level != want.Priority || class.String() != want.Availability {
		t.Errorf("priority %d %s, want %+v", level, class, want)
	}
}

// checkLocalityWRR compares effective weights, shares and, from a seed on, the localities picked.
func checkLocalityWRR(t *testing.T, v *lbVector) {
	in := decode[struct {
		Weights  []uint32 `yaml:"locality_weights"`
		Eligible []int
		Total    []int
		Excluded []int
		Factor   uint64 `yaml:"overprovisioning_factor"`
		Seed     uint32
	}](t, &v.Input)
	want := decode[struct {
		Scheduler string
		Share     []float64
		Sequence  []int
		Effective []float64 `yaml:"effective_weights"`
		FirstN    int       `yaml:"first_n"`
		Counts    []int
	}](t, &v.Expect)
	var effective []float64
	for i, w := range in.Weights {
		effective = append(effective, effectiveWeight(w, in.Eligible[i], in.Total[i]-in.Excluded[i], in.Factor))
	}
	shares := lb.WeightShares(effective)
	if want.Scheduler == "none" || want.Share == nil {
		if slices.Max(effective) != 0 {
			t.Errorf("effective weights %v, want no scheduler", effective)
		}
		return
	}
	wantShares(t, shares, want.Share)
	for i := range want.Effective {
		if !near(effective[i], want.Effective[i]) {
			t.Errorf("effective weights %v, want %v", effective, want.Effective)
		}
	}
	var places []int
	var weights []float64
	for i, w := range effective {
		if w > 0 {
			places, weights = append(places, i), append(weights, w)
		}
	}
	s := lb.NewEDF(weights, in.Seed)
	counts := make([]int, len(in.Weights))
	for i := range max(len(want.Sequence), want.FirstN) {
		got := places[s.Pick(func(i int) float64 { return weights[i] })]
		counts[got]++
		if i < len(want.Sequence) && got != want.Sequence[i] {
			t.Fatalf("pick %d is %d, want %v", i, got, want.Sequence)
		}
	}
	if want.Counts != nil && !slices.Equal(counts, want.Counts) {
		t.Errorf("counts %v, want %v", counts, want.Counts)
	}
}

func checkFirstPick(t *testing.T, v *lbVector) {
	in := decode[struct {
		Weights []float64
		Seeds   string
	}](t, &v.Input)
	want := decode[struct {
		Counts []int `yaml:"first_pick_counts"`
	}](t, &v.Expect)
	var from, to uint32
	if _, err := fmt.Sscanf(in.Seeds, "%d..%d", &from, &to); err != nil {
		t.Fatal(err)
	}
	counts := make([]int, len(in.Weights))
	for seed := from; seed <= to; seed++ {
		counts[lb.NewEDF(in.Weights, seed).Pick(func(i int) float64 { return in.Weights[i] })]++
	}
	if !slices.Equal(counts, want.Counts) {
		t.Errorf("counts %v, want %v", counts, want.Counts)
	}
}

func checkSequence(t *testing.T, v *lbVector) {
	in := decode[struct {
		Seed  uint32
		Steps []struct {
			Create   []float64
			Reweight []float64
			Expect   []int
		}
	}](t, &v.Input)
	var s *lb.EDF
	for _, step := range in.Steps {
		weights := step.Reweight
		if step.Create != nil {
			weights = step.Create
			s = lb.NewEDF(weights, in.Seed)
		}
		wantPicks(t, s, func(i int) float64 { return weights[i] }, step.Expect)
	}
}

func wantPicks(t *testing.T, s *lb.EDF, weight func(int) float64, want []int) {
	t.Helper()
	var got []int
	for range want {
		got = append(got, s.Pick(weight))
	}
	if !slices.Equal(got, want) {
		t.Errorf("picks %v, want %v", got, want)
	}
}

func checkEDFCounts(t *testing.T, v *lbVector) {
	in := decode[struct {
		Weights string
		Picks   int
	}](t, &v.Input)
	var from, to int
	if _, err := fmt.Sscanf(in.Weights, "%d..%d", &from, &to); err != nil {
		t.Fatal(err)
	}
	var weights []float64
	for w := from; w <= to; w++ {
		weights = append(weights, float64(w))
	}
	counts := make([]int, len(weights))
	s := lb.NewEDF(weights, 0)
	for range in.Picks {
		counts[s.Pick(func(i int) float64 { return weights[i] })]++
	}
	for i, c := range counts {
		if c != i+1 {
			t.Errorf("host %d: %d picks", i, c)
		}
	}
}

// plain is an input with one locality of endpoints, the first of them healthy.
func plain(policy Name, hosts, healthy int) Input {
	g := Group{Endpoints: make([]Endpoint, hosts)}
	for i := range g.Endpoints {
		g.Endpoints[i].Address = fmt.Sprint("10.0.0.1:", i+1)
		if i >= healthy {
			g.Endpoints[i].Health = Unhealthy
		}
	}
	return Input{Policy: Policy{Name: policy}, Groups: []Group{g}}
}

// fixed is a random source that gives one number again and again.
type fixed uint64

func (f fixed) Uint64() uint64 { return uint64(f) }

func (in Input) build(t *testing.T) *Model {
	t.Helper()
	m, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
