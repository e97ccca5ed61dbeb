package validate

import (
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
)

// rule gives each problem its rule and its outcomes. A problem without any effect on a client is left out, unless its
// rule is an advice.
func rule(c *lint.Context, problems []produced) []ruled {
	if len(problems) == 0 {
		return nil
	}
	var facts [len(diag.Clients)]*lint.Facts
	for _, client := range diag.Clients {
		facts[client] = c.Facts(client)
	}
	all := make([]ruled, 0, len(problems))
	for _, p := range problems {
		r := ruled{produced: p, rule: lint.Lookup(p.Rule)}
		if r.rule == nil {
			panic("rule " + p.Rule + " is not in the registry") // a producer's mistake, found by its own tests
		}
		for _, client := range diag.Clients {
			r.outcomes[client] = outcome(c, client, &r, facts[client])
		}
		if !c.GRPCReads() && !aboutSurroundings(p.Path) {
			r.outcomes[diag.GRPC] = diag.Outcome{Stage: "-"}
		}
		if !r.rule.Departs && r.outcomes[diag.Envoy].Effect == diag.None && r.outcomes[diag.GRPC].Effect == diag.None {
			continue
		}
		all = append(all, r)
	}
	return all
}

func override(p *diag.Problem, client diag.Client) diag.Override {
	if client == diag.GRPC {
		return p.GRPC
	}
	return p.Envoy
}

// outcome is what a client does with a problem.
func outcome(c *lint.Context, client diag.Client, r *ruled, facts *lint.Facts) diag.Outcome {
	o := override(&r.Problem, client)
	effect := r.rule.Effect(client, facts)
	if client == diag.Envoy {
		effect = byFlag(c, r.Rule, effect)
	}
	if o.Effect != nil {
		effect = *o.Effect
	}
	out := diag.Outcome{Effect: effect, Stage: o.Stage}
	if out.Stage == "" {
		out.Stage = stage(c, r.rule.Stages[client], effect)
	}
	if effect == diag.None || o.Message == "" {
		return out
	}
	out.Message = strings.ToValidUTF8(o.Message, "") // as logs are read
	if client == diag.Envoy {
		out.Message, _, _ = strings.Cut(frame(c, r, &out), "\x00") // it is logged as a C string
	}
	return out
}

// stage chooses among the alternatives of a rule's stage.
func stage(c *lint.Context, alternatives []string, effect diag.Effect) string {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	last := alternatives[len(alternatives)-1]
	if last == "-" { // decides only where it rejects (grpc-eds.md 11)
		if effect >= diag.Reject {
			return alternatives[0]
		}
		return last
	}
	if readsText(c) {
		return alternatives[0]
	}
	return last
}

// readsText tells whether Envoy reads the resource as text, not as binary protobuf.
func readsText(c *lint.Context) bool {
	switch c.Source {
	case eds.FromSotW, eds.FromDelta:
		return false
	case eds.FromFile:
		return c.Resource.Node.IsValid()
	}
	return true
}

// deprecated begins the warning about a deprecated field, not the refusal.
const deprecated = "Deprecated field: "

// frame adds to Envoy's text what it prints around it, by the stage and the source.
func frame(c *lint.Context, r *ruled, o *diag.Outcome) string {
	switch {
	case strings.HasPrefix(o.Message, "type ") && isUnknown(r.Rule):
		if o.Effect >= diag.Reject {
			return "Protobuf message (" + o.Message + ") has unknown fields"
		}
		return "Unknown field: " + o.Message
	case o.Effect < diag.Reject:
	case strings.HasPrefix(o.Message, deprecated):
		return strings.TrimPrefix(o.Message, deprecated)
	case o.Stage == "07-pgv":
		return "Proto constraint validation failed (" + o.Message + ")"
	case r.Rule == "eds-ads-not-configured": // thrown while the response is read, so that it is not about one cluster
	case o.Effect == diag.Reject && o.Stage >= "10-" && o.Stage < "14-" && refusesCDS(c, r, o.Stage):
		return "Error adding/updating cluster(s) " + c.ClusterName() + ": " + o.Message
	}
	return o.Message
}

// refusesCDS tells whether a refusal in a stage refuses a cluster that came by CDS.
func refusesCDS(c *lint.Context, r *ruled, stage string) bool {
	if c.InLoadAssignment() {
		return c.Source == eds.FromCDS
	}
	return c.Origin == eds.OriginCDS && aboutCluster(r, stage)
}

// aboutCluster tells whether a problem of an assignment that comes by EDS is one of the cluster that asks for it.
func aboutCluster(r *ruled, stage string) bool {
	return aboutSurroundings(r.Path) || stage == "10-cluster"
}
