package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageWidth is the width to which descriptions of flags are wrapped.
const usageWidth = 100

// printUsage is Cobra's usage in the form of a function: its template would keep the linker from leaving methods out,
// which costs megabytes.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if cmd.Runnable() && cmd.HasParent() {
		b.WriteString("\n  " + cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n  " + cmd.CommandPath() + " [command]")
	}
	b.WriteString("\n")
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	usageCommands(&b, cmd)
	usageFlags(&b, "Flags", cmd.LocalFlags())
	usageFlags(&b, "Global Flags", cmd.InheritedFlags())
	usageList(&b, "Help topics", cmd.Commands(), func(sub *cobra.Command) bool { return sub.IsAdditionalHelpTopicCommand() })
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more about a command, \"%[1]s help TOPIC\" for a topic.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

func usageCommands(b *strings.Builder, cmd *cobra.Command) {
	for _, group := range cmd.Groups() {
		usageList(b, strings.TrimSuffix(group.Title, ":"), cmd.Commands(), func(sub *cobra.Command) bool {
			return sub.GroupID == group.ID && sub.IsAvailableCommand()
		})
	}
	usageList(b, "Other commands", cmd.Commands(), func(sub *cobra.Command) bool { return sub.GroupID == "" && sub.IsAvailableCommand() })
}

func usageList(b *strings.Builder, title string, all []*cobra.Command, pick func(*cobra.Command) bool) {
	width := 0
	var picked []*cobra.Command
	for _, sub := range all {
		if pick(sub) {
			picked = append(picked, sub)
			width = max(width, len(sub.Name()))
		}
	}
	if len(picked) > 0 {
		fmt.Fprintf(b, "\n%s:\n", title)
	}
	for _, sub := range picked {
		fmt.Fprintf(b, "  %-*s  %s\n", width, sub.Name(), sub.Short)
	}
}

func usageFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if text := strings.TrimRight(flags.FlagUsagesWrapped(usageWidth), " \n"); text != "" {
		fmt.Fprintf(b, "\n%s:\n%s\n", title, text)
	}
}
