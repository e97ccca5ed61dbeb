package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/edsctl/edsctl/pkg/config"
)

// originAnnotation tells where the value of a flag came from.
const originAnnotation = "edsctl_origin"

// The origins of a flag's value, strongest first; a flag without one has its default.
const (
	fromFlag    = "flag"
	fromEnv     = "env"
	fromProject = "project"
	fromUser    = "user"
)

// applySettings makes every command fill the flags that its command line leaves unset: from EDSCTL_<FLAG>, then from
// the project's file, then from the user's. They count as changed afterwards.
func applySettings(cmd *cobra.Command, env *Env) {
	if run := cmd.RunE; run != nil && cmd.Annotations[plainAnnotation] == "" {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := fillFlags(cmd, env); err != nil {
				return err
			}
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		applySettings(sub, env)
	}
}

// plainAnnotation marks commands that must work whatever the variables and configuration files hold.
const plainAnnotation = "edsctl_plain"

func plain() map[string]string { return map[string]string{plainAnnotation: "true"} }

func fillFlags(cmd *cobra.Command, env *Env) error {
	project, err := env.projectConfig()
	if err != nil {
		return usageError(err)
	}
	user, err := env.userConfig()
	if err != nil {
		return usageError(err)
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			setOrigin(f, fromFlag)
		} else if hasEnv(f) {
			errs = append(errs, fillFlag(f, env, project, user))
		}
	})
	return errors.Join(errs...)
}

func fillFlag(f *pflag.Flag, env *Env, project, user *config.File) error {
	if value := env.Getenv(envName(f.Name)); value != "" {
		setOrigin(f, fromEnv)
		return setFlag(f, envName(f.Name), splitValue(f, value))
	}
	for _, file := range []struct {
		origin string
		config *config.File
	}{{fromProject, project}, {fromUser, user}} {
		if setting, ok := file.config.Flag(f.Name); ok {
			if file.origin == fromProject && !hasProject(f) {
				return usageError(fmt.Errorf("%s: a project's file cannot say which servers are talked to and how: use the command line, a variable or the user's file", setting.Where))
			}
			if file.origin == fromProject && namesFile(f.Name, setting.Values) {
				return usageError(fmt.Errorf("%s: a project's file cannot say which files are written: use the command line", setting.Where))
			}
			setOrigin(f, file.origin)
			return setFlag(f, setting.Where, setting.Values)
		}
	}
	return nil
}

// namesFile tells whether values of --output say where to write: in a file that came with somebody's repository, they
// could name any file of the user.
func namesFile(flag string, values []string) bool {
	return flag == "output" && strings.Contains(strings.Join(values, ","), "=")
}

func setOrigin(f *pflag.Flag, origin string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[originAnnotation] = []string{origin}
}

// isExplicit tells whether the command line or the environment gave a flag its value.
func isExplicit(f *pflag.Flag) bool {
	origin := f.Annotations[originAnnotation]
	return len(origin) > 0 && (origin[0] == fromFlag || origin[0] == fromEnv)
}

// refuseFlags refuses those of the flags that the command line has, though they have no effect; why says that. Variables
// and configuration files are for many runs, and may set them.
func refuseFlags(flags *pflag.FlagSet, why string, names ...string) error {
	var errs []error
	for _, name := range names {
		if origin := flags.Lookup(name).Annotations[originAnnotation]; len(origin) > 0 && origin[0] == fromFlag {
			errs = append(errs, usagef("--%s: %s", name, why))
		}
	}
	return errors.Join(errs...)
}

// splitValue splits the value of a variable when the flag is repeatable: at commas, or at line ends where a value may have
// commas in it.
func splitValue(f *pflag.Flag, value string) []string {
	switch _, ok := f.Value.(pflag.SliceValue); {
	case !ok:
		return []string{value}
	case f.Annotations[commaAnnotation] != nil:
		return strings.Split(strings.TrimRight(value, "\n"), "\n")
	}
	return strings.Split(value, ",")
}

// commaAnnotation marks repeatable flags whose values may have commas in them.
const commaAnnotation = "edsctl_commas"

func hasCommas(flags *pflag.FlagSet, names ...string) { annotate(flags, commaAnnotation, names) }

// setFlag gives a flag its values; name says where they stand.
func setFlag(f *pflag.Flag, name string, values []string) error {
	f.Changed = true
	if slice, ok := f.Value.(pflag.SliceValue); ok {
		if err := slice.Replace(values); err != nil {
			return flagValueError(name, strings.Join(values, ","), err)
		}
		return nil
	}
	if len(values) != 1 {
		return usagef("%s: takes one value, not %d", name, len(values))
	}
	if err := f.Value.Set(values[0]); err != nil {
		return flagValueError(name, values[0], err)
	}
	return nil
}
