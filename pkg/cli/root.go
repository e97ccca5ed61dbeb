package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of commands in the help.
const (
	groupCheck  = "check"
	groupLive   = "live"
	groupAuthor = "author"
)

// Main runs one command line and returns the exit code.
func Main(ctx context.Context, env Env, args []string) int {
	root := rootFor(&env, args)
	if env.Interruptible != nil && !isBrief(args) {
		ctx = env.Interruptible(ctx)
	}
	polite := endsItself(root, args)
	if !polite {
		defer exitSoon(ctx, &env)()
	}
	root.SetArgs(args)
	help := &checkedWriter{w: env.Stdout}
	root.SetOut(help)
	err := root.ExecuteContext(ctx)
	if err == nil && help.err != nil {
		err = fmt.Errorf("standard output: %w", bareError(help.err))
	}
	if ctx.Err() != nil && (err != nil || !polite) {
		err = context.Canceled // whatever a command made of it
	}
	printError(env.Stderr, err)
	return exitCodeOf(err)
}

// checkedWriter keeps the first error: Cobra does not look at those of the help that it prints.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// exitSoon ends the process some time after the context has ended; stop calls that off.
func exitSoon(ctx context.Context, env *Env) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if env.Exit != nil {
			time.AfterFunc(interruptGrace, func() { env.Exit(exitInterrupted) })
		}
	})
}

// interruptGrace is how long a run may go on after an interrupt.
const interruptGrace = time.Second

// endsItself tells whether the command of a command line has an end of its own for an interrupt: it says good-bye to a server
// or its clients, or waits for an editor. Flags of the root may stand before the command.
func endsItself(root *cobra.Command, args []string) bool {
	cmd, _, err := root.Find(args)
	return err == nil && slices.Contains([]string{"fetch", "watch", "serve", "edit"}, cmd.Name())
}

// isBrief tells whether a command line prints what is in the program and nothing else.
func isBrief(args []string) bool {
	return len(args) > 0 && (args[0] == "version" || args[0] == "completion")
}

// constructors are the commands by their names.
var constructors = [...]struct {
	name string
	make func(*Env) *cobra.Command
}{
	{"validate", newValidateCmd},
	{"simulate", newSimulateCmd},
	{"diff", newDiffCmd},
	{"fetch", newFetchCmd},
	{"watch", newWatchCmd},
	{"replay", newReplayCmd},
	{"serve", newServeCmd},
	{"create", newCreateCmd},
	{"convert", newConvertCmd},
	{"edit", newEditCmd},
	{"format", newFormatCmd},
	{"schema", newSchemaCmd},
	{"rules", newRulesCmd},
	{"version", newVersionCmd},
	{"completion", newCompletionCmd},
}

// NewRoot returns the command tree.
func NewRoot(env *Env) *cobra.Command {
	root := newRoot(env)
	for _, c := range constructors {
		root.AddCommand(c.make(env))
	}
	addGroups(root)
	root.AddCommand(helpTopics(root)...)
	env.loadConfigs(func() *cobra.Command { return root })
	applySettings(root, env)
	return root
}

// rootFor returns as much of the command tree as a command line needs: when it begins with the name of a command, that
// one. The flags of all the others are a tenth of the time in which a command starts.
func rootFor(env *Env, args []string) *cobra.Command {
	for _, c := range constructors {
		if len(args) > 0 && args[0] == c.name {
			root := newRoot(env)
			root.AddCommand(c.make(env))
			addGroups(root)
			whole := *env // its tree is for looking at
			env.loadConfigs(func() *cobra.Command { return NewRoot(&whole) })
			applySettings(root, env)
			return root
		}
	}
	return NewRoot(env)
}

// newRoot returns the root without commands.
func newRoot(env *Env) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "edsctl",
		Short: "Check, simulate, fetch and serve Envoy's endpoint assignments",
		Long: `edsctl checks, simulates, fetches and serves ClusterLoadAssignments, the endpoint discovery resources of Envoy
and of gRPC. It says what each of the two would do with an assignment, without running either.`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(env, "text")
			}
			return cmd.Help()
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().SortFlags = true
	addColorFlag(root)
	root.PersistentFlags().BoolP("help", "h", false, "show help")
	root.Flags().BoolVar(&version, "version", false, "print the version, as the command of that name does")
	noEnv(root.Flags(), "version")
	root.SetUsageFunc(printUsage)
	root.SetHelpCommand(newHelpCmd())
	return root
}

// addGroups declares the groups that have a command.
func addGroups(root *cobra.Command) {
	for _, group := range []*cobra.Group{
		{ID: groupCheck, Title: "Check and simulate:"},
		{ID: groupLive, Title: "Talk to control planes and clients:"},
		{ID: groupAuthor, Title: "Write assignments:"},
	} {
		if slices.ContainsFunc(root.Commands(), func(cmd *cobra.Command) bool { return cmd.GroupID == group.ID }) {
			root.AddGroup(group)
		}
	}
}

// unknownCommand refuses arguments of the root command, which are commands that do not exist.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	return usageError(withHint(fmt.Errorf("%s: unknown command", args[0]), append(didYouMean(args[0], names, "edsctl "),
		"run 'edsctl help' for the list of commands")...))
}

// usage makes the errors of an argument check usage errors that name the command: Cobra's FlagErrorFunc sees flags only.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError(withHint(fmt.Errorf("%s: %w", cmd.Name(), err), "usage: "+cmd.UseLine()))
		}
		return nil
	}
}

// noArgs is cobra.NoArgs in words.
func noArgs() cobra.PositionalArgs {
	return usage(func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("takes no arguments, but got %q", args[0])
		}
		return nil
	})
}

// atLeastOne is cobra.MinimumNArgs(1) in words.
func atLeastOne(what string) cobra.PositionalArgs {
	return usage(func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("no " + what + " given")
		}
		return nil
	})
}

// atMostOne is cobra.MaximumNArgs(1) in words.
func atMostOne(what string) cobra.PositionalArgs {
	return usage(func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("takes one %s, but got %q as well", what, args[1])
		}
		return nil
	})
}

// exactlyOne is cobra.ExactArgs(1) in words.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := atLeastOne(what)(cmd, args); err != nil {
			return err
		}
		return atMostOne(what)(cmd, args)
	}
}

// flagError turns pflag's errors into "--flag: why" with hints.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	var missing *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.As(err, &missing):
		name := missing.GetSpecifiedName()
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		if len(name) == 1 && missing.GetSpecifiedShortnames() != "" {
			return usageError(withHint(fmt.Errorf("-%s: unknown flag", name), append(fileHint("-"+missing.GetSpecifiedShortnames()), seeHelp(cmd))...))
		}
		return usageError(withHint(fmt.Errorf("--%s: unknown flag", name),
			append(didYouMean("--"+name, names, ""), seeHelp(cmd))...))
	case errors.As(err, &empty):
		return usageError(fmt.Errorf("--%s: needs a value", empty.GetFlag().Name))
	case errors.As(err, &invalid):
		return flagValueError("--"+invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
	}
	return usageError(withHint(fmt.Errorf("%s: %w", cmd.Name(), err), seeHelp(cmd)))
}

// flagValueError says that a value does not fit the flag (or the variable) called name.
func flagValueError(name, value string, why error) error {
	var number *strconv.NumError
	switch {
	case errors.Is(why, strconv.ErrSyntax):
		why = errors.New("not a valid value")
	case errors.As(why, &number):
		why = number.Err
	}
	var hinted *hintedError
	err := fmt.Errorf("%s: value %q: %w", name, value, why)
	if errors.Is(why, errHeaderForm) { // it may be a secret
		err = fmt.Errorf("%s: %w", name, why)
	}
	if errors.As(why, &hinted) {
		return usageError(withHint(err, hinted.hints...))
	}
	return usageError(err)
}

func seeHelp(cmd *cobra.Command) string {
	return fmt.Sprintf("run '%s --help' for the flags", cmd.CommandPath())
}

// fileHint tells how to name a file whose name begins like a flag.
func fileHint(arg string) []string {
	if _, err := os.Stat(arg); err != nil {
		return nil
	}
	return []string{fmt.Sprintf("for the file of this name give './%s'", arg)}
}
