package validate

import (
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
)

// rule gives each problem its rule and its outcomes. A problem without any effect on a client is left out, unless its
// rule is an advice.
func rule(c *lint.Context, problems []diag.Problem) []ruled {
	var facts [len(diag.Clients)]*lint.Facts
	for _, client := range diag.Clients {
		facts[client] = c.Facts(client)
	}
	all := make([]ruled, 0, len(problems))
	for _, p := range problems {
		r := ruled{Problem: p, rule: lint.Lookup(p.Rule)}
		if r.rule == nil {
			panic("rule " + p.Rule + " is not in the registry") // a producer's mistake, found by its own tests
		}
		for _, client := range diag.Clients {
			r.outcomes[client] = outcome(c, client, r.rule, override(&p, client), facts[client])
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
func outcome(c *lint.Context, client diag.Client, rule *lint.Rule, o diag.Override, facts *lint.Facts) diag.Outcome {
	effect := rule.Effect(client, facts)
	if client == diag.Envoy {
		effect = byFlag(c, rule.ID, effect)
	}
	if o.Effect != nil {
		effect = *o.Effect
	}
	out := diag.Outcome{Effect: effect, Stage: o.Stage}
	if out.Stage == "" {
		out.Stage = stage(c, rule.Stages[client], effect)
	}
	if effect != diag.None {
		out.Message = o.Message
	}
	if client == diag.Envoy && effect >= diag.Reject && out.Message != "" {
		out.Message = frame(c, out.Stage, out.Message)
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

// frame adds to Envoy's text about a refusal what it prints around it, by the stage and the source.
func frame(c *lint.Context, stage, text string) string {
	switch {
	case stage == "07-pgv" && strings.HasPrefix(text, "Proto constraint"):
		return text
	case stage == "07-pgv":
		return "Proto constraint validation failed (" + text + ")"
	case stage >= "10-" && stage < "14-" && byCDS(c, stage) && !strings.HasPrefix(text, "Error adding/updating"):
		return "Error adding/updating cluster(s) " + c.ClusterName() + ": " + text
	}
	return text
}

// byCDS tells whether a refusal in a stage refuses a cluster that came by CDS.
func byCDS(c *lint.Context, stage string) bool {
	if c.InLoadAssignment() {
		return c.Source == eds.FromCDS
	}
	return stage == "10-cluster" && c.Origin == eds.OriginCDS
}
