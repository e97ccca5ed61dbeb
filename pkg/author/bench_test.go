package author

import (
	"fmt"
	"strings"
	"testing"
)

// largeAssignment has n endpoints of about 270 bytes each, in localities of 1000.
func largeAssignment(n int) string {
	var b strings.Builder
	b.WriteString("cluster_name: large\nendpoints:\n")
	for i := range n {
		if i%1000 == 0 {
			fmt.Fprintf(&b, "- locality:\n    region: region-%d\n    zone: zone-%d\n  load_balancing_weight: 3\n  lb_endpoints:\n", i/10_000, i/1000)
		}
		fmt.Fprintf(&b, `  - endpoint:
      address:
        socket_address:
          address: 10.%d.%d.%d
          port_value: 8080
    health_status: HEALTHY
    load_balancing_weight: %d
    metadata:
      filter_metadata:
        envoy.lb:
          version: v1
          stage: production
`, i>>16&255, i>>8&255, i&255, i%100+1)
	}
	return b.String()
}

// BenchmarkEdit changes one endpoint in 100,000; BenchmarkLoad reads the same file.
func BenchmarkEdit(b *testing.B) {
	src := []byte(largeAssignment(100_000))
	load := loadText("large.yaml")
	verb := SetWeight(mustSelect(b, "address=10.0.200.7"), uint32p(177), false)
	for b.Loop() {
		if _, err := Edit(src, load(src), load, editable, verb); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	src := []byte(largeAssignment(100_000))
	load := loadText("large.yaml")
	for b.Loop() {
		load(src)
	}
}

func BenchmarkFormat(b *testing.B) {
	src := []byte(largeAssignment(100_000))
	load := loadText("large.yaml")
	for b.Loop() {
		if _, err := Format(src, load(src), load); err != nil {
			b.Fatal(err)
		}
	}
}
