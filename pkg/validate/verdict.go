package validate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
)

// verdict of a client: that of the first finding, in the client's own order of checks, that ends its reading.
func verdict(c *lint.Context, client diag.Client, all []ruled) diag.Verdict {
	var first *ruled
	var firstOrder order
	if slices.ContainsFunc(all, func(r ruled) bool { return r.Rule == "limit-exceeded" }) {
		return diag.Verdict{Kind: diag.NotApplicable, Message: "the document exceeds a limit and was not read"}
	}
	for i := range all {
		out := &all[i].outcomes[client]
		if out.Stage == "-" || out.Stage == "" || out.Effect < diag.Drop {
			continue
		}
		if o := orderOf(c, client, &all[i]); first == nil || o.compare(firstOrder) < 0 {
			first, firstOrder = &all[i], o
		}
	}
	if first == nil {
		if c.Resource.Absent && c.Cluster == nil {
			return diag.Verdict{Kind: diag.NotApplicable, Message: "there is no assignment"}
		}
		return diag.Verdict{Kind: diag.Accept}
	}
	out := first.outcomes[client]
	v := diag.Verdict{Kind: diag.Ignored, Rule: first.Rule, Message: cmp.Or(out.Message, first.Message)}
	switch out.Effect {
	case diag.Crash:
		v.Kind = diag.Crashes
	case diag.Reject:
		v.Kind = diag.Rejected
	}
	return v
}

// grpcVerdict is the verdict of gRPC where there is a resource for it, else says why there is none.
func grpcVerdict(c *lint.Context, all []ruled) diag.Verdict {
	if c.Source == eds.FromBootstrap {
		return diag.Verdict{Kind: diag.NotApplicable, Message: "gRPC does not read an Envoy bootstrap"}
	}
	if !appliesToGRPC(c) {
		return diag.Verdict{Kind: diag.NotApplicable, Message: "the text cannot be read, so there is no resource"}
	}
	return verdict(c, diag.GRPC, all)
}

// appliesToGRPC tells whether gRPC ever gets the resource: not of a bootstrap, nor of text that Envoy cannot read.
func appliesToGRPC(c *lint.Context) bool {
	return c.Source != eds.FromBootstrap && !c.Resource.Unreadable && (!c.InLoadAssignment() || c.Cluster == nil || !c.Cluster.Unreadable)
}

// order is the place of a finding in a client's order of checks. Within one place it is that of production.
type order struct {
	phase    int // 0: the cluster, before there is an assignment
	stage    string
	at       diag.Position // of what JSON is read for, from its beginning to its end
	locality int           // gRPC's stages 06 run locality by locality, 06d to 06g endpoint by endpoint
	endpoint int
}

func (a order) compare(b order) int {
	return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.coarse(), b.coarse()),
		cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column), cmp.Compare(a.locality, b.locality),
		cmp.Compare(a.endpoint, b.endpoint), cmp.Compare(a.stage, b.stage))
}

// coarse is the stage without the letter of gRPC's stages 06.
func (a order) coarse() string {
	if a.perLocality() {
		return "06"
	}
	return a.stage
}

func (a order) perLocality() bool {
	return len(a.stage) > 2 && a.stage[:2] == "06" && a.stage[2] != '-'
}

func orderOf(c *lint.Context, client diag.Client, r *ruled) order {
	o := order{phase: 1, stage: r.outcomes[client].Stage}
	if !c.InLoadAssignment() && aboutCluster(r, o.stage) {
		o.phase = 0 // without its cluster nobody asks for the assignment
	}
	if n := c.Resource.Node; strings.HasPrefix(o.stage, "00") && n.IsValid() && n.Document().Format == document.JSON {
		o.at = r.Span.Start
	}
	if !o.perLocality() {
		return o
	}
	o.locality, o.endpoint = -1, -1
	for i := 0; i+1 < len(r.Path); i++ {
		switch {
		case r.Path[i].Name == "endpoints" && i == 0:
			o.locality = r.Path[i+1].Index
		case r.Path[i].Name == "lb_endpoints":
			o.endpoint = r.Path[i+1].Index
		}
	}
	switch o.stage[:3] {
	case "06a", "06b", "06c":
		o.endpoint = -1
	case "06g":
		if o.endpoint < 0 {
			o.endpoint = math.MaxInt // the locality's own metadata comes after its endpoints
		}
	}
	return o
}
