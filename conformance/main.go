// Command conformance proves the verdicts of edsctl validate against the clients themselves. It generates inputs from a
// seed: for each rule that a client can show some that break it and some that just do not, and mixtures of several. It
// puts them to the real Envoy (by bootstrap, by EDS file, over gRPC streams) and to grpc-go's own xDS client, and
// compares. Everything stays on the loopback.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
)

type options struct {
	version   string
	envoy     string
	edsctl    string
	dir       string
	seed      uint64
	each      int
	mixtures  int
	only      string
	show      int
	printOnly bool
}

func main() {
	var o options
	flag.StringVar(&o.version, "version", "1.40.0", "release of Envoy to install and run")
	flag.StringVar(&o.envoy, "envoy", "", "Envoy binary of that version, instead of installing one")
	flag.StringVar(&o.edsctl, "edsctl", "", "edsctl binary, instead of building one")
	flag.StringVar(&o.dir, "dir", ".conformance/run", "folder for the inputs")
	flag.Uint64Var(&o.seed, "seed", 1, "of everything random")
	flag.IntVar(&o.each, "each", 12, "inputs that break a rule, and as many near misses, on each route of the rule")
	flag.IntVar(&o.mixtures, "mixtures", 150, "inputs with several mutations on each route")
	flag.StringVar(&o.only, "only", "", "one rule alone")
	flag.IntVar(&o.show, "show", 20, "disagreements to print")
	flag.BoolVar(&o.printOnly, "print-only", false, "exit with 0 also when there are disagreements")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(3)
	}
	if !ok && !o.printOnly {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (ok bool, err error) {
	if err := o.prepare(ctx); err != nil {
		return false, err
	}
	g := &generator{rng: rand.New(rand.NewPCG(o.seed, 0))}
	cases, err := g.cases(o)
	if err != nil {
		return false, err
	}
	if err := predict(ctx, o, o.dir, cases); err != nil {
		return false, err
	}
	if err := drive(ctx, o, cases); err != nil {
		return false, err
	}
	return report(os.Stdout, o, cases), nil
}

// prepare finds or makes what a run needs.
func (o *options) prepare(ctx context.Context) error {
	var err error
	if err := os.RemoveAll(o.dir); err != nil {
		return err
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	if o.envoy == "" {
		install := exec.CommandContext(ctx, "sh", "conformance/install", o.version)
		install.Stdout, install.Stderr = os.Stdout, os.Stderr
		if err := install.Run(); err != nil {
			return fmt.Errorf("install Envoy %s: %w", o.version, err)
		}
		o.envoy = filepath.Join(".conformance", o.version, "bin", "envoy")
	}
	if o.envoy, err = filepath.Abs(o.envoy); err != nil {
		return err
	}
	if o.edsctl == "" {
		o.edsctl = filepath.Join(o.dir, "edsctl")
		build := exec.CommandContext(ctx, "go", "build", "-o", o.edsctl, "./cmd/edsctl")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build edsctl: %w\n%s", err, out)
		}
	}
	o.edsctl, err = filepath.Abs(o.edsctl)
	return err
}

// cases makes all inputs and writes their files.
func (g *generator) cases(o options) ([]*testCase, error) {
	var out []*testCase
	add := func(r route, rule string, near bool, in *input) error {
		id := fmt.Sprintf("%s/%05d", r, len(out))
		dir := filepath.Join(o.dir, id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		c, err := g.writeCase(dir, r, in)
		if c != nil {
			c.id, c.rule, c.near = id, rule, near
			out = append(out, c)
		}
		return err
	}
	all := mutations()
	for _, m := range all {
		if o.only != "" && m.rule != o.only {
			continue
		}
		for _, r := range m.routes {
			for i := range 2 * o.each {
				in := &input{assignment: g.assignment()}
				near := i%2 == 1
				if near {
					m.near(g, in)
				} else {
					m.hit(g, in)
				}
				if err := add(r, m.rule, near, in); err != nil {
					return nil, err
				}
			}
		}
	}
	if o.only != "" {
		return out, nil
	}
	for r := range numRoutes {
		for range o.mixtures {
			in := &input{assignment: g.assignment()}
			g.mix(all, r, in)
			if err := add(r, "", false, in); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// mix applies some mutations of a route one after the other: what decides is then the client's own order.
func (g *generator) mix(all []mutation, r route, in *input) {
	for n := g.rng.IntN(4); n > 0; {
		m := all[g.rng.IntN(len(all))]
		if !slices.Contains(m.routes, r) {
			continue
		}
		n--
		before := *in
		if g.chance(70) {
			m.hit(g, in)
		} else {
			m.near(g, in)
		}
		in.combine(&before)
	}
}

// drive puts every case to its client.
func drive(ctx context.Context, o options, cases []*testCase) error {
	by := make([][]*testCase, numRoutes)
	for _, c := range cases {
		by[c.route] = append(by[c.route], c)
	}
	scratch := func(r route) (string, error) {
		dir := filepath.Join(o.dir, "client-"+r.String())
		return dir, os.MkdirAll(dir, 0o700)
	}
	if err := driveBootstrap(ctx, o.envoy, by[viaBootstrap]); err != nil {
		return err
	}
	for r, driver := range map[route]func(context.Context, string, string, []*testCase) error{
		viaFile: driveFile, viaStream: driveStreams, viaADS: driveADS, viaCDS: driveCDS,
	} {
		dir, err := scratch(r)
		if err != nil {
			return err
		}
		if len(by[r]) == 0 {
			continue
		}
		if err := driver(ctx, o.envoy, dir, by[r]); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	return driveGRPC(ctx, append(by[viaGRPC], by[viaGRPCCluster]...))
}
