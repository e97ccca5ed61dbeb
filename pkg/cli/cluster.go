package cli

import (
	"context"
	"fmt"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
)

// loadClusters reads the clusters of --cluster FILE: a Cluster, a CDS response or a bootstrap. The resources hold the
// clusters and what is around them.
func (v *validation) loadClusters(ctx context.Context, name string) error {
	files, err := input.Find(ctx, []string{name}, input.Options{Stdin: v.env.Stdin, MaxBytes: v.options.maxBytes})
	if err != nil {
		return fmt.Errorf("--cluster: %w", err)
	}
	for _, file := range files {
		data, err := file.Read(ctx)
		if err != nil {
			return fmt.Errorf("--cluster: %s: %w", file.Name, err)
		}
		v.clusterFiles = append(v.clusterFiles, eds.FollowedFile{Name: file.Name, Source: data})
		for _, r := range v.loaders.of(&profile{envoyVersion: v.options.envoyVersion}).Load(file.Name, data, true).Resources {
			if r.Cluster != nil {
				v.clusters = append(v.clusters, r)
			}
		}
	}
	if len(v.clusters) == 0 {
		return withHint(fmt.Errorf("--cluster: no cluster found in %s", name), "give a file with a Cluster, a CDS response or a bootstrap")
	}
	return nil
}

// surround gives resources the cluster of --cluster that asks for them, and what is around that cluster. A file with a
// single cluster is meant for all of them.
func (v *validation) surround(resources []*eds.Resource, p *profile) {
	for _, r := range resources {
		around := v.clusterFor(r.Name)
		if around == nil {
			continue
		}
		putInto(r, around, p)
	}
}

// putInto gives a resource the cluster of another one, and what is around that.
func putInto(r, around *eds.Resource, p *profile) {
	cluster := *around.Cluster
	cluster.FromFlag = true
	r.Cluster, r.Bootstrap, r.Dumped = &cluster, around.Bootstrap, around.Dumped
	if cluster.Message.GetLoadAssignment() != nil && p.source == "" {
		r.Source = eds.FromCDS // it is judged in the place of the cluster's own
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
