package xds

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

// Header is one header of every stream or poll. Its value may be a secret and is never printed.
type Header struct{ Name, Value string }

// Dial says how to reach a server. Its String hides all secrets.
type Dial struct {
	Target    string // "host:port", "unix:PATH", or a gRPC target with a scheme; REST: a URL
	Plaintext bool
	// Insecure skips the verification of the server's certificate.
	Insecure   bool
	CACert     string // file; empty: the system's
	Cert, Key  string // files of the client's certificate
	ServerName string // instead of the host name in the certificate
	Authority  string // :authority header
	Headers    []Header
	TokenFile  string   // read for every stream: "authorization: Bearer <content>"
	Secrets    []string // further values that are hidden in what the server says, such as a proxy's password
	MaxMsgSize int      // bytes of one response; 0: 256 MiB
	UserAgent  string

	ConnectTimeout time.Duration // of one attempt; 0: 10 s
	Keepalive      time.Duration // time without traffic after which the connection is probed; 0: 5 min, negative: never

	// ReadFile reads the files above; nil: os.ReadFile. Its errors do not name the file.
	ReadFile func(ctx context.Context, name string) ([]byte, error)

	secrets  *secrets  // what is hidden in the server's texts
	progress *progress // of the newest connection
}

// read reads a file; what is the noun in the error.
func (d *Dial) read(ctx context.Context, what, name string) ([]byte, error) {
	read := d.ReadFile
	if read == nil {
		read = func(_ context.Context, name string) ([]byte, error) {
			data, err := os.ReadFile(name)
			return data, bare(err)
		}
	}
	data, err := read(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %s: %w", what, name, err)
	}
	return data, nil
}

// bare takes operation and path off an error of package os.
func bare(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// DefaultKeepalive is gRPC's own for xDS: servers close connections that are probed more often than they allow, which is
// every five minutes unless they say otherwise.
const DefaultKeepalive = 5 * time.Minute

const defaultMaxMsgSize = 256 << 20

func (d *Dial) maxMsgSize() int64 {
	if d.MaxMsgSize == 0 {
		return defaultMaxMsgSize
	}
	return int64(d.MaxMsgSize)
}

var errUserInfo = errors.New("a user or password is not accepted here: use -H or --bearer-token-file")

// ParseServer splits a --server value into a target and what its scheme says about encryption: nil says nothing.
// http and https are for REST, but are understood by the other transports as well.
func ParseServer(s string) (target string, plaintext *bool, err error) {
	yes, no := true, false
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		if path == "" {
			return "", nil, errors.New("unix: needs a path")
		}
		return s, &yes, nil
	}
	if !strings.Contains(s, "://") {
		if strings.Contains(s, "@") {
			return "", nil, errUserInfo
		}
		if _, _, err := net.SplitHostPort(s); err != nil {
			return "", nil, fmt.Errorf("must be HOST:PORT, a URL or unix:PATH: %s", err.(*net.AddrError).Err)
		}
		return s, nil, nil
	}
	u, err := url.Parse(s)
	if err != nil {
		return "", nil, fmt.Errorf("is no URL: %w", errors.Unwrap(err))
	}
	if u.User != nil {
		return "", nil, errUserInfo
	}
	host := u.Host
	switch u.Scheme {
	case "http", "grpc":
		plaintext = &yes
	case "https", "grpcs":
		plaintext = &no
	case "xds":
	case "dns", "passthrough", "ipv4", "ipv6":
		return s, nil, nil
	default:
		return "", nil, fmt.Errorf("unknown scheme %q: must be one of http, https, grpc, grpcs, xds, unix, dns", u.Scheme)
	}
	if host == "" {
		return "", nil, errors.New("the URL has no host")
	}
	if u.Port() == "" {
		port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
		if port == "" {
			return "", nil, errors.New("the URL has no port")
		}
		host = net.JoinHostPort(u.Hostname(), port)
	}
	return host, plaintext, nil
}

// tlsConfig builds the client's TLS configuration from the files.
func (d *Dial) tlsConfig(ctx context.Context) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: d.ServerName, InsecureSkipVerify: d.Insecure} //nolint:gosec // --insecure is the user's wish
	if d.CACert != "" {
		pem, err := d.read(ctx, "the CA certificate", d.CACert)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the CA certificate: %q holds no PEM certificate", d.CACert)
		}
	}
	if (d.Cert == "") != (d.Key == "") {
		return nil, errors.New("a client certificate needs both a certificate and a key")
	}
	if d.Cert != "" {
		cert, err := d.read(ctx, "the client certificate", d.Cert)
		if err != nil {
			return nil, err
		}
		key, err := d.read(ctx, "the key of the client certificate", d.Key)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// headers returns the headers of a new stream, with the token as it stands in its file now.
func (d *Dial) headers(ctx context.Context) (metadata.MD, error) {
	md := metadata.MD{}
	for _, h := range d.Headers {
		md.Append(h.Name, h.Value)
	}
	if d.TokenFile != "" {
		token, err := d.read(ctx, "the bearer token", d.TokenFile)
		if err != nil {
			return nil, err
		}
		d.secrets.add(string(token))
		md.Set("authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return md, nil
}

// connect makes the client connection. It does not wait for the network.
func (d *Dial) connect(ctx context.Context) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if !d.Plaintext {
		cfg, err := d.tlsConfig(ctx)
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(cfg)
	}
	timeout := d.ConnectTimeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	d.progress = &progress{}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(tracedCredentials{creds, d.progress}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(d.maxMsgSize())), grpc.MaxCallSendMsgSize(64<<20)),
		grpc.WithUserAgent(d.UserAgent),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: timeout}),
		grpc.WithInitialWindowSize(1 << 20), grpc.WithInitialConnWindowSize(1 << 20),
	}
	if d.Authority != "" {
		opts = append(opts, grpc.WithAuthority(d.Authority))
	}
	if alive := d.Keepalive; alive >= 0 {
		if alive == 0 {
			alive = DefaultKeepalive
		}
		opts = append(opts, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: alive, Timeout: 20 * time.Second}))
	}
	conn, err := grpc.NewClient(d.Target, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", d.Target, err)
	}
	return conn, nil
}

// withHeaders adds the headers of a new stream to a context.
func (d *Dial) withHeaders(ctx context.Context) (context.Context, error) {
	md, err := d.headers(ctx)
	if err != nil {
		return nil, err
	}
	return metadata.NewOutgoingContext(ctx, md), nil
}
