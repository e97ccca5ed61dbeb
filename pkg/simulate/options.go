package simulate

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
	"github.com/edsctl/edsctl/pkg/selector"
)

// Options are everything that a simulation takes beside the resource. The zero value simulates the resource as it is
// under the newest Envoy, and takes every assignment for accepted.
type Options struct {
	// Check judges a resource for both clients, indexed by diag.Client; nil accepts all.
	Check func(*eds.Resource) [len(diag.Clients)]diag.Verdict

	EnvoyVersion int // minor version: 40 is 1.40; 0 is the newest
	// Policy replaces the cluster's load balancing policy: one of Policies.
	Policy string
	// AsDocumented follows the API's documentation where the client does not.
	AsDocumented bool
	// Force computes the shares of an assignment that the client rejects, as if it did not.
	Force bool
	// Getenv reads gRPC's environment variables; nil is an empty environment.
	Getenv func(string) string

	Changes []Change // what-if, in order
	// Optional: a change that selects no endpoint changes nothing and is listed in Result.Missed. It is an error without.
	Optional bool

	PanicThreshold         *float64 // percent
	OverprovisioningFactor *uint32  // percent
	LocalityWeighted       *bool
	NodeLocality           *corev3.Locality
	LocalCluster           *endpointv3.ClusterLoadAssignment // of the cluster that local_cluster_name names
	MetadataMatch          map[string]any                    // the route's metadata_match under envoy.lb
	Runtime                map[string]string
	// Resolve has the addresses (IP or IP:port) of host names in DNS clusters.
	Resolve map[string][]string

	HashKeys []string
	Requests int64 // seeded requests; 0 is none
	Seed     uint64
	RPS      float64
	Explain  bool

	// tables of one step of a sweep are used again by the next.
	tables *envoy.Tables
}

// Policies are the values of Options.Policy.
func Policies() []string {
	return []string{"round_robin", "least_request", "random", "ring_hash", "maglev", "pick_first", "weighted_round_robin"}
}

// ChangeKind says what a Change does to the endpoints that it selects.
type ChangeKind uint8

// The kinds of changes.
const (
	SetHealth   ChangeKind = iota
	SetWeight              // load_balancing_weight
	Fail                   // UNHEALTHY
	Unreachable            // no connection succeeds (gRPC)
)

// Change is one what-if.
type Change struct {
	Kind     ChangeKind
	Selector selector.Selector
	Health   corev3.HealthStatus // SetHealth
	Weight   uint32              // SetWeight
	// Count and Percent bound how many of the selected endpoints Fail takes: the first Count, or Percent of them rounded to
	// the nearest, spread evenly over the localities. Both nil: all.
	Count   *int
	Percent *float64
}
