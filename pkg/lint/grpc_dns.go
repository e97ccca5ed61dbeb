package lint

import "github.com/edsctl/edsctl/pkg/diag"

// grpcDNSTexts are what grpc-go says about the one endpoint of a LOGICAL_DNS cluster (unmarshal_cds.go,
// dnsHostNameFromCluster), by the rule that speaks of the same.
var grpcDNSTexts = map[string]string{
	"endpoint-name-not-implemented": "endpoint for LOGICAL_DNS cluster not set",
	"endpoint-address-missing":      "socket address for endpoint for LOGICAL_DNS cluster not set",
	"address-not-socket":            "socket address for endpoint for LOGICAL_DNS cluster not set",
	"address-oneof-unset":           "socket address for endpoint for LOGICAL_DNS cluster not set",
	"internal-address-unset":        "socket address for endpoint for LOGICAL_DNS cluster not set",
	"pipe-path-empty":               "socket address for endpoint for LOGICAL_DNS cluster not set",
	"socket-address-empty":          "host for endpoint for LOGICAL_DNS cluster not set",
	"socket-address-port-missing":   "port for endpoint for LOGICAL_DNS cluster not set",
	"named-port":                    "port for endpoint for LOGICAL_DNS cluster not set",
	"port-zero":                     "port for endpoint for LOGICAL_DNS cluster not set",
}

// grpcLogicalDNS is the override for a problem in the address of an endpoint of a LOGICAL_DNS cluster; false for other
// rules and clusters. It reads the address of the endpoint and nothing else.
func grpcLogicalDNS(c *Context, rule string, path diag.Path) (diag.Override, bool) {
	if c.Cluster == nil || c.Cluster.Message.GetClusterType() != nil || c.ClusterType() != TypeLogicalDNS {
		return diag.Override{}, false
	}
	text, ok := grpcDNSTexts[rule]
	if !ok {
		return diag.Override{}, false
	}
	if indexIn(path, "lb_endpoints") < 0 || contains(path, "additional_addresses") || contains(path, "health_check_config") {
		return diag.Override{Effect: new(diag.None)}, true
	}
	if rule == "endpoint-address-missing" && !contains(path, "endpoint") {
		text = grpcDNSTexts["endpoint-name-not-implemented"] // there is no endpoint at all
	}
	return GRPCSays(text), true
}

// withGRPCDNS gives gRPC's text to what a check reports about a LOGICAL_DNS cluster.
func withGRPCDNS(check Check) Check {
	return func(c *Context, report func(diag.Problem)) {
		check(c, func(p diag.Problem) {
			if o, ok := grpcLogicalDNS(c, p.Rule, p.Path); ok {
				p.GRPC = o
			}
			report(p)
		})
	}
}
