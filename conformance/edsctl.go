package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// prediction is what edsctl says of a case.
type prediction struct {
	verdict, rule, message string          // of the client of the route
	rules                  map[string]bool // that have an effect on that client
}

// validation is what is read of the output of edsctl validate.
type validation struct {
	Resources []struct {
		File     string
		Name     string
		Cluster  struct{ Name string }
		Verdicts map[string]struct{ Verdict, Rule, Message string }
	}
	Findings []struct {
		Rule, File, Severity string
		Clients              map[string]struct{ Effect string }
	}
}

// group is cases that edsctl judges in one run: those with the same flags.
type group struct {
	route  route
	around string
}

// predict asks edsctl for the verdicts of all cases.
func predict(ctx context.Context, o options, dir string, cases []*testCase) error {
	groups := map[group][]*testCase{}
	for _, c := range cases {
		key := group{c.route, c.around}
		if c.route == viaFile || c.route == viaBootstrap { // the file says it
			key.around = ""
		}
		groups[key] = append(groups[key], c)
	}
	for key, members := range groups {
		args, err := flags(o, dir, key)
		if err != nil {
			return err
		}
		// A thousand paths fit into any system's argument list.
		for len(members) > 0 {
			n := min(len(members), 1000)
			if err := predictSome(ctx, o, args, dir, key.route, members[:n]); err != nil {
				return fmt.Errorf("%s: %w", key.route, err)
			}
			members = members[n:]
		}
	}
	return nil
}

// flags say how the files of a group reach a client.
func flags(o options, dir string, key group) ([]string, error) {
	args := []string{"validate", "--output", "json", "--client", "all", "--fail-on", "never", "--envoy-version", o.minor()}
	switch key.route {
	case viaBootstrap:
		return append(args, "--input-shape", "bootstrap"), nil
	case viaFile:
		return args, nil
	case viaCDS:
		return append(args, "--input-format", "pb"), nil
	case viaGRPC:
		return append(args, "--input-format", "pb", "--input-shape", "assignment"), nil
	case viaGRPCCluster:
		return append(args, "--input-format", "pb", "--input-shape", "cluster"), nil
	}
	origin := "bootstrap"
	if key.route == viaADS {
		origin = "cds"
	}
	path := filepath.Join(dir, "around_"+key.around+".yaml")
	cluster := edsCluster(clusterName, key.around, tree{"ads": tree{}})
	args = append(args, "--input-format", "pb", "--input-shape", "response", "--source", "sotw", "--cluster-origin", origin, "--cluster", path, "--expect-name", clusterName)
	return args, os.WriteFile(path, []byte(yamlText(cluster, 3)), 0o600)
}

func predictSome(ctx context.Context, o options, args []string, dir string, r route, cases []*testCase) error {
	byFile := map[string]*testCase{}
	for _, c := range cases {
		path, err := filepath.Rel(dir, c.path)
		if err != nil {
			return err
		}
		args = append(args, path)
		byFile[filepath.Dir(path)] = c
		c.predicted = prediction{verdict: "none", rules: map[string]bool{}}
	}
	cmd := exec.CommandContext(ctx, o.edsctl, args...)
	cmd.Dir = dir
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
		return fmt.Errorf("run edsctl: %w\n%s", err, stderr.String())
	}
	var v validation
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		return fmt.Errorf("read edsctl's output: %w\n%s", err, stderr.String())
	}
	client := "envoy"
	if r == viaGRPC || r == viaGRPCCluster {
		client = "grpc"
	}
	for _, res := range v.Resources {
		c := byFile[filepath.Dir(res.File)]
		if c == nil || res.Cluster.Name == xdsCluster {
			continue // the management server's cluster
		}
		// A second resource counts in a bootstrap only: there the first that is refused ends Envoy.
		verdict := res.Verdicts[client]
		ends := r == viaBootstrap && c.predicted.verdict == "accept" && (verdict.Verdict == "reject" || verdict.Verdict == "crash")
		if c.predicted.verdict != "none" && !ends {
			continue
		}
		c.predicted.verdict, c.predicted.rule, c.predicted.message = verdict.Verdict, verdict.Rule, verdict.Message
	}
	for _, f := range v.Findings {
		if c := byFile[filepath.Dir(f.File)]; c != nil && f.Clients[client].Effect != "none" && f.Clients[client].Effect != "" {
			c.predicted.rules[f.Rule] = true
		}
	}
	return nil
}

// minor is the version of Envoy as edsctl's flag takes it: 1.40 of 1.40.0.
func (o options) minor() string {
	var major, minor int
	if _, err := fmt.Sscanf(o.version, "%d.%d", &major, &minor); err != nil {
		return o.version
	}
	return strconv.Itoa(major) + "." + strconv.Itoa(minor)
}
