package diff

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
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
	if !c.dumped || shownDrops(was) != shownDrops(now) {
		report("drop_overloads", dropsText(was), dropsText(now))
	}
	factor := func(p *endpointv3.ClusterLoadAssignment_Policy) string {
		if text := numberText(p.GetOverprovisioningFactor()); text != "" || !c.dumped {
			return text
		}
		return "140"
	}
	report("overprovisioning_factor", factor(was), factor(now))
	if c.dumped {
		return // the rest is not in a dump
	}
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

// shownDrops are the categories as a running Envoy shows them: in millionths, and none that drops nothing.
func shownDrops(p *endpointv3.ClusterLoadAssignment_Policy) string {
	var parts []string
	for _, d := range p.GetDropOverloads() {
		percent := d.GetDropPercentage()
		if rate := uint64(percent.GetNumerator()) * 1_000_000 / denominator(percent.GetDenominator()); rate > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", d.GetCategory(), rate))
		}
	}
	return strings.Join(parts, ", ")
}

func denominator(d typev3.FractionalPercent_DenominatorType) uint64 {
	switch d {
	case typev3.FractionalPercent_TEN_THOUSAND:
		return 10_000
	case typev3.FractionalPercent_MILLION:
		return 1_000_000
	}
	return 100
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

// cluster names the fields of the Cluster that differ, where both sides have one at hand, with the values of those that
// decide about load balancing. The load_assignment is compared on its own.
func (c *comparison) cluster(p Pair) {
	was, now := messageOf(p.Old), messageOf(p.New)
	if was == nil || now == nil || was == now {
		return
	}
	a, b := was.ProtoReflect(), now.ProtoReflect()
	fields := map[string]protoreflect.FieldDescriptor{}
	seen := func(m protoreflect.Message, other protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if name := string(f.Name()); name != "load_assignment" && (!other.Has(f) || !v.Equal(other.Get(f))) {
				fields[name] = f
			}
			return true
		})
	}
	seen(a, b)
	seen(b, a)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if sameText(a, b, fields[name]) {
			continue
		}
		change := Change{Kind: Cluster, Field: name}
		if balances(name) {
			change.Old, change.New = valueText(a, fields[name]), valueText(b, fields[name])
		}
		c.add(change)
	}
}

// sameText tells whether a field says the same on both sides: the bytes inside an Any depend on the order in which its text was
// written.
func sameText(a, b protoreflect.Message, f protoreflect.FieldDescriptor) bool {
	text := func(m protoreflect.Message) (string, error) {
		only := m.New()
		if m.Has(f) {
			only.Set(f, m.Get(f))
		}
		return jsonOf(only.Interface())
	}
	x, errX := text(a)
	y, errY := text(b)
	return errX == nil && errY == nil && x == y
}

// balances tells whether a field of the Cluster is about load balancing. The values of others may be long, and secret.
func balances(field string) bool {
	switch field {
	case "type", "lb_policy", "load_balancing_policy", "common_lb_config", "lb_subset_config", "round_robin_lb_config", "least_request_lb_config",
		"ring_hash_lb_config", "maglev_lb_config", "ignore_health_on_host_removal":
		return true
	}
	return false
}

// valueText is the value of a field on one line; empty when it is unset.
func valueText(m protoreflect.Message, f protoreflect.FieldDescriptor) string {
	switch {
	case f.HasPresence() && !m.Has(f):
		return ""
	case f.Message() != nil:
		return jsonText(m.Get(f).Message().Interface())
	case f.Enum() != nil:
		number := m.Get(f).Enum()
		if value := f.Enum().Values().ByNumber(number); value != nil {
			return string(value.Name())
		}
		return strconv.Itoa(int(number))
	}
	return m.Get(f).String()
}

func messageOf(r *eds.Resource) *clusterv3.Cluster {
	if r.Cluster == nil || r.Cluster.Message == nil {
		return nil
	}
	return r.Cluster.Message
}
