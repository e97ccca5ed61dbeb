package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/diff"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
	"github.com/edsctl/edsctl/pkg/selector"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// libraryRow compares two functions in this process.
type libraryRow struct {
	name             string
	edsctl, baseline func() error
	bar              float64
}

// library measures what commands would hide behind their start: simulation, rings and tables.
func library(w *tabwriter.Writer, o options, in inputs) (missed int, err error) {
	rows, err := libraryRows(in)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if !o.wants(r.name) {
			continue
		}
		o.begins(r.name)
		a, b, err := r.compare(o.runs)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", r.name, err)
		}
		missed += row{name: r.name}.print(w, "", a, b, "%.4g s", r.bar)
	}
	const requests = "ten million seeded requests, bytes allocated against those of one million"
	if !o.wants(requests) {
		return missed, nil
	}
	o.begins(requests)
	grown, err := memoryOfRequests()
	if err != nil {
		return missed, err
	}
	return missed + row{name: requests}.print(w, "", float64(grown[1]), float64(grown[0]), "%.0f B", 1.5), nil
}

// compare runs both n times, taking turns, and returns the least of each in seconds.
func (r libraryRow) compare(n int) (a, b float64, err error) {
	for i := range n {
		for _, side := range []struct {
			run  func() error
			best *float64
		}{{r.edsctl, &a}, {r.baseline, &b}} {
			runtime.GC()
			start := time.Now()
			if err := side.run(); err != nil {
				return 0, 0, err
			}
			if seconds := time.Since(start).Seconds(); i == 0 || seconds < *side.best {
				*side.best = seconds
			}
		}
	}
	return a, b, nil
}

func read(name string, src []byte) (*eds.Resource, error) {
	resources := eds.NewLoader(eds.Options{}).Load(name, src, true).Resources
	if len(resources) != 1 || resources[0].Absent {
		return nil, fmt.Errorf("%s holds no single assignment", name)
	}
	return resources[0], nil
}

func libraryRows(in inputs) ([]libraryRow, error) {
	src, err := os.ReadFile(in.yaml)
	if err != nil {
		return nil, err
	}
	// The other version of the file has another weight in one endpoint.
	changed := bytes.Replace(src, []byte("load_balancing_weight: "), []byte("load_balancing_weight: 1"), 1)
	resource, err := read(in.yaml, src)
	if err != nil {
		return nil, err
	}
	reading := func() error { _, err := read(in.yaml, src); return err }
	rows := []libraryRow{
		{"simulate 100,000 endpoints, against reading them", func() error { return simulateOnce(resource) }, reading, 0.3},
		{"diff of two files of 100,000 endpoints, against reading one", func() error { return diffOnce(in.yaml, src, changed) }, reading, 2.5},
	}
	edit, err := editOnce(in.yaml, src)
	if err != nil {
		return nil, err
	}
	rows = append(rows, libraryRow{"edit of one endpoint in 100,000, against reading the file twice", edit, func() error { return errors.Join(reading(), reading()) }, 1.3})
	mechanisms, err := mechanismRows()
	return append(rows, mechanisms...), err
}

// editOnce reads a file, changes a weight, and reads the result again to check it.
func editOnce(name string, src []byte) (func() error, error) {
	s, err := selector.Parse("address=10.0.200.7")
	if err != nil {
		return nil, err
	}
	verb := author.ScaleWeights(s, big.NewRat(2, 1), false)
	loader := eds.NewLoader(eds.Options{})
	load := func(data []byte) *eds.File { return loader.Load(name, data, true) }
	all := func(*eds.Resource) bool { return true }
	return func() error {
		_, err := author.Edit(src, load(src), load, all, verb)
		return err
	}, nil
}

func simulateOnce(r *eds.Resource) error {
	_, err := simulate.FromResource(r, diag.Envoy, &simulate.Options{})
	return err
}

// diffOnce does what the command does: both sides are read at the same time.
func diffOnce(name string, before, after []byte) error {
	var sides [2]*eds.Resource
	errs := make(chan error, 2)
	for i, src := range [][]byte{before, after} {
		go func() {
			var err error
			sides[i], err = read(name, src)
			errs <- err
		}()
	}
	for range sides {
		if err := <-errs; err != nil {
			return err
		}
	}
	pair := diff.Pair{Old: sides[0], New: sides[1]}
	result := diff.Compare(pair)
	if len(result.Changes) != 1 {
		return fmt.Errorf("%d changes", len(result.Changes))
	}
	return result.Impact(pair, diag.Envoy, &simulate.Options{}, &simulate.Options{})
}

// Sizes of the rings and tables that are measured, and the number of picks.
const (
	ringHosts  = 1000
	ringSize   = 1_000_000
	tableHosts = 1000
	tableSize  = 5_000_011
	picks      = 5_000_000
)

func hosts(n int) []lb.Weighted {
	out := make([]lb.Weighted, n)
	for i := range out {
		out[i] = lb.Weighted{Key: fmt.Sprintf("10.%d.%d.%d:8080", i>>16, i>>8&255, i&255), Weight: 1 / float64(n)}
	}
	return out
}

func mechanismRows() ([]libraryRow, error) {
	config := lb.RingConfig{MinimumSize: ringSize, MaximumSize: lb.DefaultMaximumRingSize}
	onRing, inTable := hosts(ringHosts), hosts(tableHosts)
	ring, err := lb.NewRing(onRing, config)
	if err != nil {
		return nil, err
	}
	table, err := lb.NewTable(inTable, tableSize)
	if err != nil {
		return nil, err
	}
	sorted := ringHashes(onRing)
	entries := make([]uint32, table.Len())
	for i := range entries {
		entries[i] = uint32(table.Pick(uint64(i), 0))
	}
	size := uint64(len(entries))
	return []libraryRow{
		{"ring of a million entries, against hashing and slices.Sort", func() error { _, err := lb.NewRing(onRing, config); return err },
			func() error { ringHashes(onRing); return nil }, 1.5},
		{"five million picks on it, against sort.Search", pickAll(func(hash uint64) int { return ring.Pick(hash, 0) }),
			pickAll(func(hash uint64) int { return sort.Search(len(sorted), func(i int) bool { return sorted[i] >= hash }) }), 2},
		{"five million picks in a Maglev table, against a modulo and a load", pickAll(func(hash uint64) int { return table.Pick(hash, 0) }),
			pickAll(func(hash uint64) int { return int(entries[hash%size]) }), 2},
	}, nil
}

// ringHashes is the least that a ring needs: hash all entries and sort them.
func ringHashes(hosts []lb.Weighted) []uint64 {
	hashes := make([]uint64, 0, ringSize)
	text := make([]byte, 0, 64)
	for _, h := range hosts {
		for i := range ringSize / len(hosts) {
			text = strconv.AppendInt(append(append(text[:0], h.Key...), '_'), int64(i), 10)
			hashes = append(hashes, xxhash.Sum64(text))
		}
	}
	slices.Sort(hashes)
	return hashes
}

// pickAll makes picks with hashes that no branch predictor knows.
func pickAll(pick func(hash uint64) int) func() error {
	return func() error {
		hash, total := uint64(1), 0
		for range picks {
			hash = hash*6364136223846793005 + 1442695040888963407
			total += pick(hash)
		}
		if total < 0 {
			return fmt.Errorf("picks add up to %d", total)
		}
		return nil
	}
}

// memoryOfRequests is what one and ten million seeded requests allocate.
func memoryOfRequests() (allocated [2]uint64, err error) {
	in := envoy.Input{Groups: []envoy.Group{{Locality: &envoy.Locality{Zone: "a"}}}, Policy: envoy.Policy{Name: envoy.RoundRobin}}
	for i := range 100 {
		in.Groups[0].Endpoints = append(in.Groups[0].Endpoints, envoy.Endpoint{Address: fmt.Sprintf("10.0.0.%d:80", i), Weight: uint32(i + 1)})
	}
	model, err := envoy.Build(in)
	if err != nil {
		return allocated, err
	}
	for i, n := range []int64{1_000_000, 10_000_000} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		model.Run(n, rand.New(rand.NewPCG(1, 0)))
		runtime.ReadMemStats(&after)
		allocated[i] = after.TotalAlloc - before.TotalAlloc
	}
	return allocated, nil
}
