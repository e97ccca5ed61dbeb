// Command traffic sends real requests through a real Envoy and compares where they go with what edsctl predicts: written
// scenarios for what is rare, seeded random ones for the rest. A chi-square test judges each scenario; hash policies are
// judged key by key.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

type options struct {
	envoy     string
	version   string
	minor     int // of version
	dir       string
	seed      uint64
	scenarios int // random ones, half of them in the surroundings of zone-aware routing
	hashes    int // random ones with a hash policy
	requests  int
	keys      int
	only      string
	verbose   bool

	grpc         int // random scenarios for grpc-go, and a fifth as many with followed keys
	grpcRequests int
}

func main() {
	var o options
	flag.StringVar(&o.envoy, "envoy", "", "the Envoy binary; without it only grpc-go is asked")
	flag.StringVar(&o.version, "version", "1.40.0", "release that the Envoy binary is")
	flag.StringVar(&o.dir, "dir", ".conformance/traffic", "folder for bootstraps and assignments")
	flag.Uint64Var(&o.seed, "seed", 1, "of the random scenarios")
	flag.IntVar(&o.scenarios, "scenarios", 200, "number of random scenarios")
	flag.IntVar(&o.hashes, "hashes", 20, "number of random scenarios with a hash policy")
	flag.IntVar(&o.requests, "requests", 20_000, "requests of a scenario")
	flag.IntVar(&o.keys, "keys", 5_000, "keys of a scenario with a hash policy")
	flag.IntVar(&o.grpc, "grpc", 60, "number of random scenarios for grpc-go")
	flag.IntVar(&o.grpcRequests, "grpc-requests", 4_000, "RPCs of a scenario for grpc-go")
	flag.StringVar(&o.only, "only", "", "run the scenarios whose name has this in it")
	flag.BoolVar(&o.verbose, "v", false, "print every scenario")
	flag.Parse()
	if o.envoy != "" {
		var err error
		if o.envoy, err = filepath.Abs(o.envoy); err != nil { // it runs in folders of its own
			fmt.Fprintln(os.Stderr, "traffic:", err)
			os.Exit(3)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		os.Exit(3)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run drives batch after batch; each has its own Envoy, because node, local cluster and runtime belong to the process.
func run(ctx context.Context, o options) (failed int, err error) {
	if o.envoy == "" && o.grpc == 0 {
		return 0, errors.New("-envoy is needed, or -grpc")
	}
	if _, err := fmt.Sscanf(o.version, "1.%d", &o.minor); err != nil {
		return 0, fmt.Errorf("-version: %q is no release of Envoy 1", o.version)
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return 0, err
	}
	back, err := listenBackends()
	if err != nil {
		return 0, err
	}
	defer back.close()
	total, requests := 0, 0
	judge := func(outcomes []outcome) {
		for i := range outcomes {
			total, requests = total+1, requests+outcomes[i].requests
			verdict, ok := outcomes[i].judge()
			if !ok {
				failed++
			}
			if !ok || o.verbose {
				fmt.Printf("%s: %s\n", outcomes[i].scenario.name, verdict)
			}
		}
	}
	for _, b := range batches(o, back.port) {
		if b.keep(o.only); len(b.scenarios) == 0 || o.envoy == "" {
			continue
		}
		b.minor = o.minor
		outcomes, err := b.drive(ctx, o)
		if err != nil {
			return failed, err
		}
		judge(outcomes)
	}
	outcomes, err := runGRPC(ctx, o)
	judge(outcomes)
	if err != nil {
		return failed, err
	}
	fmt.Printf("traffic: %d scenarios, %d requests, %d disagree\n", total, requests, failed)
	return failed, nil
}
