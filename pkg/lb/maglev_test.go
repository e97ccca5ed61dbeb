package lb

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowTable fills a table as the paper and Envoy write it down: each round asks every host.
func slowTable(hosts []Weighted, size uint64) []int {
	order := make([]int, len(hosts))
	most := 0.0
	for i := range order {
		order[i] = i
		most = math.Max(most, hosts[i].Weight)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(hosts[a].Key, hosts[b].Key) })
	entries := make([]int, size)
	for i := range entries {
		entries[i] = -1
	}
	next, target := make([]uint64, len(hosts)), make([]float64, len(hosts))
	for round, left := 1, size; left > 0; round++ {
		for _, h := range order {
			if left == 0 || float64(float64(round)*hosts[h].Weight) < target[h] {
				continue
			}
			target[h] += most
			offset, skip := Sum64(hosts[h].Key)%size, Sum64Seed(hosts[h].Key, 1)%(size-1)+1
			for entries[(offset+skip*next[h])%size] >= 0 {
				next[h]++
			}
			entries[(offset+skip*next[h])%size] = h
			next[h]++
			left--
		}
	}
	return entries
}

func TestMaglevProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts := weighted(t, 40)
		if rapid.Bool().Draw(t, "lopsided") {
			hosts[0].Weight *= 1000
		}
		size := rapid.SampledFrom([]uint64{2, 3, 7, 61, 251, 1021}).Draw(t, "size")
		table, err := NewTable(hosts, size)
		if err != nil {
			t.Fatal(err)
		}
		if total := sum(table.Shares()); math.Abs(total-1) > 1e-9 {
			t.Errorf("shares sum to %v", total)
		}
		if len(hosts) == 1 {
			return
		}
		for i, want := range slowTable(hosts, size) {
			if table.Entry(i) != want {
				t.Fatalf("entry %d is %d, want %d", i, table.Entry(i), want)
			}
		}
	})
}

// TestMaglevPermutation: the order of hosts does not matter.
func TestMaglevPermutation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts := weighted(t, 20)
		permuted := rapid.Permutation(hosts).Draw(t, "permuted")
		a, _ := NewTable(hosts, 251)
		b, _ := NewTable(permuted, 251)
		for i := range a.Len() {
			if hosts[a.Entry(i)].Key != permuted[b.Entry(i)].Key {
				t.Fatalf("entry %d differs", i)
			}
		}
	})
}

// TestMaglevRemoval: when one of ten equal hosts goes, few entries of the others move.
func TestMaglevRemoval(t *testing.T) {
	t.Parallel()
	hosts := benchmarkHosts(10)
	before, _ := NewTable(hosts, DefaultTableSize)
	after, _ := NewTable(hosts[:9], DefaultTableSize)
	moved := 0
	for i := range before.Len() {
		if before.Entry(i) != 9 && before.Entry(i) != after.Entry(i) {
			moved++
		}
	}
	if part := float64(moved) / DefaultTableSize; part > 0.05 {
		t.Errorf("%.3f of the entries moved between hosts that stayed", part)
	}
}

func BenchmarkMaglevBuild(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		hosts := benchmarkHosts(n)
		for _, size := range []uint64{DefaultTableSize, 5000011} {
			b.Run(fmt.Sprintf("hosts=%d/size=%d", n, size), func(b *testing.B) {
				for b.Loop() {
					if _, err := NewTable(hosts, size); err != nil {
						b.Fatal(err)
					}
				}
			})
			// The least that a table needs: hash its hosts and write every entry.
			b.Run(fmt.Sprintf("hosts=%d/size=%d/hash-and-fill", n, size), func(b *testing.B) {
				for b.Loop() {
					total := uint64(0)
					for _, h := range hosts {
						total += Sum64(h.Key) + Sum64Seed(h.Key, 1)
					}
					entries := make([]uint32, size)
					for i := range entries {
						entries[i] = uint32(total)
					}
				}
			})
		}
	}
	// One heavy host among many light ones.
	hosts := benchmarkHosts(100_000)
	hosts[0].Weight = 1e6
	b.Run("lopsided", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewTable(hosts, 5000011); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkMaglevPick(b *testing.B) {
	table, err := NewTable(benchmarkHosts(100), DefaultTableSize)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("pick", func(b *testing.B) {
		hash, total := uint64(1), 0
		for b.Loop() {
			hash = hash*6364136223846793005 + 1442695040888963407
			total += table.Pick(hash, 0)
		}
	})
	b.Run("modulo-and-load", func(b *testing.B) {
		hash, total := uint64(1), 0
		size := uint64(len(table.entries))
		for b.Loop() {
			hash = hash*6364136223846793005 + 1442695040888963407
			total += int(table.entries[hash%size])
		}
	})
}
