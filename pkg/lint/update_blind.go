package lint

import (
	"fmt"
	"slices"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// blindSpots reports changes of an endpoint that keeps its address and locality which Envoy does not apply to the host
// that it has, and changes that it does not notice unless something else in the priority changes too.
func blindSpots(u *Update, report func(diag.Problem)) {
	order := map[uint32][]int{} // indices into was, in the order of now, by priority
	for i := range u.now {
		now := &u.now[i]
		j, known := u.before[now.address]
		if !known {
			continue
		}
		was := &u.was[j]
		if was.priority == now.priority {
			order[now.priority] = append(order[now.priority], j)
		}
		if !sameLocality(was.group.GetLocality(), now.group.GetLocality()) {
			continue // a new host takes its place
		}
		u.blindFields(was, now, report)
	}
	u.blindOrder(order, report)
}

func (u *Update) blindFields(was, now *updateHost, report func(diag.Problem)) {
	say := func(field, format string, args ...any) {
		report(diag.Problem{
			Rule: "in-place-update-blind-spots", Path: now.path.Field(field),
			Message: fmt.Sprintf("endpoint %s: ", now.address) + fmt.Sprintf(format, args...),
		})
	}
	if !slices.EqualFunc(was.GetEndpoint().GetAdditionalAddresses(), now.GetEndpoint().GetAdditionalAddresses(), func(a, b *endpointv3.Endpoint_AdditionalAddress) bool { return proto.Equal(a, b) }) {
		say("endpoint.additional_addresses", "a change of additional_addresses is not applied to an endpoint that stays")
	}
	if a, b := was.GetEndpoint().GetHostname(), now.GetEndpoint().GetHostname(); a != b && u.Now.EnvoyVersion < hostnameVersion {
		say("endpoint.hostname", "the change of hostname from %q to %q is not applied before Envoy 1.39", a, b)
	}
	if a, b := was.GetEndpoint().GetHealthCheckConfig(), now.GetEndpoint().GetHealthCheckConfig(); !proto.Equal(a, b) && (isSet(a) || isSet(b)) && !u.checksHealth() {
		say("endpoint.health_check_config", "a change of health_check_config is not applied: the cluster has no health checks")
	}
	if !eds.SameMetadata(was.group.GetMetadata(), now.group.GetMetadata()) {
		say("endpoint", "a change of its locality's metadata is not applied to an endpoint that stays")
	}
	if a, b := was.GetHealthStatus(), now.GetHealthStatus(); a != b && !u.changed[now.priority] && healthClass(a) == "unhealthy" && healthClass(b) == "unhealthy" && isDraining(a) != isDraining(b) {
		say("health_status", "the change from %s to %s alone is not noticed: it counts as before until something else changes in priority %d", a, b, now.priority)
	}
}

func isDraining[S fmt.Stringer](status S) bool { return status.String() == "DRAINING" }

// checksHealth tells whether the cluster checks health actively; true when no cluster is at hand.
func (u *Update) checksHealth() bool {
	return u.Now.Cluster == nil || len(u.Now.Cluster.Message.GetHealthChecks()) > 0
}

// blindOrder reports priorities whose endpoints are only in another order.
func (u *Update) blindOrder(order map[uint32][]int, report func(diag.Problem)) {
	var priorities []uint32
	for priority, indices := range order {
		if !u.changed[priority] && !slices.IsSorted(indices) {
			priorities = append(priorities, priority)
		}
	}
	slices.Sort(priorities)
	for _, priority := range priorities {
		report(diag.Problem{
			Rule: "in-place-update-blind-spots", Path: root().Field("endpoints"),
			Message: fmt.Sprintf("only the order of endpoints changes in priority %d: Envoy keeps the old order, on which a ring hash may depend", priority),
		})
	}
}
