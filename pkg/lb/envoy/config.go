package envoy

import "github.com/edsctl/edsctl/pkg/lb"

// Name is a load balancing policy, spelled as in the extension's name.
type Name string

// The policies that are modelled. wrr_locality is ClientSideWeighted with LocalityWeighted; override_host without its
// header is its fallback policy; subset is Policy.Subset around the others, or Policy.Inside.
const (
	RoundRobin         Name = "round_robin"
	LeastRequest       Name = "least_request"
	Random             Name = "random"
	RingHash           Name = "ring_hash"
	Maglev             Name = "maglev"
	ClientSideWeighted Name = "client_side_weighted_round_robin"
	LoadAwareLocality  Name = "load_aware_locality"
)

// Policy is the load balancing policy of a cluster, legacy fields and extension forms alike.
type Policy struct {
	Name Name
	// LocalityWeighted: locality_weighted_lb_config is present where this policy looks for it.
	LocalityWeighted bool
	// ZoneAware is zone_aware_lb_config; the zero value has the defaults, which are active without any configuration.
	ZoneAware ZoneAware

	SlowStart    SlowStart    // round_robin and least_request
	LeastRequest LeastChoices // least_request
	Hash         Hash         // ring_hash and maglev
	// RemoteProbeFraction of load_aware_locality; nil means 0.03.
	RemoteProbeFraction *float64
	// Endpoint is the endpoint_picking_policy of load_aware_locality; empty means round_robin. A hash policy there, with
	// no subset around or inside, is as good as the hash policy alone, which is then the Name.
	Endpoint Name
	// Inside is the subset inside load_aware_locality: it filters the endpoints of the locality that was chosen.
	Inside *Subset
	Subset *Subset
}

// ZoneAware mirrors ZoneAwareLbConfig.
type ZoneAware struct {
	// RoutingEnabled in percent as configured; nil means 100.
	RoutingEnabled     *float64
	MinClusterSize     *uint64 // nil means DefaultMinClusterSize
	FailTrafficOnPanic bool
	// ForceLocalZoneMinSize is force_local_zone.min_size, 1 for an empty message or for force_locality_direct_routing;
	// nil when neither is set.
	ForceLocalZoneMinSize *uint64
	// ByWeight is locality_basis: HEALTHY_HOSTS_WEIGHT.
	ByWeight bool
}

// SlowStart mirrors SlowStartConfig.
type SlowStart struct {
	WindowMillis     int64    // 0 is off
	Aggression       *float64 // nil means 1
	MinWeightPercent *float64 // nil means 10
}

// LeastChoices mirrors LeastRequest.
type LeastChoices struct {
	ChoiceCount uint32 // 0 means DefaultChoiceCount
	FullScan    bool
	// ActiveRequestBias: nil means 1.
	ActiveRequestBias *float64
}

// Hash mirrors RingHash, Maglev and their ConsistentHashingLbConfig.
type Hash struct {
	Function        lb.HashFunction
	MinimumRingSize *uint64 // nil means lb.DefaultMinimumRingSize; an explicit 0 is an empty ring
	MaximumRingSize *uint64 // nil means lb.DefaultMaximumRingSize
	TableSize       *uint64 // nil means lb.DefaultTableSize
	UseHostname     bool
	// BalanceFactor is hash_balance_factor in percent; 0 is unbounded.
	BalanceFactor uint32
}

// Subset mirrors lb_subset_config and the subset extension.
type Subset struct {
	Fallback            Fallback
	DefaultSubset       map[string]any
	Selectors           []Selector
	LocalityWeightAware bool
	ScaleLocalityWeight bool
	PanicModeAny        bool
	ListAsAny           bool
	AllowRedundantKeys  bool
	// MetadataFallbackList: metadata_fallback_policy is FALLBACK_LIST.
	MetadataFallbackList bool
	// Inner is the subset inside this one: it filters the endpoints that this one leaves.
	Inner *Subset
}

// Selector mirrors LbSubsetSelector.
type Selector struct {
	Keys                []string
	Fallback            Fallback // NotDefined: the cluster's
	FallbackKeys        []string // of KeysSubset
	SingleHostPerSubset bool
}

// Fallback is a subset fallback policy.
type Fallback string

// The fallback policies. NoFallback is the cluster's default, NotDefined the selector's.
const (
	NotDefined    Fallback = ""
	NoFallback    Fallback = "NO_FALLBACK"
	AnyEndpoint   Fallback = "ANY_ENDPOINT"
	DefaultSubset Fallback = "DEFAULT_SUBSET"
	KeysSubset    Fallback = "KEYS_SUBSET"
)
