package lb

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// hashVectors is the part of envoy-hash-vectors.yaml that this package answers; package envoy checks the rest.
type hashVectors struct {
	Seed0  []hashVector `yaml:"xxhash64_seed0"`
	Seed1  []hashVector `yaml:"xxhash64_seed1"`
	Lists  []hashVector `yaml:"xxhash64_list"`
	Murmur []hashVector `yaml:"murmurhash2_64_seed_c70f6907"`
	Plain  []hashVector `yaml:"murmurhash2_64_seed_0"`
	Errors []struct {
		TableSize *uint64 `yaml:"table_size"`
		Form      string
		Error     string
		Crash     string
	} `yaml:"maglev_errors"`
	Bounded struct {
		Shuffle []struct {
			Hash  uint64
			Hosts int
			Order []int
		}
		Picks []struct {
			Hash    uint64
			Primary int
			Factors []float64
			Result  int
		}
		Factor []struct {
			Overall uint32 `yaml:"overall_active"`
			Host    uint32 `yaml:"host_active"`
			Balance uint32 `yaml:"hash_balance_factor"`
			Weight  float64
			Factor  float64
		}
	} `yaml:"bounded_load"`
}

type hashVector struct {
	Input  string
	Inputs []string
	Hash   uint64
}

func readHashVectors(t *testing.T) hashVectors {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "envoy-hash-vectors.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var v hashVectors
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestHashVectors(t *testing.T) {
	t.Parallel()
	v := readHashVectors(t)
	checked := 0
	check := func(kind string, vectors []hashVector, hash func(hashVector) uint64) {
		for _, h := range vectors {
			checked++
			if got := hash(h); got != h.Hash {
				t.Errorf("%s(%q%q) = %d, want %d", kind, h.Input, h.Inputs, got, h.Hash)
			}
		}
	}
	check("xx64 seed 0", v.Seed0, func(h hashVector) uint64 { return Sum64(h.Input) })
	check("xx64 ring", v.Seed0, func(h hashVector) uint64 { return XXHash.Sum([]byte(h.Input)) })
	check("xx64 seed 1", v.Seed1, func(h hashVector) uint64 { return Sum64Seed(h.Input, 1) })
	check("xx64 list", v.Lists, func(h hashVector) uint64 {
		hash := uint64(0)
		for _, s := range h.Inputs {
			hash = Sum64Seed(s, hash)
		}
		return hash
	})
	check("murmur", v.Murmur, func(h hashVector) uint64 { return Murmur2.Sum([]byte(h.Input)) })
	check("murmur seed 0", v.Plain, func(h hashVector) uint64 { return murmur64([]byte(h.Input), 0) })
	if checked < 90 {
		t.Errorf("only %d hashes checked", checked)
	}
}

func TestMaglevErrorVectors(t *testing.T) {
	t.Parallel()
	hosts := []Weighted{{"a", 0.5}, {"b", 0.5}}
	for _, e := range readHashVectors(t).Errors {
		if e.Form == "legacy" {
			continue // refused by the constraints of the message, before the table
		}
		_, err := NewTable(hosts, *e.TableSize)
		switch {
		case e.Crash != "" && err != ErrTableOne, e.Crash == "" && e.Error == "" && err != nil:
			t.Errorf("size %d: %v", *e.TableSize, err)
		case e.Error != "" && (err == nil || err.Error() != e.Error):
			t.Errorf("size %d: error %v, want %q", *e.TableSize, err, e.Error)
		}
	}
}

func TestBoundedLoadVectors(t *testing.T) {
	t.Parallel()
	v := readHashVectors(t).Bounded
	for _, s := range v.Shuffle {
		var asked []int
		b := Bounded{Weights: make([]float64, s.Hosts)}
		// All hosts are overloaded alike, so that each is asked; the first pick is asked first and then left out.
		b.Pick(s.Hash, s.Order[0], func(host int) float64 { asked = append(asked, host); return 2 })
		if !slices.Equal(asked, s.Order) {
			t.Errorf("hash %d: asked %v, want %v", s.Hash, asked, s.Order)
		}
	}
	for _, p := range v.Picks {
		b := Bounded{Weights: make([]float64, len(p.Factors))}
		if got := b.Pick(p.Hash, p.Primary, func(host int) float64 { return p.Factors[host] }); got != p.Result {
			t.Errorf("hash %d, factors %v: host %d, want %d", p.Hash, p.Factors, got, p.Result)
		}
	}
	for _, f := range v.Factor {
		b := Bounded{Weights: []float64{f.Weight}, Factor: f.Balance}
		if got := b.Overload(0, f.Host, f.Overall); math.Abs(got-f.Factor) > 1e-12 {
			t.Errorf("overload %+v: %v", f, got)
		}
	}
}

// TestEDFWeighted is EdfSchedulerTest.Weighted: over a period, entry i of weight i+1 is picked i+1 times.
func TestEDFWeighted(t *testing.T) {
	t.Parallel()
	weights := make([]float64, 128)
	want := make([]int, 128)
	for i := range weights {
		weights[i], want[i] = float64(i+1), i+1
	}
	s := NewEDF(weights, 0)
	got := make([]int, 128)
	for range 128 * 129 / 2 {
		got[s.Pick(func(i int) float64 { return weights[i] })]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
