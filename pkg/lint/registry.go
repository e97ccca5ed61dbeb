package lint

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/edsctl/edsctl/pkg/diag"
)

// Producer says who finds what a rule is about.
type Producer string

// The producers (envoy-eds-rules.md 0.5).
const (
	ByDecoder Producer = "decoder" // while the document or the response is read
	ByPGV     Producer = "pgv"     // a constraint of the API: rows of pgv.go, no function
	ByCheck   Producer = "check"   // a function listed in checks.go
)

// Rule is one row of the registry.
type Rule struct {
	ID       string
	Producer Producer
	Summary  string
	Stages   [len(diag.Clients)][]string   // by client: where in its own order the rule decides; alternatives; "-": never
	Effects  [len(diag.Clients)]Expression // by client
	Severity diag.Severity                 // for --client envoy, when the strongest effect applies
	Departs  bool                          // the severity does not follow from the effects
	Needs    string                        // least context: cla, cluster, bootstrap, source, update
	Since    string                        // first Envoy version ("1.29", "1.32.3"); empty: always or unknown
	Spec     string                        // file and heading
}

//go:embed rules.tsv
var table string

type registry struct {
	rules []Rule
	byID  map[string]*Rule
}

// load parses the table once, when it is first asked for: commands without rules do not pay for it.
var load = sync.OnceValue(func() registry {
	rules, err := parseTable(table)
	if err != nil {
		panic("rules.tsv: " + err.Error()) // embedded and covered by a test
	}
	byID := make(map[string]*Rule, len(rules))
	for i := range rules {
		byID[rules[i].ID] = &rules[i]
	}
	return registry{rules, byID}
})

// Rules lists all rules, ordered by id. The slice must not be changed.
func Rules() []Rule { return load().rules }

// Lookup finds a rule by its id; nil when there is none.
func Lookup(id string) *Rule { return load().byID[id] }

var columns = []string{"id", "producer", "summary", "stage_envoy", "envoy", "stage_grpc", "grpc", "severity", "needs", "since", "spec"}

func parseTable(text string) ([]Rule, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if got := strings.Split(lines[0], "\t"); !slices.Equal(got, columns) {
		return nil, fmt.Errorf("columns are %q, not %q", got, columns)
	}
	rules := make([]Rule, 0, len(lines)-1)
	for i, line := range lines[1:] {
		r, err := parseRow(strings.Split(line, "\t"))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRow(f []string) (Rule, error) {
	if len(f) != len(columns) {
		return Rule{}, fmt.Errorf("has %d columns, not %d", len(f), len(columns))
	}
	r := Rule{ID: f[0], Producer: Producer(f[1]), Summary: f[2], Needs: f[8], Since: f[9], Spec: f[10]}
	r.Stages[diag.Envoy], r.Stages[diag.GRPC] = strings.Split(f[3], "|"), strings.Split(f[5], "|")
	var err error
	if r.Effects[diag.Envoy], err = parseExpression(f[4]); err != nil {
		return Rule{}, err
	}
	if r.Effects[diag.GRPC], err = parseExpression(f[6]); err != nil {
		return Rule{}, err
	}
	severity, departs := strings.CutSuffix(f[7], "*")
	r.Departs = departs
	r.Severity, err = diag.ParseSeverity(severity)
	return r, err
}
