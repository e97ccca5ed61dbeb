package grpc

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// vectors is the part of testdata/vectors/grpc-eds-vectors.yaml that this package answers.
type vectors struct {
	DropConversion []struct {
		ID          string
		Numerator   uint32
		Denominator uint32
		Expected    uint32   `yaml:"go_head_per_million"`
		Observed    *float64 `yaml:"go_head_observed_drop"`
	} `yaml:"drop_conversion"`
	Distribution []struct {
		ID     string
		Setup  setup
		Expect map[string]any
	}
	Executed []struct {
		ID         string
		Policy     string
		Localities []locality
		Drops      []drop
		RPCs       int `yaml:"rpcs"`
		Expect     map[string]any
		Observed   map[string]any `yaml:"observed_head"`
	} `yaml:"executed_e2e"`
}

type setup struct {
	Policy     string
	Localities []locality
	Drops      []drop
	Targets    map[string]uint32
	Endpoints  any
}

type drop struct {
	Category    string
	Percent     uint32
	Numerator   uint32
	Denominator uint32
}

type locality struct {
	ID        string
	Weight    uint32
	Priority  uint32
	Prio      uint32
	Endpoints any
	ByHealth  map[string]string `yaml:"endpoints_by_health"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "vectors", "grpc-eds-vectors.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// endpoint reads the shorthand: b0 reachable, d a closed port, b1:UNHEALTHY, {b0: 9} or a bare weight.
func endpoint(v any, n *int) Endpoint {
	name, weight, usable := "", uint32(1), true
	switch v := v.(type) {
	case string:
		name, _, _ = strings.Cut(v, ":")
		if _, health, ok := strings.Cut(v, ":"); ok {
			usable = health == "HEALTHY" || health == "UNKNOWN"
		}
	case int:
		name, weight = fmt.Sprint("e", *n), uint32(v)
	case map[string]any:
		for key, w := range v {
			name, weight = key, uint32(w.(int))
		}
	}
	*n++
	text := name
	if name == "d" {
		text = fmt.Sprint("d", *n)
	}
	return Endpoint{Weight: weight, Usable: usable, Addresses: []Address{{Text: text, Reachable: name != "d"}}}
}

func assignment(localities []locality, drops []drop) *Assignment {
	a := &Assignment{}
	n := 0
	for _, l := range localities {
		out := Locality{SubZone: l.ID, Weight: l.Weight, Priority: l.Priority + l.Prio}
		switch list := l.Endpoints.(type) {
		case []any:
			for _, e := range list {
				out.Endpoints = append(out.Endpoints, endpoint(e, &n))
			}
		case int:
			for range list {
				out.Endpoints = append(out.Endpoints, endpoint(1, &n))
			}
		case map[string]any:
			for _, key := range []string{"A", "B", "C", "D"} {
				if w, ok := list[key]; ok {
					out.Endpoints = append(out.Endpoints, endpoint(map[string]any{key: w}, &n))
				}
			}
		}
		for health, name := range l.ByHealth {
			out.Endpoints = append(out.Endpoints, endpoint(name+":"+health, &n))
		}
		a.Localities = append(a.Localities, out)
	}
	for _, d := range drops {
		out := Drop{Category: d.Category, Numerator: d.Numerator, Denominator: d.Denominator}
		if d.Percent > 0 {
			out.Numerator, out.Denominator = d.Percent, 100
		}
		a.Drops = append(a.Drops, out)
	}
	return a
}

func policy(t *testing.T, text string) Policy {
	t.Helper()
	var p Policy
	switch text {
	case "lb_policy:LEAST_REQUEST":
		return Policy{Kind: LeastRequest}
	case "lb_policy:ROUND_ROBIN", "ROUND_ROBIN", "":
		return Policy{Kind: RoundRobin, WrrLocality: 1}
	case "ring_hash(min 4096)":
		size := uint64(4096)
		return Policy{Kind: RingHash, MinRingSize: &size}
	}
	for strings.HasPrefix(text, "wrr_locality>") {
		text = strings.TrimPrefix(text, "wrr_locality>")
		p.WrrLocality++
	}
	if text == "client_side_weighted_round_robin" {
		text = string(ClientSideWRR)
	}
	p.Kind = PolicyKind(text)
	return p
}

// number reads 0.5 or "1/3".
func number(t *testing.T, v any) float64 {
	t.Helper()
	switch v := v.(type) {
	case float64:
		return v
	case int:
		return float64(v)
	case string:
		r, ok := new(big.Rat).SetString(v)
		if !ok {
			t.Fatalf("%q is no number", v)
		}
		f, _ := r.Float64()
		return f
	}
	t.Fatalf("%v is no number", v)
	return 0
}

func shares(r *Result) map[string]float64 {
	out := map[string]float64{}
	for i, l := range r.m.a.Localities {
		for j := range l.Endpoints {
			out[l.Endpoints[j].Addresses[0].Text] += r.Endpoints[i][j]
		}
	}
	return out
}

func checkShares(t *testing.T, got map[string]float64, want map[string]any, tolerance float64) {
	t.Helper()
	sum := 0.0
	for name, w := range want {
		if math.Abs(got[name]-number(t, w)) > tolerance {
			t.Errorf("share of %s = %.9f, want %v", name, got[name], w)
		}
		sum += got[name]
	}
	total := 0.0
	for _, s := range got {
		total += s
	}
	if math.Abs(sum-total) > 1e-9 {
		t.Errorf("other endpoints have %.9f: %v", total-sum, got)
	}
}

func TestDropConversion(t *testing.T) {
	for _, tt := range readVectors(t).DropConversion {
		if got := PerMillion(tt.Numerator, tt.Denominator); got != tt.Expected {
			t.Errorf("%s: PerMillion(%d, %d) = %d, want %d", tt.ID, tt.Numerator, tt.Denominator, got, tt.Expected)
		}
		if tt.Observed != nil {
			const n = 10000
			p := float64(tt.Expected) / million
			if off := math.Abs(*tt.Observed-p) * n; off > 4.5*math.Sqrt(n*p*(1-p)) {
				t.Errorf("%s: observed drop %v is too far from %v", tt.ID, *tt.Observed, p)
			}
		}
	}
}

func TestExecuted(t *testing.T) {
	for _, tt := range readVectors(t).Executed {
		t.Run(tt.ID, func(t *testing.T) {
			r := Simulate(assignment(tt.Localities, tt.Drops), policy(t, tt.Policy))
			if text, ok := tt.Expect["error"].(string); ok {
				code, text, _ := strings.Cut(text, ": ")
				switch {
				case text == "RPC is dropped":
					if r.Dropped != 1 {
						t.Errorf("dropped = %v, want 1", r.Dropped)
					}
				case code == "DEADLINE_EXCEEDED":
					if r.Unavailable != 1 || !strings.Contains(r.Error, "deadline exceeded") {
						t.Errorf("unavailable = %v, error = %q", r.Unavailable, r.Error)
					}
				case r.Unavailable != 1 || r.Error != text:
					t.Errorf("unavailable = %v, error = %q, want %q", r.Unavailable, r.Error, text)
				}
				return
			}
			if _, ok := tt.Expect["error_prefix"]; ok {
				if r.Unavailable != 1 || !strings.HasPrefix(r.Error, "connection error: ") {
					t.Errorf("unavailable = %v, error = %q", r.Unavailable, r.Error)
				}
				return
			}
			tolerance := 1e-12
			if strings.HasPrefix(tt.Policy, "ring_hash") {
				tolerance = 0.05
			}
			if v, ok := tt.Expect["tolerance"]; ok {
				tolerance = number(t, v)
			}
			want := map[string]any{}
			for name, share := range tt.Expect {
				if name == "dropped" {
					if math.Abs(r.Dropped-number(t, share)) > 1e-12 {
						t.Errorf("dropped = %v, want %v", r.Dropped, share)
					}
				} else if name != "tolerance" {
					want[name] = share
				}
			}
			got := shares(r)
			checkShares(t, got, want, tolerance)
			if strings.HasPrefix(tt.Policy, "ring_hash") {
				return // the addresses were others, and so was the ring
			}
			for name, v := range tt.Observed {
				p := got[name]
				if name == "dropped" {
					p = r.Dropped
				}
				n := float64(tt.RPCs)
				if math.Abs(number(t, v)-p)*n > 4.5*math.Sqrt(n*p*(1-p))+1 {
					t.Errorf("observed %s = %v is too far from %v", name, v, p)
				}
			}
		})
	}
}

func TestDistribution(t *testing.T) {
	other := map[string]bool{ // what these are about, the model of one assignment does not decide
		"D10": true, "D11": true, "D12": true, "D13": true, // updates
		"D14": true, "D21": true, "D23": true, "D34": true, "D35": true, "D36": true, "D37": true, "D39": true,
	}
	checked := 0
	for _, tt := range readVectors(t).Distribution {
		if other[tt.ID] {
			continue
		}
		checked++
		t.Run(tt.ID, func(t *testing.T) {
			switch {
			case tt.Expect["shares"] == "weight/sum":
				return // D26: the picker's own test
			case tt.Expect["groups"] != nil:
				checkGroups(t)
			case tt.Expect["drop_rate"] != nil || tt.Expect["fractions"] != nil:
				checkDrops(t, assignment(nil, tt.Setup.Drops), tt.Expect)
			case tt.Expect["weights"] != nil:
				checkWeights(t, assignment(tt.Setup.Localities, nil), Policy{Kind: RingHash, RawWeights: tt.ID == "D19" || tt.ID == "D41"}, tt.Expect["weights"])
			case tt.Expect["a113_shares"] != nil:
				r := Simulate(assignment(tt.Setup.Localities, nil), Policy{Kind: PickFirst, Shuffle: true})
				checkShares(t, shares(r), tt.Expect["a113_shares"].(map[string]any), 1e-8)
			case tt.Setup.Targets != nil:
				checkTargets(t, tt.Setup, tt.Expect["shares"].(map[string]any))
			case tt.Expect["rpc"] != nil && tt.Expect["shares"] == nil:
				r := Simulate(assignment(tt.Setup.Localities, nil), policy(t, tt.Setup.Policy))
				if want := tt.Expect["rpc"].(map[string]any)["message_contains"].(string); !strings.Contains(r.Error, want) {
					t.Errorf("error = %q, want %q in it", r.Error, want)
				}
			case tt.Expect["state"] != nil || tt.Expect["size"] != nil || tt.Expect["active"] != nil:
				checkRingOrState(t, tt.ID)
			default:
				r := Simulate(assignment(tt.Setup.Localities, nil), policy(t, tt.Setup.Policy))
				tolerance := 1e-12
				if v, ok := tt.Expect["tolerance"]; ok {
					tolerance = number(t, v)
				}
				checkShares(t, shares(r), tt.Expect["shares"].(map[string]any), tolerance)
			}
		})
	}
	t.Logf("%d of 43 distribution vectors", checked)
}

func checkGroups(t *testing.T) {
	t.Helper()
	a := &Assignment{Localities: []Locality{{Priority: 1, Weight: 1}, {Priority: 0, Weight: 1}, {Priority: 1, Weight: 1}, {Priority: 0, Weight: 1}}}
	if got := fmt.Sprint(priorities(a)); got != "[{0 [1 3]} {1 [0 2]}]" {
		t.Errorf("groups = %s", got)
	}
}

func checkDrops(t *testing.T, a *Assignment, expect map[string]any) {
	t.Helper()
	shares, pass := Drops(a.Drops)
	if rate, ok := expect["drop_rate"]; ok && math.Abs(1-pass-number(t, rate)) > 1e-12 {
		t.Errorf("dropped = %v, want %v", 1-pass, rate)
	}
	if fractions, ok := expect["fractions"].(map[string]any); ok {
		for _, s := range shares {
			if math.Abs(s.Share-number(t, fractions[s.Category])) > 1e-12 {
				t.Errorf("%s = %v, want %v", s.Category, s.Share, fractions[s.Category])
			}
		}
		if math.Abs(pass-number(t, fractions["served"])) > 1e-12 {
			t.Errorf("served = %v", pass)
		}
	}
}

func checkWeights(t *testing.T, a *Assignment, p Policy, want any) {
	t.Helper()
	r := Simulate(a, p)
	if byName, ok := want.(map[string]any); ok {
		for i, l := range a.Localities {
			w := byName[fmt.Sprintf("%d/%d", l.Priority, l.Weight)]
			for _, got := range r.Weights[i] {
				if got != uint32(w.(int)) {
					t.Errorf("weight in locality %d = %d, want %v", i, got, w)
				}
			}
		}
		return
	}
	var got []any
	for _, l := range r.Weights {
		for _, w := range l {
			got = append(got, int(w))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("weights = %v, want %v", got, want)
	}
}

func checkTargets(t *testing.T, s setup, want map[string]any) {
	t.Helper()
	endpoints := s.Endpoints.(map[string]any)
	var localities []locality
	for _, name := range []string{"c1", "c2"} {
		localities = append(localities, locality{ID: name, Weight: s.Targets[name], Endpoints: endpoints[name]})
	}
	checkShares(t, shares(Simulate(assignment(localities, nil), Policy{Kind: RoundRobin, WrrLocality: 1})), want, 1e-12)
}

// checkRingOrState has the vectors about ring sizes and aggregated states, which are statements about endpoints.
func checkRingOrState(t *testing.T, id string) {
	t.Helper()
	ring := func(minSize, maxSize uint64, weights ...any) *Result {
		return Simulate(assignment([]locality{{Weight: 1, Endpoints: weights}}, nil), Policy{Kind: RingHash, MinRingSize: &minSize, MaxRingSize: &maxSize})
	}
	switch id {
	case "D27":
		for _, minSize := range []uint64{3, 4, 6, 8} {
			for _, maxSize := range []uint64{20, 8} {
				r := ring(minSize, maxSize, 3, 3, 4)
				if size := uint64(r.Ring.Size()); size < minSize || size > maxSize {
					t.Errorf("ring of [%d, %d] has %d entries", minSize, maxSize, size)
				}
			}
		}
	case "D28":
		// A113 truncates 1/3 and 2/3, so that the lightest is a little below a third: the scale is 3.0000000014, the ring of
		// raw weights in the vector 3.
		if size := ring(1, 10, 1, 2).Ring.Size(); size != 3 && size != 4 {
			t.Errorf("ring has %d entries", size)
		}
	case "D38":
		r := Simulate(&Assignment{Localities: []Locality{{Weight: 1}, {Weight: 1, Priority: 1, Endpoints: []Endpoint{endpoint("a1", new(int))}}}}, Policy{Kind: RoundRobin, WrrLocality: 1})
		if r.Active != 1 {
			t.Errorf("active = %d, want 1", r.Active)
		}
	default:
		up := map[string][]any{"D29": {"b0"}, "D30": {"b0"}, "D31": {"b0", "d"}, "D32": {"b0", "d"}, "D33": {"d", "d"}}[id]
		if r := ring(1024, 4096, up...); r.Ready != (id != "D33") {
			t.Errorf("ready = %v", r.Ready)
		}
	}
}
