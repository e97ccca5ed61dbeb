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
	{ledsRules, ledsChecks},
	{dropRules, dropChecks},
	{slices.Concat(endpointRules, trafficRules), endpointChecks},
	{[]string{"locality-weight-sum-overflow"}, localityWeightSums},
	{localityRules, localityChecks},
	{assignmentRules, assignmentChecks},
}
