package lint

import "slices"

// Entry is one check function with the ids of all rules that it produces.
type Entry struct {
	Rules []string
	Check Check
}

// Checks lists all check functions. Their order is that of the clients where several decide in one stage: for Envoy
// the cluster (10-cluster) in the order of its construction, then the hosts in document order.
func Checks() []Entry { return checks }

var checks = []Entry{
	{Rules: clusterBuildRules, Check: clusterBuild},
	{Rules: ledsRules, Check: ledsChecks},
	{Rules: dropRules, Check: dropChecks},
	{Rules: slices.Concat(endpointRules, trafficRules), Check: endpointChecks},
	{Rules: localityRules, Check: localityChecks},
	{Rules: assignmentRules, Check: assignmentChecks},
}
