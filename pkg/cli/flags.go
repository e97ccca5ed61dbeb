package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noEnvAnnotation marks flags that have no EDSCTL_ variable and cannot stand in a configuration file.
const noEnvAnnotation = "edsctl_no_env"

// noEnv takes flags out of the variables and the configuration files: those that make a command write.
func noEnv(flags *pflag.FlagSet, names ...string) { annotate(flags, noEnvAnnotation, names) }

func annotate(flags *pflag.FlagSet, annotation string, names []string) {
	for _, name := range names {
		f := flags.Lookup(name)
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[annotation] = []string{"true"}
	}
}

// noProjectAnnotation marks flags that a project's file cannot set.
const noProjectAnnotation = "edsctl_no_project"

// noProject takes flags out of the project's file: it comes with somebody's repository, so it does not decide which
// servers are talked to, how, and with whose credentials.
func noProject(flags *pflag.FlagSet, names ...string) { annotate(flags, noProjectAnnotation, names) }

func hasProject(f *pflag.Flag) bool { return f.Annotations[noProjectAnnotation] == nil }

func hasEnv(f *pflag.Flag) bool { return f.Name != "help" && f.Annotations[noEnvAnnotation] == nil }

// envName is the variable of a flag: "cluster-origin" is EDSCTL_CLUSTER_ORIGIN.
func envName(flag string) string {
	return "EDSCTL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// enum is the value of a flag that takes one of a list of words.
type enum struct {
	value   *string
	allowed []string
}

func (e enum) String() string { return *e.value }
func (e enum) Type() string   { return "WORD" }

func (e enum) Set(s string) error {
	if err := oneOf(s, e.allowed); err != nil {
		return err
	}
	*e.value = s
	return nil
}

// oneOf checks that a word is in a list, and says which it could be.
func oneOf(word string, allowed []string) error {
	if slices.Contains(allowed, word) {
		return nil
	}
	return withHint(errors.New("must be one of "+strings.Join(allowed, ", ")), didYouMean(word, allowed, "")...)
}

// enumVar declares a flag that takes one of a list of words, names them in the help and completes them. An empty
// default means that the flag has none.
func enumVar(cmd *cobra.Command, value *string, name, byDefault string, allowed []string, help string) {
	enumVarP(cmd, value, name, "", byDefault, allowed, help)
}

// enumVarP is enumVar with a one-letter form.
func enumVarP(cmd *cobra.Command, value *string, name, short, byDefault string, allowed []string, help string) {
	*value = byDefault
	cmd.Flags().VarP(enum{value, allowed}, name, short, help+": "+strings.Join(allowed, ", "))
	completeFlag(cmd, name, cobra.FixedCompletions(words(allowed), cobra.ShellCompDirectiveNoFileComp))
}

// words turns a list of words into completions.
func words(list []string) []cobra.Completion {
	out := make([]cobra.Completion, len(list))
	copy(out, list)
	return out
}

// completeFlag registers the completion of a flag that exists.
func completeFlag(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err) // declared twice: a mistake in this package that every start shows
	}
}

// list is the value of a repeatable flag whose items are parsed by a function. A list from a variable or a
// configuration file replaces the default as a whole.
type list[T any] struct {
	items *[]T
	parse func(string) (T, error)
	texts []string
	kind  string
}

func (l *list[T]) String() string     { return strings.Join(l.texts, ",") }
func (l *list[T]) Type() string       { return l.kind }
func (l *list[T]) GetSlice() []string { return l.texts }
func (l *list[T]) Set(s string) error { return l.Append(s) }

func (l *list[T]) Append(s string) error {
	item, err := l.parse(s)
	if err != nil {
		return err
	}
	*l.items = append(*l.items, item)
	l.texts = append(l.texts, s)
	return nil
}

func (l *list[T]) Replace(texts []string) error {
	*l.items, l.texts = nil, nil
	for _, s := range texts {
		if err := l.Append(s); err != nil {
			return err
		}
	}
	return nil
}

// listVar declares a repeatable flag; kind describes one item in the help ("ID=LEVEL").
func listVar[T any](flags *pflag.FlagSet, items *[]T, name, kind, help string, parse func(string) (T, error)) {
	flags.Var(&list[T]{items: items, parse: parse, kind: kind}, name, help)
}

// splitPair splits "key=value" and says what was expected otherwise.
func splitPair(s, form string) (key, value string, err error) {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" || value == "" {
		return "", "", fmt.Errorf("must have the form %s", form)
	}
	return key, value, nil
}
