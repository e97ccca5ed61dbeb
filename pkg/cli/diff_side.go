package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// loadSide reads one side of a diff: the assignments of a file, a directory or standard input.
func loadSide(cmd *cobra.Command, env *Env, o *diffOptions, arg string) ([]simulated, error) {
	found, err := loadSimulated(cmd, env, &simulateOptions{
		inputOptions: o.inputOptions, profile: o.profile, clusterFile: o.clusterFile, name: o.name,
	}, []string{arg})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd.Name(), err)
	}
	return found, nil
}
