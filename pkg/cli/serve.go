package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds/serve"
)

type serveOptions struct {
	inputOptions
	profile
	listen              string
	cert, key, clientCA string
	force, noWatch      bool
	output              string
}

func newServeCmd(env *Env) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve PATH...",
		Short: "Serve assignments to local Envoys and gRPC clients",
		Long: `Serve the assignments in files and directories as a management server: state of the world and delta, EDS and ADS,
unary calls and REST, all on one port. Each assignment gets a cluster, and for gRPC clients a listener and a route
(xds:///NAME), so that the clients need nothing else.

The files are watched. What changes is pushed if it validates; what does not is kept back, with the reason, and the
last good version stays. Clients, what they accept and what they refuse are told as it happens. Ctrl-C ends it with 0.`,
		Example: `  edsctl serve eds.yaml
  edsctl serve --listen 127.0.0.1:18000 --cert server.pem --key server.key --client-ca ca.pem clusters/
  edsctl serve --client grpc -o ndjson eds.yaml`,
		GroupID: groupLive,
		Args:    atLeastOne("path"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runServe(cmd, env, &o, args) },
	}
	o.inputOptions.bind(cmd)
	o.profile.bind(cmd, "input-format", "input-shape", "api-version", "client", "envoy-version")
	fs := cmd.Flags()
	fs.StringVar(&o.listen, "listen", "127.0.0.1:18000", "address to listen on, HOST:PORT or unix:PATH; port 0 takes a free one")
	fs.StringVar(&o.cert, "cert", "", "file with the server's certificate; without it there is no TLS")
	fs.StringVar(&o.key, "key", "", "file with the key of the certificate")
	fs.StringVar(&o.clientCA, "client-ca", "", "file with the certificates that must have signed those of clients")
	fs.BoolVar(&o.force, "force", false, "push also what a client would refuse")
	fs.BoolVar(&o.noWatch, "no-watch", false, "do not watch the files")
	noProject(fs, "listen", "cert", "key", "client-ca")
	outputVar(cmd, &o.output, render.ServeFormats())
	return cmd
}

func runServe(cmd *cobra.Command, env *Env, o *serveOptions, args []string) error {
	cfg, err := o.tlsConfig(cmd.Context())
	if err != nil {
		return err
	}
	show := &serveLog{env: env, format: o.output, options: render.Options{Color: useColor(cmd, env, env.Stdout)}}
	server := serve.New(serve.Options{TLS: cfg, Log: show.event})
	source := newServeSource(env, o, args, server.Set)
	ctx := cmd.Context()
	// The watch begins before the files are read, so that no change falls in between.
	var files *serve.FileWatch
	if !o.noWatch {
		if files, err = serve.WatchFiles(source.watched); err != nil {
			return err
		}
		defer files.Close()
	}
	first, err := source.load(ctx)
	if err != nil {
		return err
	}
	isFixed := o.noWatch || !slices.ContainsFunc(args, func(arg string) bool { return arg != "-" })
	if len(first.Served) == 0 && (source.nothing || isFixed) {
		return nothingToServe(args, first.Kept, source.nothing)
	}
	network, address := "tcp", o.listen
	if path, ok := strings.CutPrefix(o.listen, "unix:"); ok {
		network, address = "unix", path
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", o.listen, errors.Unwrap(err))
	}
	first.Address, first.TLS = addressOf(lis), cfg != nil
	show.state(first)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan error, 1)
	go func() {
		if files == nil {
			watched <- nil
			return
		}
		err := files.Run(ctx, func() {
			if next := source.reload(ctx); next.Changed() {
				show.state(next)
			}
		})
		if err != nil {
			cancel()
		}
		watched <- err
	}()
	err = server.Serve(ctx, lis)
	cancel()
	return errors.Join(err, <-watched, show.failed())
}

// nothingToServe is the error at the start for files without an assignment, and where there is no file whose change could
// bring a good one.
func nothingToServe(args []string, kept []render.KeptBack, nothing bool) error {
	errs := []error{fmt.Errorf("serve: no assignment found in %s", quotedNames(args))}
	if !nothing {
		errs[0] = fmt.Errorf("serve: nothing in %s can be served, and no file is watched", quotedNames(args))
	}
	for _, k := range kept {
		errs = append(errs, fmt.Errorf("%s: %s", k.Name, k.Reason))
	}
	return errors.Join(errs...)
}

// addressOf is where a listener listens, in the form of --listen.
func addressOf(lis net.Listener) string {
	if lis.Addr().Network() == "unix" {
		return "unix:" + lis.Addr().String()
	}
	return lis.Addr().String()
}

// tlsConfig is nil for plaintext.
func (o *serveOptions) tlsConfig(ctx context.Context) (*tls.Config, error) {
	if o.cert == "" && o.key == "" {
		if o.clientCA != "" {
			return nil, usagef("--client-ca needs --cert and --key")
		}
		return nil, nil
	}
	if o.cert == "" || o.key == "" {
		return nil, usagef("--cert and --key belong together")
	}
	files := newFlagFiles(maxCredentials)
	cert, err := files.read(ctx, o.cert)
	if err != nil {
		return nil, fmt.Errorf("read the server's certificate: %s: %w", o.cert, err)
	}
	key, err := files.read(ctx, o.key)
	if err != nil {
		return nil, fmt.Errorf("read the key of the server's certificate: %s: %w", o.key, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read the server's certificate: %w", err)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if o.clientCA != "" {
		pem, err := files.read(ctx, o.clientCA)
		if err != nil {
			return nil, fmt.Errorf("read the clients' CA certificate: %s: %w", o.clientCA, err)
		}
		cfg.ClientCAs = x509.NewCertPool()
		if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the clients' CA certificate: %q holds no PEM certificate", o.clientCA)
		}
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return cfg, nil
}

// serveLog writes what happens to standard output, one line an event.
type serveLog struct {
	env     *Env
	format  string
	options render.Options
	mu      sync.Mutex
	err     error // the first of writing
}

func (l *serveLog) event(ev serve.Event) {
	l.write(func() error { return render.ServeEvent(l.env.Stdout, l.format, &ev, l.options) })
}

func (l *serveLog) state(s render.ServeState) {
	l.write(func() error { return render.ServeChange(l.env.Stdout, l.format, &s, l.options) })
}

func (l *serveLog) write(f func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := f(); err != nil && l.err == nil {
		l.err = err
		fmt.Fprintf(l.env.Stderr, "note: what happens cannot be told any more, serving goes on: %s\n", err)
	}
}

func (l *serveLog) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
