package lb

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

// weighted draws hosts with normalized weights, some of them alike.
func weighted(t *rapid.T, most int) []Weighted {
	weights := rapid.SliceOfN(rapid.IntRange(1, 50), 1, most).Draw(t, "weights")
	sum := 0
	for _, w := range weights {
		sum += w
	}
	hosts := make([]Weighted, len(weights))
	for i, w := range weights {
		hosts[i] = Weighted{Key: fmt.Sprintf("10.0.%d.%d:80", i/250, i%250), Weight: float64(w) / float64(sum)}
	}
	return hosts
}

func sum(shares []float64) (total float64) {
	for _, s := range shares {
		total += s
	}
	return total
}

func TestRingProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts := weighted(t, 60)
		low := rapid.Uint64Range(1, 3000).Draw(t, "minimum")
		cfg := RingConfig{MinimumSize: low, MaximumSize: low + rapid.Uint64Range(0, 3000).Draw(t, "more"),
			Function: HashFunction(rapid.IntRange(0, 1).Draw(t, "function"))}
		r, err := NewRing(hosts, cfg)
		if err != nil {
			t.Fatal(err)
		}
		var hashes []uint64
		for i := range r.Len() {
			hash, _ := r.Entry(i)
			hashes = append(hashes, hash)
		}
		if !slices.IsSorted(hashes) {
			t.Fatal("entries are not sorted")
		}
		if total := sum(r.Shares()); math.Abs(total-1) > 1e-9 {
			t.Errorf("shares sum to %v", total)
		}
		// The bucket index must find what a plain search finds.
		hash := rapid.Uint64().Draw(t, "hash")
		attempt := rapid.Uint32Range(0, 5).Draw(t, "attempt")
		for _, h := range []uint64{hash, 0, math.MaxUint64, hashes[0], hashes[len(hashes)-1], hashes[len(hashes)/2] + 1} {
			want := sort.Search(len(hashes), func(i int) bool { return hashes[i] >= h }) + int(attempt)
			_, host := r.Entry(want % len(hashes) * 1)
			if want-int(attempt) == len(hashes) {
				_, host = r.Entry(int(attempt) % len(hashes))
			}
			if got := r.Pick(h, attempt); got != host {
				t.Errorf("hash %d, attempt %d: host %d, want %d", h, attempt, got, host)
			}
		}
	})
}

// TestRingPermutation: when every host has a whole number of entries, the order of hosts does not matter.
func TestRingPermutation(t *testing.T) {
	t.Parallel()
	hosts := []Weighted{{"a:1", 0.25}, {"b:1", 0.25}, {"c:1", 0.5}}
	cfg := RingConfig{MinimumSize: 64, MaximumSize: 64}
	r, _ := NewRing(hosts, cfg)
	slices.Reverse(hosts)
	s, _ := NewRing(hosts, cfg)
	for i := range 1000 {
		hash := Sum64(strconv.Itoa(i))
		if a, b := r.Pick(hash, 0), 2-s.Pick(hash, 0); a != b {
			t.Fatalf("hash %d: %d and %d", hash, a, b)
		}
	}
}

// TestRingEqualKeys: equal keys land on equal hashes, in one bucket however many they are.
func TestRingEqualKeys(t *testing.T) {
	t.Parallel()
	hosts := make([]Weighted, 500)
	for i := range hosts {
		hosts[i] = Weighted{Key: "same", Weight: 1.0 / 500}
	}
	r, err := NewRing(hosts, RingConfig{MinimumSize: 500, MaximumSize: 500})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < r.Len(); i++ {
		a, first := r.Entry(i - 1)
		b, second := r.Entry(i)
		if a > b || a == b && first > second {
			t.Fatalf("entries %d and %d are not in order", i-1, i)
		}
	}
	if r.Shares()[0]+sum(r.Shares()[1:]) < 0.999 {
		t.Error("shares are lost")
	}
}

// TestRingSingle: a host that is alone on its ring has all hashes, and not 1.0000000000000004 of them.
func TestRingSingle(t *testing.T) {
	t.Parallel()
	for _, size := range []uint64{1, 2, 1000, 1024, 4096, 100_000} {
		for host := range 3 {
			hosts := []Weighted{{fmt.Sprintf("127.1.0.%d:80", host), 1}}
			r, err := NewRing(hosts, RingConfig{MinimumSize: size, MaximumSize: size})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Shares(); got[0] != 1 {
				t.Errorf("%s, %d entries: share %v", hosts[0].Key, size, got[0])
			}
		}
	}
	if got := ArcShares([]uint64{5, 5, 5}, []uint32{1, 0, 1}, 3); !slices.Equal(got, []float64{0, 1, 0}) {
		t.Errorf("entries with one hash: shares %v", got)
	}
	if got := ArcShares([]uint64{1 << 62, 3 << 62}, []int32{0, 1}, 2); !slices.Equal(got, []float64{0.5, 0.5}) {
		t.Errorf("halves: shares %v", got)
	}
}

func TestRingEmpty(t *testing.T) {
	t.Parallel()
	for _, r := range []func() (*Ring, error){
		func() (*Ring, error) { return NewRing(nil, RingConfig{MinimumSize: 1, MaximumSize: 2}) },
		func() (*Ring, error) { return NewRing([]Weighted{{"a", 1}}, RingConfig{}) },
	} {
		ring, err := r()
		if err != nil {
			t.Fatal(err)
		}
		if ring.Len() != 0 || ring.Pick(1, 0) != -1 || sum(ring.Shares()) != 0 {
			t.Errorf("ring %+v is not empty", ring)
		}
	}
	if _, err := NewRing([]Weighted{{"a", 1e-12}, {"b", 1}}, RingConfig{MinimumSize: 1 << 40, MaximumSize: 1 << 41}); err == nil {
		t.Error("a ring of a trillion entries is built")
	}
}

func benchmarkHosts(n int) []Weighted {
	hosts := make([]Weighted, n)
	for i := range hosts {
		hosts[i] = Weighted{Key: fmt.Sprintf("10.%d.%d.%d:8080", i>>16, i>>8&255, i&255), Weight: 1 / float64(n)}
	}
	return hosts
}

func BenchmarkRingBuild(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		hosts := benchmarkHosts(n)
		for _, size := range []uint64{1024, 1_000_000} {
			b.Run(fmt.Sprintf("hosts=%d/minimum=%d", n, size), func(b *testing.B) {
				for b.Loop() {
					if _, err := NewRing(hosts, RingConfig{MinimumSize: size, MaximumSize: DefaultMaximumRingSize}); err != nil {
						b.Fatal(err)
					}
				}
			})
			// The least that a ring needs: hash all entries and sort them.
			b.Run(fmt.Sprintf("hosts=%d/minimum=%d/hash-and-sort", n, size), func(b *testing.B) {
				per := max(1, int(size)/n)
				for b.Loop() {
					hashes := make([]uint64, 0, per*n)
					text := make([]byte, 0, 64)
					for _, h := range hosts {
						for i := range per {
							text = strconv.AppendInt(append(append(text[:0], h.Key...), '_'), int64(i), 10)
							hashes = append(hashes, xxhash.Sum64(text))
						}
					}
					slices.Sort(hashes)
				}
			})
		}
	}
}

func BenchmarkRingPick(b *testing.B) {
	r, err := NewRing(benchmarkHosts(100), RingConfig{MinimumSize: 100_000, MaximumSize: DefaultMaximumRingSize})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("pick", func(b *testing.B) {
		hash, total := uint64(1), 0
		for b.Loop() {
			hash = hash*6364136223846793005 + 1442695040888963407
			total += r.Pick(hash, 0)
		}
	})
	b.Run("sort-search", func(b *testing.B) {
		hash, total := uint64(1), 0
		for b.Loop() {
			hash = hash*6364136223846793005 + 1442695040888963407
			total += sort.Search(len(r.hashes), func(i int) bool { return r.hashes[i] >= hash })
		}
	})
}
