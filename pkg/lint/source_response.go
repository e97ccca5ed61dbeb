package lint

import (
	"cmp"
	"fmt"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

var responseRules = []string{
	"eds-cluster-name-mismatch", "eds-empty-update", "eds-resource-count", "resource-duplicate-name", "resource-name-not-watched",
	"resource-without-body", "response-type-not-subscribed", "sotw-wrapper-empty-name",
}

const assignmentType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// delivery is how a resource reaches the cluster that asked for it.
type delivery struct {
	c      *Context
	r      *eds.Response // zero when the resource stands alone
	report func(diag.Problem)
	want   string // the name that the cluster asks for; empty when nobody says
	stream bool   // sotw or delta: the response is matched with what was asked for
}

// responseChecks reports what is wrong with the response around the assignment, in the order of Envoy
// (grpc_mux_impl.cc, delta_subscription_state.cc, watch_map.cc, eds.cc onConfigUpdate).
func responseChecks(c *Context, report func(diag.Problem)) {
	if c.InLoadAssignment() || c.Resource.Absent && c.Resource.Response == nil {
		return
	}
	d := delivery{c: c, r: &eds.Response{}, report: report, stream: c.Source == eds.FromSotW || c.Source == eds.FromDelta}
	if c.Resource.Response != nil {
		d.r = c.Resource.Response
	}
	if c.ExpectName != "" || c.Cluster != nil && c.Cluster.Message != nil {
		d.want = c.EDSName()
	}
	d.typeURL()
	if c.Resource.Response != nil && d.r.Count == 0 {
		d.empty()
		return
	}
	d.duplicate()
	d.body()
	if d.r.NoBody {
		return
	}
	d.names()
}

// root is the path of the resource itself.
func root() diag.Path { return diag.Path{} }

func (d *delivery) typeURL() {
	url := d.r.TypeURL
	if url == "" || url == assignmentType {
		return
	}
	says := fmt.Sprintf("Ignoring the message for type URL %s as it has no current subscribers.", url)
	if d.c.Source == eds.FromDelta {
		says = fmt.Sprintf("Dropping received DeltaDiscoveryResponse for non-existent subscription %s.", url)
	}
	why := "none that a client asked for"
	if v, ok := eds.VersionOfURL(url); ok && v != eds.V3 {
		why = fmt.Sprintf("of API version %s, and clients ask for v3 only, Envoy since 1.18", v)
	}
	d.report(diag.Problem{Rule: "response-type-not-subscribed", Path: root(), Envoy: EnvoySays(says),
		Message: fmt.Sprintf("the response's type_url %q is %s: it is answered neither with ACK nor with NACK", url, why)})
}

func (d *delivery) empty() {
	message := "the response holds no assignment: the cluster keeps its endpoints"
	if d.stream {
		message = "the response holds no assignment: it does not reach the cluster, which keeps its endpoints or goes on waiting"
	}
	p := diag.Problem{Rule: "eds-empty-update", Path: root(), Message: message}
	if d.want != "" && !d.stream {
		p.Envoy = EnvoySays(fmt.Sprintf("Missing ClusterLoadAssignment for %s in onConfigUpdate()", d.want))
	}
	d.report(p)
}

// duplicate reports a name that occurs more than once. A delta response is refused; a state-of-the-world one is taken
// and the first wins in Envoy, the last in gRPC; a file or REST answer may hold one resource only.
func (d *delivery) duplicate() {
	copies, first, removed := d.r.Uses()
	removed = removed && d.c.Source == eds.FromDelta
	if copies < 2 && !removed {
		return
	}
	name := d.r.Names[d.r.Index]
	p := diag.Problem{Rule: "resource-duplicate-name", Path: root(), Message: fmt.Sprintf("the name %q occurs %d times in the response", name, copies)}
	switch {
	case d.c.Source == eds.FromDelta && copies > 1:
		p.Envoy = diag.Override{Stage: "03-delta", Message: fmt.Sprintf("duplicate name %s found among added/updated resources", name)}
	case removed:
		p.Envoy = diag.Override{Stage: "03-delta", Message: fmt.Sprintf("duplicate name %s found in the union of added+removed resources", name)}
		p.Message = fmt.Sprintf("the name %q is among the added and the removed resources", name)
	case d.c.Source == eds.FromSotW:
		if d.r.Index == first {
			return // that one is used
		}
		p.Envoy.Stage = "08-watch"
	default:
		p.Envoy = diag.Override{Stage: "09-eds", Message: d.wrongCount()}
	}
	d.report(p)
}

func (d *delivery) wrongCount() string {
	return fmt.Sprintf("Unexpected EDS resource length: %d", d.r.Count)
}

func (d *delivery) body() {
	if !d.r.NoBody {
		return
	}
	p := diag.Problem{Rule: "resource-without-body", Path: root(), Message: "a resource without a body: only a heartbeat of the version in use may be that",
		GRPC: GRPCSays(`unexpected resource type: "" `)}
	if d.c.Source == eds.FromDelta {
		p.Envoy = diag.Override{Stage: "02-any", Message: "type URL embedded in an individual Any does not match the message-wide type URL " + assignmentType + " in DeltaDiscoveryResponse <dump>"}
	} else {
		want := d.want
		if want == "" && d.stream {
			want = d.r.WrapName // it reaches the watch of that name
		}
		p.Envoy = diag.Override{Stage: "09-eds", Message: fmt.Sprintf("Unexpected EDS cluster (expecting %s): ", want)}
	}
	if !d.stream && d.r.Count != 1 {
		d.count()
	}
	d.report(p)
}

func (d *delivery) count() {
	d.report(diag.Problem{Rule: "eds-resource-count", Path: root(), Envoy: EnvoySays(d.wrongCount()),
		Message: fmt.Sprintf("an EDS file or REST answer must hold exactly one assignment, this one holds %d", d.r.Count)})
}

// names follows the resource to the watch with its name, and then into the cluster.
func (d *delivery) names() {
	got := d.c.Resource.Assignment.GetClusterName()
	if !d.stream {
		if d.c.Resource.Response != nil && d.r.Count != 1 {
			d.count()
		}
		if d.want != "" && got != d.want {
			d.mismatch(got)
		}
		return
	}
	name := got // as the stream takes it
	switch {
	case d.r.Index < len(d.r.Names):
		name = d.r.Names[d.r.Index]
	case d.c.Source == eds.FromDelta && d.want != "":
		name = d.want // a delta response names its resources: that of a bare assignment is the one that was asked for
	}
	if d.r.Wrapped && d.c.Source == eds.FromSotW && (name != d.want && d.want != "" || d.want == "" && name != got) {
		d.report(diag.Problem{Rule: "sotw-wrapper-empty-name", Path: root(), Message: fmt.Sprintf("the wrapper's name is %q: Envoy goes by it, so the resource is not delivered as %q", name, cmp.Or(d.want, got))})
		return
	}
	if d.want == "" {
		return
	}
	if name != d.want {
		p := diag.Problem{Rule: "resource-name-not-watched", Path: root().Field("cluster_name"), Message: fmt.Sprintf("nobody asked for %q: the cluster asks for %q", name, d.want)}
		if got == d.want {
			p.GRPC.Effect = new(diag.None) // gRPC takes the name from the resource
		}
		if d.c.Source == eds.FromDelta {
			p.Envoy.Stage = "03-delta" // what nobody asked for is not looked into
		}
		d.report(p)
		return
	}
	if got != d.want {
		d.mismatch(got)
	}
}

func (d *delivery) mismatch(got string) {
	if got == "" {
		return // cla-cluster-name-empty
	}
	p := diag.Problem{
		Rule: "eds-cluster-name-mismatch", Path: root().Field("cluster_name"),
		Message: fmt.Sprintf("cluster_name is %q, but the EDS cluster asks for %q", got, d.want),
		Envoy:   EnvoySays(fmt.Sprintf("Unexpected EDS cluster (expecting %s): %s", d.want, got)),
		// gRPC goes by the name in the resource, whatever the wrapper or the response calls it, and sees no other.
		GRPC: diag.Override{Effect: new(diag.Drop), Stage: "08-watch", Message: fmt.Sprintf("nobody asked for %q", got)},
	}
	d.report(p)
}
