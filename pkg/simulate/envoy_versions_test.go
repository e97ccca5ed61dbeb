package simulate

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// minorVersion reads "1.36".
func minorVersion(t *testing.T, text string) int {
	t.Helper()
	minor, err := strconv.Atoi(strings.TrimPrefix(text, "1."))
	if err != nil {
		t.Fatal(err)
	}
	return minor
}

// versionOutcome is what one version did.
type versionOutcome struct {
	Requests       float64
	Observed       envoyObserved
	Refused        string
	RefusedMessage string `yaml:"refused_message"`
	Picks          string
	Gauges         map[string]uint64
}

func TestEnvoyVersionsShares(t *testing.T) {
	t.Parallel()
	var recorded struct{ Scenarios []envoyScenario }
	readVectors(t, "envoy-shares/shares.yaml", &recorded)
	scenarios := map[string]*envoyScenario{}
	for i := range recorded.Scenarios {
		scenarios[recorded.Scenarios[i].ID] = &recorded.Scenarios[i]
	}
	var file struct {
		Entries []struct {
			ID        string
			ByVersion map[string]versionOutcome `yaml:"by_version"`
			Before    *envoyExpected            `yaml:"expected_before"`
		}
		More []struct {
			ID, Type            string
			Cluster, Assignment any
			Requests            float64
			Observed            map[string]envoyObserved
			Before              *envoyExpected `yaml:"expected_before"`
			Expected            *envoyExpected
		} `yaml:"more_scenarios"`
	}
	readVectors(t, "envoy-versions/shares.yaml", &file)
	var checked sharesChecked
	for _, e := range file.Entries {
		s := scenarios[e.ID]
		for version, outcome := range e.ByVersion {
			t.Run(e.ID+"-"+version, func(t *testing.T) {
				if message := outcome.Refused + outcome.RefusedMessage; message != "" {
					checked.scenarios, checked.rejected = checked.scenarios+1, checked.rejected+1
					config := eds.EnvoyPolicy(s.context(t).cluster, minorVersion(t, version))
					if len(config.Refusals) == 0 || config.Refusals[0].Message != message {
						t.Errorf("refusals %+v, want %q", config.Refusals, message)
					}
					return
				}
				run := envoyScenario{Type: s.Type, Cluster: s.Cluster, Assignment: s.Assignment, Requests: outcome.Requests,
					Observed: outcome.Observed, Expected: e.Before}
				run.checkVersion(t, version, &checked)
			})
		}
	}
	for _, s := range file.More {
		for version, observed := range s.Observed {
			t.Run(s.ID+"-"+version, func(t *testing.T) {
				run := envoyScenario{Type: s.Type, Cluster: s.Cluster, Assignment: s.Assignment, Requests: s.Requests, Observed: observed, Expected: s.Before}
				if minorVersion(t, version) >= 40 {
					run.Expected = s.Expected
				}
				run.checkVersion(t, version, &checked)
			})
		}
	}
	checkedGolden(t, "envoy-versions shares", checked.String())
}

func (s *envoyScenario) checkVersion(t *testing.T, version string, checked *sharesChecked) {
	t.Helper()
	c := s.context(t)
	c.version = minorVersion(t, version)
	in := envoyInput(message(t, s.Assignment, &endpointv3.ClusterLoadAssignment{}), c)
	r, err := envoy.Compute(in)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, r, in, checked)
}

// TestEnvoyVersionsHash checks what changed in hash policies, and that all else is the same on each version.
func TestEnvoyVersionsHash(t *testing.T) {
	t.Parallel()
	var recorded struct{ Scenarios []pickScenario }
	readVectors(t, "envoy-hash-picks/picks.yaml", &recorded)
	var file struct {
		Entries []struct {
			ID        string
			Cause     string
			ByVersion map[string]versionOutcome `yaml:"by_version"`
		}
	}
	readVectors(t, "envoy-versions/hash.yaml", &file)
	changed := map[string]map[string]versionOutcome{}
	for _, e := range file.Entries {
		if e.Cause != "hashable_string" { // about an HTTP filter
			changed[e.ID] = e.ByVersion
		}
	}
	var checked picksChecked
	entries := 0
	for _, version := range []string{"1.36", "1.37", "1.38", "1.39"} {
		for i := range recorded.Scenarios {
			s := recorded.Scenarios[i] // a copy
			outcome, differs := changed[s.ID][version]
			if !differs && version != "1.36" && s.Before == nil {
				continue // the picks of a first assignment do not depend on the version
			}
			if differs {
				entries++
			}
			t.Run(s.ID+"-"+version, func(t *testing.T) {
				picks := s.Picks
				if outcome.Picks != "" {
					picks = outcome.Picks
				}
				if outcome.Gauges != nil {
					s.Gauges = outcome.Gauges
				}
				s.check(t, minorVersion(t, version), picks, &checked)
			})
		}
	}
	checkedGolden(t, "envoy-versions hash", fmt.Sprintf("%s; %d outcomes of older versions", checked.String(), entries))
}
