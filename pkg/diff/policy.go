package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/eds"
)

// policy compares the assignment's policy field by field.
func (c *comparison) policy(was, now *endpointv3.ClusterLoadAssignment_Policy) {
	report := func(field, old, new string) {
		if old != new {
			c.add(Change{Kind: Policy, Field: field, Old: old, New: new, OldPath: "policy." + field, NewPath: "policy." + field})
		}
	}
	report("drop_overloads", dropsText(was), dropsText(now))
	report("overprovisioning_factor", numberText(was.GetOverprovisioningFactor()), numberText(now.GetOverprovisioningFactor()))
	report("endpoint_stale_after", durationText(was), durationText(now))
	report("weighted_priority_health", strconv.FormatBool(was.GetWeightedPriorityHealth()), strconv.FormatBool(now.GetWeightedPriorityHealth()))
}

// dropsText lists the categories in their order, which counts.
func dropsText(p *endpointv3.ClusterLoadAssignment_Policy) string {
	var parts []string
	for _, d := range p.GetDropOverloads() {
		percent := d.GetDropPercentage()
		parts = append(parts, fmt.Sprintf("%s %d/%s", d.GetCategory(), percent.GetNumerator(), percent.GetDenominator()))
	}
	return strings.Join(parts, ", ")
}

func numberText(v *wrapperspb.UInt32Value) string {
	if v == nil {
		return ""
	}
	return strconv.FormatUint(uint64(v.GetValue()), 10)
}

func durationText(p *endpointv3.ClusterLoadAssignment_Policy) string {
	if p.GetEndpointStaleAfter() == nil {
		return ""
	}
	return p.GetEndpointStaleAfter().AsDuration().String()
}

// cluster names the fields of the Cluster that differ, where both sides have one at hand. The load_assignment is compared
// on its own.
func (c *comparison) cluster(p Pair) {
	was, now := messageOf(p.Old), messageOf(p.New)
	if was == nil || now == nil || was == now {
		return
	}
	a, b := was.ProtoReflect(), now.ProtoReflect()
	var fields []string
	seen := func(m protoreflect.Message, other protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			name := string(f.Name())
			if name != "load_assignment" && (!other.Has(f) || !v.Equal(other.Get(f))) && !slices.Contains(fields, name) {
				fields = append(fields, name)
			}
			return true
		})
	}
	seen(a, b)
	seen(b, a)
	slices.Sort(fields)
	for _, f := range fields {
		c.add(Change{Kind: Cluster, Field: f})
	}
}

func messageOf(r *eds.Resource) *clusterv3.Cluster {
	if r.Cluster == nil || r.Cluster.Message == nil {
		return nil
	}
	return r.Cluster.Message
}
