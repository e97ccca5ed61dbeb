package cli

import (
	"context"
	"fmt"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
)

// loadClusters reads the clusters of --cluster FILE: a Cluster, a CDS response or a bootstrap. The resources hold the
// clusters and what is around them. Without a file there are none.
func (v *validation) loadClusters(ctx context.Context, name string) ([]*eds.Resource, error) {
	if name == "" {
		return nil, nil
	}
	files, err := input.Find(ctx, []string{name}, input.Options{Stdin: v.env.Stdin, MaxBytes: v.options.maxBytes})
	if err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	var found []*eds.Resource
	for _, file := range files {
		data, err := file.Read(ctx)
		if err != nil {
			return nil, fmt.Errorf("--cluster: %s: %w", file.Name, err)
		}
		for _, r := range v.loaders.of(&profile{envoyVersion: v.options.envoyVersion}).Load(file.Name, data, true).Resources {
			if r.Cluster != nil {
				found = append(found, r)
			}
		}
	}
	if len(found) == 0 {
		return nil, withHint(fmt.Errorf("--cluster: no cluster found in %s", name), "give a file with a Cluster, a CDS response or a bootstrap")
	}
	return found, nil
}

// surround gives resources the cluster of --cluster that asks for them, and what is around that cluster. A file with a
// single cluster is meant for all of them.
func (v *validation) surround(resources []*eds.Resource, p *profile) {
	for _, r := range resources {
		around := v.clusterFor(r.Name)
		if around == nil {
			continue
		}
		cluster := *around.Cluster
		cluster.FromFlag = true
		r.Cluster, r.Bootstrap = &cluster, around.Bootstrap
		if cluster.Message.GetLoadAssignment() != nil && p.source == "" {
			r.Source = eds.FromCDS // it is judged in the place of the cluster's own
		}
	}
}

func (v *validation) clusterFor(name string) *eds.Resource {
	for _, r := range v.clusters {
		if r.Name == name {
			return r
		}
	}
	if len(v.clusters) == 1 {
		return v.clusters[0]
	}
	return nil
}
