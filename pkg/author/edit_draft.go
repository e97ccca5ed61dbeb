package author

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/selector"
)

// draft is an assignment that is being changed: parts are copied when they are changed first.
type draft struct {
	old *endpointv3.ClusterLoadAssignment
	Outcome
	groups map[int]*endpointv3.LocalityLbEndpoints
}

func newDraft(cla *endpointv3.ClusterLoadAssignment) *draft {
	d := &draft{old: cla, groups: map[int]*endpointv3.LocalityLbEndpoints{}}
	d.Want = shallow(cla)
	return d
}

func (d *draft) say(format string, args ...any) {
	d.Messages = append(d.Messages, fmt.Sprintf(format, args...))
}

func groupPath(g int) diag.Path { return diag.Path{{Name: "endpoints"}, {Index: g}} }

func listPath(g int) diag.Path { return groupPath(g).Field("lb_endpoints") }

func endpointPath(r selector.Ref) diag.Path { return listPath(r.Group).Index(r.Index) }

// group returns a copy of a group that may be changed.
func (d *draft) group(g int) *endpointv3.LocalityLbEndpoints {
	if d.groups[g] == nil {
		d.groups[g] = shallow(d.Want.Endpoints[g])
		d.Want.Endpoints[g] = d.groups[g]
	}
	return d.groups[g]
}

// endpoint returns a copy of an endpoint that may be changed. Fields may be set, not what is in them.
func (d *draft) endpoint(r selector.Ref) *endpointv3.LbEndpoint {
	group := d.group(r.Group)
	group.LbEndpoints[r.Index] = shallow(group.LbEndpoints[r.Index])
	return group.LbEndpoints[r.Index]
}

// addressOf is how messages name an endpoint.
func addressOf(e *endpointv3.LbEndpoint) string {
	if e.GetEndpointName() != "" {
		return e.GetEndpointName()
	}
	return addressText(e.GetEndpoint().GetAddress())
}

func addressText(a *corev3.Address) string {
	switch {
	case a.GetSocketAddress() != nil:
		s := a.GetSocketAddress()
		port := strconv.FormatUint(uint64(s.GetPortValue()), 10)
		if s.GetNamedPort() != "" {
			port = s.GetNamedPort()
		}
		if slices.Contains([]byte(s.GetAddress()), ':') {
			return "[" + s.GetAddress() + "]:" + port
		}
		return s.GetAddress() + ":" + port
	case a.GetPipe() != nil:
		return "unix:" + a.GetPipe().GetPath()
	case a.GetEnvoyInternalAddress() != nil:
		return "internal:" + a.GetEnvoyInternalAddress().GetServerListenerName()
	}
	return "(no address)"
}

// localityText is how messages name a locality at a priority.
func localityText(g *endpointv3.LocalityLbEndpoints) string {
	l := g.GetLocality()
	if l.GetRegion() == "" && l.GetZone() == "" && l.GetSubZone() == "" {
		return fmt.Sprintf("no locality, priority %d", g.GetPriority())
	}
	return fmt.Sprintf("locality %s/%s/%s, priority %d", l.GetRegion(), l.GetZone(), l.GetSubZone(), g.GetPriority())
}

func weightText(w *wrapperspb.UInt32Value) string {
	if w == nil {
		return "none"
	}
	return strconv.FormatUint(uint64(w.GetValue()), 10)
}

func number(n uint32) *literal { return bare(strconv.FormatUint(uint64(n), 10)) }

// byGroup goes through the groups of endpoints in their order, each with its part of refs.
func byGroup(refs []selector.Ref) iter.Seq2[int, []selector.Ref] {
	return func(yield func(int, []selector.Ref) bool) {
		for len(refs) > 0 {
			n := 1
			for n < len(refs) && refs[n].Group == refs[0].Group {
				n++
			}
			if !yield(refs[0].Group, refs[:n]) {
				return
			}
			refs = refs[n:]
		}
	}
}

// verbOf makes a verb of one step that fills a draft.
func verbOf(f func(d *draft) error) Verb {
	return Verb{Steps: []Step{stepOf(f)}}
}

func stepOf(f func(d *draft) error) Step {
	return func(cla *endpointv3.ClusterLoadAssignment) (*Outcome, error) {
		d := newDraft(cla)
		if err := f(d); err != nil {
			return nil, err
		}
		return &d.Outcome, nil
	}
}
