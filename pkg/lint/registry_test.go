package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
)

// shared is the folder of the specifications, when there is one.
func shared() string {
	if dir := os.Getenv("EDSCTL_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared")
}

func TestRegistryEqualsSpecification(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(shared(), "spec", "rules.tsv"))
	if os.IsNotExist(err) {
		t.Skip("the specification is not at hand")
	}
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != table {
		t.Error("pkg/lint/rules.tsv differs from spec/rules.tsv")
	}
}

func TestRegistryRows(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, r := range Rules() {
		if !kebab.MatchString(r.ID) {
			t.Errorf("id %q is not kebab-case", r.ID)
		}
		if seen[r.ID] {
			t.Errorf("id %q occurs twice", r.ID)
		}
		seen[r.ID] = true
		if !slices.Contains([]Producer{ByDecoder, ByPGV, ByCheck}, r.Producer) {
			t.Errorf("%s: unknown producer %q", r.ID, r.Producer)
		}
		if !slices.Contains([]string{"cla", "cluster", "bootstrap", "source", "update"}, r.Needs) {
			t.Errorf("%s: unknown needs %q", r.ID, r.Needs)
		}
		if Lookup(r.ID).ID != r.ID {
			t.Errorf("Lookup(%q) finds %q", r.ID, Lookup(r.ID).ID)
		}
		for _, client := range diag.Clients {
			if strongest := r.Effects[client].Strongest(); client == diag.Envoy && !r.Departs && severityOf(strongest) != r.Severity {
				t.Errorf("%s: severity %s does not follow from the effect %s", r.ID, r.Severity, strongest)
			}
			if r.Effects[client].Strongest() >= diag.Reject && r.Stages[client][0] == "-" {
				t.Errorf("%s: %s rejects but has no stage", r.ID, client)
			}
		}
		if r.Since != "" && minor(r.Since) < 1 {
			t.Errorf("%s: since %q is no version", r.ID, r.Since)
		}
	}
}

// severityOf is product.md's rule for the client that is selected.
func severityOf(e diag.Effect) diag.Severity {
	switch {
	case e >= diag.Reject:
		return diag.Error
	case e > diag.None:
		return diag.Warning
	default:
		return diag.Info
	}
}

// notByChecks are rows whose producer is "check" and that no function of this package makes.
var notByChecks = map[string]string{
	"no-assignment": "about a file without any resource: made where files are loaded",
	"unused-ignore": "made where ignore comments are applied",
}

func TestEveryCheckRowHasOneProducer(t *testing.T) {
	producer := map[string]int{}
	for _, e := range Checks() {
		for _, id := range e.Rules {
			producer[id]++
			if r := Lookup(id); r == nil || r.Producer != ByCheck {
				t.Errorf("%s is listed as a check but is no check row of the registry", id)
			}
		}
	}
	for _, r := range Rules() {
		if r.Producer != ByCheck || notByChecks[r.ID] != "" || r.Needs == "update" {
			continue // what needs two versions is made by diff and watch
		}
		if producer[r.ID] != 1 {
			t.Errorf("%s has %d producers, not 1", r.ID, producer[r.ID])
		}
	}
}

func TestExpression(t *testing.T) {
	tests := []struct {
		name, text string
		words      []string
		version    int
		env        map[string]string
		want       diag.Effect
	}{
		{"bare", "reject", nil, 40, nil, diag.Reject},
		{"nothing fits", "reject(ring_hash,maglev)", []string{"round_robin"}, 40, nil, diag.None},
		{"first that fits", "none(strict_dns) reject", []string{"strict_dns"}, 40, nil, diag.None},
		{"the rest", "none(strict_dns) reject", []string{"static"}, 40, nil, diag.Reject},
		{"source with origin", "reject(bootstrap,sotw@bootstrap) warn", []string{"sotw", "sotw@cds"}, 40, nil, diag.Warn},
		{"before a version", "reject(<1.38)", nil, 37, nil, diag.Reject},
		{"not before", "reject(<1.38)", nil, 38, nil, diag.None},
		{"from a version", "none(>=1.39) crash(maglev)", []string{"maglev"}, 39, nil, diag.None},
		{"not from", "none(>=1.39) crash(maglev)", []string{"maglev"}, 38, nil, diag.Crash},
		{"variable", "reject(GRPC_X) none", nil, 40, map[string]string{"GRPC_X": "TRUE"}, diag.Reject},
		{"variable off", "reject(GRPC_X) none", nil, 40, map[string]string{"GRPC_X": "1"}, diag.None},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := parseExpression(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			f := Facts{Words: tt.words, EnvoyVersion: tt.version, Getenv: func(k string) string { return tt.env[k] }}
			if got := e.Effect(&f); got != tt.want {
				t.Errorf("effect is %s, want %s", got, tt.want)
			}
		})
	}
}
