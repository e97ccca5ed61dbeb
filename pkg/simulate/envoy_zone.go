package simulate

import (
	"fmt"

	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// envoyZoneAware puts the state of zone-aware routing into words: what was counted, and what would be needed. The mode is
// the state that Envoy keeps for priority 0, the reason tells also whether a request gets there.
func envoyZoneAware(in *envoy.Input, e *envoy.Result) ZoneAware {
	z := &e.ZoneAware
	out := ZoneAware{Mode: string(z.Mode), Reason: z.Reason}
	switch z.Mode {
	case "":
		return ZoneAware{Mode: "off", Reason: "the policy does not route by zone"}
	case envoy.ZoneNone:
		out.Reason += zoneMissing(in, e)
		return out
	case envoy.ZoneDirect, envoy.ZoneResidual:
	default:
		return out
	}
	if why := notZoned(in, e); why != "" {
		out.Reason = "not used: " + why
		return out
	}
	switch {
	case z.LocalPanic:
		out.Reason = "the local cluster is in panic and fail_traffic_on_panic is set: what is routed by zone fails"
	case z.Forced:
		out.Reason = "force_local_zone keeps all requests in the own locality, whatever its part of the endpoints"
	case z.Mode == envoy.ZoneDirect:
		out.Reason = "the own locality has its part of the endpoints or more: all requests stay"
	default:
		rest := "the rest goes where capacity is left"
		if last := len(z.ResidualCapacity) - 1; z.ResidualCapacity[last] == 0 {
			rest = "no locality has capacity left for the rest, which goes to any"
		}
		out.Reason = fmt.Sprintf("%s of the requests stay in the own locality, %s", decimal(float64(z.LocalPercent)/10000), rest)
	}
	if z.EnabledPercent < 100 {
		out.Reason += fmt.Sprintf("; routing_enabled: this is for %d %% of the requests", z.EnabledPercent)
	}
	return out
}

// notZoned says why no request is routed by zone though the conditions are met; empty if some are.
func notZoned(in *envoy.Input, e *envoy.Result) string {
	p := &e.Priorities[0]
	if p.Panic {
		return "priority 0 is in panic"
	}
	for i := range p.Localities {
		if p.Localities[i].EffectiveWeight > 0 {
			return "locality weights come first"
		}
	}
	switch {
	case e.ZoneAware.EnabledPercent == 0:
		return "routing_enabled is 0 %"
	case e.ZoneAware.LocalPanic && !in.Policy.ZoneAware.FailTrafficOnPanic:
		return "the local cluster is in panic"
	}
	return ""
}

// routedByZone is the percentage of the requests of priority 0 whose endpoint is chosen inside a locality.
func routedByZone(in *envoy.Input, e *envoy.Result) uint64 {
	z := &e.ZoneAware
	if z.Mode != envoy.ZoneDirect && z.Mode != envoy.ZoneResidual || z.LocalPanic || notZoned(in, e) != "" {
		return 0
	}
	return z.EnabledPercent
}

// zoneMissing adds numbers to the condition that is not met.
func zoneMissing(in *envoy.Input, e *envoy.Result) string {
	switch e.ZoneAware.Reason {
	case "cluster too small":
		return fmt.Sprintf(": healthy endpoints in priority 0: %d, min_cluster_size is %d", e.ZoneAware.Healthy, minClusterSize(in))
	case "one upstream locality":
		return fmt.Sprintf(": priority 0 has endpoints in %d, two are needed", e.ZoneAware.Localities)
	case "one local locality":
		return fmt.Sprintf(": the local cluster has endpoints in %d, two are needed", e.ZoneAware.LocalLocalities)
	case "no local host in own locality":
		if in.NodeLocality == nil {
			return ": the node has none (--node-locality)"
		}
		return fmt.Sprintf(": the local cluster has no endpoint in %s", LocalityID(*in.NodeLocality))
	}
	return ""
}

func minClusterSize(in *envoy.Input) uint64 {
	switch {
	case in.Runtime.MinClusterSize != nil:
		return *in.Runtime.MinClusterSize
	case in.Policy.ZoneAware.MinClusterSize != nil:
		return *in.Policy.ZoneAware.MinClusterSize
	default:
		return envoy.DefaultMinClusterSize
	}
}
