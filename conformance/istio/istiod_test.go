// Package istio runs edsctl as a client of istiod, which runs in the test's process. It is a module of its own, since
// istiod brings hundreds of modules along: make e2e-istio.
package istio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"istio.io/istio/pilot/test/xds"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const configs = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: shop, namespace: default}
spec:
  hosts: [shop.example]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP}]
  endpoints:
  - {address: 10.0.0.1, locality: eu/a, weight: 3}
  - {address: 10.0.0.2, locality: eu/b, weight: 1}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: default}
spec:
  hosts: [api.example]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]
`

const kubernetes = `
apiVersion: v1
kind: Service
metadata: {name: reviews, namespace: default}
spec:
  clusterIP: 10.96.0.10
  selector: {app: reviews}
  ports: [{name: http, port: 9080, targetPort: 9080, protocol: TCP}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: reviews-1, namespace: default, labels: {kubernetes.io/service-name: reviews}}
addressType: IPv4
ports: [{name: http, port: 9080, protocol: TCP}]
endpoints:
- {addresses: [10.1.0.1], conditions: {ready: true}}
- {addresses: [10.1.0.2], conditions: {ready: true}}
`

// edsctl is the program under test.
var edsctl string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "edsctl")
	if err != nil {
		panic(err)
	}
	edsctl = filepath.Join(dir, "edsctl")
	build := exec.Command("go", "build", "-o", edsctl, "./cmd/edsctl")
	build.Dir = "../.."
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// result is what one run of edsctl printed and its exit code.
type result struct {
	stdout, stderr string
	code           int
}

func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), edsctl, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewBufferString(stdin), &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// istiod starts and returns its address.
func istiod(t *testing.T) (*xds.FakeDiscoveryServer, string) {
	t.Helper()
	s := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{
		ConfigString: configs, KubernetesObjectString: kubernetes,
		ListenerBuilder: func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	})
	return s, s.Listener.Addr().String()
}

const (
	shop    = "outbound|80||shop.example"
	reviews = "outbound|9080||reviews.default.svc.cluster.local"
)

// table is what fetch -o table prints, without the versions: name, priority, locality, address, health, weight.
func table(t *testing.T, out string) []string {
	t.Helper()
	var rows []string
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		if len(cells) < 6 {
			t.Fatalf("row %q", line)
		}
		rows = append(rows, strings.Join(append(cells[:1], cells[len(cells)-5:]...), " "))
	}
	return rows
}

var allEndpoints = []string{
	shop + " 0 eu/a/ 10.0.0.1:80 UNKNOWN 3",
	shop + " 0 eu/b/ 10.0.0.2:80 UNKNOWN 1",
	reviews + " 0 // 10.1.0.1:9080 HEALTHY 1",
	reviews + " 0 // 10.1.0.2:9080 HEALTHY 1",
}

// TestFetchAll asks without names, as each kind of proxy.
func TestFetchAll(t *testing.T) {
	_, addr := istiod(t)
	tests := []struct {
		name  string
		args  []string
		rows  []string
		notes []string // on clusters without EDS, and others
	}{
		{
			"sidecar", []string{"--as", "istio-sidecar"}, allEndpoints,
			[]string{
				`cluster "BlackHoleCluster" has no EDS: its type is STATIC, its endpoints are in the cluster itself`,
				`cluster "InboundPassthroughCluster" has no EDS: its type is ORIGINAL_DST, it has no endpoints`,
				`cluster "PassthroughCluster" has no EDS: its type is ORIGINAL_DST, it has no endpoints`,
				`cluster "outbound|443||api.example" has no EDS: its type is STRICT_DNS, its endpoints are in the cluster itself`,
			},
		},
		{"sidecar, delta", []string{"--as", "istio-sidecar", "--transport", "delta"}, allEndpoints, nil},
		{"sidecar that refuses what Envoy would refuse", []string{"--as", "istio-sidecar", "--ack", "valid"}, allEndpoints, nil},
		{
			"a proxy of its own name", []string{"--node-id", "sidecar~10.1.2.3~web-0.default~default.svc.cluster.local", "--service", "ads"}, allEndpoints, nil,
		},
		{
			"router", []string{"--as", "istio-router"}, allEndpoints,
			[]string{`cluster "BlackHoleCluster" has no EDS: its type is STATIC, its endpoints are in the cluster itself`},
		},
		{
			"waypoint", []string{"--as", "istio-waypoint"}, nil,
			[]string{`cluster "main_internal" has no EDS: its type is STATIC, its endpoints are in the cluster itself`},
		},
		{"gRPC", []string{"--as", "istio-grpc"}, nil, []string{"istiod makes them for a gRPC client by name only, so give names"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, "", append([]string{"fetch", "--server", addr, "--plaintext", "-o", "table"}, tt.args...)...)
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			if got := table(t, r.stdout); !slices.Equal(got, tt.rows) {
				t.Errorf("rows:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.rows, "\n"))
			}
			for _, note := range tt.notes {
				if !strings.Contains(r.stderr, note) {
					t.Errorf("no note %q in:\n%s", note, r.stderr)
				}
			}
			t.Logf("%s:\n%s%s", tt.name, r.stdout, r.stderr)
		})
	}
}

// TestFetchNames asks for names, as a gRPC client too, and as proxies that istiod does not understand.
func TestFetchNames(t *testing.T) {
	_, addr := istiod(t)
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // parts
	}{
		{"a gRPC client", []string{shop, "--as", "istio-grpc"}, 0, "address: 10.0.0.1, port_value: 80", ""},
		{"a name that does not exist", []string{"outbound|80||nothing.example", "--as", "istio-sidecar"}, 0, "cluster_name: outbound|80||nothing.example", "[eds-no-endpoints]"},
		{"EDS instead of ADS", []string{shop, "--as", "istio-sidecar", "--service", "eds"}, 3, "", "hint: try --service ads"},
		{"EDS, then ADS", []string{shop, "--as", "istio-sidecar", "--service", "auto"}, 0, "address: 10.0.0.2, port_value: 80", "the server has no EDS (unknown service envoy.service.endpoint.v3.EndpointDiscoveryService): trying ADS"},
		{"a node id of another form", []string{shop, "--node-id", "me", "--service", "ads"}, 3, "", `istiod cannot parse node id "me": it must have the form <type>~<ip>~<pod>.<namespace>~<namespace>.svc.<domain>`},
		{"v2", []string{shop, "--as", "istio-sidecar", "--transport-version", "v2", "--resource-version", "v2"}, 3, "", "hint: try --transport-version v3 --resource-version v3"},
		{"REST", []string{shop, "--as", "istio-sidecar", "--transport", "rest"}, 3, "", "the server does not speak HTTP/1: it may be a gRPC port"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, "", append([]string{"fetch", "--server", addr, "--plaintext"}, tt.args...)...)
			if r.code != tt.code || !strings.Contains(r.stdout, tt.stdout) || !strings.Contains(r.stderr, tt.stderr) {
				t.Errorf("exit code %d, want %d\n%s\nwant %q\n%s\nwant %q", r.code, tt.code, r.stdout, tt.stdout, r.stderr, tt.stderr)
			}
			t.Logf("%s: exit code %d\n%s%s", tt.name, r.code, r.stdout, r.stderr)
		})
	}
}

// TestPipes hands what istiod serves to the other commands.
func TestPipes(t *testing.T) {
	_, addr := istiod(t)
	fetched := run(t, "", "fetch", shop, "--server", addr, "--plaintext", "--as", "istio-sidecar")
	r := run(t, fetched.stdout, "simulate", "-", "--assert", `share("zone=a") == 0.75`)
	if r.code != 0 {
		t.Errorf("simulate ends with %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
	if r := run(t, fetched.stdout, "validate", "-"); r.code != 0 {
		t.Errorf("validate ends with %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
	recording := filepath.Join(t.TempDir(), "istiod.rec")
	run(t, "", "fetch", "--server", addr, "--plaintext", "--as", "istio-sidecar", "--record", recording)
	replayed := run(t, "", "replay", recording, "-o", "yaml", "--name", shop)
	if r := run(t, replayed.stdout, "diff", "-", "xds://"+addr+"/"+shop, "--plaintext", "--as", "istio-sidecar"); r.code != 0 {
		t.Errorf("the recording differs from what is served now (%d):\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// TestWatch follows an EndpointSlice that loses an endpoint.
func TestWatch(t *testing.T) {
	for _, transport := range []string{"sotw", "delta"} {
		t.Run(transport, func(t *testing.T) {
			s, addr := istiod(t)
			cmd := exec.CommandContext(t.Context(), edsctl, "watch", reviews, "--server", addr, "--plaintext", "--as", "istio-sidecar",
				"--transport", transport, "-o", "ndjson", "--until", "size(endpoints) == 1", "--for", "30s")
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var last struct {
				Event  string
				Change struct {
					Endpoints int
					Moved     float64
				}
			}
			lines := bufio.NewScanner(out)
			for n := 0; lines.Scan(); n++ {
				t.Log(lines.Text())
				if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
					t.Fatal(err)
				}
				if last.Event == "update" && last.Change.Endpoints == 2 {
					setReviews(t, s, "10.1.0.1")
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("watch: %v", err)
			}
			if last.Event != "update" || last.Change.Endpoints != 1 || last.Change.Moved != 0.5 {
				t.Errorf("the last event is %+v, want an update to 1 endpoint that moves half of the traffic", last)
			}
		})
	}
}

// setReviews sets the addresses of the EndpointSlice.
func setReviews(t *testing.T, s *xds.FakeDiscoveryServer, addresses ...string) {
	t.Helper()
	slices := s.KubeClient().Kube().DiscoveryV1().EndpointSlices("default")
	slice, err := slices.Get(t.Context(), "reviews-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slice.Endpoints = nil
	for _, a := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	}
	if _, err := slices.Update(t.Context(), slice, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
