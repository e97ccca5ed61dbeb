package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/edsctl/edsctl/pkg/config"
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/validate"
)

// profile is how one file is read and judged: the flags that a project's file may set for some paths only.
type profile struct {
	inputFormat, inputShape, apiVersion   string
	client, source, origin                string
	envoyVersion, expectName, unknownKeys string
	rules                                 map[string]diag.Severity
}

// profileFlag is one flag of a profile. Without allowed values it takes any text.
type profileFlag struct {
	name, byDefault, help string
	allowed               []string
	value                 *string
}

// The words that choose clients; "all" is both.
const clientAll = "all"

func (p *profile) flags() []profileFlag {
	return []profileFlag{
		{"input-format", "", "format of the input (detected when unset)", []string{"yaml", "json", "jsonl", "pb", "textpb"}, &p.inputFormat},
		{"input-shape", "", "shape of the input (detected when unset)", []string{"assignment", "list", "response", "delta-response", "any", "resource",
			"cluster", "cds", "bootstrap", "config-dump", "embedded"}, &p.inputShape},
		{"api-version", "v3", "API version of documents that do not tell theirs", []string{"v2", "v3alpha", "v3"}, &p.apiVersion},
		{"client", diag.Envoy.String(), "whose verdict decides severities and exit code", []string{diag.Envoy.String(), diag.GRPC.String(), clientAll}, &p.client},
		{"source", "", "how the assignment reaches Envoy (by shape when unset)", []string{"bootstrap", "cds", "file", "sotw", "delta", "rest"}, &p.source},
		{"cluster-origin", "", "where the EDS cluster is defined (by shape when unset)", []string{"bootstrap", "cds"}, &p.origin},
		{"envoy-version", envoyVersions()[0], "version of Envoy", envoyVersions(), &p.envoyVersion},
		{"expect-name", "", "name that the EDS cluster asks for", nil, &p.expectName},
		{"unknown-fields", "default", "what Envoy's flags tell it to do with unknown fields", []string{"default", "strict", "warn", "ignore"}, &p.unknownKeys},
	}
}

// bind declares the named flags of the profile on a command, all when none is named, and gives every value its default.
func (p *profile) bind(cmd *cobra.Command, names ...string) {
	for _, f := range p.flags() {
		*f.value = f.byDefault
		if len(names) > 0 && !slices.Contains(names, f.name) {
			continue
		}
		if f.allowed == nil {
			cmd.Flags().StringVar(f.value, f.name, f.byDefault, f.help)
			continue
		}
		enumVar(cmd, f.value, f.name, f.byDefault, f.allowed, f.help)
	}
}

// pathFlags names the flags that an override of a project's file may set.
func pathFlags() (names []string) {
	for _, f := range new(profile).flags() {
		names = append(names, f.name)
	}
	return names
}

// with returns the profile for one file: the overrides of the project's file in their order, where neither the command
// line nor the environment gave the flag a value. Rules given by flag stay on top of those of the overrides.
func (p profile) with(overrides []config.Override, flags *pflag.FlagSet, flagRules map[string]diag.Severity) (profile, error) {
	if len(overrides) == 0 {
		return p, nil
	}
	p.rules = maps.Clone(p.rules)
	for _, o := range overrides {
		for id, level := range o.Rules {
			if _, ok := flagRules[id]; !ok {
				p.rules[id] = level
			}
		}
		for _, f := range p.flags() {
			setting, ok := o.Flags[f.name]
			if declared := flags.Lookup(f.name); !ok || declared == nil || isExplicit(declared) {
				continue
			}
			text := strings.Join(setting.Values, ",")
			if f.allowed != nil {
				if err := oneOf(text, f.allowed); err != nil {
					return p, flagValueError(setting.Where, text, err)
				}
			}
			*f.value = text
		}
	}
	return p, nil
}

// clients are those that --client selects.
func (p *profile) clients() []diag.Client {
	if p.client == clientAll {
		return diag.Clients[:]
	}
	for _, c := range diag.Clients {
		if c.String() == p.client {
			return []diag.Client{c}
		}
	}
	return nil
}

// minorVersion is the minor version of Envoy.
func (p *profile) minorVersion() int {
	for i, v := range envoyVersions() {
		if v == p.envoyVersion {
			return validate.NewestEnvoy - i
		}
	}
	return validate.NewestEnvoy
}
