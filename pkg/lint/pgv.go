package lint

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// constraintRules maps a field (or a required oneof) of a message to the rule about its constraint. The message's name
// is without package and outer messages, so that the rows hold for v2 and v3alpha too.
var constraintRules = map[string]string{
	"ClusterLoadAssignment.cluster_name":          "cla-cluster-name-empty",
	"LocalityLbEndpoints.priority":                "locality-priority-too-large",
	"LocalityLbEndpoints.load_balancing_weight":   "locality-weight-zero",
	"LbEndpoint.load_balancing_weight":            "endpoint-weight-zero",
	"Address.address":                             "address-oneof-unset",
	"SocketAddress.address":                       "socket-address-empty",
	"SocketAddress.port_specifier":                "socket-address-port-missing",
	"SocketAddress.port_value":                    "socket-address-port-range",
	"SocketAddress.protocol":                      "socket-address-protocol-undefined",
	"Pipe.path":                                   "pipe-path-empty",
	"Pipe.mode":                                   "pipe-mode-range",
	"EnvoyInternalAddress.address_name_specifier": "internal-address-unset",
	"HealthCheckConfig.port_value":                "health-check-port-range",
	"DropOverload.category":                       "drop-overload-category-empty",
	"FractionalPercent.denominator":               "drop-overload-denominator-undefined",
	"Policy.overprovisioning_factor":              "overprovisioning-factor-zero",
	"Policy.endpoint_stale_after":                 "stale-after-not-positive",
	"Metadata.filter_metadata":                    "metadata-empty-key",
	"Metadata.typed_filter_metadata":              "metadata-empty-key",
}

// subtreeRules maps a field of the assignment to the rule for every violation below it.
var subtreeRules = map[protoreflect.Name]string{
	"named_endpoints":              "named-endpoints-invalid",
	"leds_cluster_locality_config": "leds-config-source-unset",
}

// violationRule is the rule for a violation. One without a row (a constraint of a later API) is told as a violation of
// the cluster, which has the same effects.
func violationRule(v *violation) string {
	for _, s := range v.path {
		if id, ok := subtreeRules[protoreflect.Name(s.Name)]; ok && !s.IsKey {
			return id
		}
	}
	if id, ok := constraintRules[string(v.message.Name())+"."+v.field]; ok {
		return id
	}
	return "cluster-constraint"
}

// Constraints reports every violation of a constraint (PGV, stage 07-pgv) of the assignment and, where one is at hand,
// of the cluster around it, in the order in which Envoy checks them.
func Constraints(c *Context, report func(diag.Problem)) {
	before, after := clusterViolations(c)
	for _, p := range before {
		report(p)
	}
	if !c.Resource.Absent {
		assignmentViolations(c, report)
	}
	for _, p := range after {
		report(p)
	}
}

// constraintSays is Envoy's text about a violation, a chain of messages; the runner frames it.
func constraintSays(chain string) diag.Override {
	return diag.Override{Message: chain, Stage: "07-pgv"}
}

func assignmentViolations(c *Context, report func(diag.Problem)) {
	staleAfter(c, report)
	original := c.Resource.Original
	if original == nil {
		original = c.Resource.Assignment
	}
	for _, v := range violations(original) {
		rule := violationRule(&v)
		if rule == "locality-weight-zero" && c.Resource.Shape == "config-dump" {
			continue // the dump writes 0 for an absent weight (envoy-eds-rules.md 0.6)
		}
		if rule == "stale-after-not-positive" && !isZero(c.Resource.Assignment.GetPolicy().GetEndpointStaleAfter()) {
			continue // refused one step earlier: staleAfter
		}
		p := diag.Problem{Rule: rule, Path: v.path, Message: v.words(), Envoy: constraintSays(c.assignmentFrame() + v.chain)}
		p.GRPC = grpcConstraint(c, rule, v.path)
		report(p)
	}
}

// assignmentFrame is what Envoy prints before the chain of an assignment's violation: the messages around it.
func (c *Context) assignmentFrame() string {
	if !c.InLoadAssignment() {
		return ""
	}
	return c.clusterFrame() + "ClusterValidationError.LoadAssignment: " + embedded
}

// clusterFrame is the same for a violation in the cluster.
func (c *Context) clusterFrame() string {
	inBootstrap := c.Source == "bootstrap" || (!c.InLoadAssignment() && c.Origin == "bootstrap")
	if !inBootstrap {
		return ""
	}
	index := 0
	if c.Cluster != nil {
		index = c.Cluster.Index
	}
	return "BootstrapValidationError.StaticResources: " + embedded + fmt.Sprintf("StaticResourcesValidationError.Clusters[%d]: ", index) + embedded
}

// clusterViolations are those of the cluster's own fields: what is declared before load_assignment, and after it.
func clusterViolations(c *Context) (before, after []diag.Problem) {
	if c.Cluster == nil || c.Cluster.Message == nil {
		return nil, nil
	}
	own := withoutAssignment(c.Cluster.Message)
	fields := own.ProtoReflect().Descriptor().Fields()
	split := fields.ByName("load_assignment").Index()
	for _, v := range violations(own) {
		path := diag.Path{}.Field("cluster").Join(v.path)
		p := diag.Problem{Rule: "cluster-constraint", Path: path, Message: v.words(), Envoy: constraintSays(c.clusterFrame() + v.chain)}
		p.GRPC = grpcClusterConstraint(c, v.path)
		fd := fields.ByName(protoreflect.Name(v.top))
		if fd != nil && fd.Index() < split && fd.ContainingOneof() == nil {
			before = append(before, p)
		} else {
			after = append(after, p)
		}
	}
	return before, after
}

// withoutAssignment is a shallow copy of a cluster without its load_assignment.
func withoutAssignment[M proto.Message](m M) proto.Message {
	src := m.ProtoReflect()
	out := src.New()
	src.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Name() != "load_assignment" {
			out.Set(fd, v)
		}
		return true
	})
	return out.Interface()
}

func isZero(d *durationpb.Duration) bool { return d.GetSeconds() == 0 && d.GetNanos() == 0 }

// staleAfter reports an endpoint_stale_after that Envoy refuses before it comes to constraints
// (source/common/protobuf/utility.cc, validateDurationNoThrow).
func staleAfter(c *Context, report func(diag.Problem)) {
	reason := DurationError(c.Resource.Assignment.GetPolicy().GetEndpointStaleAfter())
	if reason == "" {
		return
	}
	says := EnvoySays(reason)
	says.Stage = "06-duration"
	report(diag.Problem{
		Rule: "stale-after-not-positive", Path: diag.Path{}.Field("policy.endpoint_stale_after"),
		Message: "endpoint_stale_after must be more than 0s and at most 9223372035s, got " + durationText(c.Resource.Assignment), Envoy: says,
	})
}

func durationText(a *endpointv3.ClusterLoadAssignment) string {
	d := a.GetPolicy().GetEndpointStaleAfter()
	return fmt.Sprintf("%d seconds and %d nanoseconds", d.GetSeconds(), d.GetNanos())
}

// DurationError is Envoy's text about a duration that it refuses (stage 06-duration), empty for a good or absent one.
func DurationError(d *durationpb.Duration) string { return eds.DurationError(d) }
