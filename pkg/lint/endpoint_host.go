package lint

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// host reports what Envoy refuses when it builds a host of the endpoint (upstream_impl.cc, HostDescriptionImpl): the
// address for health checks is resolved first.
func (w *walk) host(main address) {
	e := w.end.GetEndpoint()
	check := e.GetHealthCheckConfig()
	if check.GetAddress() != nil && w.getsHost(e) {
		w.healthCheckAddress(check)
	}
	w.scopedHealthCheck(check, main)
	if check.GetPortValue() != 0 && (main.kind == pipeAddress || main.kind == internalAddress) {
		w.report(diag.Problem{
			Rule: "health-check-port-on-non-ip", Path: w.at("endpoint.health_check_config.port_value"),
			Message: "an endpoint that is a pipe or an internal address has no port for health checks",
			Envoy:   EnvoySays("Invalid host configuration: non-zero port for non-IP address"),
		})
	}
	if e.GetAddress().GetSocketAddress().GetNetworkNamespaceFilepath() != "" {
		w.report(diag.Problem{
			Rule: "network-namespace-on-host", Path: w.at("endpoint.address.socket_address.network_namespace_filepath"),
			Message: "an endpoint cannot be in another network namespace",
			Envoy:   EnvoySays("Invalid host configuration: hosts cannot specify network namespaces with their address"),
		})
	}
}

// getsHost tells whether Envoy may come to build a host: in a DNS cluster only of a name or address that can resolve.
func (w *walk) getsHost(e *endpointv3.Endpoint) bool {
	name := e.GetAddress().GetSocketAddress().GetAddress()
	return !w.dns || name != "" && !strings.Contains(name, "%")
}

func (w *walk) healthCheckAddress(check *endpointv3.Endpoint_HealthCheckConfig) {
	got := resolve(check.GetAddress())
	switch {
	case got.rule != "":
		w.report(diag.Problem{
			Rule: "health-check-address-malformed", Path: w.at("endpoint.health_check_config.address").Field(got.field),
			Message: "the address for health checks: " + got.words, Envoy: w.healthCheckSays(got.says),
		})
	case (got.kind == pipeAddress || got.kind == internalAddress) && check.GetPortValue() != 0:
		w.report(diag.Problem{
			Rule: "health-check-port-over-non-ip-hc-address", Path: w.at("endpoint.health_check_config.port_value"),
			Message: "Envoy dies of a health check port together with a health check address that is no IP address: remove the port",
			Envoy:   EnvoySays("Caught Segmentation fault, suspect faulting address 0x0"),
		})
	}
}

// scopedHealthCheck reports a health check port together with a scoped IPv6 address, which Envoy refused before 1.38
// (network/utility.cc, getAddressWithPort).
func (w *walk) scopedHealthCheck(check *endpointv3.Endpoint_HealthCheckConfig, main address) {
	if w.c.EnvoyVersion >= 38 || check.GetPortValue() == 0 {
		return
	}
	if check.GetAddress() != nil {
		main = resolve(check.GetAddress())
	}
	zone := main.ip.Addr().Zone()
	if zone == "" {
		return
	}
	if zone == "lo" {
		zone = "1" // Linux gives the loopback interface this index
	}
	w.report(diag.Problem{
		Rule: "health-check-address-malformed", Path: w.at("endpoint.health_check_config.port_value"),
		Message: fmt.Sprintf("before Envoy 1.38 there may be no health check port for %s, an IPv6 address with a zone", main.ip.Addr()),
		Envoy:   w.healthCheckSays(fmt.Sprintf("invalid ipv6 address '%s'", main.ip.Addr().WithZone(zone))),
	})
}

// healthCheckSays is Envoy's text: a DNS cluster finds out in the callback of its resolver, which ends the process, and so
// after all that may keep the cluster from being made.
func (w *walk) healthCheckSays(text string) diag.Override {
	if w.dns {
		says := EnvoySays("EnvoyException in c-ares callback: " + text)
		says.Stage = "14-apply"
		return says
	}
	return EnvoySays(text)
}

// fields reports fields of the endpoint without effect, or with another than it seems.
func (w *walk) fields() {
	if w.end.GetEndpoint().GetHostname() != "" && !w.dns {
		w.advise("hostname-in-eds", "endpoint.hostname", "a hostname is not resolved: it is for host rewriting, SNI and health checks; names belong in a STRICT_DNS cluster")
	}
	if w.end.GetEndpoint().GetObservabilityName() != "" && w.c.EnvoyVersion >= 39 { // an unknown field before
		w.advise("observability-name", "endpoint.observability_name", "observability_name is used by Envoy 1.39 and later, in EDS and STATIC clusters")
	}
	switch health := w.end.GetHealthStatus(); {
	case health == corev3.HealthStatus_DEGRADED:
		w.advise("health-status-mapping", "health_status", "a DEGRADED endpoint is a last resort for Envoy and gets no request from gRPC")
	case health < corev3.HealthStatus_UNKNOWN || health > corev3.HealthStatus_DEGRADED:
		w.report(diag.Problem{
			Rule: "health-status-undefined-number", Path: w.at("health_status"),
			Message: fmt.Sprintf("health_status %d is no member of the enum: Envoy takes the endpoint as healthy, gRPC as unusable", health),
		})
	}
	if meta := w.end.GetMetadata(); meta != nil {
		w.metadata(meta)
	}
}
