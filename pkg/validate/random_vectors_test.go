package validate_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// randomInput is a line of testdata/vectors/random.
type randomInput struct {
	Seed    int             `json:"seed"`
	Verdict string          `json:"verdict"`
	Message string          `json:"message"`
	Input   json.RawMessage `json:"input"`
}

// TestRandomInputs compares the verdicts about random clusters, bootstraps and assignments with those of the clients.
func TestRandomInputs(t *testing.T) {
	t.Parallel()
	for _, file := range []struct {
		name   string
		client diag.Client
		loader eds.Options
	}{
		{"envoy-bootstraps.jsonl", diag.Envoy, eds.Options{Shape: eds.ShapeBootstrap}},
		{"grpc-clusters.jsonl", diag.GRPC, eds.Options{Shape: eds.ShapeCluster, Origin: eds.OriginCDS}},
		{"grpc-assignments.jsonl", diag.GRPC, eds.Options{Shape: eds.ShapeAssignment, Source: eds.FromSotW}},
	} {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join(vectors, "..", "random", file.name))
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(bytes.NewReader(data))
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				var in randomInput
				if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
					t.Fatal(err)
				}
				resources := eds.NewLoader(file.loader).Load("in.json", in.Input, true).Resources
				var options validate.Options
				options.Clients = []diag.Client{file.client}
				if problem := in.compare(validate.Run(resources, options), file.client); problem != "" {
					t.Errorf("seed %d: %s", in.Seed, problem)
				}
			}
		})
	}
}

// compare looks for the observed verdict: a bootstrap is refused for one of its clusters.
func (in *randomInput) compare(report validate.Report, client diag.Client) string {
	var refused []string
	for _, r := range report.Resources {
		v := r.Verdicts[client]
		if v.Kind == diag.Accept || v.Kind == diag.NotApplicable {
			continue
		}
		if string(v.Kind) == in.Verdict && sameBeginning(v.Message, in.Message) {
			return ""
		}
		refused = append(refused, fmt.Sprintf("%s (%s: %s)", v.Kind, v.Rule, v.Message))
	}
	if len(refused) == 0 && in.Verdict == "accept" {
		return ""
	}
	return fmt.Sprintf("verdicts %s, observed %s: %s", refused, in.Verdict, in.Message)
}

// sameBeginning compares messages up to the first dump; the observed one may be cut.
func sameBeginning(got, observed string) bool {
	g, o := normal(got), normal(observed)
	return strings.HasPrefix(o, g) || strings.HasPrefix(g, o)
}
