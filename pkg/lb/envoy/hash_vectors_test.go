package envoy

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v4"
)

// hashFile is the part of envoy-hash-vectors.yaml about Envoy's hash policies; package lb checks the hash functions.
type hashFile struct {
	Rings  []tableVector `yaml:"ring_hash"`
	Tables []tableVector `yaml:"maglev"`
	Errors []struct {
		Minimum  *uint64 `yaml:"minimum_ring_size"`
		Maximum  *uint64 `yaml:"maximum_ring_size"`
		Function string  `yaml:"hash_function"`
		Form     string
		Error    string
	} `yaml:"ring_hash_errors"`
	HashKeys []struct {
		Address     string
		Hostname    string
		UseHostname bool `yaml:"use_hostname"`
		Metadata    any  `yaml:"metadata_hash_key"`
		Expect      string
	} `yaml:"hash_key"`
	Loads []struct {
		Priorities [][4]uint64
		Factor     uint32   `yaml:"overprovisioning_factor"`
		Threshold  uint64   `yaml:"panic_threshold"`
		Healthy    []uint32 `yaml:"healthy_load"`
		Degraded   []uint32 `yaml:"degraded_load"`
		Panic      []bool
	} `yaml:"priority_load"`
	Weighted []struct {
		Weights  [][3]uint64
		Healthy  []uint32 `yaml:"healthy_load"`
		Degraded []uint32 `yaml:"degraded_load"`
	} `yaml:"priority_load_weighted"`
	Choose []struct {
		Healthy  []uint32 `yaml:"healthy_load"`
		Hash     uint64
		Priority int
	} `yaml:"choose_priority"`
	Thresholds []struct {
		Percent   float64
		Threshold uint64
	} `yaml:"panic_threshold_conversion"`
	Policies []struct {
		Case   string
		Cookie string `yaml:"cookie_value"`
		Hash   uint64
	} `yaml:"hash_policy"`
}

// tableVector is a ring or a Maglev table.
type tableVector struct {
	Name      string
	Function  string  `yaml:"hash_function"`
	Minimum   *uint64 `yaml:"minimum_ring_size"`
	Maximum   *uint64 `yaml:"maximum_ring_size"`
	TableSize *uint64 `yaml:"table_size"`
	Hosts     [][2]any
	Generator *struct {
		Format     string
		From, To   int
		Weight     uint32
		Localities string
	} `yaml:"hosts_generator"`
	Localities [][]int
	Weights    []uint32 `yaml:"locality_weights"`
	Weighted   bool     `yaml:"locality_weighted"`
	Stats      struct {
		Size       *uint64
		MinHashes  uint64 `yaml:"min_hashes_per_host"`
		MaxHashes  uint64 `yaml:"max_hashes_per_host"`
		MinEntries uint64 `yaml:"min_entries_per_host"`
		MaxEntries uint64 `yaml:"max_entries_per_host"`
	}
	Entries   *int `yaml:"actual_entries"`
	Ring      [][2]uint64
	Contains  [][2]uint64 `yaml:"ring_contains"`
	Table     []int
	Counts    []int `yaml:"entries_per_host"`
	Build     [][3]uint64
	Lookups   [][3]uint64
	Shares    []float64 `yaml:"hash_space_share"`
	Histogram *struct {
		N, Step uint64
		Counts  []int
	}
}

func readHashFile(t *testing.T) hashFile {
	t.Helper()
	var f hashFile
	if err := yaml.Unmarshal(vectorFile(t, "envoy-hash-vectors.yaml"), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// input makes groups of the vector's hosts; endpoints of a group are named by their host index in order.
func (v *tableVector) input(name Name) (Input, []int) {
	var endpoints []Endpoint
	for _, h := range v.Hosts {
		endpoints = append(endpoints, Endpoint{Address: h[0].(string), Weight: uint32(h[1].(int))})
	}
	localities := v.Localities
	if g := v.Generator; g != nil {
		localities = [][]int{{0}, nil}
		for i := g.From; i <= g.To; i++ {
			endpoints = append(endpoints, Endpoint{Address: fmt.Sprintf(g.Format, i), Weight: g.Weight})
			if i > g.From {
				localities[1] = append(localities[1], i-g.From)
			}
		}
	}
	if localities == nil {
		localities = [][]int{nil}
		for i := range endpoints {
			localities[0] = append(localities[0], i)
		}
	}
	in := Input{Policy: Policy{Name: name, LocalityWeighted: v.Weighted, Hash: Hash{
		MinimumRingSize: v.Minimum, MaximumRingSize: v.Maximum, TableSize: v.TableSize,
	}}}
	if v.Function == "MURMUR_HASH_2" {
		in.Policy.Hash.Function = 1
	}
	var order []int
	for i, members := range localities {
		g := Group{Locality: &Locality{Zone: fmt.Sprintf("%02d", i)}}
		if v.Weights != nil {
			g.Weight = v.Weights[i]
		}
		for _, h := range members {
			g.Endpoints = append(g.Endpoints, endpoints[h])
			order = append(order, h)
		}
		in.Groups = append(in.Groups, g)
	}
	return in, order
}

func TestRingVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readHashFile(t).Rings {
		t.Run(v.Name, func(t *testing.T) {
			in, order := v.input(RingHash)
			m := in.build(t)
			table, stats := m.balancers[0].tables[0], m.Tables()[0]
			host := func(i int) int { return order[table.hosts[i]] }
			got := [4]uint64{stats.Size, uint64(stats.Entries), stats.Least, stats.Most}
			if want := [4]uint64{*v.Stats.Size, uint64(*v.Entries), v.Stats.MinHashes, v.Stats.MaxHashes}; got != want {
				t.Errorf("size, entries, least, most = %v, want %v", got, want)
			}
			entries := map[[2]uint64]bool{}
			for i := range table.ring.Len() {
				hash, h := table.ring.Entry(i)
				entry := [2]uint64{hash, uint64(host(h))}
				entries[entry] = true
				if v.Ring != nil && entry != v.Ring[i] {
					t.Fatalf("entry %d is %v, want %v", i, entry, v.Ring[i])
				}
			}
			for _, e := range v.Contains {
				if !entries[e] {
					t.Errorf("entry %v is missing", e)
				}
			}
			v.check(t, m, order)
		})
	}
}

func TestMaglevVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readHashFile(t).Tables {
		t.Run(v.Name, func(t *testing.T) {
			in, order := v.input(Maglev)
			m := in.build(t)
			table, stats := m.balancers[0].tables[0], m.Tables()[0]
			if stats.Least != v.Stats.MinEntries || stats.Most != v.Stats.MaxEntries {
				t.Errorf("%d to %d entries, want %+v", stats.Least, stats.Most, v.Stats)
			}
			for i, want := range v.Table {
				if got := order[table.hosts[table.maglev.Entry(i)]]; got != want {
					t.Fatalf("entry %d is %d, want %v", i, got, v.Table)
				}
			}
			v.check(t, m, order)
		})
	}
}

// check compares what is asked by hash and by share.
func (v *tableVector) check(t *testing.T, m *Model, order []int) {
	t.Helper()
	table := m.balancers[0].tables[0]
	for _, l := range v.Lookups {
		if got := order[table.hosts[table.pick(l[0], uint32(l[1]))]]; uint64(got) != l[2] {
			t.Errorf("lookup %v is host %d", l, got)
		}
	}
	place := make([]int, len(order))
	for i, h := range order {
		place[h] = i
	}
	r := m.Compute()
	for h, want := range v.Shares {
		if got := r.Endpoints[place[h]].Share; math.Abs(got-want) > 1e-11 {
			t.Errorf("share of host %d is %v, want %v", h, got, want)
		}
	}
	counts := make([]int, len(order))
	if v.Counts != nil || v.Build != nil {
		of := func(i int) []int {
			if table.maglev != nil {
				return table.maglev.Counts()
			}
			return table.ring.Counts()
		}(0)
		for i, n := range of {
			counts[order[table.hosts[i]]] = n
		}
		if v.Counts != nil && !slices.Equal(counts, v.Counts) {
			t.Errorf("entries %v, want %v", counts, v.Counts)
		}
		for h, b := range v.Build {
			if counts[h] != int(b[2]) {
				t.Errorf("entries %v, want %v", counts, v.Build)
			}
		}
	}
	if v.Histogram != nil {
		clear(counts)
		for i := range v.Histogram.N {
			counts[order[table.hosts[table.pick(i*v.Histogram.Step, 0)]]]++
		}
		if !slices.Equal(counts, v.Histogram.Counts) {
			t.Errorf("histogram %v, want %v", counts, v.Histogram.Counts)
		}
	}
}

func TestHashLoadVectors(t *testing.T) {
	t.Parallel()
	f := readHashFile(t)
	checkedGolden(t, "envoy-hash-vectors", fmt.Sprintf("%d rings, %d maglev tables, %d loads and choices of priority, %d request hashes",
		len(f.Rings), len(f.Tables), len(f.Loads)+len(f.Weighted)+len(f.Choose)+len(f.Thresholds), len(f.Policies)))
	for _, v := range f.Loads {
		var counts []Counts
		for _, p := range v.Priorities {
			counts = append(counts, Counts{Hosts: p[0], Healthy: p[1], Degraded: p[2], Excluded: p[3]})
		}
		got := PriorityLoads(counts, LoadConfig{OverprovisioningFactor: v.Factor, PanicThreshold: v.Threshold})
		if !slices.Equal(got.Healthy, v.Healthy) || v.Degraded != nil && !slices.Equal(got.Degraded, v.Degraded) || v.Panic != nil && !slices.Equal(got.Panic, v.Panic) {
			t.Errorf("loads %+v, want %+v", got, v)
		}
	}
	for _, v := range f.Weighted {
		var counts []Counts
		for _, w := range v.Weights {
			counts = append(counts, Counts{Hosts: 2, Healthy: 1, TotalWeight: w[0], HealthyWeight: w[1], DegradedWeight: w[2]})
		}
		got := PriorityLoads(counts, LoadConfig{OverprovisioningFactor: 100, WeightedPriorityHealth: true, PanicThreshold: 50})
		if !slices.Equal(got.Healthy, v.Healthy) || v.Degraded != nil && !slices.Equal(got.Degraded, v.Degraded) {
			t.Errorf("loads %+v, want %+v", got, v)
		}
	}
	for _, v := range f.Choose {
		l := Loads{Healthy: v.Healthy, Degraded: make([]uint32, len(v.Healthy))}
		if got, _ := l.ChoosePriority(v.Hash); got != v.Priority {
			t.Errorf("hash %d: priority %d, want %d", v.Hash, got, v.Priority)
		}
	}
	for _, v := range f.Thresholds {
		if got := TruncatePercent(v.Percent); got != v.Threshold {
			t.Errorf("%v %%: %d, want %d", v.Percent, got, v.Threshold)
		}
	}
	for _, v := range f.HashKeys {
		e := Endpoint{Address: v.Address, Hostname: v.Hostname}
		if key, ok := v.Metadata.(string); ok {
			e.HashKey = key
		}
		if got := e.hashKey(v.UseHostname); got != v.Expect {
			t.Errorf("hash key %q, want %q", got, v.Expect)
		}
	}
}

func TestRingErrorVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readHashFile(t).Errors {
		if v.Form == "legacy" && v.Error != "" {
			continue // refused while the message is read
		}
		in := plain(RingHash, 2, 2)
		in.Policy.Hash.MinimumRingSize, in.Policy.Hash.MaximumRingSize = v.Minimum, v.Maximum
		m, err := Build(in)
		if v.Error != "" {
			if err == nil || err.Error() != "priority 0: "+v.Error {
				t.Errorf("%+v: error %v", v, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", v, err)
			continue
		}
		if empty := v.Minimum != nil && *v.Minimum == 0; empty != (m.Pick(1) < 0) {
			t.Errorf("%+v: pick %d", v, m.Pick(1))
		}
	}
}

// TestHashPolicyVectors has one request for each case of the file, in its order.
func TestHashPolicyVectors(t *testing.T) {
	t.Parallel()
	header := func(pairs ...string) (r Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Headers = append(r.Headers, [2]string{pairs[i], pairs[i+1]})
		}
		return r
	}
	remote, local := netip.MustParseAddrPort("10.0.0.9:54321"), netip.MustParseAddrPort("10.0.0.1:8080")
	a, b := HashPolicy{Header: "x-a"}, HashPolicy{Header: "x-b"}
	terminal := HashPolicy{Header: "x-a", Terminal: true}
	tests := []struct {
		policies []HashPolicy
		request  Request
	}{
		{[]HashPolicy{{Header: "x-test-header"}}, header("x-test-header", "test-value")},
		{[]HashPolicy{{Header: "x"}}, header("x", "value2", "X", "value1")},
		{[]HashPolicy{{Header: "x", Regex: regexp.MustCompile("test"), Substitution: "replaced"}}, header("x", "test-value")},
		{[]HashPolicy{{Cookie: "test-cookie"}}, header("cookie", "a=b; test-cookie=cookie-value")},
		{[]HashPolicy{{Cookie: "test-cookie"}}, header("cookie", `test-cookie="new-cookie-value"`)},
		{[]HashPolicy{{SourceIP: true}}, Request{Remote: netip.MustParseAddrPort("192.168.1.1:1")}},
		{[]HashPolicy{{QueryParameter: "test-param"}}, Request{Path: "/test?test-param=param-value"}},
		{[]HashPolicy{{FilterState: "key"}}, Request{FilterState: map[string]uint64{"key": 1234567}}},
		{[]HashPolicy{a, b}, header("x-a", "foo", "x-b", "bar")},
		{[]HashPolicy{a, {Header: "x-missing"}, b}, header("x-a", "foo", "x-b", "bar")},
		{[]HashPolicy{a, a}, header("x-a", "foo")},
		{[]HashPolicy{terminal, b}, header("x-a", "foo", "x-b", "bar")},
		{[]HashPolicy{terminal, b}, header("x-b", "bar")},
		{[]HashPolicy{{Cookie: "sid", CookieTTL: true}}, Request{Remote: remote, Local: local}},
	}
	vectors := readHashFile(t).Policies
	if len(vectors) != len(tests) {
		t.Fatalf("%d vectors, %d requests", len(vectors), len(tests))
	}
	for i, v := range vectors {
		if got, ok := RequestHash(tests[i].policies, tests[i].request); !ok || got != v.Hash {
			t.Errorf("%s: hash %d, want %d", v.Case, got, v.Hash)
		}
		if v.Cookie != "" && GeneratedCookie(remote, local) != v.Cookie {
			t.Errorf("cookie %s, want %s", GeneratedCookie(remote, local), v.Cookie)
		}
	}
}
