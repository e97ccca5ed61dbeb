package eds

import (
	"fmt"
	"regexp"

	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// GRPCSecurity is what grpc-go makes of the transport_socket of a cluster (unmarshal_cds.go, securityConfigFromCluster).
type GRPCSecurity struct {
	// Says is why it refuses the cluster, and Path where; empty when it does not.
	Says string
	Path diag.Path
	// Root and Identity are the names of the certificate providers, which its bootstrap must have.
	Root, Identity string
}

const (
	upstreamTLSContext = grpcTypes + "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	http11Proxy        = grpcTypes + "envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport"
	deprecatedFields   = "failed to parse config using deprecated fields: "
	maxSNI             = 255
)

// Fields of the messages in envoy.extensions.transport_sockets.tls.v3, which is not linked: it would be set up at every
// start.
var (
	commonContext    = unlinkedField{"common_tls_context", 1}
	sni              = unlinkedField{"sni", 2}
	tlsParams        = unlinkedField{"tls_params", 1}
	tlsCertificates  = unlinkedField{"tls_certificates", 2}
	sdsCertificates  = unlinkedField{"tls_certificate_sds_secret_configs", 6}
	customHandshaker = unlinkedField{"custom_handshaker", 13}
	identityProvider = unlinkedField{"tls_certificate_provider_instance", 14}
	identityOld      = unlinkedField{"tls_certificate_certificate_provider_instance", 11}

	validation         = unlinkedField{"validation_context", 3}
	validationSDS      = unlinkedField{"validation_context_sds_secret_config", 7}
	validationCombined = unlinkedField{"combined_validation_context", 8}
	validationProvider = unlinkedField{"validation_context_certificate_provider", 10}
	validationInstance = unlinkedField{"validation_context_certificate_provider_instance", 12}

	combinedDefault  = unlinkedField{"default_validation_context", 1}
	combinedInstance = unlinkedField{"validation_context_certificate_provider_instance", 4}

	rootProvider    = unlinkedField{"ca_certificate_provider_instance", 13}
	systemRoots     = unlinkedField{"system_root_certs", 17}
	subjectAltNames = unlinkedField{"match_subject_alt_names", 9}

	instanceName    = unlinkedField{"instance_name", 1}
	certificateName = unlinkedField{"certificate_name", 2}
)

// tlsShape are the strings and messages in an UpstreamTlsContext that a damage is looked for in.
func tlsShape() wireShape {
	none, instance := wireShape{}, wireShape{1: nil, 2: nil}
	context := wireShape{1: none, 2: nil, 3: nil, 6: none, 7: none, 9: {1: nil, 2: nil, 3: nil, 5: none, 7: nil}, 11: none, 12: none, 13: instance, 15: none, 16: none, 17: none}
	provider := wireShape{1: nil, 2: none}
	common := wireShape{
		1: {3: nil, 4: nil, 5: nil}, 2: none, 3: context, 4: nil, 6: provider, 7: provider, 8: {1: context, 2: provider, 3: provider, 4: instance},
		9: provider, 10: provider, 11: instance, 12: instance, 13: provider, 14: instance, 15: {1: nil, 2: none, 3: none}, 16: provider,
	}
	return wireShape{1: common, 2: nil, 4: none, 5: none}
}

// ReadGRPCSecurity reads the transport_socket of a cluster; on tells whether an environment variable of gRPC is "true".
func ReadGRPCSecurity(c *Cluster, on func(variable string) bool) GRPCSecurity {
	socket := c.Message.GetTransportSocket()
	if socket == nil {
		return GRPCSecurity{}
	}
	r := securityReader{on: on, at: clusterPath("transport_socket")}
	name, url := socket.GetName(), socket.GetTypedConfig().GetTypeUrl()
	node := document.Node{}
	if c.Node.IsValid() {
		node = child(child(c.Node, "transport_socket"), "typed_config")
	}
	config := messageOf(socket.GetTypedConfig(), node, c.written("transport_socket", "typed_config"))
	if url == http11Proxy && on("GRPC_EXPERIMENTAL_XDS_HTTP_CONNECT") {
		if text := (wireShape{1: {1: nil, 3: {1: nil}}}).damage(config.wire); text != "" {
			return r.refuse("typed_config", "failed to unmarshal Http11ProxyUpstreamTransport in CDS response: "+text)
		}
		inner, ok := config.message(unlinkedField{"transport_socket", 1})
		if !ok {
			return GRPCSecurity{}
		}
		r.at = r.at.Field("typed_config.transport_socket")
		name = inner.text(unlinkedField{"name", 1})
		url, config = inner.any(unlinkedField{"typed_config", 3})
	}
	switch {
	case name != "envoy.transport_sockets.tls":
		return r.refuse("name", "transport_socket field has unexpected name: "+name)
	case url != upstreamTLSContext:
		return r.refuse("typed_config", fmt.Sprintf("transport_socket missing typed_config or wrong type_url: %q", url))
	}
	if text := tlsShape().damage(config.wire); text != "" {
		return r.refuse("typed_config", "failed to unmarshal UpstreamTlsContext in CDS response: "+text)
	}
	common, ok := config.message(commonContext)
	if !ok {
		return r.refuse("typed_config", "UpstreamTlsContext in CDS response does not contain a CommonTlsContext")
	}
	out := r.common(common)
	if name := config.text(sni); out.Says == "" && len(name) > maxSNI && on("GRPC_EXPERIMENTAL_XDS_SNI") {
		return r.refuse("typed_config.sni", fmt.Sprintf("SNI value %q in UpstreamTlsContext in CDS response exceeds max length of %d", name, maxSNI))
	}
	return out
}

type securityReader struct {
	on func(string) bool
	at diag.Path // of the transport_socket
}

func (r *securityReader) refuse(field, says string) GRPCSecurity {
	return GRPCSecurity{Says: says, Path: r.at.Field(field)}
}

// tlsProviders is SecurityConfig as far as it decides.
type tlsProviders struct {
	root, rootCertificate, identity, identityCertificate string
	names                                                int // of match_subject_alt_names
	systemRoots                                          bool
}

const inCommonContext = " in CommonTlsContext message: <dump>"

// common: securityConfigFromCommonTLSContext.
func (r *securityReader) common(m unlinkedMessage) GRPCSecurity {
	const at = "typed_config.common_tls_context"
	for _, f := range []unlinkedField{tlsParams, customHandshaker} {
		if _, ok := m.message(f); ok {
			return r.refuse(at+"."+f.name, "unsupported "+f.name+" field"+inCommonContext)
		}
	}
	p, field, says := r.newFields(m)
	if p == (tlsProviders{}) {
		var old string
		if p, old = oldFields(m); old != "" {
			if says != "" {
				says += "\n"
			}
			if field != "" {
				field = "." + field
			}
			return r.refuse(at+field, says+deprecatedFields+old)
		}
	}
	if !p.systemRoots && p.root == "" {
		return r.refuse(at, "security configuration on the client-side does not contain root certificate provider instance name")
	}
	return GRPCSecurity{Path: r.at.Field(at), Root: p.root, Identity: p.identity}
}

// newFields reads the fields of gRFC A29; p is empty beside an error, which names the field that it is about.
func (r *securityReader) newFields(m unlinkedMessage) (p tlsProviders, field, says string) {
	identity, ok := m.message(identityProvider)
	const missing = "expected field tls_certificate_provider_instance is not set, while unsupported field "
	for _, f := range []unlinkedField{tlsCertificates, sdsCertificates} {
		if !ok && len(m.list(f)) > 0 {
			return tlsProviders{}, f.name, missing + f.name + " is set" + inCommonContext
		}
	}
	if ok {
		p.identity, p.identityCertificate = identity.text(instanceName), identity.text(certificateName)
	}
	kind, context, _ := validationContext(m)
	field = kind.name
	switch kind {
	case unlinkedField{}:
		return p, "", ""
	case validation:
	case validationCombined:
		field += "." + combinedDefault.name
		context, _ = context.message(combinedDefault)
	default:
		return tlsProviders{}, field, "validation context contains unexpected type: *tlsv3.CommonTlsContext_" + kind.goName()
	}
	if f := unsupportedValidation(context); f != "" {
		return tlsProviders{}, field + "." + f, "unsupported " + f + " field" + inCommonContext
	}
	_, system := context.message(systemRoots)
	systemOn := r.on("GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS")
	switch root, ok := context.message(rootProvider); {
	case ok:
		p.root, p.rootCertificate = root.text(instanceName), root.text(certificateName)
	case systemOn && system:
		p.systemRoots = true
	case systemOn:
		return tlsProviders{}, field, "expected fields ca_certificate_provider_instance and system_root_certs are missing" + inCommonContext
	default:
		return tlsProviders{}, field, "expected field ca_certificate_provider_instance is missing" + inCommonContext
	}
	names := context.list(subjectAltNames)
	for _, name := range names {
		if says := stringMatcher(name); says != "" {
			return tlsProviders{}, field + "." + subjectAltNames.name, says
		}
	}
	p.names = len(names)
	return p, "", ""
}

func validationContext(m unlinkedMessage) (unlinkedField, unlinkedMessage, bool) {
	return m.oneof(validation, validationSDS, validationCombined, validationProvider, validationInstance)
}

// unsupportedValidation is the first field of a CertificateValidationContext that grpc-go refuses.
func unsupportedValidation(m unlinkedMessage) string {
	for _, f := range []unlinkedField{{"verify_certificate_spki", 3}, {"verify_certificate_hash", 2}} {
		if len(m.list(f)) > 0 {
			return f.name
		}
	}
	if f := (unlinkedField{"require_signed_certificate_timestamp", 6}); m.boolean(f) {
		return f.name
	}
	for _, f := range []unlinkedField{{"crl", 7}, {"custom_validator_config", 12}} {
		if _, ok := m.message(f); ok {
			return f.name
		}
	}
	return ""
}

// oldFields: securityConfigFromCommonTLSContextWithDeprecatedFields.
func oldFields(m unlinkedMessage) (p tlsProviders, says string) {
	if identity, ok := m.message(identityOld); ok {
		p.identity, p.identityCertificate = identity.text(instanceName), identity.text(certificateName)
	}
	kind, context, _ := validationContext(m)
	switch kind {
	case unlinkedField{}:
		return p, ""
	case validationCombined:
		inner, _ := context.message(combinedDefault)
		for _, name := range inner.list(subjectAltNames) {
			if says := stringMatcher(name); says != "" {
				return tlsProviders{}, says
			}
		}
		context, _ = context.message(combinedInstance)
	case validationInstance:
	default:
		return tlsProviders{}, "validation context contains unexpected type: *tlsv3.CommonTlsContext_" + kind.goName()
	}
	p.root, p.rootCertificate = context.text(instanceName), context.text(certificateName)
	return p, ""
}

// stringMatcher is why grpc-go refuses a StringMatcher (internal/xds/matcher); empty when it takes it.
func stringMatcher(m unlinkedMessage) string {
	kind, text, ok := "", "", false
	if m.node.IsValid() {
		for _, name := range []string{"exact", "prefix", "suffix", "safe_regex", "contains"} {
			if n := child(m.node, name); n.IsValid() {
				kind, text, ok = name, textOf(m.node, name), true
				if name == "safe_regex" {
					text = textOf(n, "regex")
				}
			}
		}
	} else {
		var s matcherv3.StringMatcher
		_ = proto.Unmarshal(m.wire, &s) // its damage was looked for
		ok = true
		switch p := s.GetMatchPattern().(type) {
		case *matcherv3.StringMatcher_Exact:
			kind, text = "exact", p.Exact
		case *matcherv3.StringMatcher_Prefix:
			kind, text = "prefix", p.Prefix
		case *matcherv3.StringMatcher_Suffix:
			kind, text = "suffix", p.Suffix
		case *matcherv3.StringMatcher_SafeRegex:
			kind, text = "safe_regex", p.SafeRegex.GetRegex()
		case *matcherv3.StringMatcher_Contains:
			kind, text = "contains", p.Contains
		default:
			ok = false
		}
	}
	switch {
	case !ok:
		return "unrecognized string matcher: <dump>"
	case kind == "safe_regex":
		if _, err := regexp.Compile(text); err != nil {
			return fmt.Sprintf("safe_regex matcher %q is invalid", text)
		}
	case kind != "exact" && text == "":
		return "empty " + kind + " is not allowed in StringMatcher"
	}
	return ""
}
