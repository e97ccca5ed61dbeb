package cli

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// probe is a command tree with one command that reports its flags.
func probe(t *testing.T, variables map[string]string, project, user string) (run func(args ...string) (string, error)) {
	t.Helper()
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if text == "" {
			return
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("config/edsctl", 0o755); err != nil {
		t.Fatal(err)
	}
	write(".edsctl.yaml", project)
	write("config/edsctl/config.yaml", user)
	return func(args ...string) (string, error) {
		env := &Env{
			Getenv:        func(name string) string { return variables[name] },
			UserConfigDir: func() (string, error) { return "config", nil },
		}
		var client string
		var ports []string
		var targets []target
		var write bool
		var got string
		cmd := &cobra.Command{Use: "probe", RunE: func(cmd *cobra.Command, _ []string) error {
			got = client + " " + strings.Join(ports, "+")
			for _, target := range targets {
				got += " " + target.format + ">" + target.file
			}
			if write {
				got += " write"
			}
			return nil
		}}
		enumVar(cmd, &client, "client", "envoy", []string{"envoy", "grpc", "all"}, "")
		listVar(cmd.Flags(), &ports, "include", "GLOB", "", func(s string) (string, error) {
			if s == "bad" {
				return "", errors.New("is bad")
			}
			return s, nil
		})
		targetsVar(cmd, &targets, []string{"text", "json"}, "")
		cmd.Flags().BoolVar(&write, "write", false, "")
		noEnv(cmd.Flags(), "write")
		root := &cobra.Command{Use: "edsctl", SilenceErrors: true, SilenceUsage: true}
		root.CompletionOptions.DisableDefaultCmd = true
		root.AddCommand(cmd)
		env.loadConfigs(func() *cobra.Command { return root })
		applySettings(root, env)
		root.SetArgs(append([]string{"probe"}, args...))
		root.SetErr(new(bytes.Buffer))
		err := root.Execute()
		return got, err
	}
}

func TestSettingsPrecedence(t *testing.T) {
	const project, user = "flags: {client: grpc, include: [p1, p2]}", "flags: {client: envoy, include: u, output: json}"
	tests := []struct {
		name          string
		args          []string
		variables     map[string]string
		project, user string
		want          string
	}{
		{"default", nil, nil, "", "", "envoy  text>"},
		{"user", nil, nil, "", user, "envoy u json>"},
		{"project over user", nil, nil, project, user, "grpc p1+p2 json>"},
		{"variable over project", nil, map[string]string{"EDSCTL_CLIENT": "all", "EDSCTL_INCLUDE": "a,b"}, project, user, "all a+b json>"},
		{"flag over variable", []string{"--client", "grpc", "--include", "f"}, map[string]string{"EDSCTL_CLIENT": "all", "EDSCTL_INCLUDE": "a,b"}, project, user, "grpc f json>"},
		{"an empty variable is none", nil, map[string]string{"EDSCTL_CLIENT": ""}, project, "", "grpc p1+p2 text>"},
		{"outputs of a variable", nil, map[string]string{"EDSCTL_OUTPUT": "json=x,text"}, "", "", "envoy  json>x text>"},
		{"outputs of flags", []string{"-o", "json=x", "-o", "text"}, map[string]string{"EDSCTL_OUTPUT": "json"}, "", "", "envoy  json>x text>"},
		{"no variable for what writes", nil, map[string]string{"EDSCTL_WRITE": "true"}, "", "", "envoy  text>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := probe(t, tt.variables, tt.project, tt.user)(tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSettingsErrors(t *testing.T) {
	tests := []struct {
		name      string
		variables map[string]string
		project   string
		want      string
	}{
		{"variable", map[string]string{"EDSCTL_CLIENT": "foo"}, "", `EDSCTL_CLIENT: value "foo": must be one of envoy, grpc, all`},
		{"list variable", map[string]string{"EDSCTL_INCLUDE": "a,bad"}, "", `EDSCTL_INCLUDE: value "a,bad": is bad`},
		{"project", nil, "flags:\n  client: foo", `.edsctl.yaml:2:11: client: value "foo": must be one of envoy, grpc, all`},
		{"two values for one", nil, "flags: {client: [envoy, grpc]}", ".edsctl.yaml:1:17: client: takes one value, not 2"},
		{"a project's file names no files to write", nil, "flags: {output: json=/x}", ".edsctl.yaml:1:17: output: a project's file cannot say which files are written: use the command line"},
		{"what writes cannot be set", nil, "flags: {write: true}", `.edsctl.yaml:1:9: flag "write" cannot be set here: must be one of client, include, output`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := probe(t, tt.variables, tt.project, "")()
			if err == nil || err.Error() != tt.want || exitCodeOf(err) != exitUsage {
				t.Errorf("error %v (exit %d), want %s", err, exitCodeOf(err), tt.want)
			}
		})
	}
}
