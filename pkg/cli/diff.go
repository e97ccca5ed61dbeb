package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/diff"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/simulate"
	"github.com/edsctl/edsctl/pkg/validate"
)

type diffOptions struct {
	inputOptions
	profile
	xdsFlags
	clusterFile string
	name        string
	timeout     time.Duration
	outputs     []target
}

func newDiffCmd(env *Env) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two versions of assignments, and what the change does to the traffic",
		Long: `Compare assignments without regard to order: endpoints that come, go or move, weights, health, metadata, localities, drops
and the rest of the policy. Then show the traffic before and after, the largest difference first, the part of the hash keys
that moves, and what Envoy will not do with the update.

Assignments are matched by name; two sides with one assignment each are compared whatever their names. Each side is a
file, "-", a recording of fetch or watch, a management server (xds://HOST:PORT/NAME) or a running Envoy
(admin://HOST:PORT/NAME). Exits 0 when the sides are the same, 1 when they differ.`,
		Example: `  edsctl diff old.yaml new.yaml
  git show main:eds.yaml | edsctl diff - eds.yaml
  edsctl diff --client all --output markdown old.yaml new.yaml
  edsctl diff --plaintext admin://127.0.0.1:9901/backend xds://127.0.0.1:18000/backend`,
		GroupID: groupCheck,
		Args: usage(func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("needs two sides, OLD and NEW")
			}
			if args[0] == "-" && args[1] == "-" {
				return errors.New("only one side can be standard input")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd, env, &o, args) },
	}
	o.inputOptions.bind(cmd)
	o.profile.bind(cmd, "input-format", "input-shape", "api-version", "client", "source", "cluster-origin", "envoy-version", "expect-name")
	cmd.Flags().Lookup("client").Usage = "whose traffic is compared"
	o.xdsFlags.bind(cmd)
	if err := cmd.Flags().MarkHidden("server"); err != nil { // it stands in the side
		panic(err) // not declared: a mistake that every start shows
	}
	timeoutVar(cmd, &o.timeout, "longest time to wait for all answers of a live side")
	cmd.Flags().StringVar(&o.clusterFile, "cluster", "", "file with the Cluster (or clusters) around the assignments")
	cmd.Flags().StringVar(&o.name, "name", "", "name of the one assignment to compare (all when unset)")
	completeFlag(cmd, "name", completeNames(env))
	targetsVar(cmd, &o.outputs, render.DiffFormats(), "output format, and the file to write instead of standard output (repeatable)")
	return cmd
}

func runDiff(cmd *cobra.Command, env *Env, o *diffOptions, args []string) error {
	var sides [2][]simulated
	var errs [2]error
	var err error
	var wg sync.WaitGroup
	for i, arg := range args {
		wg.Go(func() { sides[i], errs[i] = loadSide(cmd, env, o, arg) })
	}
	wg.Wait()
	if errs[0] != nil && errs[1] != nil && errs[0].Error() == errs[1].Error() {
		errs[1] = nil // of a flag, which both sides read
	}
	if err = errors.Join(errs[:]...); err != nil {
		return err
	}
	sides[1], sides[0] = asked(args[0], sides[1]), asked(args[1], sides[0])
	if sides, err = o.named(cmd, sides, args); err != nil {
		return err
	}
	out := &render.Diff{Old: args[0], New: args[1]}
	known := map[*eds.Resource]*simulated{}
	var resources [2][]*eds.Resource
	for i := range sides {
		for j := range sides[i] {
			r := &sides[i][j]
			known[r.Resource] = r
			resources[i] = append(resources[i], r.Resource)
		}
	}
	for _, pair := range diff.Match(resources[0], resources[1]) {
		a, err := diffPair(env, o, pair, known)
		if err != nil {
			return err
		}
		out.Assignments = append(out.Assignments, a)
	}
	if err := overInput(o.outputs, slices.Concat(simulatedFiles(sides[0]), simulatedFiles(sides[1]), args)); err != nil {
		return err
	}
	if err := writeTargets(cmd.Context(), env, o.outputs, out.Write, renderOptions(cmd, env)); err != nil {
		return err
	}
	if !out.Same() {
		return errFindings()
	}
	return nil
}

// asked keeps those of the other side's assignments that a live side is asked for by name, if there are any.
func asked(side string, other []simulated) []simulated {
	rest, live := strings.CutPrefix(side, schemeXDS)
	if !live {
		rest, live = strings.CutPrefix(side, schemeAdmin)
	}
	_, names := splitSide(rest)
	if !live || len(names) == 0 {
		return other
	}
	var out []simulated
	for _, r := range other {
		if slices.ContainsFunc(names, r.called) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return other
	}
	return out
}

// named keeps the assignments that --name asks for. One side may lack them: that is a difference.
func (o *diffOptions) named(cmd *cobra.Command, sides [2][]simulated, args []string) ([2][]simulated, error) {
	if o.name == "" {
		return sides, nil
	}
	if _, err := named(cmd, slices.Concat(sides[0], sides[1]), o.name, args); err != nil {
		return sides, err
	}
	for i := range sides {
		sides[i] = slices.DeleteFunc(sides[i], func(r simulated) bool { return !r.called(o.name) })
	}
	return sides, nil
}

// diffPair compares two versions of one assignment and simulates both for each client.
func diffPair(env *Env, o *diffOptions, pair diff.Pair, known map[*eds.Resource]*simulated) (render.DiffAssignment, error) {
	lendCluster(pair, &o.profile)
	a := render.DiffAssignment{Result: diff.Compare(pair)}
	before, after := known[pair.Old].judged(env), known[pair.New].judged(env)
	if slices.Contains(o.profile.clients(), diag.Envoy) {
		if err := a.Surroundings(pair, after); err != nil {
			return a, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	if a.Same() {
		return a, nil
	}
	kept := false // by Envoy, whose rules about updates then say nothing
	for _, client := range o.profile.clients() {
		if err := a.Impact(pair, client, before, after); err != nil {
			return a, fmt.Errorf("%s: %w", a.Name, err)
		}
		if client == diag.Envoy && len(a.Traffic) > 0 && a.Traffic[0].Kept {
			kept = true
			if t := &a.Traffic[0]; storesDrops(pair, after) {
				t.Notes = append(t.Notes, "Envoy stores drop_overloads before it refuses the update: they count from the next change of its endpoints on")
			}
		}
	}
	if pair.Old != nil && pair.New != nil && !kept {
		a.Findings = updateFindings(pair, known)
	}
	return a, nil
}

// storesDrops tells whether an update that Envoy refuses changes what it drops: endpoints are looked at after the drops,
// which reach the workers with the next change of the hosts (eds.cc, update).
func storesDrops(pair diff.Pair, after *simulate.Options) bool {
	was, now := pair.Old.Assignment.GetPolicy().GetDropOverloads(), pair.New.Assignment.GetPolicy().GetDropOverloads()
	if pair.New.Source == eds.FromCDS || slices.EqualFunc(was, now, func(a, b *endpointv3.ClusterLoadAssignment_Policy_DropOverload) bool { return proto.Equal(a, b) }) {
		return false
	}
	rule := lint.Lookup(after.Check(pair.New)[diag.Envoy].Rule)
	return rule != nil && (slices.Contains(rule.Stages[diag.Envoy], "12-host") || slices.Contains(rule.Stages[diag.Envoy], "13-cluster"))
}

// lendCluster gives a side without a cluster that of the other side: a bootstrap compared with an EDS file, or a running
// Envoy with a management server. Both are balanced alike then, and only the change moves traffic.
func lendCluster(pair diff.Pair, p *profile) {
	switch {
	case pair.Old == nil || pair.New == nil:
	case pair.Old.Cluster == nil && pair.New.Cluster != nil:
		putInto(pair.Old, pair.New, p)
	case pair.New.Cluster == nil && pair.Old.Cluster != nil:
		putInto(pair.New, pair.Old, p)
	}
}

// judged are the options to simulate a side; nil for a side that does not exist.
func (r *simulated) judged(env *Env) *simulate.Options {
	if r == nil {
		return nil
	}
	return &simulate.Options{
		Getenv: env.clientGetenv(), EnvoyVersion: r.profile.minorVersion(),
		Check: func(judged *eds.Resource) [len(diag.Clients)]diag.Verdict {
			return verdictsOf(judged, r.Source, r.judging)
		},
	}
}

// updateFindings are what the rules about updates report, with the severities that the profile gives them.
func updateFindings(pair diff.Pair, known map[*eds.Resource]*simulated) []render.DiffFinding {
	var out []render.DiffFinding
	for _, p := range lint.UpdateProblems(lintContext(known[pair.Old]), lintContext(known[pair.New])) {
		severity := lint.Lookup(p.Rule).Severity
		if level, ok := known[pair.New].judging.RuleLevels[p.Rule]; ok {
			severity = level
		}
		if severity != diag.Off {
			out = append(out, render.DiffFinding{Rule: p.Rule, Severity: severity, Path: p.Path.String(), Message: p.Message})
		}
	}
	return out
}

func lintContext(r *simulated) *lint.Context { return validate.Context(r.Resource, r.judging) }
