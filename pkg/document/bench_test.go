package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	yamlv4 "go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/encoding/protojson"
	sigsyaml "sigs.k8s.io/yaml"
)

// manyEndpoints is an assignment of n endpoints in block style, about 270 bytes each.
func manyEndpoints(n int) []byte {
	var b bytes.Buffer
	b.WriteString("cluster_name: backend\nendpoints:\n")
	for i := range n {
		if i%1000 == 0 {
			fmt.Fprintf(&b, "- locality:\n    region: region-%d\n    zone: \"zone-%d\"\n  load_balancing_weight: %d\n  lb_endpoints:\n", i/1000%7, i/1000, i/1000+1)
		}
		fmt.Fprintf(&b, "  - endpoint:\n      address:\n        socket_address:\n          address: 10.%d.%d.%d\n          port_value: %d\n", i>>16&255, i>>8&255, i&255, 8000+i%1000)
		fmt.Fprintf(&b, "      hostname: host-%d.example.com\n    health_status: HEALTHY\n    load_balancing_weight: %d\n    metadata:\n", i, 1+i%100)
		fmt.Fprintf(&b, "      filter_metadata: {envoy.lb: {version: \"v%d\", canary: false}}\n", i%5)
	}
	return b.Bytes()
}

func manyEndpointsJSON(b *testing.B, n int) []byte {
	j, err := sigsyaml.YAMLToJSON(manyEndpoints(n))
	if err != nil {
		b.Fatal(err)
	}
	return j
}

func BenchmarkParseYAML(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		src := manyEndpoints(n)
		b.Run(fmt.Sprintf("document/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseYAML(src, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("yaml.v4/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				var node yamlv4.Node
				if err := yamlv4.Unmarshal(src, &node); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseJSON(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		src := manyEndpointsJSON(b, n)
		b.Run(fmt.Sprintf("document/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseJSON(src, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("protojson/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				var m endpointv3.ClusterLoadAssignment
				if err := protojson.Unmarshal(src, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("encoding.json/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(src, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
