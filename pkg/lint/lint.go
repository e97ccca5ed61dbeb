// Package lint holds the one registry of rules, whichever of decoder, PGV or a check function produces them, and the
// check functions: stateless, one file per check or per family of checks that share a walk.
package lint

import (
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// Context is what a check may look at.
type Context struct {
	Resource  *eds.Resource
	Cluster   *eds.Cluster   // the resource's own, or that of --cluster; nil when none is at hand
	Bootstrap *eds.Bootstrap // nil when none is at hand
	Source    eds.Source
	// SourceGiven: the user said how it arrives, so that it is judged as if there were nothing else around it: a
	// bootstrap without ADS and without other clusters (envoy-eds-rules.md 0.6). Otherwise what is not at hand is unknown.
	SourceGiven   bool
	Origin        eds.Origin
	EnvoyVersion  int                 // minor version: 40 is 1.40
	ExpectName    string              // --expect-name; empty when not said
	UnknownFields string              // --unknown-fields: "default", "strict", "warn" or "ignore"
	Getenv        func(string) string // gRPC's environment variables (grpc-eds.md 2.5)

	policies [len(diag.Clients)]*eds.PolicyConfig // read when first asked for
}

// Check reports what one rule, or one family of rules that share a walk, finds in a resource. It sets Rule, Path,
// Message, and where they differ from the registry Hint and the clients' overrides; the runner adds the rest. Problems
// of one stage must be reported in the order in which the client finds them: the first of them makes the verdict.
// A check reports also what has no effect on the resource's own type of cluster or source: the runner leaves out what
// has no effect on any client, unless the rule is an advice.
type Check func(c *Context, report func(diag.Problem))

// EnvoySays is the override for Envoy's own text of a problem, without what depends on the source (the frame of a
// constraint, "Error adding/updating cluster(s)"): the runner adds that.
func EnvoySays(text string) diag.Override { return diag.Override{Message: text} }

// GRPCSays is the same for grpc-go's text.
func GRPCSays(text string) diag.Override { return diag.Override{Message: text} }
