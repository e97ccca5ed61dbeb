// Command generate writes the inputs of the benchmark into a folder. It is a program of its own since the memory of a
// process on Linux is never reported as less than that of the one that started it.
package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	localities         = 100
	endpointsALocality = 1000
	smallFiles         = 10_000
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate writes the inputs into dir. The same program writes the same bytes.
func generate(dir string) error {
	var text strings.Builder
	writeAssignment(&text, "large", localities, endpointsALocality, "")
	if err := os.WriteFile(filepath.Join(dir, "large.yaml"), []byte(text.String()), 0o600); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "bootstrap.yaml"), writeBootstrap); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(dir, "large.json"), text.String()); err != nil {
		return err
	}
	return writeFiles(filepath.Join(dir, "files"))
}

func write(path string, body func(io.Writer)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	body(w)
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// writeAssignment writes an assignment that every client takes, of about 270 bytes an endpoint, as people and programs
// write them: block style, every line indented.
func writeAssignment(w io.Writer, name string, groups, endpoints int, indent string) {
	rng := rand.New(rand.NewPCG(1, uint64(groups*endpoints)))
	p := func(format string, args ...any) { fmt.Fprintf(w, indent+format+"\n", args...) }
	p("cluster_name: %s", name)
	p("endpoints:")
	for g := range groups {
		p("- locality:")
		p("    region: region-%d", g/10)
		p("    zone: zone-%d", g)
		p("  load_balancing_weight: %d", 1+rng.IntN(100))
		p("  lb_endpoints:")
		for e := range endpoints {
			n := g*endpoints + e
			p("  - endpoint:")
			p("      address:")
			p("        socket_address:")
			p("          address: 10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
			p("          port_value: %d", 1024+rng.IntN(60000))
			p("    health_status: %s", []string{"HEALTHY", "HEALTHY", "UNKNOWN", "HEALTHY"}[rng.IntN(4)])
			p("    load_balancing_weight: %d", 1+rng.IntN(100))
			p("    metadata:")
			p("      filter_metadata:")
			p("        envoy.lb:")
			p("          version: v%d", rng.IntN(5))
			p("          stage: production")
		}
	}
}

// writeBootstrap wraps the same assignment for Envoy's --mode validate.
func writeBootstrap(w io.Writer) {
	fmt.Fprint(w, "static_resources:\n  clusters:\n  - name: large\n    type: STATIC\n    connect_timeout: 1s\n    load_assignment:\n")
	writeAssignment(w, "large", localities, endpointsALocality, "      ")
}

// writeJSON writes the assignment as programs do, on one line.
func writeJSON(path, text string) error {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// writeFiles writes assignments of 1 to 4 KB, one a file.
func writeFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := range smallFiles {
		name := fmt.Sprintf("service-%05d", i)
		err := write(filepath.Join(dir, name+".yaml"), func(w io.Writer) { writeAssignment(w, name, 1+i%3, 4, "") })
		if err != nil {
			return err
		}
	}
	return nil
}
