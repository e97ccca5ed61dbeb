package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fileExtensions are those of the EDS files of a run.
var fileExtensions = []string{"yaml", "yml", "json", "conf", "pb"}

// driveFile puts each EDS file to a running Envoy, one after the other, so that what is logged belongs to it.
func driveFile(ctx context.Context, binary, dir string, cases []*testCase) error {
	var e *envoy
	defer func() {
		if e != nil {
			e.stop()
		}
	}()
	for _, c := range cases {
		if e == nil || !e.alive() {
			var err error
			if e, err = startFiles(ctx, binary, dir); err != nil {
				return err
			}
		}
		if err := e.driveFile(dir, c); err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
	}
	return nil
}

// startFiles runs an Envoy with an EDS cluster for each context and extension. Its files exist from the start.
func startFiles(ctx context.Context, binary, dir string) (*envoy, error) {
	var all []any
	for _, around := range contexts {
		for _, extension := range fileExtensions {
			name := watcher(around, extension)
			path := filepath.Join(dir, name, "eds."+extension)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return nil, err
			}
			content := "" // an empty response, in YAML's and the binary's eyes
			if extension != "pb" {
				content = "{}"
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				return nil, err
			}
			all = append(all, edsCluster(name, around, tree{"path_config_source": tree{"path": path}}))
		}
	}
	return startEnvoy(ctx, binary, dir, tree{
		"node":             tree{"id": "n", "cluster": "n"},
		"cluster_manager":  tree{"local_cluster_name": watcher("local", "yaml")},
		"static_resources": tree{"clusters": all},
	})
}

// watcher is the name of the cluster that watches a file. The local cluster has the name that its error shows.
func watcher(around, extension string) string {
	if around == "local" && extension == "yaml" {
		return clusterName
	}
	return strings.ToLower(strings.TrimPrefix(around+"_"+extension, "_"))
}

func (e *envoy) driveFile(dir string, c *testCase) error {
	name := watcher(c.around, c.extension)
	before, err := e.stats(name)
	if err != nil {
		return err
	}
	_, mark := e.log.from(0)
	next := filepath.Join(dir, name, "next")
	if err := os.WriteFile(next, []byte(c.payload), 0o600); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(dir, name, "eds."+c.extension)); err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if !e.pause(time.Millisecond) {
			c.observed = e.crash()
			return nil
		}
		after, err := e.stats(name)
		if err != nil {
			continue // it may be about to end
		}
		log, _ := e.log.from(mark)
		switch {
		case after["update_failure"] > before["update_failure"], after["update_rejected"] > before["update_rejected"]:
			message := fileMessage(log)
			if message == "" {
				continue // the log comes after the counter
			}
			c.observed = observed{verdict: "reject", message: message}
		case after["update_empty"] > before["update_empty"]:
			c.observed = observed{verdict: "ignore"}
		case after["update_success"] > before["update_success"]:
			c.observed = observed{verdict: "accept"}
		default:
			continue
		}
		return nil
	}
	return fmt.Errorf("envoy did not read the file within 30 s")
}

// fileMessage is the reason in the log of a file that was refused.
func fileMessage(log string) string {
	if _, text, ok := strings.Cut(log, "Filesystem config update rejected: "); ok {
		return strings.TrimSpace(text)
	}
	_, text, _ := strings.Cut(log, "Filesystem config update failure: ")
	return strings.TrimSpace(text)
}
