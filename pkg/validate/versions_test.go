package validate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// versionFile is testdata/vectors/envoy-versions/verdicts.yaml: what older releases do differently.
type versionFile struct {
	Entries []versionEntry `json:"entries"`
}

type versionEntry struct {
	ID        string                       `json:"id"`
	Source    []string                     `json:"source"`
	Cluster   string                       `json:"cluster"`
	Input     *string                      `json:"input"`
	Shape     string                       `json:"shape"`
	ByVersion map[string]vectorObservation `json:"by_version"`
	NotRun    []string                     `json:"not_run"`
}

// compareVersions puts the inputs of the verdicts to the older releases: what is not recorded as different is the same.
func compareVersions(t *testing.T, files []string, golden *strings.Builder) {
	data, err := os.ReadFile(filepath.Join(vectors, "..", "envoy-versions", "verdicts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded versionFile
	if err := yaml.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	for version := 36; version < 40; version++ {
		sum := tally{}
		t.Run(fmt.Sprintf("1.%d", version), func(t *testing.T) {
			for _, name := range files {
				if isRealWorld(name) {
					continue
				}
				f := readVectors(t, name)
				for i := range f.Entries {
					compareOlder(t, &f.Entries[i], recorded.Entries, version, &sum)
				}
			}
			probes(t, recorded.Entries, version, &sum)
		})
		golden.WriteString(sum.line(fmt.Sprintf("all by Envoy 1.%d", version)))
	}
}

func compareOlder(t *testing.T, e *vectorEntry, recorded []versionEntry, version int, sum *tally) {
	for i := range e.Observed {
		o := &e.Observed[i]
		for _, source := range o.Source {
			older := *o
			if d := differs(recorded, e.ID, source, o.Cluster, version); d != nil {
				older.Verdict, older.Message = d.Verdict, d.Message
			}
			compareSource(t, e, &older, source, version, sum)
		}
	}
}

// differs is what a release did otherwise; nil when it did the same.
func differs(recorded []versionEntry, id, source, cluster string, version int) *vectorObservation {
	for i := range recorded {
		r := &recorded[i]
		if r.ID == id && r.Cluster == cluster && slices.Contains(r.Source, source) {
			if o, ok := r.ByVersion[fmt.Sprintf("1.%d", version)]; ok {
				return &o
			}
		}
	}
	return nil
}

// probes are inputs that the other files do not have.
func probes(t *testing.T, recorded []versionEntry, version int, sum *tally) {
	for i := range recorded {
		r := &recorded[i]
		o, ok := r.ByVersion[fmt.Sprintf("1.%d", version)]
		if !ok {
			o, ok = r.ByVersion["1.40"]
		}
		if r.Input == nil || !ok {
			continue
		}
		o.Cluster = r.Cluster
		e := &vectorEntry{ID: r.ID, Input: r.Input, Shape: r.Shape}
		for _, source := range r.Source {
			compareSource(t, e, &o, source, version, sum)
		}
	}
}
