package author

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

// summary writes an assignment in few words: "P1 r/z/s w3: 10.0.0.1:80 w2 DRAINING h, ...".
func summary(t *testing.T, specs []*EndpointSpec, weights ...LocalityWeight) []string {
	t.Helper()
	cla, err := Create(&Creation{Name: "x", Endpoints: specs, LocalityWeights: weights})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, g := range cla.GetEndpoints() {
		var hosts []string
		for _, e := range g.GetLbEndpoints() {
			hosts = append(hosts, hostSummary(e))
		}
		line := fmt.Sprintf("priority %d", g.GetPriority())
		if l := g.GetLocality(); l != nil {
			line += ", locality " + strings.TrimSuffix(l.GetRegion()+"/"+l.GetZone()+"/"+l.GetSubZone(), "/")
		}
		if g.GetLoadBalancingWeight() != nil {
			line += " w" + weightText(g.GetLoadBalancingWeight())
		}
		out = append(out, line+": "+strings.Join(hosts, ", "))
	}
	return out
}

func hostSummary(e *endpointv3.LbEndpoint) string {
	s := addressOf(e)
	if e.GetLoadBalancingWeight() != nil {
		s += " w" + weightText(e.GetLoadBalancingWeight())
	}
	if e.GetHealthStatus() != 0 {
		s += " " + e.GetHealthStatus().String()
	}
	if h := e.GetEndpoint().GetHostname(); h != "" {
		s += " " + h
	}
	return s
}

func TestReadTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
		err        string
	}{
		{"comma", "\ufeff# made by hand\naddress,port,weight,zone,priority,health\n10.0.0.1,80,2,a,0,HEALTHY\n::1,81,,b,1,\nunix:/a,82,,,,draining\n", []string{
			"priority 0, locality /a: 10.0.0.1:80 w2 HEALTHY", "priority 0: unix:/a DRAINING", "priority 1, locality /b: [::1]:81",
		}, ""},
		{"tab, address with port", "address\thostname\n10.0.0.1:80\th\n[::1]:80\t\n", []string{"priority 0: 10.0.0.1:80 h, [::1]:80"}, ""},
		{"quotes", "address,metadata.envoy.lb.version\n10.0.0.1:80,\"a,b\"\n", []string{"priority 0: 10.0.0.1:80"}, ""},
		{"empty", "", nil, "the table is empty"},
		{"no address", "port,weight\n", nil, `no column is called "address"`},
		{"unknown column", "address,wieght\n", nil, `unknown column "wieght"`},
		{"twice", "address,address\n", nil, "occurs twice"},
		{"bad cell", "address,weight\n10.0.0.1:80,1\n10.0.0.2:80,0\n", nil, `line 3: weight "0"`},
		{"bad port", "address,port\n10.0.0.1,http\n", nil, `line 2: port "http"`},
		{"not UTF-8", "address,zone\n10.0.0.1:80,a\n10.0.0.2:80,\xff\n", nil, `line 3: column "zone": "\xff" is not valid UTF-8`},
		{"ragged", "address,port\n10.0.0.1\n", nil, "line 2: the number of cells"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			specs, err := ReadTable(strings.NewReader(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summary(t, specs)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Slices as `kubectl get endpointslices -o yaml` prints them, with one that is being rewritten.
const kubectlSlices = `apiVersion: v1
items:
- addressType: IPv4
  apiVersion: discovery.k8s.io/v1
  endpoints:
  - addresses:
    - 10.244.1.5
    conditions:
      ready: true
      serving: true
      terminating: false
    nodeName: node-a
    targetRef:
      kind: Pod
      name: web-7d4b9c-abcde
      namespace: shop
      uid: 0b2f
    zone: eu-west-1a
  - addresses:
    - 10.244.2.7
    conditions:
      ready: false
      serving: true
      terminating: true
    nodeName: node-b
    zone: eu-west-1b
  - addresses:
    - 10.244.2.8
    conditions:
      ready: false
      serving: false
      terminating: false
    zone: eu-west-1b
  kind: EndpointSlice
  metadata:
    generateName: web-
    labels:
      endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io
      kubernetes.io/service-name: web
    name: web-4x9kq
    namespace: shop
    ownerReferences:
    - apiVersion: v1
      kind: Service
      name: web
  ports:
  - name: http
    port: 8080
    protocol: TCP
  - name: metrics
    port: 9090
    protocol: TCP
- addressType: IPv4
  apiVersion: discovery.k8s.io/v1
  endpoints:
  - addresses:
    - 10.244.1.5
    conditions:
      ready: true
    zone: eu-west-1a
  - addresses:
    - 10.244.3.1
    conditions: {}
  kind: EndpointSlice
  metadata:
    labels:
      kubernetes.io/service-name: web
    name: web-zz2l8
    namespace: shop
  ports:
  - name: http
    port: 8081
    protocol: TCP
kind: List
metadata:
  resourceVersion: ""
`

func TestReadSlices(t *testing.T) {
	t.Parallel()
	v1beta1 := `{"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1beta1", "metadata": {"name": "s", "namespace": "n", "labels": {"kubernetes.io/service-name": "old"}},
		"addressType": "IPv6", "ports": [{"port": 80}], "endpoints": [{"addresses": ["2001:db8::1"], "topology": {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}}]}`
	tests := []struct {
		name    string
		text    string
		options SliceOptions
		want    []string
		notes   int
		err     string
	}{
		{"one service", kubectlSlices, SliceOptions{Port: "http"}, []string{
			"priority 0, locality /eu-west-1a: 10.244.1.5:8080 HEALTHY, 10.244.1.5:8081 HEALTHY",
			"priority 0, locality /eu-west-1b: 10.244.2.7:8080 DRAINING, 10.244.2.8:8080 UNHEALTHY",
			"priority 0: 10.244.3.1:8081 HEALTHY",
		}, 0, ""},
		{"a port that one slice has", kubectlSlices, SliceOptions{Port: "9090"}, []string{
			"priority 0, locality /eu-west-1a: 10.244.1.5:9090 HEALTHY", "priority 0, locality /eu-west-1b: 10.244.2.7:9090 DRAINING, 10.244.2.8:9090 UNHEALTHY",
		}, 1, ""},
		{"port not chosen", kubectlSlices, SliceOptions{}, nil, 0, `slice "web-4x9kq" has several ports: http (8080), metrics (9090)`},
		{"v1beta1", v1beta1, SliceOptions{}, []string{"priority 0, locality r/z: [2001:db8::1]:80 HEALTHY"}, 0, ""},
		{"two services", kubectlSlices + "---\n" + v1beta1, SliceOptions{Port: "80"}, nil, 0, "several services: n/old, shop/web"},
		{"chosen service", kubectlSlices + "---\n" + v1beta1, SliceOptions{Service: "old"}, []string{"priority 0, locality r/z: [2001:db8::1]:80 HEALTHY"}, 0, ""},
		{"no such service", v1beta1, SliceOptions{Service: "x"}, nil, 0, `no EndpointSlice belongs to the service "x": there is n/old`},
		{"two address types", v1beta1 + "\n---\n" + strings.Replace(v1beta1, "IPv6", "IPv4", 1), SliceOptions{}, nil, 0, "several address types: ipv6, ipv4"},
		{"other objects", "kind: Service\n---\nkind: Endpoints\n", SliceOptions{}, nil, 0, "the file holds no EndpointSlice"},
		{"no text", "a: [", SliceOptions{}, nil, 0, "slices.yaml:1:5: end of sequence flow"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadSlices([]SliceText{{"slices.yaml", []byte(tt.text)}}, tt.options)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summary(t, got.Endpoints)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(got.Notes) != tt.notes {
				t.Errorf("notes %q", got.Notes)
			}
		})
	}
}

// nameServer runs a DNS server on the loopback interface with the records of a zone file and returns its address.
func nameServer(t *testing.T, zone string) string {
	t.Helper()
	records := map[string][]dns.RR{}
	for line := range strings.Lines(zone) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		rr, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		key := rr.Header().Name + dns.TypeToString[rr.Header().Rrtype]
		records[key] = append(records[key], rr)
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		m.Answer = records[strings.ToLower(q.Question[0].Name)+dns.TypeToString[q.Question[0].Qtype]]
		if len(m.Answer) == 0 && !strings.Contains(zone, "\n"+q.Question[0].Name+" ") {
			m.Rcode = dns.RcodeNameError
		}
		_ = w.WriteMsg(m) // the client is gone
	})
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	server := &dns.Server{PacketConn: conn, Handler: handler, NotifyStartedFunc: func() { close(ready) }}
	done := make(chan error, 1)
	go func() { done <- server.ActivateAndServe() }()
	<-ready
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return conn.LocalAddr().String()
}

const zone = `
web.test. 60 A 192.0.2.2
web.test. 60 A 192.0.2.1
web.test. 60 AAAA 2001:db8::1
one.test. 60 A 192.0.2.11
two.test. 60 A 192.0.2.21
two.test. 60 A 192.0.2.22
old.test. 60 A 192.0.2.31
_ldap._tcp.test. 60 SRV 10 3 389 one.test.
_ldap._tcp.test. 60 SRV 10 1 389 two.test.
_ldap._tcp.test. 60 SRV 20 0 1389 old.test.
_even._tcp.test. 60 SRV 5 7 80 one.test.
_even._tcp.test. 60 SRV 5 7 80 old.test.
_zero._tcp.test. 60 SRV 5 0 80 one.test.
_zero._tcp.test. 60 SRV 5 9 80 old.test.
_off._tcp.test. 60 SRV 0 0 0 .
_dead._tcp.test. 60 SRV 0 0 80 gone.test.
`

func TestDNS(t *testing.T) {
	t.Parallel()
	server := nameServer(t, zone)
	tests := []struct {
		name, host, srv, family string
		want                    []string
		err                     string
	}{
		{name: "addresses", host: "web.test.:80", want: []string{"priority 0: 192.0.2.1:80 web.test, 192.0.2.2:80 web.test, [2001:db8::1]:80 web.test"}},
		{name: "one family", host: "web.test.:80", family: "ipv6", want: []string{"priority 0: [2001:db8::1]:80 web.test"}},
		{name: "an address", host: "192.0.2.9:80", want: []string{"priority 0: 192.0.2.9:80"}},
		{name: "unknown host", host: "gone.test.:80", err: `look up "gone.test.": no such host`},
		{name: "no port", host: "web.test.", err: "must have the form HOST:PORT"},
		// 3 * 2/1 and 1 * 2/2: the target with two addresses gets a quarter of the requests, not two fifths.
		{name: "services", srv: "_ldap._tcp.test.", want: []string{
			"priority 0: 192.0.2.11:389 w6 one.test, 192.0.2.21:389 w1 two.test, 192.0.2.22:389 w1 two.test", "priority 1: 192.0.2.31:1389 old.test",
		}},
		{name: "the same weights", srv: "_even._tcp.test.", want: []string{"priority 0: 192.0.2.31:80 old.test, 192.0.2.11:80 one.test"}},
		{name: "weight 0", srv: "_zero._tcp.test.", want: []string{"priority 0: 192.0.2.31:80 w9 old.test, 192.0.2.11:80 w1 one.test"}},
		{name: "not available", srv: "_off._tcp.test.", err: "the service is not available"},
		{name: "target unknown", srv: "_dead._tcp.test.", err: `look up "gone.test."`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			d := NewDNS(server, tt.family)
			specs, err := d.Hosts(ctx, tt.host)
			if tt.srv != "" {
				specs, err = d.Services(ctx, tt.srv)
			}
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summary(t, specs)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestLocalityWeights(t *testing.T) {
	t.Parallel()
	var specs []*EndpointSpec
	for _, text := range []string{"10.0.0.1:80,zone=a", "10.0.0.2:80,zone=a", "10.0.0.3:80,locality=r/b/s"} {
		spec, err := ParseEndpoint(text)
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, spec)
	}
	tests := []struct {
		text string
		want []string
		err  string
	}{
		{"auto", []string{"priority 0, locality /a w2: 10.0.0.1:80, 10.0.0.2:80", "priority 0, locality r/b/s w1: 10.0.0.3:80"}, ""},
		{"a=7", []string{"priority 0, locality /a w7: 10.0.0.1:80, 10.0.0.2:80", "priority 0, locality r/b/s: 10.0.0.3:80"}, ""},
		{"r/b/s=auto", []string{"priority 0, locality /a: 10.0.0.1:80, 10.0.0.2:80", "priority 0, locality r/b/s w1: 10.0.0.3:80"}, ""},
		{"a=0", nil, "from 1"},
		{"a", nil, "must have the form"},
	}
	for _, tt := range tests {
		w, err := ParseLocalityWeight(tt.text)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v", tt.text, err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, summary(t, specs, w)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tt.text, err, diff)
		}
	}
	w, _ := ParseLocalityWeight("c=1")
	if _, err := Create(&Creation{Name: "x", Endpoints: specs, LocalityWeights: []LocalityWeight{w}}); err == nil || !strings.Contains(err.Error(), "there is locality /a/, priority 0; locality r/b/s") {
		t.Errorf("a weight for no locality: %v", err)
	}
}
