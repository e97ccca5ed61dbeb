package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/lint"
	"github.com/edsctl/edsctl/pkg/render"
)

// severityNames lists the levels of a rule.
func severityNames() []string {
	var out []string
	for s := diag.Off; s <= diag.Error; s++ {
		out = append(out, s.String())
	}
	return out
}

// ruleIDs lists the ids of all rules.
func ruleIDs() []string {
	var out []string
	for _, rule := range lint.Rules() {
		out = append(out, rule.ID)
	}
	return out
}

// lookupRule finds a rule, or says which it might be.
func lookupRule(id string) (*lint.Rule, error) {
	if rule := lint.Lookup(id); rule != nil {
		return rule, nil
	}
	return nil, withHint(fmt.Errorf("unknown rule %q", id),
		append(didYouMean(id, ruleIDs(), ""), "run 'edsctl rules' for the list of rules")...)
}

func newRulesCmd(env *Env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "rules [ID]...",
		Short: "List the rules of validate, or explain some",
		Long: `List the rules of validate: what each is about and how severe it is. With ids, explain these: what Envoy and gRPC do,
where in their order of checks it happens, since which version, and a bad and a good example.

` + rulesHelp,
		Example: `  edsctl rules
  edsctl rules endpoint-weight-zero
  edsctl rules -o json`,
		GroupID:           groupCheck,
		ValidArgsFunction: completeRules,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRules(env, output, args)
		},
	}
	enumVarP(cmd, &output, "output", "o", "text", []string{"text", "json"}, "output format")
	return cmd
}

func runRules(env *Env, output string, ids []string) error {
	rules := lint.Rules()
	if len(ids) > 0 {
		rules = nil
		for _, id := range ids {
			rule, err := lookupRule(id)
			if err != nil {
				return usageError(fmt.Errorf("rules: %w", err))
			}
			rules = append(rules, *rule)
		}
	}
	switch {
	case output == "json":
		return render.RulesJSON(env.Stdout, rules)
	case len(ids) > 0:
		return render.RuleExplanations(env.Stdout, rules)
	default:
		return render.RuleList(env.Stdout, rules)
	}
}

// rulesHelp says how findings, severities and verdicts hang together (product.md, validate).
const rulesHelp = `A finding is what a rule reports. For each client (envoy, grpc) it has an effect: crash, reject, drop, ignore, rewrite,
warn or none. The severity follows from the effects on the clients that --client selects:

  error     a selected client rejects the assignment or crashes
  warning   it accepts, but drops, ignores, rewrites or warns
  info      only a client that was not selected does any of this

Some rules depart from this; their page says so. --rule ID=LEVEL and .edsctl.yaml set another level, and the comment
"# edsctl:ignore ID -- reason" on the line or above it takes a finding out.

A verdict is what a client does with an assignment as a whole: accept, reject, crash, ignore (neither ACK nor NACK,
no hosts), not_applicable or unknown. Its message is that of the first failure in the client's own order of checks.
Rules that are off, and findings that are ignored, still count for verdicts.`
