package eds

import (
	"slices"

	"google.golang.org/protobuf/proto"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// PolicyConfig is the load balancing policy of a Cluster as one client reads it: EnvoyPolicy and GRPCPolicy. It is
// plain data for the rules and the simulation, whichever form the cluster is written in.
type PolicyConfig struct {
	// Name is that of the policy's package in the API ("ring_hash"), also for lb_policy values. It is empty when the
	// client finds no policy.
	Name string
	// FromExtension: the policy comes from load_balancing_policy, not from lb_policy and the fields beside it.
	FromExtension bool
	// Path of the policy's configuration, from the cluster: cluster.lb_policy, or the typed_config of an extension.
	Path diag.Path
	// ConfigPath is where its sizes and options are written: cluster.ring_hash_lb_config, or Path for an extension.
	ConfigPath diag.Path

	// LocalityWeighted: locality-weighted load balancing is on where this policy looks for it.
	LocalityWeighted bool
	ZoneAware        ZoneAwareConfig
	SlowStart        *SlowStartConfig // round_robin, least_request, client_side_weighted_round_robin
	// ChoiceCount of least_request as written; nil when absent.
	ChoiceCount *uint32
	FullScan    bool
	// ActiveRequestBias is the default value of the runtime double; nil when absent.
	ActiveRequestBias *float64
	Hash              *HashConfig // ring_hash and maglev
	Subset            *SubsetConfig
	// RemoteProbeFraction of load_aware_locality; nil when absent.
	RemoteProbeFraction *float64
	// Shuffle is shuffle_address_list of pick_first.
	Shuffle bool
	// Child is the policy inside subset, wrr_locality, override_host and load_aware_locality; nil for other policies and
	// when the client finds none.
	Child *PolicyConfig

	// HealthyPanicThreshold in percent as written in common_lb_config, which counts beside an extension too.
	HealthyPanicThreshold *float64
	// Refusals are the reasons for which the client refuses the cluster because of its policy, in the order of the
	// client, those of Child included. The first is the one it names.
	Refusals []Refusal
}

// Refusal is one reason to refuse a cluster.
type Refusal struct {
	Rule    string // id of the registry
	Path    diag.Path
	Message string // what the client says; a printed message in it is <dump>
	Words   string // what users are told; empty where the rule says it
	// Late: Envoy finds it when it builds the load balancer, after the hosts (cluster_manager_impl.cc, loadCluster).
	Late bool
	// Thrown: Envoy raises it as an exception, which leaves the constructor of a cluster at once; an error is looked at
	// after what the constructor of a DNS cluster checks.
	Thrown bool
	// Worker: like Late, but the workers find it when they make their own load balancers, once the cluster has its
	// endpoints (cluster_manager_impl.cc, ThreadLocalClusterManagerImpl::ClusterEntry).
	Worker bool
	// InSubset: only where the subset load balancer makes one for some endpoints.
	InSubset bool
	// InLocality: only where load_aware_locality makes one for a locality.
	InLocality bool
	// Crash: the process dies.
	Crash bool
	// Constraints has the message of an extension that breaks its own constraints, which say the rest.
	Constraints proto.Message
	// Unknown: the values of the policy hold something that Envoy does not know: it refuses a static cluster, and warns of
	// one that came by CDS. Message is what both have in common.
	Unknown bool
	// Parse: Envoy cannot read a text with this @type, which it does not have. It says so of the types in other messages too,
	// and of those of policies that it does not look at: the decoder reports them all.
	Parse bool
}

// ZoneAwareConfig mirrors ZoneAwareLbConfig. Zone-aware routing is active without it when there is a local cluster.
type ZoneAwareConfig struct {
	// Path of zone_aware_lb_config; nil when it is absent.
	Path diag.Path
	// RoutingEnabled in percent; nil when absent (100).
	RoutingEnabled     *float64
	MinClusterSize     *uint64 // nil when absent (6)
	FailTrafficOnPanic bool
	// ForceLocalZoneMinSize is force_local_zone.min_size, 1 for an empty message or for force_locality_direct_routing;
	// nil when neither is set.
	ForceLocalZoneMinSize *uint64
	// ByWeight is locality_basis: HEALTHY_HOSTS_WEIGHT.
	ByWeight bool
}

// SlowStartConfig mirrors the message of that name.
type SlowStartConfig struct {
	WindowMillis     int64
	Aggression       *float64 // nil when absent (1)
	MinWeightPercent *float64 // nil when absent (10)
}

// HashConfig mirrors RingHash, Maglev and what belongs to both.
type HashConfig struct {
	// Function is DEFAULT_HASH, XX_HASH or MURMUR_HASH_2; empty for maglev.
	Function        string
	MinimumRingSize *uint64 // nil when absent (1024)
	MaximumRingSize *uint64 // nil when absent (8388608)
	TableSize       *uint64 // nil when absent (65537)
	UseHostname     bool
	// BalanceFactor is hash_balance_factor in percent; nil when absent.
	BalanceFactor *uint32
	// BalanceFactorPath is where it is written.
	BalanceFactorPath diag.Path
	// HashPolicies is the number of entries of the policy's own hash_policy, which replaces that of the route.
	HashPolicies int
}

// Defaults of the hash policies (ring_hash.proto, maglev.proto), where the fields are absent.
const (
	DefaultMinimumRingSize = 1024
	DefaultMaximumRingSize = 8 << 20
	DefaultTableSize       = 65537
	// MaxTableSize is the documented limit of table_size.
	MaxTableSize = 5000011
)

// RingSizes are the minimum and the maximum with the defaults filled in.
func (h *HashConfig) RingSizes() (minimum, maximum uint64) {
	return orDefault(h.MinimumRingSize, DefaultMinimumRingSize), orDefault(h.MaximumRingSize, DefaultMaximumRingSize)
}

// Table is the table size with the default filled in.
func (h *HashConfig) Table() uint64 { return orDefault(h.TableSize, DefaultTableSize) }

// SubsetConfig mirrors lb_subset_config and the subset extension.
type SubsetConfig struct {
	Path                   diag.Path
	Fallback               string // NO_FALLBACK, ANY_ENDPOINT or DEFAULT_SUBSET
	DefaultSubset          map[string]any
	Selectors              []SubsetSelector
	LocalityWeightAware    bool
	ScaleLocalityWeight    bool
	PanicModeAny           bool
	ListAsAny              bool
	AllowRedundantKeys     bool
	MetadataFallbackPolicy string // METADATA_NO_FALLBACK or FALLBACK_LIST
}

// SubsetSelector mirrors LbSubsetSelector.
type SubsetSelector struct {
	Index               int // in the list
	Keys                []string
	SingleHostPerSubset bool
	Fallback            string // NOT_DEFINED, NO_FALLBACK, ANY_ENDPOINT, DEFAULT_SUBSET or KEYS_SUBSET
	FallbackKeys        []string
}

// Chain are the names of the policies from the outermost to the innermost.
func (p *PolicyConfig) Chain() []string {
	var names []string
	for ; p != nil && p.Name != ""; p = p.Child {
		names = append(names, p.Name)
	}
	return names
}

// Has tells whether one of the policies is in the chain.
func (p *PolicyConfig) Has(names ...string) bool { return p.Find(names...) != nil }

// Find is the outermost configuration of the chain with one of the names; nil when there is none.
func (p *PolicyConfig) Find(names ...string) *PolicyConfig {
	for ; p != nil; p = p.Child {
		if slices.Contains(names, p.Name) {
			return p
		}
	}
	return nil
}

// Picker is the innermost policy, the one that picks endpoints.
func (p *PolicyConfig) Picker() *PolicyConfig {
	for p.Child != nil && p.Child.Name != "" {
		p = p.Child
	}
	return p
}

// LocalityWeights tells whether locality weights count anywhere in the chain.
func (p *PolicyConfig) LocalityWeights() bool {
	for ; p != nil; p = p.Child {
		if p.LocalityWeighted {
			return true
		}
	}
	return false
}

// SumsWeights tells whether Envoy adds up weights before it makes the cluster (thread_aware_lb_impl.cc,
// TypedHashLbConfigBase::validateEndpoints): subset and load_aware_locality pass the question on to the policy inside,
// override_host does not.
func (p *PolicyConfig) SumsWeights() bool {
	for ; p != nil && p.Name != "override_host"; p = p.Child {
		if p.Hash != nil {
			return true
		}
	}
	return false
}

func (p *PolicyConfig) refuse(rule string, at diag.Path, message string) {
	p.Refusals = append(p.Refusals, Refusal{Rule: rule, Path: at, Message: message})
}

// childProvided: cluster_provided makes no load balancer, and Envoy does not look before it uses the one of a child.
func (p *PolicyConfig) childProvided(child *PolicyConfig) {
	if child.Name == "cluster_provided" {
		p.Refusals = append(p.Refusals, Refusal{Rule: "lb-policy-cluster-provided", Path: child.Path, Late: true, InSubset: p.Subset != nil, Crash: true,
			Message: "Caught Segmentation fault"})
	}
}

// adopt makes child the policy inside p.
func (p *PolicyConfig) adopt(child PolicyConfig) {
	child.madeBy(p.Name)
	p.Refusals = append(p.Refusals, child.Refusals...)
	if child.Name != "" {
		p.Child = &child
	}
}

// clusterPath is the root of paths into the cluster around a resource.
func clusterPath(field string) diag.Path { return diag.Path{}.Field("cluster").Field(field) }

// panicThreshold of a cluster in percent; nil when absent.
func panicThreshold(m *clusterv3.Cluster) *float64 {
	if t := m.GetCommonLbConfig().GetHealthyPanicThreshold(); t != nil {
		return new(t.GetValue())
	}
	return nil
}

// valued is a wrapper message.
type valued[T any] interface {
	comparable
	GetValue() T
}

// optional is the value of a wrapper; nil when the wrapper is absent.
func optional[T any, W valued[T]](w W) *T {
	var absent W
	if w == absent {
		return nil
	}
	return new(w.GetValue())
}

func orDefault[T any](p *T, d T) T {
	if p == nil {
		return d
	}
	return *p
}
