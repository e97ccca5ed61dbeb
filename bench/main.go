// Command bench measures edsctl against the least that could do the same work, and prints one table with ratios and the
// bars that they must meet. It builds what it runs and generates what it reads. Linux only: the memory of a process is
// read from the kernel in its units.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"text/tabwriter"
)

type options struct {
	runs      int
	envoy     string
	dir       string
	printOnly bool
	only      *regexp.Regexp // of the names of rows; nil: all
}

// wants tells whether a row is to be measured.
func (o options) wants(name string) bool { return o.only == nil || o.only.MatchString(name) }

// begins tells on standard error what is measured, since the table comes at the end.
func (o options) begins(name string) { fmt.Fprintln(os.Stderr, "bench:", name) }

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 5, "runs of each command; the least counts")
	flag.StringVar(&o.envoy, "envoy", findEnvoy(), "the Envoy binary to compare with; none: that row is skipped")
	flag.StringVar(&o.dir, "dir", ".bench", "folder for the inputs and the programs")
	flag.BoolVar(&o.printOnly, "print-only", false, "exit with 0 also when a bar is missed")
	only := flag.String("only", "", "regular expression: the rows to measure; empty: all")
	flag.Parse()
	if *only != "" {
		var err error
		if o.only, err = regexp.Compile(*only); err != nil {
			fmt.Fprintln(os.Stderr, "bench: -only:", err)
			os.Exit(2)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	missed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(3)
	}
	if missed > 0 && !o.printOnly {
		fmt.Fprintf(os.Stderr, "bench: %d bars missed\n", missed)
		os.Exit(1)
	}
}

// findEnvoy looks where make conformance puts Envoy, then in PATH.
func findEnvoy() string {
	if found, _ := filepath.Glob(".conformance/*/bin/envoy"); len(found) > 0 {
		return found[len(found)-1]
	}
	path, _ := exec.LookPath("envoy")
	return path
}

func run(ctx context.Context, o options) (missed int, err error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return 0, err
	}
	programs, err := build(ctx, o.dir)
	if err != nil {
		return 0, err
	}
	in, err := inputsIn(ctx, programs.generate, o.dir)
	if err != nil {
		return 0, fmt.Errorf("generate the inputs: %w", err)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tEDSCTL\tBASELINE\tRATIO\tBAR\t")
	for _, r := range rows(o, programs, in) {
		if !o.wants(r.name) {
			continue
		}
		o.begins(r.name)
		if r.baseline == nil {
			fmt.Fprintf(w, "%s\t-\t-\t-\t%.1f\tskipped: no Envoy\n", r.name, r.bar)
			continue
		}
		a, b, err := compare(ctx, r.runs, r.edsctl, r.baseline)
		if err != nil {
			return 0, errors.Join(err, w.Flush())
		}
		missed += r.print(w, "", a.seconds, b.seconds, "%.4g s", r.bar)
		if r.memoryBar > 0 {
			missed += r.print(w, ", peak memory", a.bytes/(1<<20), b.bytes/(1<<20), "%.0f MiB", r.memoryBar)
		}
	}
	for _, measure := range []func() (int, error){
		func() (int, error) { return library(w, o, in) },
		func() (int, error) { return live(ctx, w, o, programs) },
	} {
		more, err := measure()
		if err != nil {
			return missed, errors.Join(err, w.Flush())
		}
		missed += more
	}
	return missed, w.Flush()
}

// row is one comparison. A ratio is edsctl's least over the baseline's.
type row struct {
	name             string
	edsctl, baseline command
	bar, memoryBar   float64 // the largest ratios that pass; no memoryBar: memory is not looked at
	runs             int
}

func rows(o options, p programs, in inputs) []row {
	var envoy command
	if o.envoy != "" {
		envoy = command{o.envoy, "--mode", "validate", "--log-level", "error", "-c", in.bootstrap}
	}
	validate := func(path string) command { return command{p.edsctl, "validate", "--color", "never", path} }
	return []row{
		{"100,000 endpoints in YAML, against yaml/v4's Node", validate(in.yaml), command{p.baseline, "yaml", in.yaml}, 1.5, 1.6, o.runs},
		{"100,000 endpoints in JSON, against protojson", validate(in.json), command{p.baseline, "json", in.json}, 1.3, 0, o.runs},
		{"100,000 endpoints in a bootstrap, against envoy --mode validate", validate(in.bootstrap), envoy, 0.5, 0, o.runs},
		{"10,000 files of 1 to 4 KB, against reading and parsing them", validate(in.files), command{p.baseline, "files", in.files}, 1.6, 0, o.runs},
		{"edit of one endpoint in 100,000, against parsing the file twice", command{p.edsctl, "edit", in.edited, "scale-weights", "address=10.0.200.7", "2"}, command{p.baseline, "yaml-twice", in.yaml}, 1.3, 0, o.runs},
		{"start-up, against linking endpoint/v3, grpc and cobra", command{p.edsctl, "version"}, command{p.startup}, 1.6, 0, 10 * o.runs},
	}
}

func (r row) print(w *tabwriter.Writer, suffix string, a, b float64, unit string, bar float64) (missed int) {
	verdict := "ok"
	if a/b > bar {
		verdict, missed = "MISSED", 1
	}
	fmt.Fprintf(w, "%s%s\t"+unit+"\t"+unit+"\t%.2f\t%.1f\t%s\n", r.name, suffix, a, b, a/b, bar, verdict)
	return missed
}

// inputs are the paths of what is measured.
type inputs struct{ yaml, json, bootstrap, files, edited string }

func inputsIn(ctx context.Context, generate, dir string) (inputs, error) {
	in := inputs{
		yaml: filepath.Join(dir, "large.yaml"), json: filepath.Join(dir, "large.json"),
		bootstrap: filepath.Join(dir, "bootstrap.yaml"), files: filepath.Join(dir, "files"),
		edited: filepath.Join(dir, "edited.yaml"), // a copy of yaml: each run of edit writes it
	}
	if _, err := (command{generate, dir}).run(ctx); err != nil {
		return in, err
	}
	data, err := os.ReadFile(in.yaml)
	if err != nil {
		return in, err
	}
	return in, os.WriteFile(in.edited, data, 0o600)
}

// programs are the paths of what is run.
type programs struct{ edsctl, baseline, startup, generate string }

func build(ctx context.Context, dir string) (programs, error) {
	p := programs{filepath.Join(dir, "edsctl"), filepath.Join(dir, "baseline"), filepath.Join(dir, "startup"), filepath.Join(dir, "generate")}
	for path, pkg := range map[string]string{
		p.edsctl: "./cmd/edsctl", p.baseline: "./bench/baseline", p.startup: "./bench/startup", p.generate: "./bench/generate",
	} {
		args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", path}
		if path == p.edsctl {
			args = append(args, "-tags", "grpcnotrace") // as make build does
		}
		cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return p, nil
}
