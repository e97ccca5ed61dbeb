package cli

import (
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/config"
)

// loadConfigs gives the environment the two configuration files, read once, when they are first asked for.
func (env *Env) loadConfigs(root *cobra.Command) {
	env.projectConfig = sync.OnceValues(func() (*config.File, error) {
		name, err := config.FindProject(".")
		if name == "" || err != nil {
			return nil, err
		}
		return config.Load(name, config.Known{Rules: ruleIDs(), Flags: projectFlags(root), PathFlags: pathFlags()})
	})
	env.userConfig = sync.OnceValues(func() (*config.File, error) {
		dir, err := env.UserConfigDir()
		if err != nil {
			return nil, nil // without a home there is no such file
		}
		return config.Load(filepath.Join(dir, "edsctl", "config.yaml"),
			config.Known{Rules: ruleIDs(), Flags: settableFlags(root), PathFlags: pathFlags()})
	})
}
