package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/xds"
)

// envoyProcess is a real Envoy that takes its clusters from a server under test. The test is skipped unless
// EDSCTL_ENVOY names the binary.
type envoyProcess struct {
	t     *testing.T
	admin string
	log   *bytes.Buffer
}

func startEnvoy(t *testing.T, server, apiType string) *envoyProcess {
	t.Helper()
	binary := os.Getenv("EDSCTL_ENVOY")
	if binary == "" {
		t.Skip("EDSCTL_ENVOY does not name an Envoy")
	}
	host, port, _ := strings.Cut(server, ":")
	dir := t.TempDir()
	bootstrap := fmt.Sprintf(`
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
node: {id: test, cluster: test}
dynamic_resources:
  cds_config: {resource_api_version: V3, ads: {}}
  ads_config: {api_type: %s, transport_api_version: V3, grpc_services: [{envoy_grpc: {cluster_name: xds}}]}
static_resources:
  clusters:
  - name: xds
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment: {cluster_name: xds, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: %s, port_value: %s}}}}]}]}
`, apiType, host, port)
	file := filepath.Join(dir, "envoy.yaml")
	if err := os.WriteFile(file, []byte(bootstrap), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &envoyProcess{t: t, log: &bytes.Buffer{}}
	adminFile := filepath.Join(dir, "admin")
	cmd := exec.Command(binary, "-c", file, "--admin-address-path", adminFile, "--use-dynamic-base-id", "--concurrency", "1", "-l", "warning")
	cmd.Stderr = e.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Envoy's log:\n%s", e.log)
		}
	})
	e.until("Envoy's admin address", func() bool {
		data, err := os.ReadFile(adminFile)
		e.admin = strings.TrimSpace(string(data))
		return err == nil && e.admin != ""
	})
	return e
}

// until polls a condition about the other process.
func (e *envoyProcess) until(what string, ok func() bool) time.Duration {
	e.t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(e.t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			e.t.Fatalf("%s did not come within 20 s", what)
		case <-tick.C:
		}
	}
	return time.Since(begin)
}

func (e *envoyProcess) get(path string) []byte {
	resp, err := http.Get("http://" + e.admin + path)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	return data
}

// hosts are the addresses that Envoy has for a cluster, sorted; nil: it does not have the cluster.
func (e *envoyProcess) hosts(cluster string) []string {
	var dump struct {
		Clusters []struct {
			Name  string `json:"name"`
			Hosts []struct {
				Address struct {
					Socket struct {
						Address string `json:"address"`
					} `json:"socket_address"`
				} `json:"address"`
			} `json:"host_statuses"`
		} `json:"cluster_statuses"`
	}
	if json.Unmarshal(e.get("/clusters?format=json"), &dump) != nil {
		return nil
	}
	for _, c := range dump.Clusters {
		if c.Name == cluster {
			out := []string{}
			for _, h := range c.Hosts {
				out = append(out, h.Address.Socket.Address)
			}
			slices.Sort(out)
			return out
		}
	}
	return nil
}

func (e *envoyProcess) hasHosts(cluster string, want ...string) func() bool {
	return func() bool { return slices.Equal(e.hosts(cluster), want) }
}

func (r *running) count(match func(*Event) bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for i := range r.events {
		if match(&r.events[i]) {
			n++
		}
	}
	return n
}

// TestEnvoy has a real Envoy as the client: it becomes ready, takes updates and changed clusters without waiting for
// its fetch timeout, refuses a bad assignment once, and neither stalls nor loops when clusters go and come back.
func TestEnvoy(t *testing.T) {
	for _, apiType := range []string{"GRPC", "DELTA_GRPC"} {
		t.Run(apiType, func(t *testing.T) {
			s := start(t, Options{}, assignment("a", "127.0.0.1"), assignment("b", "127.0.0.2"))
			e := startEnvoy(t, s.addr, apiType)
			set := func(list ...Assignment) {
				t.Helper()
				if err := s.Set(list); err != nil {
					t.Fatal(err)
				}
			}
			e.until("the first endpoints", e.hasHosts("a", "127.0.0.1"))
			e.until("readiness", func() bool { return strings.HasPrefix(string(e.get("/ready")), "LIVE") })

			set(assignment("a", "127.0.0.3"), assignment("b", "127.0.0.2"))
			e.until("an update", e.hasHosts("a", "127.0.0.3"))

			changed := assignment("b", "127.0.0.2")
			changed.Cluster = &clusterv3.Cluster{
				Name: "b", ConnectTimeout: durationpb.New(3 * time.Second),
				CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{UpdateMergeWindow: durationpb.New(0)},
			}
			set(assignment("a", "127.0.0.3"), changed)
			took := e.until("the changed cluster", func() bool {
				return strings.Contains(string(e.get("/config_dump?resource=dynamic_active_clusters&name_regex=b")), `"connect_timeout": "3s"`)
			})
			if took >= fetchTimeout {
				t.Errorf("a changed cluster with the same assignment was warming for %v", took)
			}

			bad := assignment("a", "127.0.0.4")
			bad.Message.Endpoints[0].LbEndpoints[0].LoadBalancingWeight = wrapperspb.UInt32(0)
			isNACK := func(ev *Event) bool { return ev.Kind == Nacked }
			set(bad, changed)
			e.until("the refusal", func() bool { return s.count(isNACK) > 0 })
			set(bad, changed) // nothing new to say
			set(assignment("a", "127.0.0.5"), changed)
			e.until("recovery after a refusal", e.hasHosts("a", "127.0.0.5"))
			if n := s.count(isNACK); n != 1 {
				t.Errorf("the bad assignment was refused %d times, want once", n)
			}

			live, err := xds.ReadAdmin(t.Context(), xds.Dial{Target: e.admin, Plaintext: true}, []string{"a"})
			if err != nil {
				t.Fatal(err)
			}
			if len(live.Assignments) != 1 || live.Assignments[0].Cluster != "a" ||
				live.Assignments[0].Resource.Assignment.GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress().GetAddress() != "127.0.0.5" {
				t.Errorf("read back %v", live.Assignments)
			}

			set()
			e.until("the removal of all clusters", func() bool { return e.hosts("a") == nil && e.hosts("b") == nil })
			pushed := s.count(func(ev *Event) bool { return ev.Kind == Pushed })
			set(assignment("a", "127.0.0.6"))
			if took := e.until("a cluster that comes back", e.hasHosts("a", "127.0.0.6")); took >= fetchTimeout {
				t.Errorf("a cluster that came back waited for %v", took)
			}
			if n := s.count(func(ev *Event) bool { return ev.Kind == Pushed }) - pushed; n > 6 {
				t.Errorf("%d responses for one cluster: a loop", n)
			}
		})
	}
}

// TestEnvoyConverges changes clusters and assignments at random, faster than Envoy can follow, and wants the last state
// in Envoy before a fetch timeout could have helped.
func TestEnvoyConverges(t *testing.T) {
	for _, apiType := range []string{"GRPC", "DELTA_GRPC"} {
		t.Run(apiType, func(t *testing.T) {
			s := start(t, Options{}, assignment("a", "127.0.0.1"))
			e := startEnvoy(t, s.addr, apiType)
			e.until("the first endpoints", e.hasHosts("a", "127.0.0.1"))
			rng := rand.New(rand.NewPCG(1, 2))
			names := []string{"a", "b", "c", "d"}
			for round := range 15 {
				want := map[string]string{}
				var list []Assignment
				for range 1 + rng.IntN(5) { // changes that come before Envoy has answered the one before
					list, want = nil, map[string]string{}
					for _, name := range names {
						if rng.IntN(4) == 0 {
							continue
						}
						address := fmt.Sprintf("127.0.0.%d", 1+rng.IntN(5))
						a := assignment(name, address)
						a.Cluster = &clusterv3.Cluster{Name: name, ConnectTimeout: durationpb.New(time.Duration(1+rng.IntN(2)) * time.Second)}
						list = append(list, a)
						want[name] = address
					}
					if err := s.Set(list); err != nil {
						t.Fatal(err)
					}
				}
				took := e.until(fmt.Sprintf("round %d", round), func() bool {
					for _, name := range names {
						address, ok := want[name]
						if hosts := e.hosts(name); ok != (hosts != nil) || ok && !slices.Equal(hosts, []string{address}) {
							return false
						}
					}
					return true
				})
				if took >= fetchTimeout {
					t.Errorf("round %d took %v", round, took)
				}
			}
		})
	}
}
