package lint

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// removedHostKept reports endpoints that leave the assignment but not the cluster: with active health checks and without
// ignore_health_on_host_removal Envoy keeps a host that passes its checks (upstream_impl.cc, pending_dynamic_removal). One
// that was UNHEALTHY or TIMEOUT, or is not checked, goes at once.
func removedHostKept(u *Update, report func(diag.Problem)) {
	if u.Now.Cluster == nil {
		return
	}
	cluster := u.Now.Cluster.Message
	if len(cluster.GetHealthChecks()) == 0 || cluster.GetIgnoreHealthOnHostRemoval() {
		return
	}
	for i := range u.was {
		was := &u.was[i]
		if _, stays := u.after[was.address]; stays || was.GetEndpoint().GetHealthCheckConfig().GetDisableActiveHealthCheck() {
			continue
		}
		if s := was.GetHealthStatus(); s == corev3.HealthStatus_UNHEALTHY || s == corev3.HealthStatus_TIMEOUT {
			continue
		}
		does := "keeps its traffic"
		if isDraining(was.GetHealthStatus()) {
			does = "stays, excluded as DRAINING," // so that it gets requests in panic only
		}
		report(diag.Problem{
			Rule: "removed-host-kept", Path: was.path,
			Message: fmt.Sprintf("endpoint %s is removed, but %s while its health checks pass (ignore_health_on_host_removal is not set)", was.address, does),
		})
	}
}
