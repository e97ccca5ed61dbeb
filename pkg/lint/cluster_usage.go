package lint

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

var clusterUsageRules = []string{
	"additional-addresses-dns", "cluster-config-crash", "dns-endpoint-not-socket", "dns-weight-per-address", "health-check-config-unused",
	"load-assignment-in-aggregate-cluster", "load-assignment-in-eds-cluster", "logical-dns-priority", "static-cluster-name-unused",
}

// clusterUsageChecks reports what the type of the cluster makes of its assignment.
func clusterUsageChecks(c *Context, report func(diag.Problem)) {
	if c.Cluster == nil || c.Cluster.Message == nil || c.Resource.Absent {
		return
	}
	u := usage{c: c, report: report, kind: c.ClusterType()}
	u.whole()
	if !c.EndpointsUsed() {
		return
	}
	dns := u.kind == TypeStrictDNS || u.kind == TypeLogicalDNS
	for i, group := range c.Resource.Assignment.GetEndpoints() {
		u.group = i
		if u.kind == TypeLogicalDNS && group.GetPriority() != 0 {
			u.say("logical-dns-priority", groupPath(i).Field("priority"), fmt.Sprintf("a LOGICAL_DNS cluster has priority 0, not %d", group.GetPriority()))
		}
		for j, end := range group.GetLbEndpoints() {
			u.index = j
			if dns {
				u.dns(end)
			}
			u.healthCheck(end)
		}
	}
}

type usage struct {
	c            *Context
	report       func(diag.Problem)
	kind         string
	group, index int
	said         map[string]bool
}

func (u *usage) say(rule string, at diag.Path, message string) {
	u.report(diag.Problem{Rule: rule, Path: at, Message: message})
}

// first tells whether a rule speaks for the first time; such rules name one place for the whole assignment.
func (u *usage) first(rule string) bool {
	if u.said == nil {
		u.said = map[string]bool{}
	}
	again := u.said[rule]
	u.said[rule] = true
	return !again
}

func (u *usage) at(field string) diag.Path { return endpointPath(u.group, u.index).Field(field) }

// whole looks at the load_assignment as a whole.
func (u *usage) whole() {
	a, m := u.c.Resource.Assignment, u.c.Cluster.Message
	if !u.c.InLoadAssignment() {
		return
	}
	switch u.kind {
	case TypeEDS:
		u.say("load-assignment-in-eds-cluster", root(), "an EDS cluster does not use its load_assignment: only its constraints and its drop_overloads are checked")
	case TypeStatic, TypeStrictDNS, TypeLogicalDNS:
		if name := a.GetClusterName(); name != "" && name != m.GetName() && !u.c.Cluster.FromFlag {
			u.say("static-cluster-name-unused", root().Field("cluster_name"), fmt.Sprintf("cluster_name %q is not the name of its cluster, %q, and is not used", name, m.GetName()))
		}
	case TypeOriginalDst, "envoy.clusters.reverse_connection", "envoy.clusters.redis":
		// refused, or read in a way of its own
	default:
		if _, known := eds.ClusterFactory(m); !known {
			return
		}
		p := diag.Problem{Rule: "load-assignment-in-aggregate-cluster", Path: root(), Message: "a cluster of this type does not use its load_assignment: only its constraints and its drop_overloads are checked"}
		p.Envoy.Effect = new(diag.Ignore)
		u.report(p)
	}
}

// dns looks at an endpoint of a DNS cluster, which takes a name and a port from its socket_address (dns_cluster.cc).
func (u *usage) dns(end *endpointv3.LbEndpoint) {
	e := end.GetEndpoint()
	if len(e.GetAdditionalAddresses()) > 0 {
		u.say("additional-addresses-dns", u.at("endpoint.additional_addresses"), "a DNS cluster does not read additional_addresses")
	}
	if end.GetLoadBalancingWeight().GetValue() > 1 && u.kind == TypeStrictDNS && u.first("dns-weight-per-address") {
		u.say("dns-weight-per-address", u.at("load_balancing_weight"), "each address that the name resolves to has the full weight")
	}
	if e.GetAddress().GetSocketAddress() != nil || isName(end) {
		return
	}
	if _, unset := e.GetAddress().GetAddress().(*corev3.Address_SocketAddress); unset {
		return
	}
	p := diag.Problem{Rule: "dns-endpoint-not-socket", Path: endpointPath(u.group, u.index), Message: "a DNS cluster cannot use an endpoint without a socket_address: it resolves to nothing"}
	if e.GetAddress() != nil {
		p.Path = u.at("endpoint.address")
	}
	p.GRPC = GRPCSays("socket address for endpoint for LOGICAL_DNS cluster not set")
	if e == nil {
		p.GRPC.Message = "endpoint for LOGICAL_DNS cluster not set"
	}
	u.report(p)
}

// isName: endpoint_name has a rule of its own.
func isName(end *endpointv3.LbEndpoint) bool {
	_, ok := end.GetHostIdentifier().(*endpointv3.LbEndpoint_EndpointName)
	return ok
}

// healthCheck looks at health_check_config, and at what health checks do with an internal address.
func (u *usage) healthCheck(end *endpointv3.LbEndpoint) {
	checked := len(u.c.Cluster.Message.GetHealthChecks()) > 0
	config := end.GetEndpoint().GetHealthCheckConfig()
	if !checked && isSet(config) && u.first("health-check-config-unused") {
		u.say("health-check-config-unused", u.at("endpoint.health_check_config"), "health_check_config has no effect: the cluster has no health_checks")
	}
	if checked && end.GetEndpoint().GetAddress().GetEnvoyInternalAddress() != nil && u.first("cluster-config-crash") {
		u.say("cluster-config-crash", u.at("endpoint.address.envoy_internal_address"),
			`health checks on an internal address end "envoy --mode validate" ("panic: not implemented"), though not a running Envoy`)
	}
	for i, check := range u.c.Cluster.Message.GetHealthChecks() {
		proxy := check.GetTcpHealthCheck().GetProxyProtocolConfig()
		if proxy != nil && proxy.GetVersion() == corev3.ProxyProtocolConfig_V1 && u.kind != TypeEDS && u.first("cluster-config-crash") {
			u.say("cluster-config-crash", inCluster("health_checks").Index(i).Field("tcp_health_check.proxy_protocol_config"),
				`health checks with version 1 of the PROXY protocol end "envoy --mode validate" ("Caught Segmentation fault"), though not a running Envoy`)
		}
	}
}

// isSet tells whether a health_check_config says anything: the empty one of a config_dump does not count.
func isSet(h *endpointv3.Endpoint_HealthCheckConfig) bool {
	return h.GetPortValue() != 0 || h.GetHostname() != "" || h.GetAddress() != nil || h.GetDisableActiveHealthCheck()
}
