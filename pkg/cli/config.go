package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/config"
)

// loadConfigs gives the environment the two configuration files, read once, when they are first asked for. They may
// set the flags of any command of the whole tree.
func (env *Env) loadConfigs(whole func() *cobra.Command) {
	env.projectConfig = sync.OnceValues(func() (*config.File, error) {
		name, err := config.FindProject(".")
		if name == "" || err != nil {
			return nil, err
		}
		return config.Load(name, func() config.Known {
			return config.Known{Rules: ruleIDs(), Flags: projectFlags(whole()), PathFlags: pathFlags()}
		})
	})
	env.userConfig = sync.OnceValues(func() (*config.File, error) {
		dir, err := env.UserConfigDir()
		if err != nil {
			return nil, nil // without a home there is no such file
		}
		if _, err := os.Stat(filepath.Join(dir, "edsctl")); errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
			return nil, nil // nor in one that cannot be entered, such as root's in many containers
		}
		return config.Load(filepath.Join(dir, "edsctl", "config.yaml"), func() config.Known {
			return config.Known{Rules: ruleIDs(), Flags: settableFlags(whole()), PathFlags: pathFlags()}
		})
	})
}
