package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// largeAssignment is a response with n endpoints in 100 localities, without a mistake.
func largeAssignment(n int) []byte {
	var b strings.Builder
	b.WriteString("resources:\n- \"@type\": " + assignmentURL + "\n  cluster_name: large\n  endpoints:\n")
	for i := range n {
		if i%(n/100) == 0 {
			fmt.Fprintf(&b, "  - locality: {region: r, zone: z%d}\n    load_balancing_weight: 10\n    priority: %d\n    lb_endpoints:\n", i/(n/100), i*2/n)
		}
		fmt.Fprintf(&b, "    - endpoint:\n        address:\n          socket_address: {address: 10.%d.%d.%d, port_value: 8080}\n      health_status: HEALTHY\n      load_balancing_weight: 3\n",
			i>>16, i>>8&255, i&255)
	}
	return []byte(b.String())
}

func BenchmarkJudge(b *testing.B) {
	resources := eds.NewLoader(eds.Options{}).Load("large.yaml", largeAssignment(100_000), true).Resources
	if report := validate.Run(resources, validate.Options{}); len(report.Findings) > 3 {
		b.Fatalf("%d findings", len(report.Findings))
	}
	b.ReportAllocs()
	for b.Loop() {
		validate.Run(resources, validate.Options{})
	}
}

func BenchmarkLoad(b *testing.B) {
	data := largeAssignment(100_000)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		eds.NewLoader(eds.Options{}).Load("large.yaml", data, true)
	}
}
