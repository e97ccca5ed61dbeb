package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/render"
)

type validateOptions struct {
	inputOptions
	profile
	clusterFile string
	outputs     []target
	failOn      string
	ruleLevels  []ruleLevel
	fix, diff   bool

	flags *pflag.FlagSet // tells which values the user gave
}

// ruleLevel is one --rule.
type ruleLevel struct {
	id    string
	level diag.Severity
}

func newValidateCmd(env *Env) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate PATH...",
		Short: "Report what Envoy or gRPC would refuse, and likely mistakes",
		Long: `Read assignments from files, directories (recursive), globs ("**" too) and "-" (standard input), in any format and shape:
bare assignments, responses, clusters, bootstraps, config dumps, ConfigMaps; YAML, JSON, binary or text protobuf.

Report every problem at its line and column with what each client does about it, and the verdict of each client on
each assignment. Exits 1 when there are findings at or above --fail-on.`,
		Example: `  edsctl validate envoy.yaml
  edsctl validate --client grpc --source sotw 'clusters/**/*.json'
  edsctl validate --output text --output sarif=edsctl.sarif deploy/
  kubectl get configmap envoy -o yaml | edsctl validate -`,
		GroupID: groupCheck,
		Args:    atLeastOne("path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.flags = cmd.Flags()
			return runValidate(cmd, env, &o, args)
		},
	}
	o.inputOptions.bind(cmd)
	o.profile.bind(cmd)
	cmd.Flags().StringVar(&o.clusterFile, "cluster", "", "file with the Cluster (or clusters) around the assignments")
	targetsVar(cmd, &o.outputs, render.ValidationFormats(), "output format, and the file to write instead of standard output (repeatable)")
	enumVar(cmd, &o.failOn, "fail-on", diag.Error.String(), []string{"error", "warning", "info", failNever}, "least severity that makes the exit code 1")
	listVar(cmd.Flags(), &o.ruleLevels, "rule", "ID=off|info|warning|error", "severity of a rule (repeatable)", parseRuleLevel)
	completeFlag(cmd, "rule", completeRuleLevels)
	cmd.Flags().BoolVar(&o.fix, "fix", false, "make the fixes that are certain (docs/fix.md), and report what is left")
	cmd.Flags().BoolVar(&o.diff, "diff", false, "with --fix: show the fixes and write nothing; exit 1 when there are any")
	noEnv(cmd.Flags(), "fix", "diff")
	completeFlag(cmd, "expect-name", completeNames(env))
	return cmd
}

// failNever is the value of --fail-on with which findings never make the exit code 1.
const failNever = "never"

func parseRuleLevel(s string) (ruleLevel, error) {
	id, text, err := splitPair(s, "ID=LEVEL")
	if err != nil {
		return ruleLevel{}, err
	}
	if _, err := lookupRule(id); err != nil {
		return ruleLevel{}, err
	}
	if err := oneOf(text, severityNames()); err != nil {
		return ruleLevel{}, fmt.Errorf("level %q: %w", text, err)
	}
	level, err := diag.ParseSeverity(text)
	return ruleLevel{id, level}, err
}

func runValidate(cmd *cobra.Command, env *Env, o *validateOptions, args []string) error {
	ctx := cmd.Context()
	if o.diff && !o.fix {
		return usagef("--diff: needs --fix")
	}
	run, err := newValidation(ctx, env, o)
	if err != nil {
		return err
	}
	if o.fix {
		differ, err := run.fixAll(ctx, args)
		switch {
		case err != nil:
			return err
		case differ && o.diff:
			return errFindings()
		case o.diff:
			return nil
		}
	}
	result, inputErr := run.all(ctx, args)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case result.Files == 0 && result.Skipped == 0 && inputErr != nil:
		return inputErr
	}
	if err := overInput(o.outputs, append(filesOf(result), args...)); err != nil {
		return err
	}
	targets, none := o.outputs, foundNone(result)
	if inputErr != nil || none != nil { // a report that lacks a file, or is about nothing, must not look whole later
		targets = slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return t.file != "" })
	}
	err = writeTargets(ctx, env, targets, result.Write, func(t target) render.Options {
		return render.Options{Color: t.file == "" && useColor(cmd, env, env.Stdout), Version: env.Version.Number}
	})
	if err != nil {
		return errors.Join(inputErr, err)
	}
	return errors.Join(inputErr, none, failOn(result, o.failOn))
}

// filesOf are the files of the resources.
func filesOf(v *render.Validation) []string {
	var files []string
	for i := range v.Resources {
		if name := v.Resources[i].File; len(files) == 0 || files[len(files)-1] != name {
			files = append(files, name)
		}
	}
	return files
}

// foundNone is the error of a run that found no assignment: it must not look like success. Findings that say why there
// is none are enough.
func foundNone(v *render.Validation) error {
	for i := range v.Resources {
		if !v.Resources[i].Absent || v.Resources[i].Cluster != nil {
			return nil
		}
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Severity == diag.Error && f.Rule != "no-assignment" {
			return nil
		}
	}
	return noneFound("validate", counted(v.Files+v.Skipped, "file"))
}

// noneFound tells that a command found no assignment, and what that is.
func noneFound(command, where string) error {
	return withHint(fmt.Errorf("%s: no assignment found in %s", command, where),
		"an assignment is a ClusterLoadAssignment: alone, in a cluster's load_assignment, or in a discovery response")
}

// failOn makes findings at or above the threshold an error, and a verdict that could not be given.
func failOn(v *render.Validation, threshold string) error {
	if threshold == failNever {
		return nil
	}
	least, err := diag.ParseSeverity(threshold)
	if err != nil {
		return err
	}
	for i := range v.Findings {
		if v.Findings[i].Severity >= least {
			return errFindings()
		}
	}
	for i := range v.Resources {
		for _, client := range v.Clients {
			if v.Resources[i].Verdicts[client].Kind == diag.Unknown {
				return errFindings()
			}
		}
	}
	return nil
}

// newValidation prepares what all files of a run share.
func newValidation(ctx context.Context, env *Env, o *validateOptions) (*validation, error) {
	project, err := env.projectConfig()
	if err != nil {
		return nil, usageError(err)
	}
	user, err := env.userConfig()
	if err != nil {
		return nil, usageError(err)
	}
	v := &validation{env: env, options: o, project: project, loaders: newLoaders(o.inputOptions), flagRules: map[string]diag.Severity{}}
	for _, r := range o.ruleLevels {
		v.flagRules[r.id] = r.level
	}
	o.profile.rules = map[string]diag.Severity{}
	for _, rules := range []map[string]diag.Severity{user.RuleLevels(), project.RuleLevels(), v.flagRules} {
		for id, level := range rules {
			o.profile.rules[id] = level
		}
	}
	if _, err := o.profile.with(project.All(), o.flags, v.flagRules); err != nil {
		return nil, err // a mistake in an override is told also when no file fits its paths
	}
	if o.clusterFile != "" {
		err = v.loadClusters(ctx, o.clusterFile)
	}
	return v, err
}
