package author

import (
	"fmt"
	"net/netip"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/edsctl/edsctl/pkg/eds"
)

// Shapes lists the shapes that are written, the default of create first.
func Shapes() []eds.Shape {
	return []eds.Shape{
		eds.ShapeAssignment, eds.ShapeList, eds.ShapeResponse, eds.ShapeDeltaResponse, eds.ShapeAny, eds.ShapeResource,
		eds.ShapeCluster, eds.ShapeCDS, eds.ShapeBootstrap,
	}
}

// Item is one assignment to write, with what belongs to it alone.
type Item struct {
	// Assignment in the API version of the target; nil only beside a Cluster that has none.
	Assignment proto.Message
	// Wrapper has the name, version and the other fields of the Resource around it, without the resource; nil when
	// there is none.
	Wrapper *discoveryv3.Resource
	// Wrapped: in a response, it stands in a Resource of its own.
	Wrapped bool
	// Cluster around it, without load_assignment; nil makes one.
	Cluster *clusterv3.Cluster
}

// Target is what assignments are written as.
type Target struct {
	Format  eds.Format
	Shape   eds.Shape
	Version eds.APIVersion
	// Response has the fields of a response but its resources: a DiscoveryResponse or a DeltaDiscoveryResponse of v3;
	// nil when there are none.
	Response proto.Message
}

// TargetError tells what a format, a shape and an API version together cannot say.
type TargetError struct{ Message string }

func (e *TargetError) Error() string { return e.Message }

// check refuses a list in protobuf, which has none.
func (t *Target) check() error {
	if t.Shape == eds.ShapeList && !t.isText() {
		return &TargetError{fmt.Sprintf("%s has no list of assignments: write a response", t.Format)}
	}
	return nil
}

// Write writes assignments. Errors: *SeveralError where the format cannot hold all of them, *TargetError where it has no
// place for them, and an Any of a type that is not known in a text format.
func (t *Target) Write(items []Item) ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	switch t.Shape {
	case eds.ShapeList:
		return t.list(items)
	case eds.ShapeResponse, eds.ShapeDeltaResponse, eds.ShapeCDS:
		return encode(t.Format, []written{t.response(items)})
	case eds.ShapeBootstrap:
		clusters := around{name: "clusters", number: 2, repeated: true}
		for i := range items {
			clusters.inner = append(clusters.inner, items[i].cluster())
		}
		return encode(t.Format, []written{around{name: "static_resources", number: 2, inner: []written{clusters}}})
	}
	list := make([]written, len(items))
	for i := range items {
		list[i] = t.alone(&items[i])
	}
	return encode(t.Format, list)
}

// alone is an item in a shape that holds one.
func (t *Target) alone(it *Item) written {
	switch t.Shape {
	case eds.ShapeAny:
		return t.any(it)
	case eds.ShapeResource:
		if t.isText() { // @type tells what it is; in protobuf --input-shape must
			return typed{eds.WrapperURL(t.Version), t.wrapper(it)}
		}
		return t.wrapper(it)
	case eds.ShapeCluster:
		return it.cluster()
	}
	return message{it.Assignment}
}

func (t *Target) isText() bool {
	return t.Format == eds.YAML || t.Format == eds.JSON || t.Format == eds.JSONLines
}

func (t *Target) any(it *Item) written {
	return typed{eds.AssignmentURL(t.Version), message{it.Assignment}}
}

// wrapper is the Resource around an assignment, named after it unless it has a name.
func (t *Target) wrapper(it *Item) written {
	base := it.Wrapper
	if base == nil {
		base = &discoveryv3.Resource{Name: assignmentName(it.Assignment)}
	}
	return around{base: base, name: "resource", number: 2, inner: []written{t.any(it)}}
}

func (t *Target) response(items []Item) written {
	out := around{base: t.Response, name: "resources", number: 2, repeated: true}
	for i := range items {
		it := &items[i]
		switch {
		case t.Shape == eds.ShapeCDS:
			out.inner = append(out.inner, typed{eds.ClusterURL(t.Version), it.cluster()})
		case t.Shape == eds.ShapeDeltaResponse:
			out.inner = append(out.inner, t.wrapper(it))
		case it.Wrapped:
			out.inner = append(out.inner, typed{eds.WrapperURL(t.Version), t.wrapper(it)})
		default:
			out.inner = append(out.inner, t.any(it))
		}
	}
	return out
}

// list writes the assignments as a YAML or JSON list; a line of JSON each.
func (t *Target) list(items []Item) ([]byte, error) {
	all := &literal{kind: listLiteral}
	for i := range items {
		v, err := messageOf(items[i].Assignment)
		if err != nil {
			return nil, err
		}
		all.vals = append(all.vals, v)
	}
	if t.Format == eds.JSONLines {
		return encodeValues(t.Format, all.vals)
	}
	return encodeValues(t.Format, []*literal{all})
}

// cluster is the cluster around an assignment.
func (it *Item) cluster() written {
	base := it.Cluster
	if base == nil {
		base = newClusterFor(it.Assignment)
	}
	out := around{base: base, name: "load_assignment", number: 33}
	if it.Assignment != nil {
		out.inner = []written{message{it.Assignment}}
	}
	return out
}

// newClusterFor makes a cluster for an assignment: STATIC, or STRICT_DNS when an address is a name. The fields have the
// same numbers in all API versions.
func newClusterFor(assignment proto.Message) *clusterv3.Cluster {
	c := &clusterv3.Cluster{
		Name:                 assignmentName(assignment),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:       durationpb.New(5 * time.Second), // Envoy's default, which older versions do not have
	}
	v3, _, err := eds.Upgrade(assignment)
	if err == nil && hasHostName(v3) {
		c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
	}
	return c
}

func hasHostName(cla *endpointv3.ClusterLoadAssignment) bool {
	for _, g := range cla.GetEndpoints() {
		for _, e := range g.GetLbEndpoints() {
			host := e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
			if _, err := netip.ParseAddr(host); err != nil && host != "" {
				return true
			}
		}
	}
	return false
}

// assignmentName is the cluster_name of an assignment of any version.
func assignmentName(m proto.Message) string {
	if m == nil {
		return ""
	}
	return m.ProtoReflect().Get(m.ProtoReflect().Descriptor().Fields().ByName("cluster_name")).String()
}
