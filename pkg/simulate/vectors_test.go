package simulate

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb"
	"github.com/edsctl/edsctl/pkg/lb/grpc"
	"github.com/edsctl/edsctl/pkg/selector"
)

// readVectors reads a vector file of testdata/vectors into v.
func readVectors(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// message turns a value read from YAML into a proto message.
func message[M proto.Message](t *testing.T, value any, m M) M {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// edsCluster is the cluster of a vector, as EDS over ADS unless it says otherwise.
func edsCluster(t *testing.T, fields any, kind string) *clusterv3.Cluster {
	t.Helper()
	m := message(t, fields, &clusterv3.Cluster{})
	m.Name = "c"
	m.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_DiscoveryType(clusterv3.Cluster_DiscoveryType_value[kind])}
	if kind == "EDS" {
		m.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: adsSource()}
	}
	return m
}

type observedShares struct {
	Scenarios []struct {
		ID          string
		Type        string
		Cluster     any
		Assignment  any
		Unreachable []string
		Requests    int64
		Observed    struct {
			Dropped, Unavailable int64
			Endpoints            map[string]int64
			Rejected             string
		}
		Expected *struct {
			Priority             *uint32
			Dropped, Unavailable float64
			Endpoints            map[string]float64
			Drops                []float64
			Rejected             string
		}
		NotExplained string `yaml:"not_explained"`
	}
}

func TestGRPCObservedShares(t *testing.T) {
	var v observedShares
	readVectors(t, "grpc-observed/shares.yaml", &v)
	predicted, refused := 0, 0
	for _, tt := range v.Scenarios {
		if tt.Expected == nil {
			continue
		}
		if tt.Expected.Rejected != "" {
			refused++ // the verdict is the rules' business
			continue
		}
		predicted++
		t.Run(tt.ID, func(t *testing.T) {
			r := &eds.Resource{
				Name: "c", Source: eds.FromSotW, Assignment: message(t, tt.Assignment, &endpointv3.ClusterLoadAssignment{}),
				Cluster: &eds.Cluster{Message: edsCluster(t, tt.Cluster, tt.Type)},
			}
			o := &Options{}
			for _, address := range tt.Unreachable {
				c, err := ParseUnreachable("address=" + address)
				if err != nil {
					t.Fatal(err)
				}
				o.Changes = append(o.Changes, c)
			}
			got, err := FromResource(r, diag.GRPC, o)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "dropped", got.Dropped, tt.Expected.Dropped, 1e-6)
			near(t, "unavailable", got.Unavailable, tt.Expected.Unavailable, 1e-6)
			for i, want := range tt.Expected.Drops {
				near(t, "drop "+got.Drops[i].Category, got.Drops[i].Share, want, 1e-6)
			}
			shares := peers(r.Assignment, got)
			checkCounts(t, got, shares, tt.Requests, tt.Observed.Endpoints, tt.Observed.Dropped, tt.Observed.Unavailable)
			for address, share := range shares {
				near(t, address, share, tt.Expected.Endpoints[address], 1e-6)
			}
			for address, want := range tt.Expected.Endpoints {
				if _, ok := shares[address]; !ok && want > 0 {
					t.Errorf("no endpoint answers at %s", address)
				}
			}
			if tt.Expected.Priority != nil {
				for _, p := range got.Priorities {
					if (p.Load.Healthy == 100) != (p.Priority == *tt.Expected.Priority) {
						t.Errorf("priority %d has load %d, active is %d", p.Priority, p.Load.Healthy, *tt.Expected.Priority)
					}
				}
			}
		})
	}
	checkedGolden(t, "grpc-observed shares", fmt.Sprintf("%d of %d scenarios, %d more are refused clusters and assignments", predicted, len(v.Scenarios), refused))
}

// peers are the shares by the address that answers.
func peers(cla *endpointv3.ClusterLoadAssignment, r *Result) map[string]float64 {
	shares := map[string]float64{}
	for _, e := range r.Endpoints {
		address := e.Address
		if _, at, ok := strings.Cut(e.Why, "; reached at "); ok {
			address = at
		}
		if e.Share > 0 {
			shares[address] += e.Share
		}
	}
	return shares
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s = %.9f, want %.9f", what, got, want)
	}
}

// checkCounts compares shares with counts of a real client: within 4.5 standard errors, zero exactly where 0 is expected.
// Counts that are not random (round robin) may be off by one.
func checkCounts(t *testing.T, r *Result, shares map[string]float64, n int64, endpoints map[string]int64, dropped, unavailable int64) {
	t.Helper()
	if n == 0 {
		for _, c := range endpoints {
			n += c
		}
		n += dropped + unavailable
	}
	check := func(what string, p float64, count int64) {
		t.Helper()
		if off := math.Abs(float64(count) - p*float64(n)); off > 4.5*math.Sqrt(float64(n)*p*(1-p))+1 || (p == 0) != (count == 0) && p*float64(n) > 20 {
			t.Errorf("%s: %d of %d observed, share %.6f", what, count, n, p)
		}
	}
	check("dropped", r.Dropped, dropped)
	check("unavailable", r.Unavailable, unavailable)
	for address, count := range endpoints {
		check(address, shares[address], count)
	}
	for address, p := range shares {
		check(address, p, endpoints[address])
	}
}

type hashPicks struct {
	Scenarios []struct {
		ID         string
		Cluster    any
		Assignment any
		HashPolicy []hashPolicy `yaml:"hash_policy"`
		Headers    [][2]string
		Keys       struct {
			Format string
			Count  int
		}
		Endpoints []string
		Width     int
		Picks     string
	}
}

func TestGRPCHashPicks(t *testing.T) {
	var v hashPicks
	readVectors(t, "envoy-hash-picks/grpc-picks.yaml", &v)
	keys := 0
	for _, tt := range v.Scenarios {
		t.Run(tt.ID, func(t *testing.T) {
			cla := message(t, tt.Assignment, &endpointv3.ClusterLoadAssignment{})
			a := grpcAssignment(cla, readGRPCEnv(nil), (&run{}).reachable())
			g := grpc.Simulate(a, grpcPolicy(edsCluster(t, tt.Cluster, "EDS"), readGRPCEnv(nil)))
			wrong := 0
			for i := range tt.Keys.Count {
				key := fmt.Sprintf(tt.Keys.Format, i)
				hash, ok := requestHash(tt.HashPolicy, tt.Headers, key)
				if !ok {
					t.Fatalf("key %q has no hash", key)
				}
				ref, _ := g.Ring.Pick(hash)
				var at int
				if _, err := fmt.Sscanf(tt.Picks[i*tt.Width:(i+1)*tt.Width], "%s", new(string)); err != nil {
					t.Fatal(err)
				}
				at = base36(tt.Picks[i*tt.Width : (i+1)*tt.Width])
				if got := a.Localities[ref.Locality].Endpoints[ref.Endpoint].Addresses[0].Text; got != tt.Endpoints[at] {
					wrong++
				}
			}
			keys += tt.Keys.Count
			if wrong > 0 {
				t.Errorf("%d of %d keys go elsewhere", wrong, tt.Keys.Count)
			}
		})
	}
	checkedGolden(t, "grpc-hash-picks", fmt.Sprintf("%d scenarios; %d keys go to the observed endpoint", len(v.Scenarios), keys))
}

func base36(s string) int {
	n := 0
	for _, c := range strings.ToLower(s) {
		n = n*36 + strings.IndexRune("0123456789abcdefghijklmnopqrstuvwxyz", c)
	}
	return n
}

// hashPolicy is the part of a route's hash_policy that the scenarios use.
type hashPolicy struct {
	Header struct {
		Name  string `yaml:"header_name"`
		Regex *struct {
			Pattern struct{ Regex string }
			Subst   string `yaml:"substitution"`
		} `yaml:"regex_rewrite"`
	}
	Terminal bool
}

func requestHash(policies []hashPolicy, headers [][2]string, key string) (uint64, bool) {
	var converted []grpc.HashPolicy
	for _, p := range policies {
		c := grpc.HashPolicy{Header: p.Header.Name, Terminal: p.Terminal}
		if p.Header.Regex != nil {
			c.Regex, c.Substitution = p.Header.Regex.Pattern.Regex, p.Header.Regex.Subst
		}
		converted = append(converted, c)
	}
	values := map[string][]string{}
	for _, h := range headers {
		values[h[0]] = append(values[h[0]], strings.ReplaceAll(h[1], "{key}", key))
	}
	hash, ok, err := grpc.RequestHash(converted, values)
	return hash, ok && err == nil
}

type weightsAndRings struct {
	Vectors []struct {
		ID    string
		Input any
		A113  map[string]map[string]uint32 `yaml:"weights_a113"`
		Raw   map[string]map[string]uint32 `yaml:"weights_raw_product"`
		Rings map[string]struct {
			Size    int
			Entries map[string]int
			Arcs    map[string]float64 `yaml:"arc_share"`
			Picks   map[string]string
		}
	} `yaml:"weights_and_rings"`
}

func TestGRPCWeightsAndRings(t *testing.T) {
	var v weightsAndRings
	readVectors(t, "grpc-eds-vectors.yaml", &v)
	rings := 0
	for _, tt := range v.Vectors {
		t.Run(tt.ID, func(t *testing.T) {
			cla := message(t, tt.Input, &endpointv3.ClusterLoadAssignment{})
			for name, want := range tt.A113 {
				checkWeights(t, cla, name, want, false)
			}
			for name, want := range tt.Raw {
				checkWeights(t, cla, name, want, true)
			}
			for name, want := range tt.Rings {
				rings++
				var minSize, maxSize uint64
				var leaf, priority int
				if _, err := fmt.Sscanf(name, "priority-%d-%d [%d,%d]", &leaf, &priority, &minSize, &maxSize); err != nil {
					t.Fatal(err)
				}
				a := onlyPriority(t, cla, priority)
				g := grpc.Simulate(a, grpc.Policy{Kind: grpc.RingHash, MinRingSize: &minSize, MaxRingSize: &maxSize})
				if g.Ring.Size() != want.Size {
					t.Errorf("%s: %d entries, want %d", name, g.Ring.Size(), want.Size)
				}
				text := func(r grpc.Ref) string { return a.Localities[r.Locality].Endpoints[r.Endpoint].Addresses[0].Text }
				for ref, n := range g.Ring.Entries() {
					if n != want.Entries[text(ref)] {
						t.Errorf("%s: %s has %d entries, want %d", name, text(ref), n, want.Entries[text(ref)])
					}
					near(t, name+" "+text(ref), g.Endpoints[ref.Locality][ref.Endpoint], want.Arcs[text(ref)], 1e-6)
				}
				for key, address := range want.Picks {
					if ref, _ := g.Ring.Pick(lb.Sum64(key)); text(ref) != address {
						t.Errorf("%s: key %q goes to %s, want %s", name, key, text(ref), address)
					}
				}
			}
		})
	}
	checkedGolden(t, "grpc-eds-vectors weights", fmt.Sprintf("%d assignments, %d rings", len(v.Vectors), rings))
}

// onlyPriority makes the endpoints of one priority the only ones that can be reached.
func onlyPriority(t *testing.T, cla *endpointv3.ClusterLoadAssignment, priority int) *grpc.Assignment {
	t.Helper()
	return grpcAssignment(cla, readGRPCEnv(nil), func(g *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint, _ *corev3.Address) bool {
		return int(g.GetPriority()) == priority
	})
}

func checkWeights(t *testing.T, cla *endpointv3.ClusterLoadAssignment, name string, want map[string]uint32, raw bool) {
	t.Helper()
	var priority int
	if _, err := fmt.Sscanf(name, "priority-0-%d", &priority); err != nil {
		t.Fatal(err)
	}
	a := onlyPriority(t, cla, priority)
	g := grpc.Simulate(a, grpc.Policy{Kind: grpc.RoundRobin, RawWeights: raw})
	for i := range a.Localities {
		if int(a.Localities[i].Priority) != priority {
			continue
		}
		for j := range a.Localities[i].Endpoints {
			e := &a.Localities[i].Endpoints[j]
			w, ok := want[e.Addresses[0].Text]
			if !ok {
				continue
			}
			if got := g.Weights[i][j]; got != w && !(raw && w == 0 && got == 1) { // a wrapped 0 is read as 1
				t.Errorf("%s raw=%v: %s has weight %d, want %d", name, raw, e.Addresses[0].Text, got, w)
			}
		}
	}
}

func TestSpread(t *testing.T) {
	refs := []selector.Ref{{Group: 0, Index: 0}, {Group: 0, Index: 1}, {Group: 1, Index: 0}, {Group: 1, Index: 1}, {Group: 1, Index: 2}, {Group: 1, Index: 3}}
	want := []selector.Ref{{Group: 1, Index: 0}, {Group: 0, Index: 0}, {Group: 1, Index: 1}, {Group: 1, Index: 2}, {Group: 0, Index: 1}, {Group: 1, Index: 3}}
	if got := spread(refs); !slices.Equal(got, want) {
		t.Errorf("spread = %v, want %v", got, want)
	}
}
