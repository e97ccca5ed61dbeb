package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newHelpCmd is Cobra's help command with usage errors for what does not exist.
func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND|TOPIC]",
		Short:       "Show help about a command or a topic",
		Annotations: plain(),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			if at, _, err := cmd.Root().Find(args); err == nil {
				for _, sub := range at.Commands() {
					if sub.Hidden {
						continue
					}
					out = append(out, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.Root()
			for _, arg := range args {
				next := findSub(at, arg)
				if next == nil {
					return usageError(withHint(fmt.Errorf("help: no command or topic %q", strings.Join(args, " ")),
						append(didYouMean(arg, subNames(at), "edsctl help "), "run 'edsctl help' for the list")...))
				}
				at = next
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

func findSub(cmd *cobra.Command, name string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}

func subNames(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return names
}

// helpTopics are texts that hang on no command: commands that cannot be run, which Cobra lists apart.
func helpTopics(root *cobra.Command) []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesHelp()},
		{Use: "selectors", Short: "How endpoints are selected", Long: selectorsHelp},
		{Use: "assertions", Short: "What --assert checks", Long: assertionsHelp},
		{Use: "environment", Short: "Variables and configuration files", Long: environmentHelp(root)},
	}
}

func exitCodesHelp() string {
	var b strings.Builder
	for _, c := range exitCodes() {
		fmt.Fprintf(&b, "%4d  %s\n", c.code, c.meaning)
	}
	b.WriteString("\nWhere several apply: 3, then 4, then 1.")
	return b.String()
}

// settableFlags lists the flags of all commands that have a variable, sorted.
func settableFlags(root *cobra.Command) []string {
	return flagNames(root, func(*cobra.Command) bool { return true }, hasEnv)
}

// projectFlags lists those that a project's file may set: it comes with somebody's repository, so it does not decide
// which servers are talked to and how.
func projectFlags(root *cobra.Command) []string {
	return flagNames(root, func(cmd *cobra.Command) bool { return cmd.GroupID != groupLive },
		func(f *pflag.Flag) bool { return hasEnv(f) && hasProject(f) })
}

func flagNames(root *cobra.Command, of func(*cobra.Command) bool, settable func(*pflag.Flag) bool) []string {
	seen := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !of(cmd) {
			return
		}
		each := func(f *pflag.Flag) { seen[f.Name] = seen[f.Name] || settable(f) }
		cmd.Flags().VisitAll(each)
		cmd.PersistentFlags().VisitAll(each)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	var names []string
	for name, can := range seen {
		if can {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func environmentHelp(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`A flag that the command line leaves unset takes its value from the variable EDSCTL_<FLAG>, then from the project's
.edsctl.yaml (found in the working directory or above), then from edsctl/config.yaml in the user's configuration folder.
A repeatable flag takes a comma separated list; selectors, assertions, --resolve, --endpoint and --node-metadata, which have
commas in them, one a line. Flags that make a command write have no variable.

`)
	for _, name := range settableFlags(root) {
		fmt.Fprintf(&b, "  %-30s --%s\n", envName(name), name)
	}
	b.WriteString(`
Also read:
  NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM    with --color auto
  XDG_CONFIG_HOME                             the user's configuration folder (Linux)
  GRPC_XDS_BOOTSTRAP, GRPC_EXPERIMENTAL_*     as gRPC reads them`)
	return b.String()
}
