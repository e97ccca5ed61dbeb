package lint

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// endpointRules are made in one walk over all endpoints, so that large assignments stay cheap: paths are built only
// when there is something to report.
var endpointRules = []string{
	"additional-address-missing", "additional-address-not-ip", "address-unroutable", "canary", "duplicate-endpoint", "duplicate-endpoint-static",
	"duplicate-internal-endpoint", "endpoint-address-missing", "endpoint-ip-family-unsupported", "endpoint-name-not-implemented",
	"endpoint-not-ip", "hash-key-duplicate", "hash-key-not-string", "health-check-address-malformed", "health-check-port-on-non-ip",
	"health-check-port-over-non-ip-hc-address", "health-status-mapping", "health-status-undefined-number", "hostname-in-eds",
	"ipv4-compat", "named-port", "network-namespace-on-host", "observability-name", "pipe-abstract-mode", "pipe-embedded-nul",
	"pipe-path-too-long", "port-zero", "protocol-udp-ignored", "resolver-unknown",
}

// walk is the state of the walk over the endpoints.
type walk struct {
	c      *Context
	report func(diag.Problem)

	eds, static, dns bool // the type of the cluster

	group int // index into endpoints
	index int // index into lb_endpoints
	end   *endpointv3.LbEndpoint

	seen     seenAddresses
	families families
	hashKeys hashKeys
	sums     weightSums
	traffic  traffic
	once     map[string]bool // advice that is given once for an assignment
}

// endpointChecks walks over the endpoints as Envoy does when it builds hosts: in document order, first the addresses,
// then the host (eds.cc, updateLocalityEndpoints; static_cluster.cc; upstream_impl.cc, HostDescriptionImplBase).
func endpointChecks(c *Context, report func(diag.Problem)) {
	if !c.EndpointsUsed() {
		return
	}
	kind := c.ClusterType()
	w := walk{
		c: c, report: report,
		eds: kind == eds.TypeEDS, static: kind == eds.TypeStatic, dns: kind == eds.TypeStrictDNS || kind == eds.TypeLogicalDNS,
	}
	w.seen.init(c)
	defer w.seen.release()
	w.hashKeys.init(c)
	w.sums.init()
	w.traffic.weights = map[uint32]uint32{}
	for i, group := range c.Resource.Assignment.GetEndpoints() {
		w.group = i
		w.sums.nextLocality(group.GetPriority())
		w.seen.grpcTakes = group.GetLoadBalancingWeight().GetValue() != 0
		for j, end := range group.GetLbEndpoints() {
			w.index, w.end = j, end
			w.endpoint(group.GetPriority())
		}
	}
	w.families.report(&w)
	w.weightSumChecks()
	w.trafficChecks()
}

func (w *walk) endpoint(priority uint32) {
	main := w.addresses()
	dropped := w.duplicates(main) && w.eds
	if !dropped {
		w.host(main)
	}
	w.sums.add(w, priority, dropped)
	w.traffic.add(w, priority, dropped)
	w.fields()
	w.hashKeys.add(w)
}

// at is the path of a field of the endpoint that is looked at.
func (w *walk) at(field string) diag.Path {
	p := diag.Path{{Name: "endpoints"}, {Index: w.group}, {Name: "lb_endpoints"}, {Index: w.index}}
	if field == "" {
		return p
	}
	return p.Field(field)
}

// advise reports once for the assignment, at the first place.
func (w *walk) advise(rule, field, message string) {
	if w.once[rule] {
		return
	}
	if w.once == nil {
		w.once = map[string]bool{}
	}
	w.once[rule] = true
	w.report(diag.Problem{Rule: rule, Path: w.at(field), Message: message})
}
