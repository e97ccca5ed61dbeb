package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// bySource checks where an EDS cluster gets its assignment from, in the order of Envoy
// (subscription_factory_impl.cc, subscriptionFromConfigSource; config/utility.cc).
func (b *build) bySource() {
	if b.kind != eds.TypeEDS || b.m.GetEdsClusterConfig() == nil {
		return
	}
	at := inCluster("eds_cluster_config.eds_config")
	config := b.m.GetEdsClusterConfig().GetEdsConfig()
	if boot := b.c.Bootstrap; boot != nil && (boot.NodeID == "" || boot.NodeCluster == "") {
		b.envoy(stageSource, "node-id-missing", diag.Path{}.Field("bootstrap.node"), "an EDS cluster needs node.id and node.cluster",
			nodeUser(boot, config)+": node 'id' and 'cluster' are required. Set it either in 'node' config or via --service-node and --service-cluster options.")
	}
	switch source := config.GetConfigSourceSpecifier().(type) {
	case *corev3.ConfigSource_Path:
		if source.Path == "" { // path_config_source has a constraint for it
			b.envoy(stageSource, "cluster-constraint", at.Field("path"), "the path of the EDS file is empty", "paths must refer to an existing path in the system: '' does not exist")
		}
	case *corev3.ConfigSource_PathConfigSource:
		// Whether the file is there is known on Envoy's host only (eds-path-not-found).
	case *corev3.ConfigSource_ApiConfigSource:
		b.apiSource(source.ApiConfigSource, at.Field("api_config_source"))
	case *corev3.ConfigSource_Ads:
		b.adsSource(at)
	default:
		if config == nil || config.GetSelf() != nil {
			b.envoy(stageSource, "eds-cluster-without-config", at, "an EDS cluster needs an eds_config that says where its assignment comes from",
				"Missing config source specifier in envoy::config::core::v3::ConfigSource")
		}
	}
}

// nodeUser is what misses the node first: the subscription of the cluster, or the ADS stream in state of the world, which is
// set up between the clusters whose assignments come from files and the others (cluster_manager_impl.cc, initialize).
func nodeUser(boot *eds.Bootstrap, config *corev3.ConfigSource) string {
	isFile := config.GetPathConfigSource() != nil || config.GetPath() != "" //nolint:staticcheck // deprecated, and in use
	if boot.HasADS && !boot.ADSIsDelta && !isFile {
		return "ads"
	}
	return eds.AssignmentURL(eds.V3)
}

// adsSource: a cluster in the bootstrap is taken without ADS by --mode validate, and not observed running with it.
func (b *build) adsSource(at diag.Path) {
	byCDS := b.c.Source == eds.FromCDS || !b.c.InLoadAssignment() && b.c.Origin == eds.OriginCDS
	if byCDS && b.surroundingsKnown() && (b.c.Bootstrap == nil || !b.c.Bootstrap.HasADS) {
		b.envoy(stageSource, "eds-ads-not-configured", at.Field("ads"), "eds_config is ads, but no dynamic_resources.ads_config is at hand",
			"ADS must be configured to support an ADS config source")
	}
}

// surroundingsKnown tells whether what stands around the cluster is known: its bootstrap is at hand, or the user said how
// the cluster arrives, so that it is judged as if it were all that there is (envoy-eds-rules.md 0.6).
func (b *build) surroundingsKnown() bool {
	return b.c.Bootstrap != nil || b.c.SourceGiven && b.c.InLoadAssignment() && b.c.Cluster != nil && !b.c.Cluster.FromFlag && b.c.Resource.Shape != eds.ShapeConfigDump
}

// apiSource checks an api_config_source.
func (b *build) apiSource(s *corev3.ApiConfigSource, at diag.Path) {
	const rule = "eds-source-cluster-unknown"
	says := func(field, message, text string) {
		p := at
		if field != "" {
			p = at.Field(field)
		}
		b.envoy(stageSource, rule, p, message, text)
	}
	aggregated, isGRPC := false, false
	switch s.GetApiType() {
	case corev3.ApiConfigSource_AGGREGATED_GRPC, corev3.ApiConfigSource_AGGREGATED_DELTA_GRPC:
		aggregated = true
	case corev3.ApiConfigSource_GRPC, corev3.ApiConfigSource_DELTA_GRPC:
		isGRPC = true
		b.sourceNames(s, at, true, says)
	default:
		b.sourceNames(s, at, false, says)
	}
	if s.GetTransportApiVersion() == corev3.ApiVersion_V2 { //nolint:staticcheck // what Envoy refuses
		b.envoy(stageSource, "transport-api-version-v2", at.Field("transport_api_version"), "transport_api_version V2 is gone from Envoy: use V3",
			"V2 xDS transport protocol version is deprecated in <dump>")
	}
	switch {
	case s.GetApiType() == 0:
		says("api_type", "api_type must be said: GRPC, DELTA_GRPC or REST",
			"REST_LEGACY no longer a supported ApiConfigSource. Please specify an explicit supported api_type in the following config: <dump>")
	case aggregated:
		says("api_type", fmt.Sprintf("api_type %s is none for EDS: use ads", s.GetApiType()), fmt.Sprintf("Unsupported config source %s", s.GetApiType()))
	case s.GetApiType() == corev3.ApiConfigSource_REST && s.GetRefreshDelay() == nil:
		says("refresh_delay", "a REST source needs a refresh_delay", "refresh_delay is required for REST API configuration sources")
	case isGRPC:
		b.refuse(stageSource, grpcSource(s).below(at))
	}
}

// grpcSource: the client of the stream (grpc/async_client_impl.cc, AsyncClientImpl::create), then its limits
// (config/utility.cc, parseRateLimitSettings).
func grpcSource(s *corev3.ApiConfigSource) *refusal {
	if len(s.GetGrpcServices()) == 0 {
		return nil
	}
	at := diag.Path{}.Field("grpc_services").Index(0)
	if backOff := s.GetGrpcServices()[0].GetEnvoyGrpc().GetRetryPolicy().GetRetryBackOff(); backOff.GetMaxInterval() != nil &&
		backOff.GetMaxInterval().AsDuration() < backOff.GetBaseInterval().AsDuration() {
		return &refusal{at.Field("envoy_grpc.retry_policy.retry_back_off.max_interval"), "max_interval is less than base_interval",
			"max_interval must be greater than or equal to the base_interval"}
	}
	for i, h := range s.GetGrpcServices()[0].GetInitialMetadata() {
		if s.GetGrpcServices()[0].GetEnvoyGrpc() != nil && !modifiable(h.GetKey()) {
			return &refusal{at.Field("initial_metadata").Index(i).Field("key"), fmt.Sprintf("header %q cannot be set", h.GetKey()), ":-prefixed or host headers may not be modified"}
		}
	}
	if rate := s.GetRateLimitSettings().GetFillRate(); rate != nil && (math.IsNaN(rate.GetValue()) || math.IsInf(rate.GetValue(), 0)) {
		return &refusal{diag.Path{}.Field("rate_limit_settings.fill_rate"), "fill_rate is no number",
			fmt.Sprintf("The value of fill_rate in RateLimitSettings (%s) must not be NaN nor Inf", strings.ToLower(strings.TrimPrefix(fmt.Sprint(rate.GetValue()), "+")))}
	}
	return nil
}

// sourceNames: checkApiConfigSourceNames, and the clusters behind the names.
func (b *build) sourceNames(s *corev3.ApiConfigSource, at diag.Path, isGRPC bool, says func(field, message, text string)) {
	switch {
	case len(s.GetClusterNames()) == 0 && len(s.GetGrpcServices()) == 0:
		says("", "the config source names no cluster", "API configs must have either a gRPC service or a cluster name defined: <dump>")
	case isGRPC && len(s.GetClusterNames()) > 0:
		says("cluster_names", "cluster_names is for REST: a gRPC source needs grpc_services", "envoy.config.core.v3.ApiConfigSource::(AGGREGATED_)(DELTA_)GRPC must not have a cluster name specified: <dump>")
	case isGRPC && len(s.GetGrpcServices()) > 1:
		says("grpc_services", "a gRPC source has one service", "envoy.config.core.v3.ApiConfigSource::(AGGREGATED_)(DELTA_)GRPC must have no more than 1 gRPC services specified: <dump>")
	case !isGRPC && len(s.GetGrpcServices()) > 0:
		says("grpc_services", "grpc_services needs api_type GRPC or DELTA_GRPC", "envoy.config.core.v3.ApiConfigSource, if not a gRPC type, must not have a gRPC service specified: <dump>")
	case !isGRPC && len(s.GetClusterNames()) != 1:
		says("cluster_names", "a REST source needs exactly one cluster name", "envoy.config.core.v3.ApiConfigSource must have a singleton cluster name specified: <dump>")
	default:
		b.sourceClusters(s, at)
	}
}

// sourceClusters: what a config source names must be a primary cluster, one that needs no other to be initialised. Envoy
// does not look at that of DELTA_GRPC (config/utility.cc, checkApiConfigSourceSubscriptionBackingCluster).
func (b *build) sourceClusters(s *corev3.ApiConfigSource, at diag.Path) {
	if !b.surroundingsKnown() {
		return
	}
	check := func(name string, at diag.Path) {
		if !b.isPrimary(name) {
			b.envoy(stageSource, "eds-source-cluster-unknown", at, fmt.Sprintf("cluster %q is not a static cluster of the bootstrap, or is itself an EDS cluster", name),
				fmt.Sprintf("envoy.config.core.v3.ApiConfigSource must have a statically defined non-EDS cluster: '%s' does not exist, was added via api, or is an EDS cluster", name))
		}
	}
	for i, name := range s.GetClusterNames() {
		check(name, at.Field("cluster_names").Index(i))
	}
	if len(s.GetGrpcServices()) > 0 && s.GetApiType() == corev3.ApiConfigSource_GRPC {
		if grpc := s.GetGrpcServices()[0].GetEnvoyGrpc(); grpc != nil {
			check(grpc.GetClusterName(), at.Field("grpc_services").Index(0).Field("envoy_grpc.cluster_name"))
		}
	}
}

// isPrimary tells whether a cluster of that name is in the bootstrap and can be reached before EDS works
// (cluster_manager_impl.cc, primary_clusters_): an EDS cluster can when it reads a file.
func (b *build) isPrimary(name string) bool {
	if b.c.Bootstrap == nil {
		return false
	}
	return slices.ContainsFunc(b.c.Bootstrap.Named(name), func(other *eds.Cluster) bool {
		m := other.Message
		config := m.GetEdsClusterConfig().GetEdsConfig()
		return m.GetType().String() != "EDS" || m.GetClusterType() != nil || config.GetPathConfigSource() != nil || config.GetPath() != "" //nolint:staticcheck // still read
	})
}
