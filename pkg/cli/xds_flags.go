package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/xds"
)

// xdsFlags say which management server to ask, as whom and how: the flags that fetch and watch share.
type xdsFlags struct {
	server, bootstrap, as              string
	transport, service                 string
	transportVersion, resourceVersion  string
	nodeID, nodeCluster, nodeLocality  string
	nodeMetadata                       []nodeField
	plaintext, insecure                bool
	caCert, cert, key                  string
	serverName, authority              string
	headers                            []xds.Header
	tokenFile                          string
	connectTimeout, keepalive, refresh time.Duration
	maxMsgSize                         int
	ack                                string

	flags *pflag.FlagSet
	// fixed are the names that a bootstrap without CDS asks for: those of its own clusters with EDS.
	fixed []string
}

// nodeField is one --node-metadata.
type nodeField struct {
	key   string
	value *structpb.Value
}

func (f *xdsFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.flags = fs
	fs.StringVar(&f.server, "server", "", "management server: HOST:PORT, a URL or unix:PATH")
	fs.StringVar(&f.bootstrap, "bootstrap", "", "Envoy bootstrap or gRPC bootstrap with server, node and credentials (default: the file in GRPC_XDS_BOOTSTRAP)")
	var presets []string
	for _, p := range xds.Presets() {
		presets = append(presets, p.Name)
	}
	enumVar(cmd, &f.as, "as", "", presets, "ask as this kind of client does")
	enumVar(cmd, &f.transport, "transport", string(xds.SotW), texts(xds.Transports), "way of asking")
	enumVar(cmd, &f.service, "service", string(xds.ServiceAuto), texts(xds.Services), "discovery service to ask; auto changes over when the server does not have it")
	enumVar(cmd, &f.transportVersion, "transport-version", string(xds.V3), texts(xds.TransportVersions), "API version of services and requests")
	enumVar(cmd, &f.resourceVersion, "resource-version", string(xds.V3), texts(xds.ResourceVersions), "API version of the resources asked for")
	fs.StringVar(&f.nodeID, "node-id", "", `id of the node to be (default "edsctl")`)
	fs.StringVar(&f.nodeCluster, "node-cluster", "", `cluster of the node (default "edsctl")`)
	fs.StringVar(&f.nodeLocality, "node-locality", "", "locality of the node, REGION/ZONE/SUB_ZONE")
	listVar(fs, &f.nodeMetadata, "node-metadata", "KEY=VALUE", "metadata of the node; a value in {} or [] is JSON (repeatable)", parseNodeField)
	fs.BoolVar(&f.plaintext, "plaintext", false, "do not use TLS")
	fs.BoolVar(&f.insecure, "insecure", false, "use TLS without verifying the server's certificate")
	fs.StringVar(&f.caCert, "cacert", "", "file with the certificates that may have signed the server's")
	fs.StringVar(&f.cert, "cert", "", "file with the client certificate")
	fs.StringVar(&f.key, "key", "", "file with the key of the client certificate")
	fs.StringVar(&f.serverName, "servername", "", "name that the server's certificate must have")
	fs.StringVar(&f.authority, "authority", "", "value of the :authority header")
	fs.VarP(&list[xds.Header]{items: &f.headers, parse: parseHeader, kind: "'NAME: VALUE'"}, "header", "H", "header of every request (repeatable); its value is never printed")
	hasCommas(fs, "node-metadata")
	fs.StringVar(&f.tokenFile, "bearer-token-file", "", "file with a token, read for every stream and sent as authorization: Bearer")
	fs.DurationVar(&f.connectTimeout, "connect-timeout", 10*time.Second, "longest time to wait for a connection")
	fs.DurationVar(&f.keepalive, "keepalive", xds.DefaultKeepalive, "time of silence after which the connection is probed; negative: never")
	fs.DurationVar(&f.refresh, "refresh-delay", xds.DefaultRefreshDelay, "time between two polls of rest and unary, at least 100ms")
	fs.IntVar(&f.maxMsgSize, "max-msg-size", 256<<20, "largest response, in bytes")
	limitFlag(fs, "connect-timeout", "a duration like 10s, or 0 for the default of 10s", func() bool { return f.connectTimeout >= 0 })
	limitFlag(fs, "refresh-delay", "a duration from 100ms to 24h, or 0 for the default of 1s", func() bool {
		return f.refresh == 0 || f.refresh >= 100*time.Millisecond && f.refresh <= 24*time.Hour
	})
	limitFlag(fs, "max-msg-size", "a number of bytes, at least 1", func() bool { return f.maxMsgSize > 0 })
	enumVar(cmd, &f.ack, "ack", string(xds.AckAlways), texts(xds.AckModes), "which responses to acknowledge: all, those that the client would accept, or none")
	noProject(fs, "server", "bootstrap", "as", "transport", "service", "transport-version", "resource-version", "node-id", "node-cluster", "node-locality",
		"node-metadata", "plaintext", "insecure", "cacert", "cert", "key", "servername", "authority", "header", "bearer-token-file", "connect-timeout",
		"keepalive", "refresh-delay", "max-msg-size", "ack")
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// errHeaderForm is about a value that is not printed.
var errHeaderForm = errors.New("must have the form 'name: value'")

func parseHeader(s string) (xds.Header, error) {
	name, value, ok := strings.Cut(s, ":")
	name = strings.ToLower(strings.TrimSpace(name))
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		return xds.Header{}, errHeaderForm
	}
	return xds.Header{Name: name, Value: strings.TrimSpace(value)}, nil
}

func parseNodeField(s string) (nodeField, error) {
	key, value, err := splitPair(s, "KEY=VALUE")
	if err != nil {
		return nodeField{}, err
	}
	field := nodeField{key: key, value: structpb.NewStringValue(value)}
	if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			return nodeField{}, fmt.Errorf("is no JSON: %w", err)
		}
		if field.value, err = structpb.NewValue(v); err != nil {
			return nodeField{}, err
		}
	}
	return field, nil
}

// options puts flags, preset and bootstrap together, in this order of precedence. notes are what the user should know.
func (f *xdsFlags) options(ctx context.Context, env *Env) (o xds.Options, notes []string, err error) {
	b, err := f.readBootstrap(ctx, env)
	if err != nil {
		return o, nil, err
	}
	o = xds.Options{
		Transport: xds.Transport(f.transport), Service: xds.Service(f.service), Ack: xds.AckMode(f.ack), RefreshDelay: f.refresh,
		TransportVersion: xds.Version(f.transportVersion), ResourceVersion: xds.Version(f.resourceVersion),
		NodeOnce: b.NodeOnce, StaticClusters: b.StaticClusters,
	}
	if b.GRPC {
		o.Client = diag.GRPC
	}
	if !b.HasCDS {
		f.fixed = b.StaticEDS
	}
	var preset xds.Preset
	if f.as != "" {
		if preset, err = xds.FindPreset(f.as); err != nil {
			return o, nil, usageError(err)
		}
		o.Client, o.NodeOnce = preset.Client, o.NodeOnce || preset.NodeOnce
	}
	f.choose("transport", string(preset.Transport), string(b.Transport), func(s string) { o.Transport = xds.Transport(s) })
	f.choose("service", string(preset.Service), string(b.Service), func(s string) { o.Service = xds.Service(s) })
	if o.Node, err = f.node(b.Node, &preset, env); err != nil {
		return o, nil, err
	}
	if o.Dial, err = f.dial(b, env); err != nil {
		return o, nil, err
	}
	return o, b.Notes, nil
}

// choose takes a value from the preset or the bootstrap when the user gave the flag none.
func (f *xdsFlags) choose(flag, preset, bootstrap string, set func(string)) {
	switch {
	case f.flags.Changed(flag):
	case preset != "":
		set(preset)
	case bootstrap != "":
		set(bootstrap)
	}
}

func (f *xdsFlags) readBootstrap(ctx context.Context, env *Env) (*xds.Bootstrap, error) {
	name, data := f.bootstrap, []byte(nil)
	if name == "" && f.server == "" {
		name = env.Getenv("GRPC_XDS_BOOTSTRAP")
		if text := env.Getenv("GRPC_XDS_BOOTSTRAP_CONFIG"); name == "" && text != "" {
			name, data = "GRPC_XDS_BOOTSTRAP_CONFIG", []byte(text)
		}
	}
	if name == "" {
		return &xds.Bootstrap{}, nil
	}
	if data == nil {
		var err error
		if data, err = newFlagFiles(maxBootstrap).read(ctx, name); err != nil {
			return nil, fmt.Errorf("read the bootstrap: %s: %w", name, err)
		}
	}
	b, err := xds.ReadBootstrap(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func (f *xdsFlags) node(base *corev3.Node, preset *xds.Preset, env *Env) (*corev3.Node, error) {
	n := &corev3.Node{}
	if base != nil {
		n = proto.Clone(base).(*corev3.Node)
	}
	for _, field := range f.nodeMetadata {
		if n.Metadata == nil {
			n.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{}}
		}
		n.Metadata.Fields[field.key] = field.value
	}
	if f.nodeID != "" {
		n.Id = f.nodeID
	}
	if f.nodeCluster != "" {
		n.Cluster = f.nodeCluster
	}
	if f.nodeLocality != "" {
		parts := strings.Split(f.nodeLocality, "/")
		if len(parts) > 3 {
			return nil, usagef("--node-locality: value %q: must have the form REGION/ZONE/SUB_ZONE", f.nodeLocality)
		}
		parts = append(parts, "", "")
		n.Locality = &corev3.Locality{Region: parts[0], Zone: parts[1], SubZone: parts[2]}
	}
	preset.Apply(n)
	if n.Id == "" {
		n.Id = "edsctl"
	}
	if n.Cluster == "" {
		n.Cluster = "edsctl"
	}
	if n.UserAgentName == "" {
		n.UserAgentName = "edsctl"
		n.UserAgentVersionType = &corev3.Node_UserAgentVersion{UserAgentVersion: env.Version.Number}
	}
	if len(n.ClientFeatures) == 0 && f.as != "envoy" {
		n.ClientFeatures = []string{"xds.config.resource-in-sotw", "xds.config.supports-resource-ttl"}
	}
	return n, nil
}

func (f *xdsFlags) dial(b *xds.Bootstrap, env *Env) (xds.Dial, error) {
	d := xds.Dial{
		Target: b.Target, Plaintext: b.Plaintext, CACert: b.CACert, Cert: b.Cert, Key: b.Key, ServerName: b.SNI, Authority: b.Authority,
		Headers: append(append([]xds.Header(nil), b.Headers...), f.headers...), TokenFile: b.TokenFile, Insecure: f.insecure,
		MaxMsgSize: f.maxMsgSize, ConnectTimeout: f.connectTimeout, Keepalive: f.keepalive, UserAgent: "edsctl/" + env.Version.Number,
		ReadFile: newFlagFiles(maxCredentials).read,
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		d.Secrets = append(d.Secrets, proxySecrets(env.Getenv(name))...)
	}
	if f.server != "" {
		target, plaintext, err := xds.ParseServer(f.server)
		if err != nil {
			return d, usagef("--server: value %q: %w", redactURL(f.server), err)
		}
		d.Target, d.Plaintext = target, plaintext != nil && *plaintext
	}
	if d.Target == "" {
		return d, usageError(withHint(errors.New("no server given"), "name it with --server HOST:PORT, or give an Envoy or gRPC bootstrap with --bootstrap FILE"))
	}
	if f.flags.Changed("plaintext") {
		d.Plaintext = f.plaintext
	}
	for value, field := range map[*string]*string{&f.caCert: &d.CACert, &f.cert: &d.Cert, &f.key: &d.Key, &f.serverName: &d.ServerName, &f.authority: &d.Authority, &f.tokenFile: &d.TokenFile} {
		if *value != "" {
			*field = *value
		}
	}
	if (f.cert != "" || f.key != "") && (d.Cert == "" || d.Key == "") {
		return d, usagef("--cert and --key belong together")
	}
	if d.Plaintext && (f.insecure || f.caCert != "" || f.cert != "" || f.key != "" || f.serverName != "") {
		return d, usagef("--plaintext cannot be combined with flags about TLS")
	}
	return d, nil
}

// proxySecrets are the password in the URL of a proxy, and the form in which the proxy is told it.
func proxySecrets(proxy string) []string {
	u, err := url.Parse(proxy)
	if err != nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	return []string{password, base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))}
}

// redactURL hides a password in a URL that is not accepted, or in a HOST:PORT that looks like one.
func redactURL(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if ok {
		scheme += "://"
	} else {
		scheme, rest = "", s
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		return scheme + "***@" + rest[at+1:]
	}
	return s
}
