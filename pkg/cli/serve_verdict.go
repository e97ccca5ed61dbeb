package cli

import (
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

// refused says why one of the chosen clients would not take a resource; empty: all would.
func (s *serveSource) refused(r *eds.Resource) string {
	report := validate.Run([]*eds.Resource{r}, validate.Options{
		Clients: s.options.profile.clients(), EnvoyVersion: s.options.profile.minorVersion(), Source: r.Source, Origin: r.Origin, Getenv: s.env.Getenv,
	})
	for _, c := range s.options.profile.clients() {
		v := report.Resources[0].Verdicts[c]
		if v.Kind == diag.Accept || v.Kind == diag.NotApplicable && !r.Unreadable && !r.Absent {
			continue
		}
		for _, f := range report.Findings {
			if f.Rule == v.Rule {
				return strings.Join([]string{c.String(), string(v.Kind) + ":", f.Message, "[" + f.Rule + "]"}, " ")
			}
		}
		return c.String() + " " + string(v.Kind) + ": " + v.Message
	}
	return ""
}
