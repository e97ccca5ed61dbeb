package lint

import "slices"

// Entry is one check function with the ids of all rules that it produces.
type Entry struct {
	Rules []string
	Check Check
}

// Checks lists all check functions. Their order is that of the clients where several decide in one stage: for Envoy
// the cluster (10-cluster) in the order of its construction, drops before LEDS (11-policy), then the hosts in document
// order.
func Checks() []Entry { return checks }

var checks = []Entry{
	{Rules: responseRules, Check: responseChecks},
	{Rules: []string{"duration-invalid"}, Check: clusterDurations},
	{Rules: clusterBuildRules, Check: clusterBuild},
	{Rules: dropRules, Check: dropChecks},
	{Rules: bootstrapRules, Check: bootstrapChecks}, // has the runtime limit of drops
	{Rules: ledsRules, Check: ledsChecks},
	{Rules: slices.Concat(endpointRules, trafficRules), Check: withGRPCDNS(endpointChecks)},
	{Rules: localityRules, Check: localityChecks},
	{Rules: assignmentRules, Check: assignmentChecks},
	{Rules: clusterUsageRules, Check: clusterUsageChecks},
	{Rules: hashRules, Check: hashChecks},
	{Rules: policyUsageRules, Check: policyUsageChecks},
	{Rules: policyWeightRules, Check: policyWeightChecks},
	{Rules: []string{"zone-aware-inactive"}, Check: zoneAware},
	{Rules: grpcAssignmentRules, Check: withGRPCDNS(grpcAssignmentChecks)},
	{Rules: []string{"grpc-typed-metadata-invalid"}, Check: grpcMetadata},
}
