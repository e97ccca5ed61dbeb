package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/selector"
	"github.com/edsctl/edsctl/pkg/simulate"
	"github.com/edsctl/edsctl/pkg/simulate/assertion"
)

type simulateOptions struct {
	inputOptions
	profile
	whatIfOptions
	clusterFile string
	name        string
	outputs     []target

	requests     int64
	seed         uint64
	rps          float64
	hashKeys     []string
	hashKeysFile string
	explain      bool
	compare      bool
	sweep        string
	plot         string
	assertions   []string
}

func newSimulateCmd(env *Env) *cobra.Command {
	var o simulateOptions
	cmd := &cobra.Command{
		Use:   "simulate PATH...",
		Short: "Compute who gets how much traffic, and why",
		Long: `Compute the expected traffic of each assignment: the share of every priority, locality and endpoint, what drop_overloads
takes and what finds no endpoint, each with its reason. The shares are exact in the long run; --requests makes seeded
requests with the client's own pick algorithms as well.

The policy, panic threshold and the rest of the balancing configuration come from the cluster around the assignment, from
--cluster FILE, or from flags, which win. What-ifs (--set-health, --set-weight, --fail, --unreachable) take a selector, see
'edsctl help selectors'; they are applied in that order. Endpoints that --fail takes a part of are spread evenly over the
localities.

Exits 1 when the client rejects an assignment or an assertion is false.`,
		Example: `  edsctl simulate envoy.yaml
  edsctl simulate --client all --name backend envoy.yaml
  edsctl simulate --fail zone=a=50% --compare envoy.yaml
  edsctl simulate --sweep zone=a --plot spillover.svg envoy.yaml
  edsctl simulate --assert 'share("zone=a") <= 0.5' --assert 'dropped == 0.0' envoy.yaml`,
		GroupID: groupCheck,
		Args:    atLeastOne("path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSimulate(cmd, env, &o, args)
		},
	}
	flags := cmd.Flags()
	o.inputOptions.bind(cmd)
	o.profile.bind(cmd, "input-format", "input-shape", "api-version", "client", "source", "cluster-origin", "envoy-version", "expect-name")
	flags.Lookup("client").Usage = "whose traffic is computed"
	flags.StringVar(&o.clusterFile, "cluster", "", "file with the Cluster (or clusters) around the assignments")
	flags.StringVar(&o.name, "name", "", "name of the one assignment to simulate (all when unset)")
	completeFlag(cmd, "name", completeNames(env))
	targetsVar(cmd, &o.outputs, render.SimulationFormats(), "output format, and the file to write instead of standard output (repeatable)")
	o.whatIfOptions.bind(cmd)
	flags.Int64Var(&o.requests, "requests", 0, "make so many seeded requests as well")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of --requests")
	flags.Float64Var(&o.rps, "rps", 0, "requests per second that reach the cluster: turns shares into rates")
	listVar(flags, &o.hashKeys, "hash-key", "KEY", "show which endpoint a hash key goes to (repeatable)", func(s string) (string, error) { return s, nil })
	flags.StringVar(&o.hashKeysFile, "hash-keys", "", "file with one hash key a line")
	flags.BoolVar(&o.explain, "explain", false, "show the computation step by step")
	flags.BoolVar(&o.compare, "compare", false, "show the shares before and after the what-ifs")
	flags.StringVar(&o.sweep, "sweep", "", "fail 0 to 100 % of a selection and show where the traffic goes")
	flags.StringVar(&o.plot, "plot", "", "file (.svg or .png) for the picture of --sweep")
	noEnv(flags, "plot")
	listVar(flags, &o.assertions, "assert", "EXPR", "CEL expression that must be true for each result (repeatable)", func(s string) (string, error) { return s, nil })
	hasCommas(flags, "assert")
	return cmd
}

func runSimulate(cmd *cobra.Command, env *Env, o *simulateOptions, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	compiled, err := assertion.Compile(o.assertions)
	if err != nil {
		return usageError(fmt.Errorf("--assert: %w", err))
	}
	options, err := o.simulation(cmd, env)
	if err != nil {
		return err
	}
	if o.compare && !changesAnything(options) {
		return withHint(usagef("--compare: there is nothing to compare"), "give a what-if, such as --fail zone=a")
	}
	in, err := loadSimulated(cmd, env, o, args)
	if err != nil {
		return err
	}
	if err := o.unknownHosts(in); err != nil {
		return err
	}
	if o.sweep != "" {
		return runSweep(cmd, env, o, in, options)
	}
	result, err := simulateAll(o, in, options)
	if err != nil {
		return err
	}
	failed, err := assertAll(compiled, result.Results)
	if err != nil {
		return err
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if err := overInput(o.outputs, append(simulatedFiles(in), args...)); err != nil {
		return err
	}
	err = writeTargets(cmd.Context(), env, o.outputs, result.Write, renderOptions(cmd, env))
	if failed != "" {
		fmt.Fprint(env.Stderr, failed)
		err = errors.Join(err, errFindings())
	}
	return errors.Join(err, rejected(result.Results, o.outputs))
}

// check refuses combinations of flags that have no meaning.
func (o *simulateOptions) check() error {
	switch {
	case o.requests < 0:
		return usagef("--requests: must not be negative")
	case !(o.rps >= 0) || math.IsInf(o.rps, 1): // NaN too
		return usagef("--rps: must be a finite number, not negative")
	case o.plot != "" && o.sweep == "":
		return usagef("--plot: needs --sweep")
	case o.sweep != "" && (len(o.assertions) > 0 || o.compare || o.requests > 0 || o.explain || o.rps > 0 || len(o.hashKeys) > 0 || o.hashKeysFile != ""):
		return usagef("--sweep: cannot be combined with --assert, --compare, --requests, --explain, --rps or hash keys")
	}
	if o.plot != "" {
		_, err := plotFormat(o.plot)
		return err
	}
	return nil
}

// renderOptions of a target: colour and bars go to a terminal only.
func renderOptions(cmd *cobra.Command, env *Env) func(target) render.Options {
	return func(t target) render.Options {
		return render.Options{Color: t.file == "" && useColor(cmd, env, env.Stdout), Terminal: t.file == "" && isTerminal(env.Stdout), Version: env.Version.Number}
	}
}

// simulateAll computes the results, the clients of one assignment after each other.
func simulateAll(o *simulateOptions, in []simulated, options *simulate.Options) (*render.Simulation, error) {
	out := &render.Simulation{Results: []*simulate.Result{}}
	shared := *options
	shared.Optional = true
	options = &shared
	for _, r := range in {
		for _, client := range r.profile.clients() {
			with := r.options(o, options)
			result, err := simulate.FromResource(r.Resource, client, with)
			if err != nil {
				return nil, usageError(fmt.Errorf("%s: %w", r.Name, err))
			}
			out.Results = append(out.Results, result)
			if !o.compare {
				continue
			}
			before, err := simulate.FromResource(r.Resource, client, withoutWhatIfs(with))
			if err != nil {
				return nil, err
			}
			out.Before = append(out.Before, before)
		}
	}
	return out, selectsNothing(out.Results, len(options.Changes))
}

// selectsNothing is the error for a what-if that selects no endpoint of any assignment.
func selectsNothing(results []*simulate.Result, changes int) error {
	missed, applicable := make([]int, changes), 0
	first := make([]error, changes)
	for _, r := range results {
		if r.Verdict == string(diag.NotApplicable) {
			continue
		}
		applicable++
		for _, m := range r.Missed {
			if missed[m.Change]++; first[m.Change] == nil {
				first[m.Change] = fmt.Errorf("%s: %w", r.Name, m.Err)
			}
		}
	}
	var errs []error
	for i := range missed {
		if missed[i] > 0 && missed[i] == applicable {
			errs = append(errs, usageError(first[i]))
		}
	}
	return errors.Join(errs...)
}

// assertAll evaluates the assertions on every result that the client accepts (or that was forced), and tells which are
// false.
func assertAll(compiled []*assertion.Assertion, results []*simulate.Result) (failed string, err error) {
	var b strings.Builder
	for _, r := range results {
		if !r.Accepted() && len(r.Endpoints) == 0 {
			continue // a rejected assignment is a failure of its own
		}
		outcomes, err := assertion.Evaluate(compiled, r)
		if err != nil {
			return "", usageError(fmt.Errorf("%s (%s): %w", r.Name, r.Client, err))
		}
		for _, outcome := range outcomes {
			if outcome.Holds {
				continue
			}
			fmt.Fprintf(&b, "edsctl: %s (%s): assertion is false: %s\n", r.Name, r.Client, outcome.Assertion)
			for _, value := range outcome.Values {
				fmt.Fprintf(&b, "  %s\n", value)
			}
		}
	}
	return b.String(), nil
}

// rejected is the exit code 1 of assignments that a client does not take. It has their reasons where no output has them.
func rejected(results []*simulate.Result, outputs []target) error {
	isTold := slices.ContainsFunc(outputs, func(t target) bool { return t.format != "csv" })
	var errs []error
	for _, r := range results {
		switch {
		case r.Accepted() || r.Verdict == string(diag.NotApplicable):
		case isTold:
			return errFindings()
		default:
			text := fmt.Sprintf("%s (%s): %s: %s", render.OneLine(r.Name), r.Client, r.Verdict, render.Reason(r.Message))
			errs = append(errs, &codeError{exitFindings, errors.New(strings.TrimSuffix(text, ": "))})
		}
	}
	return errors.Join(errs...)
}

func runSweep(cmd *cobra.Command, env *Env, o *simulateOptions, in []simulated, options *simulate.Options) error {
	s, err := selector.Parse(o.sweep)
	if err != nil {
		return usageError(fmt.Errorf("--sweep: %w", err))
	}
	out := &render.Sweeps{}
	var missed []error
	var results []*simulate.Result
	shared := *options
	shared.Optional = true
	for _, r := range in {
		for _, client := range r.profile.clients() {
			sweep, first, err := simulate.RunSweep(r.Resource, client, r.options(o, &shared), s)
			if first != nil {
				results = append(results, first)
			}
			none := new(selector.NoMatchError)
			switch {
			case errors.As(err, &none):
				missed = append(missed, usageError(fmt.Errorf("%s: %w", r.Name, err)))
			case err != nil:
				return usageError(fmt.Errorf("%s: %w", r.Name, err))
			case sweep == nil:
				out.Rejected = append(out.Rejected, first)
			default:
				out.Sweeps = append(out.Sweeps, sweep)
			}
		}
	}
	if err := selectsNothing(results, len(options.Changes)); err != nil {
		return err
	}
	if len(missed) > 0 && len(out.Sweeps) == 0 && rejected(out.Rejected, o.outputs) == nil {
		return missed[0]
	}
	err = writeTargets(cmd.Context(), env, o.outputs, out.Write, renderOptions(cmd, env))
	if err == nil && o.plot != "" && len(out.Sweeps) > 0 {
		err = writePlot(cmd.Context(), env, o.plot, out)
	}
	return errors.Join(err, rejected(out.Rejected, o.outputs))
}
