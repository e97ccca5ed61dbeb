// Package lint holds the one registry of rules, whichever of decoder, PGV or a check function produces them, and the
// check functions: stateless, one file per check or per family of checks that share a walk.
package lint

import (
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// Context is what a check may look at.
type Context struct {
	Resource      *eds.Resource
	Cluster       *eds.Cluster   // the resource's own, or that of --cluster; nil when none is at hand
	Bootstrap     *eds.Bootstrap // nil when none is at hand
	Source        eds.Source
	Origin        eds.Origin
	EnvoyVersion  int                 // minor version: 40 is 1.40
	ExpectName    string              // --expect-name; empty when not said
	UnknownFields string              // --unknown-fields: "default", "strict", "warn" or "ignore"
	Getenv        func(string) string // gRPC's environment variables (grpc-eds.md 2.5)
}

// Check reports what one rule, or one family of rules that share a walk, finds in a resource. It sets Rule, Path,
// Message, and where they differ from the registry Hint and the clients' overrides; the runner adds the rest.
type Check func(c *Context, report func(diag.Problem))
