package eds

import (
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/edsctl/edsctl/pkg/document"
)

// GRPCPolicy is GRPCPolicy of the cluster's message. Envoy reads fractions and large integers in the YAML of a Struct as
// strings; to gRPC a control plane sends the numbers that they are.
func (c *Cluster) GRPCPolicy() PolicyConfig {
	m := c.Message
	if c.grpcPolicy == nil {
		return GRPCPolicy(m)
	}
	return GRPCPolicy(&clusterv3.Cluster{
		LbPolicy: m.GetLbPolicy(), LbConfig: m.GetLbConfig(), LoadBalancingPolicy: c.grpcPolicy,
	})
}

// policyWithNumbers is the load_balancing_policy of a cluster with the numbers as they are written.
func (r *reader) policyWithNumbers(n document.Node, p placement) *clusterv3.LoadBalancingPolicy {
	m := &clusterv3.Cluster{}
	d := r.newDecoder(p.where)
	d.typed, d.skip, d.numbers = true, "load_assignment", true
	d.message(n, m)
	return m.GetLoadBalancingPolicy()
}

// plainNumber is the text in JSON of a plain YAML scalar that is a number, of those that Envoy takes for a string.
func plainNumber(v value) (text string, ok bool) {
	if v.kind != jsonString || !v.plain || v.raw == "" || strings.Trim(v.raw, "+-.0123456789eExXabcdfABCDF") != "" || v.node.ResolvedTag() != "?" {
		return "", false
	}
	if i, ok := yamlInt(v.raw); ok {
		return strconv.FormatInt(i, 10), true
	}
	if strings.ContainsAny(v.raw, "xX") || strings.Trim(v.raw, "+-.0123456789eE") != "" {
		return "", false // Go knows hexadecimal fractions
	}
	f, err := strconv.ParseFloat(v.raw, 64)
	if err != nil {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}
