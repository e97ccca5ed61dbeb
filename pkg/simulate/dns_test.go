package simulate

import (
	"fmt"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// zones is an assignment with a locality for each "zone: address address".
func zones(text ...string) *endpointv3.ClusterLoadAssignment {
	cla := &endpointv3.ClusterLoadAssignment{ClusterName: "c"}
	for _, line := range text {
		zone, addresses, _ := strings.Cut(line, ": ")
		group := &endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Zone: zone}}
		for address := range strings.FieldsSeq(addresses) {
			group.LbEndpoints = append(group.LbEndpoints, endpointAt(address))
		}
		cla.Endpoints = append(cla.Endpoints, group)
	}
	return cla
}

// inCluster is a resource of a bootstrap with a cluster of a type.
func inCluster(t *testing.T, cluster string, cla *endpointv3.ClusterLoadAssignment) *eds.Resource {
	m := parsed(t, `{"name": "c", `+cluster+`}`, &clusterv3.Cluster{})
	return &eds.Resource{Name: "c", Source: eds.FromBootstrap, Assignment: cla, Original: cla, Cluster: &eds.Cluster{Message: m}}
}

// TestNamesOfAddresses: hostnames in a STRICT_DNS cluster are what the addresses say, an IP address too. Where 2,000 keys
// go was measured on Envoy 1.40; a written hostname and a resolved name stay.
func TestNamesOfAddresses(t *testing.T) {
	t.Parallel()
	const cluster = `"type": "STRICT_DNS", "lb_policy": %q, "common_lb_config": {"consistent_hashing_lb_config": {"use_hostname_for_hashing": true}}`
	for _, policy := range []string{"RING_HASH", "MAGLEV"} {
		cla := zones("a: 127.1.0.1 127.1.0.2 127.1.0.3", "b: one.example")
		cla.Endpoints[0].LbEndpoints[2].GetEndpoint().Hostname = "named"
		r := inCluster(t, fmt.Sprintf(cluster, policy), cla)
		result, err := FromResource(r, diag.Envoy, &Options{Resolve: map[string][]string{"one.example": {"127.1.0.4"}}})
		if err != nil {
			t.Fatal(err)
		}
		// The same keys as metadata.
		keyed := zones("a: 127.1.0.1 127.1.0.2 127.1.0.3", "b: 127.1.0.4")
		for i, key := range []string{"127.1.0.1", "127.1.0.2", "named", "one.example"} {
			e := keyed.Endpoints[i/3].LbEndpoints[i%3]
			e.Metadata = parsed(t, fmt.Sprintf(`{"filter_metadata": {"envoy.lb": {"hash_key": %q}}}`, key), &corev3.Metadata{})
		}
		want, err := FromResource(inCluster(t, fmt.Sprintf(`"type": "STATIC", "lb_policy": %q`, policy), keyed), diag.Envoy, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		if sharesText(result) != sharesText(want) || len(result.Notes) > 0 {
			t.Errorf("%s: shares %q, want %q; notes %q", policy, sharesText(result), sharesText(want), result.Notes)
		}
	}
}

// TestResolvedTwice: a name has one host at an address, and two names have two (observed).
func TestResolvedTwice(t *testing.T) {
	t.Parallel()
	r := inCluster(t, `"type": "STRICT_DNS"`, zones("a: one.example two.example"))
	result, err := FromResource(r, diag.Envoy, &Options{Resolve: map[string][]string{
		"one.example": {"192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1:80"}, "two.example": {"192.0.2.1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sharesText(result), "192.0.2.1:80=0.3333 192.0.2.2:80=0.3333 192.0.2.1:80=0.3333"; got != want {
		t.Errorf("shares %q, want %q", got, want)
	}
}

// TestHoleOfNames: where no loads are computed, those of an earlier state stay, which names resolved one by one go through.
func TestHoleOfNames(t *testing.T) {
	t.Parallel()
	for cluster, notes := range map[string]int{`"type": "STRICT_DNS"`: 1, `"type": "STATIC"`: 0} {
		cla := zones("a: 127.1.0.1 127.1.0.2", "a: 127.1.1.1 127.1.1.2 127.1.1.3")
		cla.Policy = parsed(t, `{"overprovisioning_factor": 1}`, &endpointv3.ClusterLoadAssignment_Policy{})
		cla.Endpoints[1].Priority = 1
		for _, e := range append(cla.Endpoints[0].LbEndpoints[:2:2], cla.Endpoints[1].LbEndpoints[2]) {
			e.HealthStatus = corev3.HealthStatus_UNHEALTHY
		}
		result, err := FromResource(inCluster(t, cluster, cla), diag.Envoy, &Options{})
		if err != nil || len(result.Notes) != notes {
			t.Errorf("%s: notes %q, %v", cluster, result.Notes, err)
		}
	}
}

// TestLogicalDNSPriority: the endpoint is of priority 0, whatever is written (/clusters and /config_dump of 1.36 to 1.40).
func TestLogicalDNSPriority(t *testing.T) {
	t.Parallel()
	cla := zones("a: 192.0.2.1")
	cla.Endpoints[0].Priority = 1
	r, err := FromResource(inCluster(t, `"type": "LOGICAL_DNS"`, cla), diag.Envoy, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Priorities) != 1 || r.Priorities[0].Load.Healthy != 100 || r.Endpoints[0].Priority != 0 || r.Endpoints[0].Share != 1 {
		t.Errorf("%+v, %+v", r.Priorities, r.Endpoints)
	}
}
