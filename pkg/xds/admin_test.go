package xds

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
)

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// hostLines has one line for each endpoint.
func hostLines(a *Admin) []string {
	var out []string
	for _, x := range a.Assignments {
		for _, g := range x.Resource.Assignment.GetEndpoints() {
			for _, ep := range g.GetLbEndpoints() {
				key := addressKey(ep.GetEndpoint().GetAddress())
				out = append(out, fmt.Sprintf("%s %s %s p%d %s w%d lw%d %s", x.Cluster, x.Resource.Name, key, g.GetPriority(), ep.GetHealthStatus(),
					ep.GetLoadBalancingWeight().GetValue(), g.GetLoadBalancingWeight().GetValue(), x.Hosts[key]))
			}
		}
	}
	return out
}

// TestMergeAdmin reads the answers of a recorded Envoy.
func TestMergeAdmin(t *testing.T) {
	t.Parallel()
	const dir = "../../testdata/vectors/envoy-xds/admin/"
	dump, clusters := readFile(t, dir+"config_dump_include_eds.json"), readFile(t, dir+"clusters.json")
	got, err := mergeAdmin(dump, clusters, []string{"svc-full", "eds_ring", "hc1"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"hc1 hc1 127.4.2.9:1 p0 UNHEALTHY w1 lw0 failed_active_hc",
		"hc1 hc1 127.0.0.1:23100 p0 HEALTHY w1 lw0 ",
		"eds_full svc-full 127.4.1.1:8080 p0 HEALTHY w3 lw30 ",
		"eds_full svc-full 127.4.1.2:8080 p0 HEALTHY w1 lw30 ",
		"eds_full svc-full 127.4.1.3:8080 p0 UNHEALTHY w2 lw30 ",
		"eds_full svc-full 127.4.1.4:8080 p0 DRAINING w1 lw30 ",
		"eds_full svc-full 127.4.1.5:8080 p0 UNHEALTHY w1 lw30 ",
		"eds_full svc-full 127.4.1.6:8080 p0 DEGRADED w1 lw30 ",
		"eds_full svc-full 127.4.1.7:8081 p0 HEALTHY w1 lw0 ",
		"eds_full svc-full [::1]:8082 p1 HEALTHY w1 lw1 ",
		"eds_full svc-full /tmp/some.sock p1 HEALTHY w1 lw1 ",
		"eds_ring eds_ring 127.4.3.1:80 p0 HEALTHY w5 lw0 ",
		"eds_ring eds_ring 127.4.3.2:80 p0 HEALTHY w1 lw0 ",
	}
	if diff := cmp.Diff(want, hostLines(got)); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"eds_warming"}, got.Warming); diff != "" {
		t.Errorf("warming clusters (-want +got):\n%s", diff)
	}
}

// TestParseCSDS reads the recorded answers of grpc-go, in the wire format.
func TestParseCSDS(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"lifecycle.csds-1.json": {"a ACKED c1 ", "a ACKED e1 ", "svc ACKED l1 "},
		"lifecycle.csds-2.json": {"a ACKED c1 ", "a NACKED e2 priority 1 missing (with different priorities map[0", "svc ACKED l1 "},
	} {
		m := &statusv3.ClientStatusResponse{}
		data := readFile(t, "../../testdata/vectors/envoy-xds/grpc/"+file)
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
			t.Fatal(err)
		}
		wire, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		configs, err := parseCSDS(wire)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range configs[0].Resources {
			reason, _, _ := bytes.Cut([]byte(r.Error), []byte(":"))
			got = append(got, fmt.Sprintf("%s %s %s %s", r.Name, r.Status, r.Version, reason))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		if configs[0].Node.GetId() != "n1" || configs[0].Resources[1].Resource == nil || configs[0].Resources[1].LastUpdated.IsZero() {
			t.Errorf("%s: node %v, assignment %v", file, configs[0].Node, configs[0].Resources[1])
		}
	}
}
