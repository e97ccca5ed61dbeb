// Package lb holds the mechanisms that load balancers are made of, without protos and without a client's decisions: an
// EDF scheduler, a hash ring, a Maglev table, least-of-N choice and bounded load. Each is a pure structure with a pick
// and the exact share that each entry has of all picks. Packages envoy and grpc put them together as each client does.
package lb

// Weighted is a host of a ring or table.
type Weighted struct {
	Key string // the text that is hashed
	// Weight is the host's normalized weight, a fraction of the whole; the sum may be below 1.
	Weight float64
}
