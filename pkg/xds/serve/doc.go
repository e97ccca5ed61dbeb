// Package serve is a management server for local Envoys and gRPC clients: state of the world and delta streams, ADS,
// unary calls and REST, on go-control-plane's servers. Beside the assignments it serves a cluster for each, and a
// listener and a route for gRPC, so that neither client needs anything else.
//
// go-control-plane's own caches make a real Envoy stall or loop when clusters change or are refused
// (testdata/vectors/envoy-xds/README.md). The cache of this package decides for each stream by what that stream was
// sent: an assignment goes out again after its cluster changed, and what was refused is held back until it changes.
package serve
