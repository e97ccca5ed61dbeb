// Package envoy turns a cluster and its assignment into traffic shares as Envoy does, over plain structs.
//
// Build resolves an Input: it groups endpoints into priorities and localities, then takes Envoy's stages in order, one
// file each: drop.go, availability.go, load.go, panic.go, locality.go, zone_aware.go, subset.go, policy.go (host selection
// inside a list) and hash.go (ring hash and Maglev). Compute gives the expected share of each endpoint; Model.Run makes
// seeded requests with Envoy's own pick algorithms; Model.Pick sends one request hash to its endpoint.
//
// PriorityLoads needs counts only and serves callers that want loads and panic without endpoints.
//
// The rules are those of Envoy 1.40.0 (source/extensions/load_balancing_policies/common/load_balancer_impl.cc and its
// neighbours); Input.Version selects 1.36 to 1.39, which differ only where the comments say so. Numbers that Envoy holds
// as integers are integers here, and doubles are computed in Envoy's order of operations.
package envoy
