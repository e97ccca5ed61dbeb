package lint

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/edsctl/edsctl/pkg/diag"
)

const durationWords = "a duration must not be negative, and at most 9223372035s"

// clusterDurations reports durations of the cluster that Envoy refuses before it comes to constraints (utility.cc,
// validateDurationNoThrow; stage 06-duration), and those of the assignment's leds_config.
func clusterDurations(c *Context, report func(diag.Problem)) {
	say := func(at diag.Path, d *durationpb.Duration) {
		if reason := DurationError(d); reason != "" {
			report(diag.Problem{Rule: "duration-invalid", Path: at, Envoy: EnvoySays(reason), Message: durationWords})
		}
	}
	for i, group := range c.Resource.Assignment.GetEndpoints() {
		if leds := group.GetLedsClusterLocalityConfig(); leds != nil {
			durations(leds, groupPath(i).Field("leds_cluster_locality_config"), say)
		}
	}
	if c.Cluster != nil && c.Cluster.Message != nil {
		durations(withoutAssignment(c.Cluster.Message), diag.Path{}.Field("cluster"), say)
	}
}

// durations calls f for every duration in m, in the order of the fields.
func durations(m proto.Message, at diag.Path, f func(diag.Path, *durationpb.Duration)) {
	if d, ok := m.(*durationpb.Duration); ok {
		f(at, d)
		return
	}
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.Message() == nil || !m.ProtoReflect().Has(fd) || fd.IsMap() {
			continue
		}
		value, path := m.ProtoReflect().Get(fd), at.Field(string(fd.Name()))
		if !fd.IsList() {
			durations(messageOf(value), path, f)
			continue
		}
		for k := range value.List().Len() {
			durations(messageOf(value.List().Get(k)), path.Index(k), f)
		}
	}
}

func messageOf(v protoreflect.Value) proto.Message { return v.Message().Interface() }
