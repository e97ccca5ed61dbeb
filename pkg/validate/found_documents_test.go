package validate_test

import (
	"slices"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// TestFoundDocuments: Envoy 1.40.0 takes the first document of each file as its bootstrap, whatever follows it.
func TestFoundDocuments(t *testing.T) {
	t.Parallel()
	const (
		clusters = "static_resources: {clusters: [{name: a, type: STATIC, connect_timeout: 0s, load_assignment: {cluster_name: a}}]}\n"
		good     = "static_resources: {clusters: [{name: a, type: STATIC, load_assignment: {cluster_name: a}}]}\n"
		lost     = "multi-document"
	)
	tests := []struct {
		text    string
		want    []string // of each resource: the verdict of Envoy, and the rule that decides
		reports bool     // that something follows the first document
	}{
		{"  node: {id: a}\n" + clusters, []string{"ignore " + lost}, true}, // a dedent ends a document
		{"admin: {}\n---\n" + clusters, []string{"ignore " + lost}, true},
		{"{}\n---\n" + clusters, []string{"ignore " + lost}, true},
		{"static_resources: {}\n...\n" + clusters, []string{"ignore " + lost}, true},
		{"  x: 1\n" + good, []string{"reject unknown-field", "ignore " + lost}, true},
		{"  node: {id: a}\nstatic_resources: [\n", []string{"ignore " + lost}, true},
		{"node: {id: a}\n---\na: b: c\n", []string{"ignore " + lost}, true},
		{good + "---\na: b: c\n", []string{"accept "}, true},
		{good + "...\ncluster_manager: {local_cluster_name: nope}\n", []string{"accept "}, true},
		{good + "---\n", []string{"accept "}, false},
		{good + "...\n# the end\n", []string{"accept "}, false},
		{"apiVersion: v1\nkind: Secret\n---\n" + good, []string{"accept "}, false}, // not for Envoy as it is
	}
	for _, tt := range tests {
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("bootstrap.yaml", []byte(tt.text), true)
		report := validate.Run(loaded.Resources, validate.Options{})
		var got []string
		for _, r := range report.Resources {
			got = append(got, string(r.Verdicts[diag.Envoy].Kind)+" "+r.Verdicts[diag.Envoy].Rule)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
		if has := slices.ContainsFunc(report.Findings, func(f diag.Finding) bool { return f.Rule == lost }); has != tt.reports {
			t.Errorf("%s: finding of %s: %t, want %t", tt.text, lost, has, tt.reports)
		}
	}
}

// TestUnseenPlace: what is not seen begins where the first document ends, however broken it is.
func TestUnseenPlace(t *testing.T) {
	t.Parallel()
	const good = "static_resources: {clusters: [{name: a, type: STATIC, load_assignment: {cluster_name: a}}]}\n"
	for text, want := range map[string]diag.Position{
		good + "\n---\n# more\n{{ broken\n":     {Line: 3, Column: 1},
		good + "---\nnode: {id: a}\n":           {Line: 2, Column: 1},
		"  node: {id: a}\nadmin:\n- a\n b: [\n": {Line: 2, Column: 1},
	} {
		loaded := eds.NewLoader(eds.Options{EnvoyVersion: 40}).Load("bootstrap.yaml", []byte(text), true)
		report := validate.Run(loaded.Resources, validate.Options{})
		i := slices.IndexFunc(report.Findings, func(f diag.Finding) bool { return f.Rule == "multi-document" })
		if i < 0 || report.Findings[i].Span.Start != want {
			t.Errorf("%s: %v, want it at %s", text, report.Findings, want)
		}
	}
}
