package lint

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// grpcTransport: unmarshal_cds.go, securityConfigFromCluster.
func (b *build) grpcTransport() {
	refuse := func(stage string, at diag.Path, message, says string) {
		b.grpc(diag.Reject, stage, "cluster-constraint", at, message, says)
	}
	if len(b.m.GetTransportSocketMatches()) > 0 {
		refuse(grpcStageMatches, inCluster("transport_socket_matches"), "gRPC takes no transport_socket_matches", "unsupported transport_socket_matches field is non-empty: <dump>")
		return
	}
	security := eds.ReadGRPCSecurity(b.c.Cluster, b.c.grpcSwitch)
	if security.Says != "" {
		first, _, _ := strings.Cut(security.Says, "\n")
		refuse(grpcStageMatches, security.Path, "gRPC does not take this transport_socket: "+first, security.Says)
		return
	}
	if security.Identity == "" && security.Root == "" {
		return
	}
	providers, known := b.c.certificateProviders()
	if !known {
		return
	}
	for _, p := range []struct{ kind, name string }{{"identity", security.Identity}, {"root", security.Root}} {
		if p.name != "" && !providers[p.name] {
			says := fmt.Sprintf("%s certificate provider instance name %q missing in bootstrap configuration", p.kind, p.name)
			refuse(grpcStageSecurity, security.Path, fmt.Sprintf("the gRPC bootstrap has no certificate provider %q", p.name), says)
			return
		}
	}
}

// grpcSwitch tells whether an environment variable of gRPC, which is off by default, is on.
func (c *Context) grpcSwitch(variable string) bool {
	return c.Getenv != nil && strings.EqualFold(c.Getenv(variable), "true")
}

// certificateProviders are those in the bootstrap of gRPC; known is false when no bootstrap is at hand. grpc-go passes over
// plugins that it does not have.
func (c *Context) certificateProviders() (providers map[string]bool, known bool) {
	var bootstrap struct {
		Providers map[string]struct {
			Plugin string `json:"plugin_name"`
		} `json:"certificate_providers"`
	}
	if c.Getenv == nil || json.Unmarshal([]byte(c.Getenv("GRPC_XDS_BOOTSTRAP_CONFIG")), &bootstrap) != nil {
		return nil, false
	}
	providers = map[string]bool{}
	for name, p := range bootstrap.Providers {
		providers[name] = p.Plugin == "file_watcher"
	}
	return providers, true
}
