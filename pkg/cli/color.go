package cli

import (
	"github.com/spf13/cobra"
)

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

func addColorFlag(root *cobra.Command) {
	value := colorAuto
	modes := []string{colorAuto, colorAlways, colorNever}
	root.PersistentFlags().Var(enum{&value, modes}, "color", "when to colour the output: auto, always, never")
	completeFlag(root, "color", cobra.FixedCompletions(words(modes), cobra.ShellCompDirectiveNoFileComp))
}

// useColor decides whether a stream gets colour: --color, then NO_COLOR and CLICOLOR_FORCE, then whether it is a
// terminal that can show it (TERM, CLICOLOR). See no-color.org and bixense.com/clicolors.
func useColor(cmd *cobra.Command, env *Env, stream any) bool {
	switch cmd.Flag("color").Value.String() {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	if env.Getenv("NO_COLOR") != "" {
		return false
	}
	if force := env.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return isTerminal(stream) && env.Getenv("TERM") != "dumb" && env.Getenv("CLICOLOR") != "0"
}
