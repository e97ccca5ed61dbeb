package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/input"
	"github.com/edsctl/edsctl/pkg/lint"
)

func newCompletionCmd(env *Env) *cobra.Command {
	shells := []string{"bash", "fish", "powershell", "zsh"}
	return &cobra.Command{
		Use:   "completion bash|fish|powershell|zsh",
		Short: "Print a completion script for a shell",
		Long: `Print a script that completes commands, flags, their values, the ids of rules and the names in a file.

  bash        source <(edsctl completion bash)
  zsh         edsctl completion zsh > "${fpath[1]}/_edsctl"
  fish        edsctl completion fish > ~/.config/fish/completions/edsctl.fish
  powershell  edsctl completion powershell | Out-String | Invoke-Expression`,
		Args: usage(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("give one shell: %s", strings.Join(shells, ", "))
			}
			if err := oneOf(args[0], shells); err != nil {
				return fmt.Errorf("shell %q: %w", args[0], err)
			}
			return nil
		}),
		ValidArgs:   words(shells),
		Annotations: plain(),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(env.Stdout, true)
			case "fish":
				return root.GenFishCompletion(env.Stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(env.Stdout)
			default:
				return root.GenZshCompletion(env.Stdout)
			}
		},
	}
}

// completeNames completes the names of the assignments in the files that are named so far. It works on what it can
// read and is silent about the rest.
func completeNames(env *Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		files, _ := input.Find(cmd.Context(), args, input.Options{Stdin: env.Stdin})
		p := new(profile)
		loader := newLoaders(inputOptions{maxBytes: input.DefaultMaxBytes}).of(p)
		seen := map[string]bool{}
		for _, file := range files {
			if file.Name == input.Stdin {
				continue // it would wait for the user
			}
			data, err := file.Read(cmd.Context())
			if err != nil {
				continue
			}
			for _, r := range loader.Load(file.Name, data, file.Named).Resources {
				if strings.HasPrefix(r.Name, prefix) {
					seen[r.Name] = true
				}
			}
		}
		return words(slices.Sorted(maps.Keys(seen))), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeRules completes the ids of rules, with their summaries.
func completeRules(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, rule := range lint.Rules() {
		if strings.HasPrefix(rule.ID, prefix) {
			out = append(out, cobra.CompletionWithDesc(rule.ID, rule.Summary))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRuleLevels completes "rule-id=level".
func completeRuleLevels(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	id, _, hasLevel := strings.Cut(prefix, "=")
	if !hasLevel {
		out, _ := completeRules(cmd, args, prefix)
		for i, c := range out {
			id, summary, _ := strings.Cut(c, "\t")
			out[i] = cobra.CompletionWithDesc(id+"=", summary)
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	var out []cobra.Completion
	for _, level := range severityNames() {
		out = append(out, id+"="+level)
	}
	return slices.DeleteFunc(out, func(c string) bool { return !strings.HasPrefix(c, prefix) }), cobra.ShellCompDirectiveNoFileComp
}
