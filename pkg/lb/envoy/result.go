package envoy

// Method says how the shares were found.
type Method string

// The methods. Analytic: a formula that is exact in the long run; Enumeration: all residues of the random number were
// counted (random picks priority and endpoint with one number); HashSpace: the exact part of the 2^64 hashes that each
// endpoint owns.
const (
	Analytic    Method = "analytic"
	Enumeration Method = "exact enumeration"
	HashSpace   Method = "exact hash space"
)

// Result is the expected traffic of a cluster. All shares are fractions of all requests and
// endpoints + Dropped + Unavailable = 1.
type Result struct {
	// Rejected is Envoy's message when it refuses the drop_overloads or the policy; shares are then those of the rest
	// of the assignment without the refused part.
	Rejected string

	Drops       []DropShare
	Dropped     float64
	Unavailable float64 // "no healthy upstream"
	PanicPicks  float64 // requests that meet a priority in panic

	Loads      Loads
	Priorities []Priority
	Endpoints  []EndpointShare // in the order of Input.Groups and their Endpoints

	ZoneAware ZoneAwareResult
	Subset    SubsetResult
	Method    Method
}

// DropShare is a category with the share of all requests that it drops.
type DropShare struct {
	Category string
	Rate     float64 // of the requests that reach it
	Share    float64
}

// Priority is one level.
type Priority struct {
	Priority                                      int
	Hosts, Healthy, Degraded, Unhealthy, Excluded int
	// HealthyAvailability and DegradedAvailability are Envoy's integer scores, 0 to 100.
	HealthyAvailability, DegradedAvailability uint32
	// HealthyLoad and DegradedLoad are integer percents.
	HealthyLoad, DegradedLoad uint32
	Panic                     bool
	// Share of all requests that reach an endpoint of this level; Unavailable of those sent here and failed.
	Share, Unavailable float64
	Localities         []LocalityShare
	Why                string
}

// LocalityShare is one locality of a priority, in Envoy's order: the node's own first, then ascending.
type LocalityShare struct {
	Locality                                      Locality
	Hosts, Healthy, Degraded, Unhealthy, Excluded int
	Weight                                        uint32
	// EffectiveWeight and EffectiveDegradedWeight are those of locality-weighted load balancing; 0 when it is not used.
	EffectiveWeight, EffectiveDegradedWeight float64
	Share                                    float64
}

// EndpointShare is one endpoint.
type EndpointShare struct {
	Group, Index int // position in Input.Groups and in its Endpoints
	Address      string
	Priority     int
	Locality     Locality
	Class        Class
	Excluded     bool
	// Duplicate: the address was defined before, so that Envoy ignores this copy.
	Duplicate bool
	Weight    uint32
	Share     float64
	// Later is the part of Share from the attempts after the first, which get what found no endpoint before.
	Later float64
}

// Class is the coarse health of an endpoint.
type Class uint8

// The classes.
const (
	ClassHealthy Class = iota
	ClassDegraded
	ClassUnhealthy
)

// ZoneAwareMode is how priority 0 is routed.
type ZoneAwareMode string

// The modes. Off: no local cluster; None: a precondition fails (Reason); Direct: all to the own locality; Residual: a part
// stays, the rest goes where capacity is left.
const (
	ZoneOff      ZoneAwareMode = "off"
	ZoneNone     ZoneAwareMode = "none"
	ZoneDirect   ZoneAwareMode = "direct"
	ZoneResidual ZoneAwareMode = "residual"
)

// ZoneAwareResult says how zone-aware routing treats priority 0.
type ZoneAwareResult struct {
	Mode   ZoneAwareMode
	Reason string
	// Forced: everything stays only because force_local_zone wants it (direct).
	Forced bool
	// Healthy hosts and Localities of priority 0 that are balanced over: a subset's, if there is one.
	Healthy, Localities int
	// LocalLocalities of the local cluster have hosts.
	LocalLocalities int
	// LocalPercent is the part that stays, in 1/10000 (residual).
	LocalPercent uint64
	// ResidualCapacity is cumulative, by locality of priority 0.
	ResidualCapacity []uint64
	// Upstream and LocalShare are the percentages in 1/10000 by locality of priority 0.
	Upstream, LocalShare []uint64
	// EnabledPercent of the requests are routed by zone.
	EnabledPercent uint64
	// LocalPanic: the local cluster is in panic, so that the flat list is used (or no host with fail_traffic_on_panic).
	LocalPanic bool
}

// SubsetResult says which hosts a request with the given criteria is balanced over.
type SubsetResult struct {
	// Used is false without subset configuration.
	Used bool
	// Kind is "subset", "fallback any endpoint", "fallback default subset", "fallback keys subset" or "no host".
	Kind string
	// Match is the criteria that chose the hosts.
	Match  map[string]any
	Hosts  int
	Reason string
	// Single: one host gets all, whatever its health (single_host_per_subset).
	Single bool
	// Later are the kinds of the attempts after the first.
	Later []string
}
