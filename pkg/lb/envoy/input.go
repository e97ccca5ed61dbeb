package envoy

// Version is the minor number N of Envoy 1.N. Zero means Newest.
type Version int

// Newest is the newest Envoy whose behaviour is known here.
const Newest Version = 40

// Input is a cluster with its assignment and all else that decides where requests go.
type Input struct {
	Version Version
	// KeepCopies: copies of an address stay, as in STATIC and DNS clusters; EDS clusters keep the first.
	KeepCopies bool
	// Static: the cluster is STATIC, where hash policies take the priorities one after the other even in 1.40.
	Static bool
	// AsDocumented follows the API's documentation where Envoy does not: drop categories compose.
	AsDocumented bool

	Drops []Drop
	// DropLimitPercent is the runtime key load_balancing_policy.drop_overload_limit; nil when not set.
	DropLimitPercent *uint64

	// OverprovisioningFactor in percent; 0 means DefaultOverprovisioningFactor.
	OverprovisioningFactor uint32
	WeightedPriorityHealth bool
	// Groups are the assignment's LocalityLbEndpoints in order.
	Groups []Group

	Policy Policy
	// HealthyPanicThreshold in percent as configured, for instance 29 or 12.5; nil means DefaultHealthyPanicThreshold.
	HealthyPanicThreshold *float64
	Runtime               Runtime

	// NodeLocality is node.locality of the Envoy; nil when unset.
	NodeLocality *Locality
	// Local is the cluster that cluster_manager.local_cluster_name names; nil when there is none, which turns zone-aware
	// routing off.
	Local *Local
	// Tables of an earlier Build of the same policy are used again where nothing in them changes; nil builds all.
	Tables *Tables
	// Match is the request's metadata_match under envoy.lb (subsets); values are those of structpb.Value.AsInterface.
	Match map[string]any
}

// Defaults of the API (endpoint.proto, cluster.proto).
const (
	DefaultOverprovisioningFactor = 140
	DefaultHealthyPanicThreshold  = 50
	DefaultMinClusterSize         = 6
	DefaultChoiceCount            = 2
)

// Runtime has the integer runtime keys that Envoy asks for; nil fields are not set.
type Runtime struct {
	HealthyPanicThreshold *uint64 // upstream.healthy_panic_threshold, percent
	ZoneRoutingEnabled    *uint64 // upstream.zone_routing.enabled, percent
	MinClusterSize        *uint64 // upstream.zone_routing.min_cluster_size
	ForceLocalZoneMinSize *uint64 // upstream.zone_routing.force_local_zone.min_size
	// LevelByLevel: one of the guards that 1.40 needs to take all priorities in one batch is false
	// (enable_batch_aware_update, coalesce_lb_rebuilds_on_batch_update), so that it behaves like 1.39.
	LevelByLevel bool
}

// Drop is one category of drop_overloads.
type Drop struct {
	Category    string
	Numerator   uint32
	Denominator uint32 // 100, 10000 or 1000000; anything else is refused
}

// Locality is compared and ordered by region, zone, sub_zone.
type Locality struct{ Region, Zone, SubZone string }

// Group is one LocalityLbEndpoints.
type Group struct {
	Priority uint32
	// Locality is nil when the message is absent; such a group never carries a weight.
	Locality *Locality
	// Weight is load_balancing_weight; 0 means unset.
	Weight    uint32
	Endpoints []Endpoint
}

// Endpoint is one LbEndpoint.
type Endpoint struct {
	// Address is the text by which Envoy knows and hashes the address, such as "10.0.0.1:80".
	Address  string
	Hostname string
	// Weight is load_balancing_weight; 0 means unset and counts as 1.
	Weight uint32
	Health Health
	// Checks are what active health checks and outlier detection found beside the health in the file.
	Checks Checks
	// HashKey is the string in metadata envoy.lb hash_key; empty when there is none or it is no string.
	HashKey string
	// Metadata is the filter metadata under envoy.lb, for subsets only; values as in Input.Match.
	Metadata map[string]any
	// ActiveRequests are requests in flight, which least_request and bounded load look at.
	ActiveRequests uint32
	// HealthyMillis is how long the endpoint has been healthy, for slow start; nil means longer than any window.
	HealthyMillis *int64
}

// Health is health_status; the values are those of the API.
type Health int32

// The health states.
const (
	Unknown Health = iota
	Healthy
	Unhealthy
	Draining
	Timeout
	Degraded
)

// Checks is a set of host flags.
type Checks uint8

// The host flags that matter (envoy/upstream/upstream.h).
const (
	FailedActiveCheck Checks = 1 << iota
	FailedOutlierCheck
	PendingActiveCheck
	ExcludedByImmediateFail
	DegradedActiveCheck
	DegradedOutlierDetection
	PendingRemoval
)

// Local is the local cluster of zone-aware routing; only its priority 0 counts.
type Local struct {
	Groups []Group
	// KeepCopies: copies of an address stay, as in Input.
	KeepCopies bool
}
