package lint

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// factor of an assignment in percent, with the default filled in.
func factor(cla *endpointv3.ClusterLoadAssignment) uint32 {
	if f := cla.GetPolicy().GetOverprovisioningFactor(); f != nil {
		return f.GetValue()
	}
	return 140
}

// findChanges finds the priorities in which Envoy sees a change (upstream_impl.cc,
// BaseDynamicClusterImpl::updateDynamicHostList; eds.cc, updateLocalityEndpoints): a host that comes, goes or moves, its
// weight, health class, metadata or (since 1.39) hostname, a locality weight, and for all priorities the overprovisioning
// factor and weighted_priority_health.
func (u *Update) findChanges() {
	was, now := u.Was.Resource.Assignment, u.Now.Resource.Assignment
	if factor(was) != factor(now) || was.GetPolicy().GetWeightedPriorityHealth() != now.GetPolicy().GetWeightedPriorityHealth() {
		for _, cla := range []*endpointv3.ClusterLoadAssignment{was, now} {
			for _, group := range cla.GetEndpoints() {
				u.changed[group.GetPriority()] = true
			}
		}
	}
	for i := range u.was {
		if _, stays := u.after[u.was[i].address]; !stays {
			u.changed[u.was[i].priority] = true
		}
	}
	for i := range u.now {
		now := &u.now[i]
		j, known := u.before[now.address]
		if !known {
			u.changed[now.priority] = true
			continue
		}
		if was := &u.was[j]; was.priority != now.priority {
			u.changed[was.priority], u.changed[now.priority] = true, true
		} else if u.sees(was, now) {
			u.changed[now.priority] = true
		}
	}
	u.localityWeights(was, now)
	u.levels(was, now)
}

// sees tells whether Envoy sees a difference between two versions of a host at one priority.
func (u *Update) sees(was, now *updateHost) bool {
	return !sameLocality(was.group.GetLocality(), now.group.GetLocality()) ||
		max(1, was.GetLoadBalancingWeight().GetValue()) != max(1, now.GetLoadBalancingWeight().GetValue()) ||
		healthClass(was.GetHealthStatus()) != healthClass(now.GetHealthStatus()) ||
		!eds.SameMetadata(was.GetMetadata(), now.GetMetadata()) ||
		u.Now.EnvoyVersion >= hostnameVersion && was.GetEndpoint().GetHostname() != now.GetEndpoint().GetHostname()
}

// hostnameVersion is the first minor version that applies a change of hostname to a host that stays.
const hostnameVersion = 39

func sameLocality(a, b *corev3.Locality) bool {
	return a.GetRegion() == b.GetRegion() && a.GetZone() == b.GetZone() && a.GetSubZone() == b.GetSubZone()
}

// healthClass is what Envoy compares: healthy, degraded or unhealthy. DRAINING is unhealthy here.
func healthClass(h corev3.HealthStatus) string {
	switch h {
	case corev3.HealthStatus_UNHEALTHY, corev3.HealthStatus_DRAINING, corev3.HealthStatus_TIMEOUT:
		return "unhealthy"
	case corev3.HealthStatus_DEGRADED:
		return "degraded"
	default:
		return "healthy"
	}
}

// levels marks the priorities that are new, also those without endpoints: Envoy makes their sets of hosts (observed). A set
// is never taken away again.
func (u *Update) levels(was, now *endpointv3.ClusterLoadAssignment) {
	for priority := highestPriority(was) + 1; priority <= highestPriority(now); priority++ {
		u.changed[priority] = true
	}
}

func highestPriority(cla *endpointv3.ClusterLoadAssignment) uint32 {
	highest := uint32(0) // it always exists
	for _, group := range cla.GetEndpoints() {
		highest = max(highest, min(group.GetPriority(), envoy.MaxPriority))
	}
	return highest
}

// localityWeights compares the weights of localities by priority, also of those without endpoints (observed); the last
// entry with a weight counts, and one without the locality message has none.
func (u *Update) localityWeights(was, now *endpointv3.ClusterLoadAssignment) {
	type key struct {
		priority              uint32
		region, zone, subZone string
	}
	collect := func(cla *endpointv3.ClusterLoadAssignment) map[key]uint32 {
		out := map[key]uint32{}
		for _, group := range cla.GetEndpoints() {
			if l := group.GetLocality(); l != nil && group.GetLoadBalancingWeight() != nil {
				out[key{group.GetPriority(), l.GetRegion(), l.GetZone(), l.GetSubZone()}] = group.GetLoadBalancingWeight().GetValue()
			}
		}
		return out
	}
	before, after := collect(was), collect(now)
	for k, w := range after {
		if before[k] != w {
			u.changed[k.priority] = true
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok {
			u.changed[k.priority] = true
		}
	}
}
