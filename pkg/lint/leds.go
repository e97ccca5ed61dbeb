package lint

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

var ledsRules = []string{
	"leds-and-endpoints", "leds-collection-name-invalid", "leds-list-collection", "leds-over-sotw-ads", "leds-pending",
	"leds-unsupported-source",
}

// ledsChecks reports localities whose endpoints come by LEDS (eds.cc; leds.cc; static_cluster.cc).
func ledsChecks(c *Context, report func(diag.Problem)) {
	if !c.EndpointsUsed() {
		return // nobody looks at the localities
	}
	groups := c.Resource.Assignment.GetEndpoints()
	first := -1
	for i, g := range groups {
		if g.GetLedsClusterLocalityConfig() == nil {
			continue
		}
		if first < 0 {
			first = i
		}
		ledsLocality(c, g, groupPath(i), report)
	}
	if first >= 0 && len(groups) > 1 && c.ClusterType() == eds.TypeEDS {
		report(diag.Problem{
			Rule: "leds-pending", Path: groupPath(first).Field("leds_cluster_locality_config"),
			Message: "nothing of the assignment is applied until every LEDS locality has answered, failed or timed out",
		})
	}
}

func ledsLocality(c *Context, g *endpointv3.LocalityLbEndpoints, path diag.Path, report func(diag.Problem)) {
	config := g.GetLedsClusterLocalityConfig()
	name := config.GetLedsCollectionName()
	at := path.Field("leds_cluster_locality_config")
	if len(g.GetLbEndpoints()) > 0 {
		report(diag.Problem{
			Rule: "leds-and-endpoints", Path: at, Message: "a locality has either lb_endpoints or leds_cluster_locality_config",
			Envoy: EnvoySays(fmt.Sprintf("A ClusterLoadAssignment for cluster %s cannot include both LEDS (resource: %s) and a list of endpoints.", c.ClusterName(), name)),
		})
	}
	if c.ClusterType() != eds.TypeEDS {
		return // leds-static-cluster
	}
	if says := collectionNameError(name); says != "" {
		report(diag.Problem{
			Rule: "leds-collection-name-invalid", Path: at.Field("leds_collection_name"),
			Message: fmt.Sprintf("leds_collection_name %q is none of a collection of endpoints: %s", name, says), Envoy: EnvoySays(says),
		})
		return // Envoy does not come to the source
	}
	if !strings.HasSuffix(strings.SplitN(name, "#", 2)[0], "/*") {
		report(diag.Problem{
			Rule: "leds-list-collection", Path: at.Field("leds_collection_name"),
			Message: fmt.Sprintf("leds_collection_name %q does not end in /*: list collections are not implemented", name),
		})
	}
	ledsSource(c, config.GetLedsConfig(), at.Field("leds_config"), report)
}

const lbEndpointType = "envoy.config.endpoint.v3.LbEndpoint"

// collectionNameError is Envoy's text about a collection name (xds_resource.cc, decodeUrl; subscription_factory_impl.cc,
// collectionSubscriptionFromUrl); empty for a good one.
func collectionNameError(name string) string {
	scheme, rest, _ := strings.Cut(name, ":")
	switch scheme {
	case "xdstp":
	case "http":
		return "Unsupported code path"
	case "file":
		path, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "#")
		return fmt.Sprintf("paths must refer to an existing path in the system: '%s' does not exist", path)
	default:
		return name + " does not have a xdstp:, http: or file: scheme"
	}
	if !strings.Contains(name, ":") {
		return name + " does not have a xdstp:, http: or file: scheme"
	}
	path := "/"
	if _, after, ok := strings.Cut(strings.TrimPrefix(rest, "//"), "/"); ok {
		path += after
	}
	path, fragment, _ := strings.Cut(path, "#")
	if fragment != "" {
		for part := range strings.SplitSeq(fragment, ",") {
			if !strings.HasPrefix(part, "alt=") && !strings.HasPrefix(part, "entry=") {
				return "Unknown fragment component " + part
			}
		}
	}
	path, _, _ = strings.Cut(path, "?")
	kind, _, _ := strings.Cut(path[1:], "/")
	switch kind {
	case "":
		return "Resource type missing from " + path
	case lbEndpointType:
		return ""
	}
	return fmt.Sprintf("xdstp:// type does not match %s in %s", lbEndpointType, name)
}

const (
	noCollectionSource = "Missing or not supported config source specifier in envoy::config::core::v3::ConfigSource for a collection. Only ADS and gRPC in delta-xDS mode are supported."
	adsNotConfigured   = "ADS must be configured to support an ADS config source"
	apiTypeUnset       = "type envoy.config.core.v3.ApiConfigSource Using the default now-deprecated value DEPRECATED_AND_UNAVAILABLE_DO_NOT_USE for enum 'envoy.config.core.v3.ApiConfigSource.api_type' from file config_source.proto. This enum value will be removed from Envoy soon so a non-default value must now be explicitly set. Please see https://www.envoyproxy.io/docs/envoy/latest/version_history/version_history for details. If continued use of this field is absolutely necessary, see https://www.envoyproxy.io/docs/envoy/latest/configuration/operations/runtime#using-runtime-overrides-for-deprecated-features for how to apply a temporary and highly discouraged override."
)

// ledsSource reports a leds_config that Envoy cannot subscribe by (subscription_factory_impl.cc).
func ledsSource(c *Context, source *corev3.ConfigSource, path diag.Path, report func(diag.Problem)) {
	hasADS := c.Bootstrap != nil && c.Bootstrap.HasADS
	refuse := func(message string, says diag.Override) {
		report(diag.Problem{Rule: "leds-unsupported-source", Path: path, Message: message, Envoy: says})
	}
	switch s := source.GetConfigSourceSpecifier().(type) {
	case *corev3.ConfigSource_Ads:
		switch {
		case c.Bootstrap == nil && !c.SourceGiven: // whether there is ADS is not known
		case !hasADS:
			refuse("leds_config is ads, but no bootstrap with ads_config is at hand", EnvoySays(adsNotConfigured))
		case !c.Bootstrap.ADSIsDelta:
			report(diag.Problem{Rule: "leds-over-sotw-ads", Path: path.Field("ads"), Message: "LEDS over a state-of-the-world ADS stream never answers: use DELTA_GRPC"})
		}
	case *corev3.ConfigSource_ApiConfigSource:
		ledsAPI(c, s.ApiConfigSource, hasADS, refuse)
	default:
		if source == nil || source.GetConfigSourceSpecifier() != nil { // leds_config: {} breaks a constraint
			refuse("leds_config must be ads or an api_config_source with DELTA_GRPC", EnvoySays(noCollectionSource))
		}
	}
}

func ledsAPI(c *Context, api *corev3.ApiConfigSource, hasADS bool, refuse func(string, diag.Override)) {
	switch api.GetApiType() {
	case corev3.ApiConfigSource_DEPRECATED_AND_UNAVAILABLE_DO_NOT_USE:
		says := EnvoySays(apiTypeUnset)
		says.Stage = "05-unknown"
		refuse("api_type must be set: its default is no longer allowed", says)
	case corev3.ApiConfigSource_DELTA_GRPC:
		if len(api.GetGrpcServices()) == 0 && len(api.GetClusterNames()) == 0 {
			refuse("api_config_source names no grpc_services", EnvoySays("API configs must have either a gRPC service or a cluster name defined: <dump>"))
		}
	case corev3.ApiConfigSource_AGGREGATED_GRPC, corev3.ApiConfigSource_AGGREGATED_DELTA_GRPC:
		if !hasADS && (c.Bootstrap != nil || c.SourceGiven) {
			refuse("leds_config is aggregated, but no bootstrap with ads_config is at hand", EnvoySays(adsNotConfigured))
		}
	case corev3.ApiConfigSource_GRPC, corev3.ApiConfigSource_REST:
		says := EnvoySays("Unknown xdstp:// transport API type in <dump>")
		if name, ok := unknownServer(c, api); ok {
			says = EnvoySays(fmt.Sprintf("envoy.config.core.v3.ApiConfigSource must have a statically defined non-EDS cluster: '%s' does not exist, was added via api, or is an EDS cluster", name))
		}
		refuse(fmt.Sprintf("api_type is %s, but LEDS needs DELTA_GRPC", api.GetApiType()), says)
	}
}

// unknownServer is the cluster that an API source names, when the bootstrap has none of that name. Without a bootstrap
// an assignment from a stream is taken to name the cluster of that stream, one from a file to name none that exists.
func unknownServer(c *Context, api *corev3.ApiConfigSource) (string, bool) {
	name := ""
	if len(api.GetClusterNames()) > 0 {
		name = api.GetClusterNames()[0]
	}
	if len(api.GetGrpcServices()) > 0 {
		name = api.GetGrpcServices()[0].GetEnvoyGrpc().GetClusterName()
	}
	if c.Bootstrap == nil {
		return name, c.Source == eds.FromFile
	}
	if same := c.Bootstrap.Named(name); len(same) > 0 {
		return name, eds.ClusterType(same[0].Message) == eds.TypeEDS
	}
	return name, true
}
