package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/validate"
)

// What the rules know beside validate.NewestEnvoy (product.md, Terms).
const (
	oldestEnvoy = 36
	grpcVersion = "1.85"
)

// envoyVersions lists the values of --envoy-version, newest first.
func envoyVersions() []string {
	var out []string
	for minor := validate.NewestEnvoy; minor >= oldestEnvoy; minor-- {
		out = append(out, fmt.Sprintf("1.%d", minor))
	}
	return out
}

func newVersionCmd(env *Env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:         "version",
		Short:       "Print the version, and the versions of the clients that it knows",
		Args:        noArgs(),
		Annotations: plain(),
		RunE:        func(*cobra.Command, []string) error { return printVersion(env, output) },
	}
	enumVarP(cmd, &output, "output", "o", "text", []string{"text", "json"}, "output format")
	return cmd
}

func printVersion(env *Env, output string) error {
	v := env.Version
	if output == "json" {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			FormatVersion string   `json:"format_version"`
			Version       string   `json:"version"`
			Commit        string   `json:"commit,omitempty"`
			Date          string   `json:"date,omitempty"`
			Go            string   `json:"go"`
			Platform      string   `json:"platform"`
			Envoy         []string `json:"envoy"`
			GRPC          string   `json:"grpc"`
		}{"1", v.Number, v.Commit, v.Date, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, envoyVersions(), grpcVersion})
	}
	_, err := fmt.Fprintf(env.Stdout, "edsctl %s (Envoy 1.%d to 1.%d, grpc-go %s)\n", v.Number, oldestEnvoy, validate.NewestEnvoy, grpcVersion)
	return err
}

// BuildVersion is the version that the linker was told, else that of the module's build information.
func BuildVersion(linked string) Version {
	v := Version{Number: "devel"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if linked != "" {
		v.Number = strings.TrimPrefix(linked, "v")
	} else if number := strings.TrimPrefix(info.Main.Version, "v"); number != "" && number != "(devel)" {
		v.Number = number
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		}
	}
	return v
}
