package simulate_test

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
	"github.com/edsctl/edsctl/pkg/validate"
)

// caseRun is one row of numbers in the corpus: the file, how to simulate it, and the label of its expectation.
type caseRun struct {
	number string // heading in the README
	file   string
	label  string // between "numbers, " and ":"
	name   string // of the assignment when the file has several
	client diag.Client
	o      simulate.Options
}

func caseRuns(t *testing.T) []caseRun {
	t.Helper()
	zero := 0.0
	fail := func(text string) simulate.Change {
		c, err := simulate.ParseFail(text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	hash := simulate.Options{Policy: "ring_hash"}
	return []caseRun{
		{number: "58", file: "58-locality-weights-ignored.yaml", label: "Envoy (as written)"},
		{number: "58", file: "58-locality-weights-ignored.fixed.yaml", label: "Envoy (fixed)"},
		{number: "58", file: "58-locality-weights-ignored.yaml", label: "gRPC", client: diag.GRPC},
		{number: "60", file: "60-one-group-without-locality.yaml", label: "Envoy"},
		{number: "62", file: "62-one-locality-without-weight.yaml", label: "Envoy"},
		{number: "62", file: "62-one-locality-without-weight.yaml", label: "gRPC", client: diag.GRPC},
		{number: "64", file: "64-strict-dns-weight-per-ip.yaml", label: "Envoy (service-1 = 2 addresses, service-2 = 1)", o: simulate.Options{
			Resolve: map[string][]string{"service-1.example": {"192.0.2.1", "192.0.2.2"}, "service-2.example": {"192.0.2.3"}}}},
		{number: "65", file: "65-threshold-72-percent.yaml", label: "Envoy (5 of 7)"},
		{number: "65", file: "65-threshold-72-percent.yaml", label: "gRPC", client: diag.GRPC},
		{number: "65", file: "65-threshold-72-percent.seventy.yaml", label: "Envoy (7 of 10)"},
		{number: "66", file: "66-half-of-p0-down.yaml", label: "Envoy"},
		{number: "66", file: "66-half-of-p0-down.yaml", label: "gRPC", client: diag.GRPC},
		{number: "67", file: "67-three-priorities-rounding.yaml", label: "Envoy"},
		{number: "67", file: "67-three-priorities-rounding.yaml", label: "gRPC", client: diag.GRPC},
		{number: "67", file: "67-three-priorities-rounding.yaml", label: "Envoy (panic threshold 0)", o: simulate.Options{PanicThreshold: &zero}},
		{number: "69", file: "69-all-unhealthy-panic.yaml", label: "Envoy"},
		{number: "69", file: "69-all-unhealthy-panic.yaml", label: "gRPC", client: diag.GRPC},
		{number: "69", file: "69-all-unhealthy-panic.nopanic.yaml", label: "Envoy (threshold 0)"},
		{number: "69", file: "69-all-unhealthy-panic.yaml", label: "Envoy (threshold 0)", o: simulate.Options{PanicThreshold: &zero}},
		{number: "71", file: "71-low-p0-but-no-panic.yaml", label: "Envoy"},
		{number: "71", file: "71-low-p0-but-no-panic.yaml", label: "gRPC", client: diag.GRPC},
		{number: "73", file: "73-mixed-panic-rounding.yaml", label: "Envoy"},
		{number: "73", file: "73-mixed-panic-rounding.yaml", label: "gRPC", client: diag.GRPC},
		{number: "75", file: "75-draining-excluded.yaml", label: "Envoy"},
		{number: "75", file: "75-draining-excluded.yaml", label: "gRPC", client: diag.GRPC},
		{number: "77", file: "77-grpc-ignores-endpoint-weight.yaml", label: "Envoy"},
		{number: "77", file: "77-grpc-ignores-endpoint-weight.yaml", label: "gRPC", client: diag.GRPC},
		{number: "77", file: "77-grpc-ignores-endpoint-weight.yaml", label: "gRPC (ring_hash)", client: diag.GRPC, o: hash},
		{number: "79", file: "79-locality-health-adjusts-weight.yaml", label: "Envoy"},
		{number: "79", file: "79-locality-health-adjusts-weight.yaml", label: "gRPC", client: diag.GRPC},
		{number: "79", file: "79-locality-health-adjusts-weight.yaml", label: "Envoy (hash policies)", o: hash},
		{number: "81", file: "81-distribute-all-to-one-region.yaml", label: "Envoy"},
		{number: "81", file: "81-distribute-all-to-one-region.yaml", label: "gRPC", client: diag.GRPC},
		{number: "81", file: "81-distribute-all-to-one-region.yaml", label: "Envoy", o: simulate.Options{Changes: []simulate.Change{fail("region=us-central1")}}},
		{number: "82", file: "82-priority-without-health-info.yaml", label: "Envoy"},
		{number: "82", file: "82-priority-without-health-info.yaml", label: "gRPC", client: diag.GRPC},
		{number: "89", file: "89-drop-overload-single.yaml", label: "gRPC", client: diag.GRPC},
		{number: "91", file: "91-edf-start-not-proportional.yaml", label: "Envoy"},
	}
}

// corpus is the folder of cases, beside the repository; the test is skipped where it is absent.
func corpus(t *testing.T) string {
	t.Helper()
	shared := os.Getenv("EDSCTL_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "testdata")
	}
	if _, err := os.Stat(filepath.Join(shared, "cases", "README.md")); err != nil {
		t.Skip("no corpus of cases")
	}
	return filepath.Join(shared, "cases")
}

// loadCase reads the assignment of a case as the commands do. Case 79 is read with its unquoted y quoted.
func loadCase(t *testing.T, dir, file, name string) *eds.Resource {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(file, "79-") {
		data = []byte(strings.ReplaceAll(string(data), "zone: y", `zone: "y"`))
	}
	resources := eds.NewLoader(eds.Options{}).Load(file, data, true).Resources
	for _, r := range resources {
		if name == "" && len(resources) == 1 || r.Name == name {
			return r
		}
	}
	t.Fatalf("%s: %d assignments, none is called %q", file, len(resources), name)
	return nil
}

// simulateCase simulates with the verdicts of validate.
func simulateCase(t *testing.T, r *eds.Resource, client diag.Client, o simulate.Options) *simulate.Result {
	t.Helper()
	o.Check = func(r *eds.Resource) [len(diag.Clients)]diag.Verdict {
		return validate.Run([]*eds.Resource{r}, validate.Options{}).Resources[0].Verdicts
	}
	result, err := simulate.FromResource(r, client, &o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestCaseNumbers(t *testing.T) {
	dir := corpus(t)
	numbers := readNumbers(t, filepath.Join(dir, "README.md"))
	checked := 0
	for _, tt := range caseRuns(t) {
		t.Run(tt.file+" "+tt.label, func(t *testing.T) {
			lines := numbers[tt.number][tt.label]
			if len(lines) == 0 {
				t.Fatalf("no numbers %q for case %s", tt.label, tt.number)
			}
			result := simulateCase(t, loadCase(t, dir, tt.file, tt.name), tt.client, tt.o)
			if !result.Accepted() {
				t.Fatalf("verdict %s: %s", result.Verdict, result.Message)
			}
			compareNumbers(t, lines[0], result)
			checked++
		})
	}
	t.Logf("%d rows of numbers", checked)
}

// readNumbers collects the "numbers" lines by case and label.
func readNumbers(t *testing.T, name string) map[string]map[string][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]map[string][]string{}
	number := ""
	heading := regexp.MustCompile(`^## (\d+) `)
	line := regexp.MustCompile(`^\s*- numbers, ([^:]*): (.*)$`)
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		if m := heading.FindStringSubmatch(scan.Text()); m != nil {
			number = m[1]
			out[number] = map[string][]string{}
		}
		if m := line.FindStringSubmatch(scan.Text()); m != nil {
			out[number][m[1]] = append(out[number][m[1]], m[2])
		}
	}
	return out
}

// compareNumbers compares with a line such as "priority health [70, 100], normalized total 100, load per priority [70,
// 30], panic none; shares: P0 10.0.0.1:80 35%; P1 10.1.0.1:80 7.5%".
func compareNumbers(t *testing.T, text string, r *simulate.Result) {
	t.Helper()
	if strings.HasPrefix(text, "no usable endpoint") {
		if r.Unavailable != 1 {
			t.Errorf("unavailable = %v, want 1", r.Unavailable)
		}
		return
	}
	pass := 1.0
	if m := regexp.MustCompile(`drop (\d+)%, of the rest`).FindStringSubmatch(text); m != nil {
		percent, _ := strconv.ParseFloat(m[1], 64)
		pass = 1 - percent/100
		within(t, "dropped", r.Dropped, percent/100)
	}
	compareList(t, text, `priority health \[([^\]]*)\]`, r, func(p *simulate.Priority) float64 { return float64(p.Availability.Healthy) })
	compareList(t, text, `load per priority \[([^\]]*)\]`, r, func(p *simulate.Priority) float64 { return float64(p.Load.Healthy) })
	want := map[string]float64{}
	for _, m := range regexp.MustCompile(`P\d+ (\S+) ([\d.]+)%`).FindAllStringSubmatch(text, -1) {
		percent, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		want[m[1]] += percent / 100 * pass
	}
	if strings.Contains(text, "no host (503) 100%") {
		within(t, "unavailable", r.Unavailable, 1)
	}
	for _, e := range r.Endpoints {
		tolerance := 0.00006
		if r.Policy == "ring_hash" {
			tolerance = 0.05 // the corpus has the ideal shares, the ring is uneven
		}
		if math.Abs(e.Share-want[e.Address]) > tolerance {
			t.Errorf("share of %s = %v, want %v", e.Address, e.Share, want[e.Address])
		}
		delete(want, e.Address)
	}
	if len(want) > 0 {
		t.Errorf("no such endpoints: %v", want)
	}
}

func compareList(t *testing.T, text, pattern string, r *simulate.Result, value func(*simulate.Priority) float64) {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return
	}
	for i, field := range strings.Split(m[1], ", ") {
		want, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := value(&r.Priorities[i]); got != want {
			t.Errorf("%s: priority %d has %v", m[0], i, got)
		}
	}
}

func within(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestCaseWords has the cases whose expectation is a sentence.
func TestCaseWords(t *testing.T) {
	dir := corpus(t)
	t.Run("gRPC refuses what has no locality", func(t *testing.T) {
		for _, file := range []string{"60-one-group-without-locality.yaml", "85-ring-hash-small-ring.yaml", "86-ring-hash-size-zero.yaml", "91-edf-start-not-proportional.yaml"} {
			r := simulateCase(t, loadCase(t, dir, file, ""), diag.GRPC, simulate.Options{})
			if r.Verdict != "reject" || !strings.Contains(r.Message, "locality without ID") || len(r.Endpoints) > 0 {
				t.Errorf("%s: %s %q with %d endpoints", file, r.Verdict, r.Message, len(r.Endpoints))
			}
		}
	})
	t.Run("79 as written", func(t *testing.T) {
		data, err := os.ReadFile(filepath.Join(dir, "79-locality-health-adjusts-weight.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range eds.NewLoader(eds.Options{}).Load("79.yaml", data, true).Resources {
			if got := simulateCase(t, r, diag.Envoy, simulate.Options{}); got.Verdict != "reject" || len(got.Endpoints) > 0 {
				t.Errorf("%s with %d endpoints", got.Verdict, len(got.Endpoints))
			}
		}
	})
	t.Run("83 zone-aware", func(t *testing.T) {
		r := loadCase(t, dir, "83-zone-aware-too-small.yaml", "upstream")
		node := &corev3.Locality{Zone: "cluster-1"}
		off := simulateCase(t, r, diag.Envoy, simulate.Options{NodeLocality: node})
		if off.ZoneAware.Mode != "none" || !strings.Contains(off.ZoneAware.Reason, "6") {
			t.Errorf("zone aware %+v", off.ZoneAware)
		}
		for _, e := range off.Endpoints {
			within(t, e.Address, e.Share, 0.25)
		}
		on := simulateCase(t, r, diag.Envoy, simulate.Options{NodeLocality: node, Runtime: map[string]string{"upstream.zone_routing.min_cluster_size": "4"}})
		if on.ZoneAware.Mode != "direct" {
			t.Errorf("zone aware %+v", on.ZoneAware)
		}
	})
	t.Run("85 small rings", func(t *testing.T) {
		for file, n := range map[string]int{"85-ring-hash-small-ring.yaml": 2, "85-ring-hash-small-ring.three.yaml": 3} {
			r := simulateCase(t, loadCase(t, dir, file, ""), diag.Envoy, simulate.Options{Explain: true})
			if len(r.Endpoints) != n || r.Method != "exact hash space" {
				t.Errorf("%s: %d endpoints, method %s", file, len(r.Endpoints), r.Method)
			}
		}
	})
	t.Run("86 empty ring", func(t *testing.T) {
		r := simulateCase(t, loadCase(t, dir, "86-ring-hash-size-zero.yaml", ""), diag.Envoy, simulate.Options{})
		within(t, "unavailable", r.Unavailable, 1)
	})
	t.Run("87 maglev", func(t *testing.T) {
		r := simulateCase(t, loadCase(t, dir, "87-maglev-weights.yaml", ""), diag.Envoy, simulate.Options{})
		within(t, "first", r.Endpoints[0].Share, 21846.0/65537)
		within(t, "second", r.Endpoints[1].Share, 43691.0/65537)
	})
	t.Run("89 drops", func(t *testing.T) {
		r := simulateCase(t, loadCase(t, dir, "89-drop-overload-single.yaml", ""), diag.Envoy, simulate.Options{})
		within(t, "dropped", r.Dropped, 0.3)
		within(t, "first", r.Endpoints[0].Share, 0.35)
		for _, client := range diag.Clients {
			all := simulateCase(t, loadCase(t, dir, "89-drop-overload-single.all.yaml", ""), client, simulate.Options{})
			within(t, "all dropped", all.Dropped, 1)
		}
	})
	t.Run("90 subset", func(t *testing.T) {
		r := simulateCase(t, loadCase(t, dir, "90-subset-with-locality-weights.yaml", ""), diag.Envoy, simulate.Options{MetadataMatch: map[string]any{"version": "a"}})
		for _, e := range r.Endpoints {
			if (e.Address == "192.0.2.1:80") != (e.Share == 1) {
				t.Errorf("%s has %v", e.Address, e.Share)
			}
		}
	})
}
