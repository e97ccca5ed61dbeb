package lint

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

var bootstrapRules = []string{
	"drop-overload-in-aggregate", "drop-overload-limit-invalid", "internal-address-needs-extension", "local-cluster-priority",
}

// bootstrapChecks reports what the bootstrap makes of the assignment.
func bootstrapChecks(c *Context, report func(diag.Problem)) {
	if c.Bootstrap == nil || c.Resource.Absent {
		return
	}
	localPriority(c, report)
	dropLimit(c, report)
	dropInAggregate(c, report)
	internalListener(c, report)
}

// localPriority: upstream_impl.cc, validateEndpoints. A LOGICAL_DNS cluster sets every priority to 0.
func localPriority(c *Context, report func(diag.Problem)) {
	name := c.ClusterName()
	if c.Bootstrap.LocalClusterName == "" || c.Bootstrap.LocalClusterName != name || !c.EndpointsUsed() {
		return
	}
	for i, group := range c.Resource.Assignment.GetEndpoints() {
		if group.GetPriority() > 0 {
			report(diag.Problem{Rule: "local-cluster-priority", Path: groupPath(i).Field("priority"),
				Message: fmt.Sprintf("%q is the local cluster, which may have priority 0 only", name),
				Envoy:   EnvoySays(fmt.Sprintf("Unexpected non-zero priority for local cluster '%s'.", name))})
			return
		}
	}
}

const dropLimitKey = "load_balancing_policy.drop_overload_limit"

// dropLimit: parseDropOverloadConfig reads the runtime when it has found one category that is no more than 100 %.
func dropLimit(c *Context, report func(diag.Problem)) {
	if len(c.Resource.Assignment.GetPolicy().GetDropOverloads()) == 0 {
		return
	}
	limit, ok := eds.RuntimeInteger(c.Bootstrap.Runtime()[dropLimitKey])
	if ok && limit > 100 {
		report(diag.Problem{Rule: "drop-overload-limit-invalid", Path: diag.Path{}.Field("policy.drop_overloads"),
			Message: fmt.Sprintf("runtime key %s is %d, more than 100", dropLimitKey, limit),
			Envoy:   EnvoySays(fmt.Sprintf("%s runtime key config %d is invalid. The valid range is 0~100", dropLimitKey, limit))})
	}
}

// dropInAggregate: the router asks the cluster of the route only (router.cc, checkDropOverload).
func dropInAggregate(c *Context, report func(diag.Problem)) {
	drops := c.Resource.Assignment.GetPolicy().GetDropOverloads()
	if len(drops) == 0 || c.Cluster == nil {
		return
	}
	if over := c.Bootstrap.AggregateOf(c.ClusterName()); over != nil {
		report(diag.Problem{Rule: "drop-overload-in-aggregate", Path: diag.Path{}.Field("policy.drop_overloads"),
			Message: fmt.Sprintf("requests that come through the aggregate cluster %q are not dropped", over.Message.GetName())})
	}
}

// internalListener: connections to an internal address need the extension, or fail.
func internalListener(c *Context, report func(diag.Problem)) {
	if c.Bootstrap.HasInternalListener || !c.EndpointsUsed() {
		return
	}
	for i, group := range c.Resource.Assignment.GetEndpoints() {
		for j, end := range group.GetLbEndpoints() {
			address := end.GetEndpoint().GetAddress()
			if _, ok := address.GetAddress().(*corev3.Address_EnvoyInternalAddress); ok {
				report(diag.Problem{Rule: "internal-address-needs-extension", Path: endpointPath(i, j).Field("endpoint.address.envoy_internal_address"),
					Message: fmt.Sprintf("listener %q is reached only with the bootstrap extension envoy.bootstrap.internal_listener", address.GetEnvoyInternalAddress().GetServerListenerName())})
				return
			}
		}
	}
}
