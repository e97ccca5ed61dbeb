package lint

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// refusal is something in the cluster that Envoy throws an exception about, in the words for users and in Envoy's.
type refusal struct {
	at            diag.Path
	message, says string
}

func (r *refusal) below(at diag.Path) *refusal {
	if r == nil {
		return nil
	}
	return &refusal{at.Join(r.at), r.message, r.says}
}

// refuse reports what Envoy refuses about the cluster in a place of its order, nothing for nil.
func (b *build) refuse(stage string, r *refusal) {
	if r != nil {
		b.envoy(stage, "cluster-constraint", r.at, r.message, r.says)
	}
}

// byHealthChecks makes the health checkers, as ClusterFactoryImplBase::create does after the cluster and its hosts
// (cluster_factory_impl.cc): one after the other, until one is refused.
func (b *build) byHealthChecks() {
	if len(b.m.GetHealthChecks()) > 1 && b.c.EnvoyVersion < 40 {
		b.refuse(stageChecks, &refusal{inCluster("health_checks"), "before Envoy 1.40 a cluster has one health check", "Multiple health checks not supported"})
		return
	}
	names := map[string]bool{}
	for i, check := range b.m.GetHealthChecks() {
		at := inCluster("health_checks").Index(i)
		r := b.healthChecker(check).below(at)
		switch name := check.GetName(); {
		case len(b.m.GetHealthChecks()) == 1:
		case name == "":
			r = &refusal{at, "of several health checks each needs a name",
				fmt.Sprintf("health check at index %d is missing a name; all health checks must have a name when multiple health checks are configured", i)}
		case names[name]:
			r = &refusal{at.Field("name"), fmt.Sprintf("another health check is named %q", name),
				fmt.Sprintf("duplicate health check name '%s' at index %d; all health check names must be unique within a cluster", name, i)}
		}
		names[check.GetName()] = true
		if r != nil {
			b.refuse(stageChecks, r)
			return
		}
	}
	b.http3Check()
}

// http3Check: the checker of an endpoint gives up in an exception that nobody catches.
func (b *build) http3Check() {
	for i, check := range b.m.GetHealthChecks() {
		if check.GetHttpHealthCheck().GetCodecClientType() != typev3.CodecClientType_HTTP3 {
			continue
		}
		for _, group := range b.endpoints() {
			for _, end := range group.GetLbEndpoints() {
				if !end.GetEndpoint().GetHealthCheckConfig().GetDisableActiveHealthCheck() {
					b.envoyEffect(diag.Crash, stageChecks, "cluster-constraint", inCluster("health_checks").Index(i).Field("http_health_check.codec_client_type"),
						"health checks with HTTP3 end the Envoy process", "std::terminate called! Uncaught unknown exception, see trace.")
					return
				}
			}
		}
	}
}

func (b *build) healthChecker(c *corev3.HealthCheck) *refusal {
	var r *refusal
	switch kind := c.GetHealthChecker().(type) {
	case *corev3.HealthCheck_HttpHealthCheck_:
		r = httpCheck(kind.HttpHealthCheck).below(diag.Path{}.Field("http_health_check"))
	case *corev3.HealthCheck_TcpHealthCheck_:
		r = tcpCheck(kind.TcpHealthCheck).below(diag.Path{}.Field("tcp_health_check"))
	case *corev3.HealthCheck_GrpcHealthCheck_:
		r = b.grpcCheck(kind.GrpcHealthCheck).below(diag.Path{}.Field("grpc_health_check"))
	case *corev3.HealthCheck_CustomHealthCheck_:
		custom := kind.CustomHealthCheck
		r = registered(custom.GetName(), custom.GetTypedConfig(), healthCheckers).below(diag.Path{}.Field("custom_health_check"))
	}
	if r != nil {
		return r
	}
	for i, logger := range c.GetEventLogger() {
		if r := registered(logger.GetName(), logger.GetTypedConfig(), healthEventSinks); r != nil {
			return r.below(diag.Path{}.Field("event_logger").Index(i))
		}
	}
	return nil
}

// The extensions of Envoy 1.40 for health checks, by their messages.
var (
	healthCheckers   = []string{"envoy.extensions.health_checkers.redis.v3.Redis", "envoy.extensions.health_checkers.thrift.v3.Thrift"}
	healthEventSinks = []string{"envoy.extensions.health_check.event_sinks.file.v3.HealthCheckEventFileSink"}
)

// registered: Envoy finds an extension by the message of its configuration alone (config/utility.h,
// getAndCheckFactory). What a TypedStruct names is not looked at here.
func registered(name string, config *anypb.Any, messages []string) *refusal {
	_, typ, _ := strings.Cut(config.GetTypeUrl(), "/")
	if slices.Contains(messages, typ) || typ == "xds.type.v3.TypedStruct" || typ == "udpa.type.v1.TypedStruct" {
		return nil
	}
	return &refusal{diag.Path{}.Field("typed_config"), fmt.Sprintf("Envoy has no such extension %q", name),
		fmt.Sprintf("Didn't find a registered implementation for '%s' with type URL: '%s'", name, typ)}
}

// noExtension is for extensions whose messages edsctl does not list: those that certainly are none.
func noExtension(name string, config *anypb.Any) *refusal {
	_, typ, _ := strings.Cut(config.GetTypeUrl(), "/")
	if typ != "" && !strings.HasPrefix(typ, "google.protobuf.") {
		return nil
	}
	return registered(name, config, nil)
}

// httpCheck: HttpHealthCheckerImpl (health_checkers/http/health_checker_impl.cc).
func httpCheck(c *corev3.HealthCheck_HttpHealthCheck) *refusal {
	if r := headersToAdd(c.GetRequestHeadersToAdd(), "request_headers_to_add"); r != nil {
		return r
	}
	for i, name := range c.GetRequestHeadersToRemove() {
		if !modifiable(name) {
			return &refusal{diag.Path{}.Field("request_headers_to_remove").Index(i), fmt.Sprintf("header %q cannot be removed", name), ":-prefixed or host headers may not be removed"}
		}
	}
	if r := statuses(c.GetExpectedStatuses(), "expected"); r != nil {
		return r
	}
	if r := statuses(c.GetRetriableStatuses(), "retriable"); r != nil {
		return r
	}
	if c.GetSend() != nil {
		switch method := c.GetMethod(); method {
		case corev3.RequestMethod_POST, corev3.RequestMethod_PUT, corev3.RequestMethod_PATCH, corev3.RequestMethod_OPTIONS:
		default:
			name := method.String()
			if method == corev3.RequestMethod_METHOD_UNSPECIFIED {
				name = "GET"
			}
			return &refusal{diag.Path{}.Field("send"), "a request with method " + name + " has no payload",
				fmt.Sprintf("HTTP health check cannot specify a request payload with method '%s'. Only methods that support a request body (POST, PUT, PATCH, OPTIONS) can be used with payload.", name)}
		}
		if r := payload(c.GetSend()); r != nil {
			return r.below(diag.Path{}.Field("send"))
		}
	}
	if r := payloads(c.GetReceive()); r != nil {
		return r
	}
	return stringMatcher(c.GetServiceNameMatcher()).below(diag.Path{}.Field("service_name_matcher"))
}

// statuses: HttpStatusChecker (the same file). The numbers are read as unsigned.
func statuses(list []*typev3.Int64Range, word string) *refusal {
	for i, s := range list {
		start, end := uint64(s.GetStart()), uint64(s.GetEnd())
		says := ""
		switch {
		case start >= end:
			says = fmt.Sprintf("expecting start < end, but found start=%d and end=%d", start, end)
		case start < 100:
			says = fmt.Sprintf("expecting start >= 100, but found start=%d", start)
		case end > 600:
			says = fmt.Sprintf("expecting end <= 600, but found end=%d", end)
		default:
			continue
		}
		return &refusal{diag.Path{}.Field(word + "_statuses").Index(i), "a range of statuses is from 100 to 600, with start less than end",
			"Invalid http " + word + " status range: " + says}
	}
	return nil
}

func tcpCheck(c *corev3.HealthCheck_TcpHealthCheck) *refusal {
	if r := payload(c.GetSend()); r != nil {
		return r.below(diag.Path{}.Field("send"))
	}
	return payloads(c.GetReceive())
}

func payloads(list []*corev3.HealthCheck_Payload) *refusal {
	for i, p := range list {
		if r := payload(p); r != nil {
			return r.below(diag.Path{}.Field("receive").Index(i))
		}
	}
	return nil
}

func payload(p *corev3.HealthCheck_Payload) *refusal {
	if _, isText := p.GetPayload().(*corev3.HealthCheck_Payload_Text); !isText {
		return nil
	}
	if _, err := hex.DecodeString(p.GetText()); err == nil {
		return nil
	}
	return &refusal{diag.Path{}.Field("text"), "text of a health check is in hexadecimal digits, two a byte", fmt.Sprintf("invalid hex string '%s'", p.GetText())}
}

func (b *build) grpcCheck(c *corev3.HealthCheck_GrpcHealthCheck) *refusal {
	if !b.speaksHTTP2() {
		return &refusal{nil, "health checks with gRPC need a cluster with HTTP/2", b.m.GetName() + " cluster must support HTTP/2 for gRPC healthchecking"}
	}
	return headersToAdd(c.GetInitialMetadata(), "initial_metadata")
}

// speaksHTTP2 tells whether the cluster has the feature HTTP2 (upstreams/http/config.cc).
func (b *build) speaksHTTP2() bool {
	if options, ok := b.c.Cluster.HTTPOptions(); ok {
		return options.HTTP2
	}
	return b.m.GetHttp2ProtocolOptions() != nil //nolint:staticcheck // still read
}

// headersToAdd: Router::HeaderParser::configure (header_parser.cc).
func headersToAdd(list []*corev3.HeaderValueOption, field string) *refusal {
	for i, h := range list {
		at := diag.Path{}.Field(field).Index(i)
		switch name := h.GetHeader().GetKey(); {
		case h.GetAppend() != nil && h.GetAppendAction() != corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD: //nolint:staticcheck // still read
			return &refusal{at, "append cannot be combined with append_action", "Both append and append_action are set and it's not allowed"}
		case !modifiable(name):
			return &refusal{at.Field("header.key"), fmt.Sprintf("header %q cannot be set", name), ":-prefixed or host headers may not be modified"}
		}
	}
	return nil
}

// modifiable: Http::HeaderUtility::isModifiableHeader.
func modifiable(name string) bool {
	return !strings.HasPrefix(name, ":") && !strings.EqualFold(name, "host")
}

// stringMatcher checks what a matcher is made of (common/common/matchers.h).
func stringMatcher(m *matcherv3.StringMatcher) *refusal {
	if m.GetSafeRegex() == nil {
		return nil
	}
	if m.GetIgnoreCase() {
		return &refusal{diag.Path{}.Field("ignore_case"), "ignore_case has no effect on a regular expression", "ignore_case has no effect for safe_regex."}
	}
	return regex(m.GetSafeRegex().GetRegex()).below(diag.Path{}.Field("safe_regex.regex"))
}

func regex(pattern string) *refusal {
	says := eds.RegexError(pattern)
	if says == "" {
		return nil
	}
	return &refusal{nil, fmt.Sprintf("%q is no regular expression: %s", pattern, says), says}
}

// outlierDetector: DetectorConfig (outlier_detection_impl.cc), in milliseconds.
func outlierDetector(o *clusterv3.OutlierDetection) *refusal {
	if o.GetMaxEjectionTime() == nil {
		return nil
	}
	base := int64(30_000)
	if d := o.GetBaseEjectionTime(); d != nil {
		base = d.AsDuration().Milliseconds()
	}
	if o.GetMaxEjectionTime().AsDuration().Milliseconds() >= base {
		return nil
	}
	return &refusal{inCluster("outlier_detection.max_ejection_time"), "max_ejection_time is less than base_ejection_time (30s when it is not set)",
		"outlier detector's max_ejection_time cannot be smaller than base_ejection_time"}
}
