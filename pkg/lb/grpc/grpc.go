// Package grpc is the model of grpc-go's xDS load balancing over plain structs: from the localities of one assignment
// to the share of each endpoint, the dropped and the unavailable fraction, and the picks of its pickers.
//
// The order of decisions is that of grpc-go's policy tree: the priority policy takes the first priority that can be
// reached and gives it everything; the drop categories act on its picks; the cluster's policy divides the rest. There
// is no health percentage, no overprovisioning, no partial spill and no panic mode (gRFCs A27, A42, A56).
package grpc

import (
	"net/netip"
	"strings"
)

// Address is one address of an endpoint as gRPC writes it: host:port, IPv6 in brackets, ":0" for what is no socket.
type Address struct {
	Text      string
	Reachable bool // a connection to it succeeds
}

// Endpoint is one endpoint of a locality, also one that gRPC never connects to.
type Endpoint struct {
	Addresses []Address // the primary first; one endpoint, one share (A61)
	Weight    uint32    // load_balancing_weight; absent is 1
	Usable    bool      // health UNKNOWN or HEALTHY (clusterimpl: all others never get an address)
	HashKey   string    // metadata envoy.lb hash_key when it is a string and not empty (A76)
}

// reached returns the index of the address that pick_first inside the endpoint connects to, -1 when none answers.
func (e *Endpoint) reached() int {
	for i := range e.Addresses {
		if e.Addresses[i].Reachable {
			return i
		}
	}
	return -1
}

// Up tells whether RPCs can reach the endpoint.
func (e *Endpoint) Up() bool { return e.Usable && e.reached() >= 0 }

// Peer returns the address that answers RPCs of the endpoint; empty when there is none.
func (e *Endpoint) Peer() string {
	if i := e.reached(); i >= 0 {
		return e.Addresses[i].Text
	}
	return ""
}

// Key returns the text that ring_hash hashes for the endpoint: hash_key, else the primary address as written.
func (e *Endpoint) Key() string {
	if e.HashKey != "" {
		return e.HashKey
	}
	if len(e.Addresses) == 0 {
		return ""
	}
	return e.Addresses[0].Text
}

// Locality is one LocalityLbEndpoints. One of weight 0 (or absent) is invisible to gRPC, with all that is in it.
type Locality struct {
	Region, Zone, SubZone string
	Priority              uint32
	Weight                uint32
	Endpoints             []Endpoint
}

// Drop is one drop category.
type Drop struct {
	Category    string
	Numerator   uint32
	Denominator uint32 // 100, 10000 or 1000000
}

// Assignment is what gRPC keeps of a ClusterLoadAssignment, in document order.
type Assignment struct {
	Localities []Locality
	Drops      []Drop
}

// PolicyKind is the policy that picks among endpoints.
type PolicyKind string

// The policies of grpc-go that an xDS cluster can name.
const (
	RoundRobin    PolicyKind = "round_robin"
	LeastRequest  PolicyKind = "least_request"
	PickFirst     PolicyKind = "pick_first"
	ClientSideWRR PolicyKind = "weighted_round_robin"
	RingHash      PolicyKind = "ring_hash"
)

// Policy is the cluster's load balancing policy after conversion (unmarshal_cds.go, A52).
type Policy struct {
	Kind PolicyKind
	// WrrLocality counts the xds_wrr_locality policies around Kind: 0 is the bare policy, which ignores locality
	// weights; 1 is the usual form; with 2 or more no RPC finds a child.
	WrrLocality int
	ChoiceCount uint32 // least_request; 0 is the default 2
	Shuffle     bool   // pick_first: shuffle_address_list
	// MinRingSize and MaxRingSize of ring_hash; nil is the converter's default (1024, 8388608), a written 0 that of the
	// policy itself (1024, 4096).
	MinRingSize, MaxRingSize *uint64
	// RingSizeCap is GRPC_RING_HASH_CAP; 0 is 4096.
	RingSizeCap uint64
	// RawWeights: GRPC_EXPERIMENTAL_PF_WEIGHTED_SHUFFLING is false, so that endpoint weights are the uint32 products of
	// before A113.
	RawWeights bool
	// MaxRequests is the circuit breaker of the Cluster's first DEFAULT threshold; nil is the default 1024. Requests of
	// the model do not overlap, so only 0 has an effect: it refuses everything (A32).
	MaxRequests *uint32
}

// Name is the policy as a reader of gRPC's configuration knows it: wrr_locality > round_robin, round_robin.
func (p Policy) Name() string {
	return strings.Repeat("wrr_locality > ", p.WrrLocality) + string(p.Kind)
}

// family of an address, as pick_first interleaves them (pickfirst.go, addressFamily).
func family(address string) int {
	const other, v4, v6 = 0, 4, 6
	ap, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return other
	case ap.Addr().Is4(), ap.Addr().Is4In6():
		return v4
	default:
		return v6
	}
}
