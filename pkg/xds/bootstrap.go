package xds

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/edsctl/edsctl/pkg/eds"
)

// Bootstrap is what a bootstrap file tells a client of control planes: who it is, where the server is and how to get in.
type Bootstrap struct {
	Node      *corev3.Node
	NodeOnce  bool
	Target    string // empty: it names no server
	Plaintext bool
	CACert    string
	Cert, Key string
	SNI       string
	Authority string
	Headers   []Header
	TokenFile string
	Transport Transport // empty: not said
	Service   Service   // empty: not said
	// StaticClusters are the names of the clusters that CDS cannot redefine; StaticEDS the names that the static
	// clusters with EDS ask for.
	StaticClusters []string
	StaticEDS      []string
	HasCDS         bool // clusters come from CDS
	// Notes are what could not be taken over.
	Notes []string
	GRPC  bool // it is a gRPC bootstrap
}

// tree is a JSON object, read without a schema: a bootstrap holds extensions of hundreds of types.
type tree map[string]any

// get follows field names (snake case, with the camel case spelling accepted); an index is its decimal number.
func (t tree) get(path ...string) any {
	var v any = map[string]any(t)
	for _, p := range path {
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[p]
			if !ok {
				next = node[camel(p)]
			}
			v = next
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

func (t tree) text(path ...string) string {
	s, _ := t.get(path...).(string)
	return s
}

func (t tree) object(path ...string) tree {
	m, _ := t.get(path...).(map[string]any)
	return m
}

func (t tree) list(path ...string) []tree {
	items, _ := t.get(path...).([]any)
	var out []tree
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func camel(s string) string {
	parts := strings.Split(s, "_")
	for i := 1; i < len(parts); i++ {
		if parts[i] != "" {
			parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
		}
	}
	return strings.Join(parts, "")
}

// ReadBootstrap reads an Envoy bootstrap (YAML or JSON) or a gRPC bootstrap (JSON).
func ReadBootstrap(data []byte) (*Bootstrap, error) {
	v, err := eds.Untyped(data)
	if err != nil {
		return nil, fmt.Errorf("is neither YAML nor JSON: %w", err)
	}
	t, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("is no bootstrap: it is not a mapping")
	}
	root, b := tree(t), &Bootstrap{}
	if n := root.object("node"); n != nil {
		if b.Node, err = readNode(n); err != nil {
			return nil, fmt.Errorf("node: %w", err)
		}
	}
	if root.get("xds_servers") != nil {
		b.GRPC = true
		return b, b.readGRPC(root)
	}
	if root.get("static_resources") == nil && root.get("dynamic_resources") == nil && b.Node == nil {
		return nil, errors.New("is no bootstrap: it has neither node, static_resources and dynamic_resources nor xds_servers")
	}
	b.readEnvoy(root)
	return b, nil
}

func readNode(n tree) (*corev3.Node, error) {
	data, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	node := &corev3.Node{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, node); err != nil {
		return nil, errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: "))
	}
	return node, nil
}

// readGRPC takes the first server, as gRPC does while that can be reached (grpc-eds.md 5.1).
func (b *Bootstrap) readGRPC(t tree) error {
	servers := t.list("xds_servers")
	if len(servers) == 0 {
		return errors.New("required field `xds_servers` not found in bootstrap configuration")
	}
	server := servers[0]
	if b.Target = server.text("server_uri"); b.Target == "" {
		return errors.New("`server_uri` field in server config cannot be empty")
	}
	if len(servers) > 1 {
		b.Notes = append(b.Notes, fmt.Sprintf("the first of %d xds_servers is asked", len(servers)))
	}
	if err := b.channelCreds(server.list("channel_creds")); err != nil {
		return err
	}
	for _, c := range server.list("call_creds") {
		if c.text("type") == "jwt_token_file" {
			b.TokenFile = c.text("config", "jwt_token_file")
		}
	}
	b.Service, b.Transport, b.NodeOnce, b.HasCDS = ServiceADS, SotW, true, true
	return nil
}

func (b *Bootstrap) channelCreds(creds []tree) error {
	for _, c := range creds {
		switch c.text("type") {
		case "insecure":
			b.Plaintext = true
		case "google_default":
			b.Notes = append(b.Notes, "channel_creds google_default: give an access token with --bearer-token-file")
		case "tls":
			b.CACert = c.text("config", "ca_certificate_file")
			b.Cert, b.Key = c.text("config", "certificate_file"), c.text("config", "private_key_file")
		default:
			continue
		}
		return nil
	}
	return errors.New("`channel_creds` field in server config cannot be empty")
}

// readEnvoy finds the management server of ADS, else that of the first static cluster with EDS over an API.
func (b *Bootstrap) readEnvoy(t tree) {
	clusters := t.list("static_resources", "clusters")
	var source tree
	for _, c := range clusters {
		b.StaticClusters = append(b.StaticClusters, c.text("name"))
		if c.text("type") != "EDS" && c.text("cluster_type", "name") != edsExtension {
			continue
		}
		name := c.text("eds_cluster_config", "service_name")
		if name == "" {
			name = c.text("name")
		}
		b.StaticEDS = append(b.StaticEDS, name)
		if api := c.object("eds_cluster_config", "eds_config", "api_config_source"); api != nil && source == nil {
			source, b.Service = api, ServiceEDS
		}
	}
	cds := t.object("dynamic_resources", "cds_config")
	b.HasCDS = cds != nil
	if api := cds.object("api_config_source"); api != nil && source == nil {
		source, b.Service = api, ServiceEDS
	}
	if ads := t.object("dynamic_resources", "ads_config"); ads != nil {
		source, b.Service = ads, ServiceADS
	}
	if source != nil {
		b.readSource(source, clusters)
	}
}

func (b *Bootstrap) readSource(source tree, clusters []tree) {
	switch source.text("api_type") {
	case "GRPC", "AGGREGATED_GRPC":
		b.Transport = SotW
	case "DELTA_GRPC", "AGGREGATED_DELTA_GRPC":
		b.Transport = Delta
	case "REST":
		b.Transport = REST
	}
	b.NodeOnce, _ = source.get("set_node_on_first_message_only").(bool)
	name := source.text("cluster_names", "0")
	if services := source.list("grpc_services"); len(services) > 0 {
		g := services[0]
		for _, h := range g.list("initial_metadata") {
			b.Headers = append(b.Headers, Header{h.text("key"), h.text("value")})
		}
		if uri := g.text("google_grpc", "target_uri"); uri != "" {
			b.googleGRPC(uri, g.object("google_grpc"))
			return
		}
		name, b.Authority = g.text("envoy_grpc", "cluster_name"), g.text("envoy_grpc", "authority")
	}
	for _, c := range clusters {
		if c.text("name") == name {
			b.server(c)
			return
		}
	}
	b.Notes = append(b.Notes, fmt.Sprintf("the management server's cluster %q is not among the static clusters", name))
}

func (b *Bootstrap) googleGRPC(uri string, g tree) {
	b.Target = uri
	ssl := g.object("channel_credentials", "ssl_credentials")
	b.Plaintext = ssl == nil && g.get("channel_credentials", "google_default") == nil
	b.CACert = ssl.text("root_certs", "filename")
	b.Cert, b.Key = ssl.text("cert_chain", "filename"), ssl.text("private_key", "filename")
}

// server takes address and TLS of the management server's cluster.
func (b *Bootstrap) server(c tree) {
	address := c.object("load_assignment", "endpoints", "0", "lb_endpoints", "0", "endpoint", "address")
	switch host := address.text("socket_address", "address"); {
	case address.text("pipe", "path") != "":
		b.Target = "unix:" + address.text("pipe", "path")
	case host != "":
		port := fmt.Sprint(address.get("socket_address", "port_value")) // a number, which proto JSON may have in quotes
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			port = "0"
		}
		b.Target = net.JoinHostPort(host, port)
	default:
		b.Notes = append(b.Notes, fmt.Sprintf("the management server's cluster %q has no address", c.text("name")))
		return
	}
	tls := c.object("transport_socket", "typed_config")
	if !strings.HasSuffix(tls.text("@type"), ".UpstreamTlsContext") {
		b.Plaintext = true
		return
	}
	b.SNI = tls.text("sni")
	common := tls.object("common_tls_context")
	b.CACert = common.text("validation_context", "trusted_ca", "filename")
	if b.CACert == "" {
		b.CACert = common.text("combined_validation_context", "default_validation_context", "trusted_ca", "filename")
	}
	b.Cert = common.text("tls_certificates", "0", "certificate_chain", "filename")
	b.Key = common.text("tls_certificates", "0", "private_key", "filename")
	if common.get("tls_certificate_sds_secret_configs") != nil && b.Cert == "" {
		b.Notes = append(b.Notes, "the client certificate comes from SDS, which is not asked: give it with --cert and --key")
	}
}
