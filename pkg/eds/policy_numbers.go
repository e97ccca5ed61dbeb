package eds

import (
	"math"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	loadawarev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/load_aware_locality/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// madeBy notes at the refusals of a policy what makes its load balancer.
func (p *PolicyConfig) madeBy(wrapper string) {
	for i := range p.Refusals {
		r := &p.Refusals[i]
		switch {
		case wrapper == "subset" && r.Late: // by the workers (subset_lb.cc)
			r.InSubset = true
			r.Worker = r.Worker || !r.Crash
		case wrapper == "load_aware_locality" && (r.Worker || r.InSubset):
			r.InLocality = true
		}
	}
}

// checkPanic: a threshold that is no number passes the constraints. The constructor of the first load balancer of the
// chain that looks at it throws (load_balancer_impl.cc, LoadBalancerBase); those of the hash policies and of
// load_aware_locality are made with the cluster, the others by the workers.
func (p *PolicyConfig) checkPanic() {
	r := Refusal{Rule: "cluster-constraint", Path: clusterPath("common_lb_config.healthy_panic_threshold.value"), Late: true, Message: percentRange}
	if !notNumber(p.HealthyPanicThreshold) {
		return
	}
	q := p
	for q != nil && (q.Name == "override_host" || q.Name == "subset") {
		r.InSubset = r.InSubset || q.Name == "subset"
		q = q.Child
	}
	if q == nil || q.Name == "" || q.Name == "cluster_provided" {
		return // nothing looks at it
	}
	r.Worker = r.InSubset || q.Hash == nil && q.Name != "load_aware_locality"
	// It is the first thing that the constructor looks at.
	i := slices.IndexFunc(p.Refusals, func(r Refusal) bool { return r.Late })
	if i < 0 {
		i = len(p.Refusals)
	}
	p.Refusals = slices.Insert(p.Refusals, i, r)
}

// percentRange is Envoy's text about a percentage that is no number (protobuf/utility.cc, convertPercent).
const percentRange = "Value not in the range of 0..100 range."

func notNumber(f *float64) bool { return f != nil && math.IsNaN(*f) }

func (p *PolicyConfig) refuseWorker(rule string, at diag.Path, message string) {
	p.Refusals = append(p.Refusals, Refusal{Rule: rule, Path: at, Late: true, Worker: true, Message: message})
}

// checkZone: ZoneAwareLoadBalancerBase, which comes before the slow start.
func (p *PolicyConfig) checkZone() {
	if notNumber(p.ZoneAware.RoutingEnabled) {
		p.refuseWorker("cluster-constraint", p.ZoneAware.Path.Field("routing_enabled.value"), percentRange)
	}
}

// slowStartMessage is the configuration of a Cluster or of an extension, which have the same fields.
type slowStartMessage interface {
	comparable
	GetSlowStartWindow() *durationpb.Duration
	GetAggression() *corev3.RuntimeDouble
	GetMinWeightPercent() *typev3.Percent
}

// readSlowStart: EdfLoadBalancerBase. The duration in a field of the cluster is checked with those of the cluster.
func readSlowStart[M slowStartMessage](p *PolicyConfig, c M) {
	if c == *new(M) {
		return
	}
	s := &SlowStartConfig{WindowMillis: c.GetSlowStartWindow().AsDuration().Milliseconds(), Aggression: runtimeDouble(c.GetAggression())}
	if w := c.GetMinWeightPercent(); w != nil {
		s.MinWeightPercent = new(w.GetValue())
	}
	p.SlowStart = s
	at := p.ConfigPath.Field("slow_start_config")
	if says := DurationError(c.GetSlowStartWindow()); says != "" && p.FromExtension {
		p.refuseWorker("duration-invalid", at.Field("slow_start_window"), says)
	}
	if notNumber(s.MinWeightPercent) {
		p.refuseWorker("cluster-constraint", at.Field("min_weight_percent.value"), percentRange)
	}
}

// duration refuses one that Envoy reads with the configuration, and tells whether it is good.
func (p *PolicyConfig) duration(field string, d *durationpb.Duration) bool {
	says := DurationError(d)
	if says != "" {
		p.Refusals = append(p.Refusals, Refusal{Rule: "duration-invalid", Path: p.Path.Field(field), Thrown: true, Message: says})
	}
	return says == ""
}

// clientSideDurations in the order of ClientSideWeightedRoundRobinLbConfig, which reads the last since 1.39.
func (p *PolicyConfig) clientSideDurations(c *wrrv3.ClientSideWeightedRoundRobin, version int) {
	p.duration("blackout_period", c.GetBlackoutPeriod())
	p.duration("weight_expiration_period", c.GetWeightExpirationPeriod())
	p.duration("weight_update_period", c.GetWeightUpdatePeriod())
	if version >= 39 {
		p.duration("oob_reporting_period", c.GetOobReportingPeriod())
	}
}

// loadAwareNumbers in the order of load_aware_locality/config.cc, which looks at them before the policy inside.
func (p *PolicyConfig) loadAwareNumbers(c *loadawarev3.LoadAwareLocality) {
	if d := c.GetWeightUpdatePeriod(); p.duration("weight_update_period", d) && d != nil && d.AsDuration().Milliseconds() < 100 {
		p.refuse("cluster-constraint", p.Path.Field("weight_update_period"), "weight_update_period must be at least 100ms")
	}
	if d := c.GetSmoothingTimeConstant(); p.duration("smoothing_time_constant", d) && d != nil && d.AsDuration().Milliseconds() == 0 {
		p.refuse("cluster-constraint", p.Path.Field("smoothing_time_constant"), "smoothing_time_constant must be positive")
	}
	if t := optional(c.GetUtilizationVarianceThreshold()); t != nil && !(*t >= 0 && *t <= 1) {
		p.refuse("cluster-constraint", p.Path.Field("utilization_variance_threshold"), "utilization_variance_threshold must be in [0, 1]")
	}
	if f := p.RemoteProbeFraction; f != nil && !(*f >= 0 && *f < 1) {
		p.refuse("cluster-constraint", p.Path.Field("remote_probe_fraction"), "remote_probe_fraction must be in [0, 1)")
	}
	p.duration("weight_expiration_period", c.GetWeightExpirationPeriod())
	p.duration("oob_reporting_period", c.GetOobReportingPeriod())
}
