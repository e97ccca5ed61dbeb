package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/diff"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// large is an assignment of n endpoints in YAML, of which one has a weight.
func large(n, weight int) []byte {
	var b strings.Builder
	b.WriteString("cluster_name: large\nendpoints:\n- locality: {zone: a}\n  lb_endpoints:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - endpoint: {address: {socket_address: {address: 10.%d.%d.%d, port_value: 80}}}\n", i>>16, i>>8&255, i&255)
		if i == n/2 {
			fmt.Fprintf(&b, "    load_balancing_weight: %d\n", weight)
		}
	}
	return []byte(b.String())
}

func load(src []byte) *eds.Resource {
	return eds.NewLoader(eds.Options{}).Load("large.yaml", src, true).Resources[0]
}

// BenchmarkLarge compares 100,000 endpoints of which one changes, without reading the files: that is BenchmarkRead.
func BenchmarkLarge(b *testing.B) {
	pair := diff.Pair{Old: load(large(100_000, 1)), New: load(large(100_000, 2))}
	for b.Loop() {
		r := diff.Compare(pair)
		if err := r.Impact(pair, diag.Envoy, &simulate.Options{}, &simulate.Options{}); err != nil || len(r.Changes) != 1 {
			b.Fatal(err, r.Changes)
		}
	}
}

// BenchmarkRead reads one of the files.
func BenchmarkRead(b *testing.B) {
	src := large(100_000, 1)
	for b.Loop() {
		load(src)
	}
}
