package lint

import (
	"google.golang.org/protobuf/types/known/durationpb"

	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// byConfig checks the message that configures the type of the cluster, which Envoy reads and validates before it looks at
// anything else in the cluster (utility.h, downcastAndValidate).
func (b *build) byConfig() {
	config, at, refusal := eds.ClusterConfig(b.m, b.c.EnvoyVersion)
	if config == nil {
		return
	}
	if refusal != nil {
		effect := diag.Reject
		if refusal.Unknown {
			effect = b.unknownEffect()
		}
		b.envoyEffect(effect, stageConfig, refusal.Rule, refusal.Path, refusal.Words, refusal.Message)
		if !refusal.Unknown {
			return
		}
	}
	durations(config, at, func(path diag.Path, d *durationpb.Duration) {
		if reason := DurationError(d); reason != "" {
			b.envoy(stageConfig, "duration-invalid", path, durationWords, reason)
		}
	})
	for _, v := range violations(config) {
		words := v.words()
		if v.field == "clusters" {
			words = "an aggregate cluster needs clusters"
		}
		b.envoy(stageConfig, "cluster-constraint", at.Join(v.path), words, "Proto constraint validation failed ("+v.chain+")")
	}
}

// dnsCluster is the configuration of a cluster_type for DNS, and where it is written; nil for other types.
func (b *build) dnsCluster() (*dnsv3.DnsCluster, diag.Path) {
	config, at, _ := eds.ClusterConfig(b.m, b.c.EnvoyVersion)
	dns, _ := config.(*dnsv3.DnsCluster)
	return dns, at
}

// failureRate: upstream_impl.h, prepareDnsRefreshStrategy, in the constructors of DNS clusters: when the policy has been read.
func (b *build) failureRate() {
	at := inCluster("dns_failure_refresh_rate")
	var rate interface {
		GetBaseInterval() *durationpb.Duration
		GetMaxInterval() *durationpb.Duration
	} = b.m.GetDnsFailureRefreshRate()
	if dns, where := b.dnsCluster(); dns != nil {
		rate, at = dns.GetDnsFailureRefreshRate(), where.Field("dns_failure_refresh_rate")
	}
	if !b.takesNames() || rate.GetMaxInterval() == nil {
		return
	}
	if rate.GetMaxInterval().AsDuration().Milliseconds() < rate.GetBaseInterval().AsDuration().Milliseconds() {
		b.envoy(stageRefresh, "cluster-constraint", at.Field("max_interval"), "max_interval must not be less than base_interval",
			"dns_failure_refresh_rate must have max_interval greater than or equal to the base_interval")
	}
}
