// Package simulate computes what traffic an assignment gets: from a resource and options to the expected share of each
// endpoint, locality and priority, the dropped and the unavailable fraction, each with its reason, for Envoy and for
// gRPC. The algorithms are those of packages lb/envoy and lb/grpc; this package turns protos into their inputs and their
// results into one shape, and asks what-if.
package simulate
