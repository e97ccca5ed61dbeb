package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
	"github.com/edsctl/edsctl/pkg/xds/serve"
)

// served is a resource as its clients will see it: over ADS, from a cluster of CDS.
func served(r *eds.Resource, a serve.Assignment) *eds.Resource {
	out := *r
	out.Source, out.Origin, out.Shape, out.Bootstrap, out.Response = eds.FromSotW, eds.OriginCDS, eds.ShapeAssignment, nil, nil
	out.Cluster = &eds.Cluster{Message: a.ServedCluster()}
	return &out
}

// lack is a part of a file that offers no assignment: why, where to tell it, and of which EDS file's cluster it is the name.
type lack struct{ label, why, name string }

// noAssignment is also said of files that validate reads.
const noAssignment = "the file holds no ClusterLoadAssignment"

// lacking says what a resource without an assignment, or without the name of one, lacks.
func (s *serveSource) lacking(r *eds.Resource) lack {
	name := ""
	if r.Cluster != nil {
		name = cmp.Or(r.Cluster.Message.GetEdsClusterConfig().GetServiceName(), r.Cluster.Message.GetName())
	}
	if r.Followed {
		// The bootstrap around it has a verdict of its own, which says nothing of the file.
		alone := *r
		alone.Cluster, alone.Bootstrap = nil, nil
		file, why := s.verdict(&alone)
		return lack{file, why, name}
	}
	if !slices.ContainsFunc(r.Problems, func(p diag.Problem) bool { return p.Rule == "eds-path-not-found" }) {
		file, why := s.verdict(r)
		return lack{label: file, why: why}
	}
	source := r.Cluster.Message.GetEdsClusterConfig().GetEdsConfig()
	path := cmp.Or(source.GetPathConfigSource().GetPath(), source.GetPath()) //nolint:staticcheck // deprecated, and in use
	file, _, err := s.options.followed(r.File, path)
	why := "holds no ClusterLoadAssignment"
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "was not found"
	case errors.As(err, &at):
		why = "cannot be read: " + at.Err.Error()
	case err != nil:
		why = "cannot be read: " + err.Error()
	}
	return lack{file, fmt.Sprintf("the EDS file of the cluster %q in %s %s", r.Cluster.Message.GetName(), r.File, why), name}
}

// refused says why one of the chosen clients would not take a resource; empty: all would.
func (s *serveSource) refused(r *eds.Resource) string {
	_, why := s.verdict(r)
	return why
}

// verdict is refused with the file that is to blame.
func (s *serveSource) verdict(r *eds.Resource) (file, why string) {
	report := validate.Run([]*eds.Resource{r}, validate.Options{
		Clients: s.options.profile.clients(), EnvoyVersion: s.options.profile.minorVersion(), Source: r.Source, Origin: r.Origin, Getenv: s.env.clientGetenv(),
	})
	for _, c := range s.options.profile.clients() {
		v := report.Resources[0].Verdicts[c]
		if v.Kind == diag.Accept || v.Kind == diag.NotApplicable && !r.Unreadable && !r.Absent {
			continue
		}
		for _, f := range report.Findings {
			if f.Rule == v.Rule {
				return cmp.Or(f.File, r.File), strings.Join([]string{c.String(), string(v.Kind) + ":", f.Message, "[" + f.Rule + "]"}, " ")
			}
		}
		return r.File, c.String() + " " + string(v.Kind) + ": " + v.Message
	}
	return r.File, ""
}
