package validate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
)

// finding makes of a ruled problem what is reported; false when it is not.
func finding(c *lint.Context, r *ruled, o Options, grpcApplies bool, finder *eds.Finder) (found, bool) {
	envoy, grpc := r.outcomes[diag.Envoy].Effect, r.outcomes[diag.GRPC].Effect
	if !grpcApplies && (!r.rule.Departs || r.grpcAlone()) && envoy == diag.None && grpc != diag.None {
		return found{}, false
	}
	severity, set := o.RuleLevels[r.Rule]
	if !set {
		severity = severityOf(c, r, o.Clients)
	}
	if severity == diag.Off {
		return found{}, false
	}
	f := diag.Finding{
		Rule: r.Rule, Severity: severity, Span: r.Span, Resource: c.Resource.Name,
		Path: r.Path, Message: r.Message, Hint: r.Hint, Clients: r.outcomes,
	}
	f.File = fileOf(c, f.Path)
	if !f.Span.IsKnown() && f.Path != nil {
		f.Span = finder.Span(f.Path)
	}
	f.Fingerprint = fingerprint(&f)
	return found{f, r.around || aboutSurroundings(f.Path)}, true
}

// fileOf is the file that a path of a resource leads to: that of the cluster or the bootstrap, where it starts there.
func fileOf(c *lint.Context, p diag.Path) string {
	if aboutSurroundings(p) {
		switch {
		case p[0].Name == "cluster" && c.Cluster != nil && c.Cluster.File != "":
			return c.Cluster.File
		case p[0].Name == "bootstrap" && c.Bootstrap != nil && c.Bootstrap.File != "":
			return c.Bootstrap.File
		}
	}
	return c.Resource.File
}

// severityOf is the severity for the selected clients: the strongest of those that each of them gives.
func severityOf(c *lint.Context, r *ruled, clients []diag.Client) diag.Severity {
	if len(clients) == 0 {
		clients = diag.Clients[:diag.Envoy+1]
	}
	severity := diag.Info
	for _, client := range clients {
		severity = max(severity, severityFor(c, r, client))
	}
	return severity
}

// severityFor follows from the effect, unless the rule departs: then the registry's severity holds for Envoy, and for
// any client where the rule is an advice, without effect on either.
func severityFor(c *lint.Context, r *ruled, client diag.Client) diag.Severity {
	effect := r.outcomes[client].Effect
	advice := !slices.ContainsFunc(r.outcomes[:], func(o diag.Outcome) bool { return o.Effect != diag.None })
	silenced := advice && r.rule.Effects[diag.Envoy].Strongest() != diag.None && c.UnknownFields == "ignore"
	switch {
	case effect >= diag.Reject:
		return diag.Error
	case r.rule.Departs && !silenced && (client == diag.Envoy && !r.grpcAlone() || advice):
		return r.rule.Severity
	case effect > diag.None:
		return diag.Warning
	}
	return diag.Info
}

// grpcAlone tells whether a problem of a rule that holds for both clients is one for gRPC alone this time.
func (r *ruled) grpcAlone() bool {
	return r.Envoy.Effect != nil && *r.Envoy.Effect == diag.None && r.outcomes[diag.GRPC].Effect != diag.None
}

// fingerprint identifies a finding over changes elsewhere in the file: no line numbers.
func fingerprint(f *diag.Finding) string {
	h := sha256.New()
	for _, part := range []string{f.File, f.Resource, f.Rule, f.Path.String()} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
