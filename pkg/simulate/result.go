package simulate

import endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

// Result is the expected traffic of one assignment under one client, in the JSON shape of the simulate command. All
// shares are fractions of all requests that reach the cluster: dropped, unavailable and the endpoints' shares add up to 1.
type Result struct {
	Name    string   `json:"name"`
	File    string   `json:"file"`
	Line    int      `json:"line,omitempty"`
	Client  string   `json:"client"`
	Cluster *Cluster `json:"cluster,omitempty"`
	// APIVersion that the assignment is written in; it is simulated after the upgrade to v3.
	APIVersion string `json:"api_version,omitempty"`
	Policy     string `json:"policy"`

	Verdict string `json:"verdict"`
	Message string `json:"message"`
	// Method says how the shares were found: analytic, exact enumeration or exact hash space.
	Method string   `json:"method"`
	Notes  []string `json:"notes"`

	Dropped     float64 `json:"dropped"`
	Drops       []Drop  `json:"drops"`
	Unavailable float64 `json:"unavailable"`
	Panic       bool    `json:"panic"` // every priority is in panic

	ZoneAware ZoneAware `json:"zone_aware"`
	Subset    *Subset   `json:"subset"`

	Priorities []Priority `json:"priorities"`
	Endpoints  []Endpoint `json:"endpoints"`
	Keys       []Key      `json:"keys,omitempty"`

	RPS    float64 `json:"rps,omitempty"`
	Sample *Run    `json:"sample,omitempty"`
	Steps  []Step  `json:"steps,omitempty"`

	// Missed are the changes that select no endpoint (Options.Optional), in their order.
	Missed []Missed `json:"-"`

	// cla is what was simulated, with the what-ifs in it; Group and Index of the endpoints are places in it.
	cla *endpointv3.ClusterLoadAssignment
	// pick is the index of the endpoint that a request hash goes to, -1 for none; nil for policies without hash.
	pick func(hash uint64) int
}

// Missed is a change that selects no endpoint of the assignment, and why.
type Missed struct {
	Change int // index in Options.Changes
	Err    error
}

// Cluster is what a result says about the Cluster around the assignment.
type Cluster struct {
	Name string `json:"name"`
	Type string `json:"type"` // EDS, STATIC, ..., or the name of a cluster_type
}

// Drop is one category of drop_overloads. Configured is its own fraction, Share what it takes of all requests.
type Drop struct {
	Category   string  `json:"category"`
	Configured float64 `json:"configured"`
	Share      float64 `json:"share"`
	Rate       float64 `json:"rate,omitempty"` // Share times rps
}

// ZoneAware is how priority 0 is routed by zone: off, none (a condition is missing), direct or residual.
type ZoneAware struct {
	Mode   string `json:"mode"`
	Reason string `json:"reason"`
}

// Subset is which endpoints a request is balanced over when the cluster has subsets.
type Subset struct {
	Kind   string         `json:"kind"`
	Match  map[string]any `json:"match,omitempty"`
	Hosts  int            `json:"hosts"`
	Reason string         `json:"reason"`
}

// Percents are integers in percent, one for each health class that gets traffic.
type Percents struct {
	Healthy  uint32 `json:"healthy"`
	Degraded uint32 `json:"degraded"`
}

// Priority is one level.
type Priority struct {
	Priority     uint32     `json:"priority"`
	Availability *Percents  `json:"availability"` // null for gRPC, which has none
	Load         Percents   `json:"load"`
	Panic        bool       `json:"panic"`
	Share        float64    `json:"share"`
	Unavailable  float64    `json:"unavailable"` // sent here, and no endpoint took it
	Rate         float64    `json:"rate,omitempty"`
	Hosts        int        `json:"hosts"`
	Healthy      int        `json:"healthy"`
	Degraded     int        `json:"degraded"`
	Excluded     int        `json:"excluded"`
	Localities   []Locality `json:"localities"`
	Why          string     `json:"why,omitempty"`
}

// LocalityID names a locality.
type LocalityID struct {
	Region  string `json:"region"`
	Zone    string `json:"zone"`
	SubZone string `json:"sub_zone"`
}

// String is region/zone/sub_zone as far as it goes, "-" for the empty locality.
func (l LocalityID) String() string {
	text := l.Region + "/" + l.Zone + "/" + l.SubZone
	for len(text) > 0 && text[len(text)-1] == '/' {
		text = text[:len(text)-1]
	}
	if text == "" {
		return "-"
	}
	return text
}

// Locality is one locality of a priority. EffectiveWeight is what the weight counts for after health; 0 where locality
// weights are not used.
type Locality struct {
	LocalityID
	Weight          uint32  `json:"weight"`
	EffectiveWeight float64 `json:"effective_weight"`
	Share           float64 `json:"share"`
	Rate            float64 `json:"rate,omitempty"`
	Hosts           int     `json:"hosts"`
	Healthy         int     `json:"healthy"`
}

// Endpoint is one endpoint; every endpoint of the assignment is listed, in document order.
type Endpoint struct {
	Address  string     `json:"address"`
	Hostname string     `json:"hostname,omitempty"`
	Path     string     `json:"path"`
	Priority uint32     `json:"priority"`
	Locality LocalityID `json:"locality"`
	Health   string     `json:"health_status"`
	// Class is healthy, degraded, unhealthy, excluded, duplicate or ignored.
	Class  string  `json:"class"`
	Weight uint32  `json:"weight"`
	Share  float64 `json:"share"`
	Rate   float64 `json:"rate,omitempty"`
	*Sampled
	Why string `json:"why"`

	// Group and Index are the endpoint's place: endpoints[Group].lb_endpoints[Index].
	Group int `json:"-"`
	Index int `json:"-"`
	// Name is the host name that Address was resolved from; empty unless --resolve was used.
	Name string `json:"resolved_from,omitempty"`
}

// The classes of endpoints.
const (
	ClassHealthy   = "healthy"
	ClassDegraded  = "degraded"
	ClassUnhealthy = "unhealthy"
	ClassExcluded  = "excluded"
	ClassDuplicate = "duplicate"
	ClassIgnored   = "ignored"
)

// Sampled is what seeded requests gave an endpoint.
type Sampled struct {
	Requests      int64   `json:"requests"`
	SampledShare  float64 `json:"sampled_share"`
	StandardError float64 `json:"standard_error"` // of SampledShare around Share
}

// Run is the whole of the seeded requests.
type Run struct {
	Requests    int64  `json:"requests"`
	Seed        uint64 `json:"seed"`
	Dropped     int64  `json:"dropped"`
	Unavailable int64  `json:"unavailable"`
}

// Key is where the requests with one hash key go. Address is empty when no endpoint takes them.
type Key struct {
	Key     string `json:"key"`
	Hash    uint64 `json:"hash,string"`
	Address string `json:"address"`
}

// Step is one line of the computation, in the client's order.
type Step struct {
	Stage string `json:"stage"`
	Text  string `json:"text"`
}

// Accepted tells whether the client takes the assignment, so that the shares are those of its traffic.
func (r *Result) Accepted() bool { return r.Verdict == "accept" }
