package eds

import (
	"fmt"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// EnvoyPolicy reads the policy of a cluster as Envoy 1.version does (upstream_impl.cc, ClusterInfoImpl and
// configureLbPolicies). m may be nil: then it is that of a cluster without any configuration.
func EnvoyPolicy(m *clusterv3.Cluster, version int) PolicyConfig {
	var p PolicyConfig
	if m.GetLoadBalancingPolicy() != nil || m.GetLbPolicy() == clusterv3.Cluster_LOAD_BALANCING_POLICY_CONFIG {
		p = envoyExtension(m, version)
	} else {
		p = envoyLegacy(m)
	}
	p.HealthyPanicThreshold = panicThreshold(m)
	p.checkPanic()
	return p
}

// envoyExtension reads load_balancing_policy.
func envoyExtension(m *clusterv3.Cluster, version int) PolicyConfig {
	var p PolicyConfig
	if m.GetLoadBalancingPolicy() == nil {
		p.refuse("lb-policy-config-missing", clusterPath("lb_policy"), "cluster: field load_balancing_policy need to be set")
		return p
	}
	if m.GetLbSubsetConfig() != nil {
		p.refuse("lb-policy-conflict", clusterPath("lb_subset_config"), "cluster: load_balancing_policy cannot be combined with lb_subset_config")
	}
	for _, partial := range partialFields(m.GetCommonLbConfig()) {
		p.refuse("lb-policy-conflict", clusterPath("common_lb_config").Field(partial),
			"cluster: load_balancing_policy cannot be combined with partial fields (zone_aware_lb_config, locality_weighted_lb_config, consistent_hashing_lb_config) of common_lb_config")
	}
	at := clusterPath("load_balancing_policy")
	found, missing := envoyList(m.GetLoadBalancingPolicy(), at, version)
	found.Refusals = append(p.Refusals, found.Refusals...)
	if found.Name == "" {
		found.refuse("lb-policy-unknown", at, fmt.Sprintf(
			"cluster: didn't find a registered load balancer factory implementation for cluster: '%s' with names from [%s]", m.GetName(), strings.Join(missing, ", ")))
	}
	return found
}

func partialFields(c *clusterv3.Cluster_CommonLbConfig) []string {
	var fields []string
	if c.GetZoneAwareLbConfig() != nil {
		fields = append(fields, "zone_aware_lb_config")
	}
	if c.GetLocalityWeightedLbConfig() != nil {
		fields = append(fields, "locality_weighted_lb_config")
	}
	if c.GetConsistentHashingLbConfig() != nil {
		fields = append(fields, "consistent_hashing_lb_config")
	}
	return fields
}

// envoyList is the first policy of a list that Envoy has, and the names of those before it. A type of an Envoy policy
// that this Envoy does not have makes the text unreadable wherever it stands in the list.
func envoyList(list *clusterv3.LoadBalancingPolicy, at diag.Path, version int) (PolicyConfig, []string) {
	var p PolicyConfig
	var missing []string
	for i, item := range list.GetPolicies() {
		extension := item.GetTypedExtensionConfig()
		path := at.Field("policies").Index(i).Field("typed_extension_config.typed_config")
		url := extension.GetTypedConfig().GetTypeUrl()
		if direct := messageName(url); strings.HasPrefix(direct, policyPackage) && unknownTypeReason(direct, version) != "" {
			p.Refusals = append(p.Refusals, Refusal{Rule: "lb-policy-unknown", Path: path, Parse: true, Message: fmt.Sprintf(
				"Unable to parse JSON as proto (INVALID_ARGUMENT: could not find @type '%s')", url)})
		}
		if p.Name != "" {
			continue
		}
		name, message, bad := policyConfig(extension.GetTypedConfig(), version)
		if !envoyHas(name, version) {
			missing = append(missing, extension.GetName())
			continue
		}
		q := PolicyConfig{Name: policyTypes[name].name, FromExtension: true, Path: path, ConfigPath: path}
		q.readExtension(message, version)
		q.complain(bad)
		q.Refusals = append(p.Refusals, q.Refusals...)
		p = q
	}
	return p, missing
}

func envoyHas(message string, version int) bool {
	t, ok := policyTypes[message]
	return ok && t.since > 0 && version >= t.since
}

// envoyLegacy reads lb_policy and the fields beside it (LegacyLbPolicyConfigHelper).
func envoyLegacy(m *clusterv3.Cluster) PolicyConfig {
	common := m.GetCommonLbConfig()
	p := PolicyConfig{
		Name: strings.ToLower(m.GetLbPolicy().String()), Path: clusterPath("lb_policy"),
		LocalityWeighted: common.GetLocalityWeightedLbConfig() != nil,
		ZoneAware:        legacyZoneAware(common.GetZoneAwareLbConfig()),
	}
	switch m.GetLbPolicy() {
	case clusterv3.Cluster_ROUND_ROBIN:
		p.ConfigPath = clusterPath("round_robin_lb_config")
		p.checkZone()
		readSlowStart(&p, m.GetRoundRobinLbConfig().GetSlowStartConfig())
	case clusterv3.Cluster_LEAST_REQUEST:
		p.ConfigPath = clusterPath("least_request_lb_config")
		c := m.GetLeastRequestLbConfig()
		p.ChoiceCount, p.ActiveRequestBias = optional(c.GetChoiceCount()), runtimeDouble(c.GetActiveRequestBias())
		p.checkZone()
		readSlowStart(&p, c.GetSlowStartConfig())
	case clusterv3.Cluster_RANDOM:
		p.checkZone()
	case clusterv3.Cluster_RING_HASH:
		p.ConfigPath = clusterPath("ring_hash_lb_config")
		c := m.GetRingHashLbConfig()
		p.Hash = legacyHash(common)
		p.Hash.Function = c.GetHashFunction().String()
		p.Hash.MinimumRingSize, p.Hash.MaximumRingSize = optional(c.GetMinimumRingSize()), optional(c.GetMaximumRingSize())
		p.checkRing()
	case clusterv3.Cluster_MAGLEV:
		p.ConfigPath = clusterPath("maglev_lb_config")
		p.Hash = legacyHash(common)
		p.Hash.TableSize = optional(m.GetMaglevLbConfig().GetTableSize())
		p.checkTable()
	}
	subset := m.GetLbSubsetConfig()
	// Without selectors the subset load balancer is not used at all.
	if len(subset.GetSubsetSelectors()) > 0 {
		p = legacySubset(subset, p)
	}
	if subset.GetLocalityWeightAware() && common.GetLocalityWeightedLbConfig() == nil {
		p.refuse("cluster-constraint", clusterPath("lb_subset_config.locality_weight_aware"),
			fmt.Sprintf("Locality weight aware subset LB requires that a locality_weighted_lb_config be set in %s", m.GetName()))
	}
	return p
}

func legacyZoneAware(c *clusterv3.Cluster_CommonLbConfig_ZoneAwareLbConfig) ZoneAwareConfig {
	if c == nil {
		return ZoneAwareConfig{}
	}
	z := ZoneAwareConfig{Path: clusterPath("common_lb_config.zone_aware_lb_config"), MinClusterSize: optional(c.GetMinClusterSize()), FailTrafficOnPanic: c.GetFailTrafficOnPanic()}
	if e := c.GetRoutingEnabled(); e != nil {
		z.RoutingEnabled = new(e.GetValue())
	}
	return z
}

func legacyHash(common *clusterv3.Cluster_CommonLbConfig) *HashConfig {
	c := common.GetConsistentHashingLbConfig()
	return &HashConfig{UseHostname: c.GetUseHostnameForHashing(), BalanceFactor: optional(c.GetHashBalanceFactor()),
		BalanceFactorPath: clusterPath("common_lb_config.consistent_hashing_lb_config.hash_balance_factor")}
}

// runtimeDouble is the value that counts when the runtime says nothing; nil when absent.
func runtimeDouble(d *corev3.RuntimeDouble) *float64 {
	if d == nil {
		return nil
	}
	return new(d.GetDefaultValue())
}

// checkRing: RingHashLoadBalancer's constructor compares the sizes.
func (p *PolicyConfig) checkRing() {
	minimum, maximum := p.Hash.RingSizes()
	if minimum <= maximum {
		return
	}
	field := "minimum_ring_size"
	if p.Hash.MinimumRingSize == nil {
		field = "maximum_ring_size"
	}
	p.Refusals = append(p.Refusals, Refusal{Rule: "ring-hash-size-bounds", Path: p.ConfigPath.Field(field), Late: true,
		Message: fmt.Sprintf("ring hash: minimum_ring_size (%d) > maximum_ring_size (%d)", minimum, maximum)})
}

// checkTable: MaglevLoadBalancer's constructor wants a prime, and takes 1 for one (maglev_lb.cc; Primes::isPrime).
func (p *PolicyConfig) checkTable() {
	size := p.Hash.Table()
	at := p.ConfigPath.Field("table_size")
	switch {
	case size == 1:
		p.Refusals = append(p.Refusals, Refusal{Rule: "maglev-table-size-one", Path: at, Late: true, Crash: true, Message: "Caught Floating point exception"})
	case uint32(size) != 1 && !isPrime(uint64(uint32(size))): //nolint:gosec // isPrime takes an uint32_t, so only the low half is looked at
		p.Refusals = append(p.Refusals, Refusal{Rule: "maglev-table-size-not-prime", Path: at, Late: true, Message: "The table size of maglev must be prime number"})
	}
}

func isPrime(n uint64) bool {
	if n < 4 {
		return n == 2 || n == 3
	}
	if n%2 == 0 {
		return false
	}
	for d := uint64(3); d <= n/d; d += 2 {
		if n%d == 0 {
			return false
		}
	}
	return true
}
