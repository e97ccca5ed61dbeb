package selector

import (
	"fmt"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

func assignment(t *testing.T) *endpointv3.ClusterLoadAssignment {
	t.Helper()
	cla := &endpointv3.ClusterLoadAssignment{}
	err := protojson.Unmarshal([]byte(`{"cluster_name": "c", "endpoints": [
		{"locality": {"region": "eu", "zone": "a", "sub_zone": "1"}, "lb_endpoints": [
			{"endpoint": {"address": {"socket_address": {"address": "10.0.0.1", "port_value": 80}}, "hostname": "one,1"}, "metadata": {"filter_metadata": {"envoy.lb": {"version": "v1", "canary": true, "stage": {"name": "x"}}}}},
			{"endpoint": {"address": {"socket_address": {"address": "10.0.0.2", "port_value": 81}}, "additional_addresses": [{"address": {"socket_address": {"address": "10.9.9.9", "port_value": 80}}}]}, "health_status": "DEGRADED", "metadata": {"filter_metadata": {"envoy.lb": {"version": 2}}}}]},
		{"locality": {"region": "us", "zone": "b"}, "priority": 1, "lb_endpoints": [
			{"endpoint": {"address": {"socket_address": {"address": "2001:DB8::1", "port_value": 80}}}},
			{"endpoint": {"address": {"pipe": {"path": "/run/s.sock"}}}},
			{"endpoint": {"address": {"socket_address": {"address": "db.example", "port_value": 5432}}}}]}]}`), cla)
	if err != nil {
		t.Fatal(err)
	}
	return cla
}

func TestSelect(t *testing.T) {
	tests := []struct{ text, want string }{
		{"all", "0.0 0.1 1.0 1.1 1.2"},
		{"priority=1", "1.0 1.1 1.2"},
		{"region=eu", "0.0 0.1"},
		{"zone=b", "1.0 1.1 1.2"},
		{"sub_zone=1", "0.0 0.1"},
		{"sub_zone=", "1.0 1.1 1.2"},
		{"address=10.0.0.0/31", "0.0"},
		{"address=10.0.0.0/8", "0.0 0.1"},
		{"address=10.0.0.2", "0.1"},
		{"address=10.0.0.2:81", "0.1"},
		{"address=10.9.9.9", "0.1"},
		{"address=2001:db8:0::1", "1.0"},
		{"address=[2001:db8::1]:80", "1.0"},
		{"address=2001:db8::/32", "1.0"},
		{"address=/run/s.sock", "1.1"},
		{"address=db.example", "1.2"},
		{"address=db.example:5432", "1.2"},
		{`hostname="one,1"`, "0.0"},
		{"health=degraded", "0.1"},
		{"health=UNKNOWN,zone=a", "0.0"},
		{"metadata.envoy.lb.version=v1", "0.0"},
		{"metadata.envoy.lb.version=2", "0.1"},
		{"metadata.envoy.lb.canary=true", "0.0"},
		{"metadata.envoy.lb.stage.name=x", "0.0"},
		{" zone = b , priority=1 ", "1.0 1.1 1.2"},
	}
	cla := assignment(t)
	for _, tt := range tests {
		s, err := Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		refs, err := s.Select(cla)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		var got []string
		for _, r := range refs {
			got = append(got, fmt.Sprintf("%d.%d", r.Group, r.Index))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s picks %v, want %s", tt.text, got, tt.want)
		}
	}
}

func TestSelectNothing(t *testing.T) {
	cla := assignment(t)
	for text, want := range map[string]string{
		"zone=c":                         `no endpoint has zone "c"; there is "a", "b"`,
		"priority=7":                     `no endpoint has priority "7"; there is "0", "1"`,
		"address=10.0.0.3":               `no endpoint has address "10.0.0.3"; there is "10.0.0.1:80", "10.0.0.2:81"`,
		"hostname=two":                   `no endpoint has hostname "two"; there is "one,1"`,
		"metadata.envoy.lb.version=v2":   `there is "2", "v1"`,
		"metadata.envoy.lb.flavour=mint": "no endpoint has a metadata.envoy.lb.flavour",
		"zone=a,priority=1":              "each part matches endpoints, but no endpoint matches all of them",
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Select(cla); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	all, err := Parse("all")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Select(&endpointv3.ClusterLoadAssignment{}); err == nil || !strings.Contains(err.Error(), "the assignment has no endpoints") {
		t.Errorf("an empty assignment: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                   `"" is not KEY=VALUE or "all"`,
		"zone":               `"zone" is not KEY=VALUE`,
		"zonne=a":            `unknown key "zonne"`,
		"priority=high":      `priority "high" is not a number`,
		"health=FINE":        `unknown health status "FINE"`,
		"address=":           "the address is empty",
		"metadata.version=1": `unknown key "metadata.version"`,
		`hostname="a`:        "the quotation mark is not closed",
		"zone=a,":            `"" is not KEY=VALUE`,
		"all=50%":            `"all" takes no value`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"all", "zone=a,health=HEALTHY", `hostname="a,b"`, "address=10.0.0.0/8", "metadata.a.b=c", "=", ",", `"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		_, _ = s.Select(&endpointv3.ClusterLoadAssignment{Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{}}}}})
	})
}
