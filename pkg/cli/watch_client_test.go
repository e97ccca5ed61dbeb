package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/edsctl/edsctl/pkg/xds"
)

// adminPoll is what an Envoy answers one poll with.
type adminPoll struct {
	held     []*endpointv3.ClusterLoadAssignment // by EDS
	static   *endpointv3.ClusterLoadAssignment   // of a cluster in the bootstrap
	clusters map[string]string                   // name of the cluster by its service_name, where they differ
	down     bool
}

func (p *adminPoll) configDump() string {
	asJSON := func(m proto.Message) string {
		any, err := anypb.New(m)
		if err != nil {
			panic(err) // a mistake in the test
		}
		return protojson.Format(any)
	}
	const config = `{"@type": "type.googleapis.com/envoy.admin.v3.%sConfigDump", %s}`
	var held []string
	for _, a := range p.held {
		held = append(held, `{"endpoint_config": `+asJSON(a)+`}`)
	}
	endpoints, clusters := `"dynamic_endpoint_configs": [`+strings.Join(held, ",")+`]`, `"version_info": "1"`
	if p.static != nil {
		endpoints += `, "static_endpoint_configs": [{"endpoint_config": ` + asJSON(p.static) + `}]`
		clusters = fmt.Sprintf(`"static_clusters": [{"cluster": {"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": %q, "type": "STATIC"}}]`, p.static.GetClusterName())
	}
	return `{"configs": [` + fmt.Sprintf(config, "Clusters", clusters) + "," + fmt.Sprintf(config, "Endpoints", endpoints) + `]}`
}

func (p *adminPoll) clusterStatus() string {
	var out []string
	for service, name := range p.clusters {
		out = append(out, fmt.Sprintf(`{"name": %q, "eds_service_name": %q}`, name, service))
	}
	return `{"cluster_statuses": [` + strings.Join(out, ",") + `]}`
}

// serveAdmin answers like the admin interface of an Envoy: each poll with the next state, then with the last one.
func serveAdmin(t *testing.T, polls []adminPoll) (addr string, times func() []time.Time) {
	t.Helper()
	var mu sync.Mutex
	var at []time.Time
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/config_dump") {
			at = append(at, time.Now())
		}
		poll := polls[min(len(at), len(polls))-1]
		switch {
		case poll.down:
			http.Error(w, "away", http.StatusServiceUnavailable)
		case strings.HasPrefix(r.URL.Path, "/config_dump"):
			fmt.Fprint(w, poll.configDump())
		default:
			fmt.Fprint(w, poll.clusterStatus())
		}
	}))
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String(), func() []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return at
	}
}

func TestWatchAdmin(t *testing.T) {
	t.Parallel()
	type held = []*endpointv3.ClusterLoadAssignment
	tests := []struct {
		name  string
		args  []string
		polls []adminPoll
		want  []string
	}{
		{
			name: "what validation refuses does not end it", args: []string{"--max-updates", "3"},
			polls: []adminPoll{
				{held: held{withHost("bad", "host.example")}},
				{held: held{withHost("bad", "host.example"), withEndpoints("a", 1, 1)}},
				{held: held{withHost("bad", "host.example"), withEndpoints("a", 2, 1)}},
			},
			want: []string{"bad  -  1 endpoint", "a  -  1 endpoint", "a  -  +10.0.0.1:80; 50 % of the traffic moves"},
		},
		{
			name: "what is gone, and what never was", args: []string{"a", "b", "--max-updates", "3"},
			polls: []adminPoll{
				{held: held{withEndpoints("a", 1, 1)}},
				{held: held{withEndpoints("a", 1, 1)}},
				{},
				{},
				{held: held{withEndpoints("b", 1, 1)}},
				{held: held{withEndpoints("b", 1, 1), withEndpoints("a", 2, 1)}},
			},
			want: []string{
				"a  -  1 endpoint", "b  -  stalled: the client does not hold it", "a  -  removed: the client does not hold it any more", "b  -  1 endpoint",
				"a  -  2 endpoints",
			},
		},
		{
			name: "until, by the name of the cluster", args: []string{"cluster", "--until", "size(endpoints) >= 2"},
			polls: []adminPoll{
				{held: held{withEndpoints("service", 1, 1)}, clusters: map[string]string{"service": "cluster"}},
				{held: held{withEndpoints("service", 2, 1)}, clusters: map[string]string{"service": "cluster"}},
			},
			want: []string{"service  -  1 endpoint", "service  -  +10.0.0.1:80; 50 % of the traffic moves"},
		},
		{
			name: "until, of all that come by EDS", args: []string{"--until", "size(endpoints) >= 2"},
			polls: []adminPoll{
				{held: held{withEndpoints("a", 2, 1), withEndpoints("b", 1, 1)}, static: withEndpoints("xds", 1, 1)},
				{held: held{withEndpoints("a", 2, 1)}, static: withEndpoints("xds", 1, 1)},
			},
			want: []string{"xds  -  1 endpoint", "a  -  2 endpoints", "b  -  1 endpoint", "b  -  removed: the client does not hold it any more"},
		},
		{
			name: "a restart", args: []string{"--max-updates", "2"},
			polls: []adminPoll{
				{held: held{withEndpoints("a", 1, 1)}}, {down: true}, {down: true}, {held: held{withEndpoints("a", 2, 1)}},
			},
			want: []string{
				"a  -  1 endpoint", "-  -  disconnected: HTTP status 503: away; reconnecting", "-  -  connected: ADDRESS",
				"a  -  +10.0.0.1:80; 50 % of the traffic moves",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			addr, _ := serveAdmin(t, tt.polls)
			stdout, stderr, code := runMain(t, append([]string{"watch", "--admin", addr, "--refresh-delay", "100ms"}, tt.args...)...)
			got := untimed(strings.ReplaceAll(stdout, addr, "ADDRESS"))
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], "; error: ")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || code != 0 {
				t.Errorf("exit code %d, %s(-want +got):\n%s", code, stderr, diff)
			}
		})
	}
}

// TestWatchAdminStatic watches the assignment of a cluster without EDS, which nobody has sent: there is nothing to judge.
func TestWatchAdminStatic(t *testing.T) {
	t.Parallel()
	addr, _ := serveAdmin(t, []adminPoll{{static: withHost("s", "host.example")}})
	stdout, stderr, code := runMain(t, "watch", "--admin", addr, "--max-updates", "1")
	if code != 0 || !strings.HasSuffix(stdout, "s  -  1 endpoint\n") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

// TestWatchAdminDelay polls every second when the delay is 0, as REST does.
func TestWatchAdminDelay(t *testing.T) {
	t.Parallel()
	type held = []*endpointv3.ClusterLoadAssignment
	addr, times := serveAdmin(t, []adminPoll{{held: held{withEndpoints("a", 1, 1)}}, {held: held{withEndpoints("a", 2, 1)}}})
	_, stderr, code := runMain(t, "watch", "--admin", addr, "--refresh-delay", "0", "--max-updates", "2")
	at := times()
	if code != 0 || len(at) != 2 || at[1].Sub(at[0]) < xds.DefaultRefreshDelay {
		t.Errorf("exit code %d, %s; polled at %v", code, stderr, at)
	}
}

// TestWatchCSDS watches a gRPC client that took what validation refuses, and then has another assignment.
func TestWatchCSDS(t *testing.T) {
	t.Parallel()
	config := func(list ...*endpointv3.ClusterLoadAssignment) *statusv3.ClientStatusResponse {
		out := &statusv3.ClientConfig{}
		for _, a := range list {
			any, err := anypb.New(a)
			if err != nil {
				t.Fatal(err)
			}
			out.GenericXdsConfigs = append(out.GenericXdsConfigs, &statusv3.ClientConfig_GenericXdsConfig{
				TypeUrl: any.GetTypeUrl(), Name: a.GetClusterName(), VersionInfo: "1", XdsConfig: any, ClientStatus: adminv3.ClientResourceStatus_ACKED,
			})
		}
		return &statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{out}}
	}
	zero := withEndpoints("bad", 1, 1)
	zero.Endpoints[0].Priority = 3 // gRPC wants them without a gap
	refusing := config(withEndpoints("a", 1, 1))
	refusing.Config[0].GenericXdsConfigs[0].ClientStatus = adminv3.ClientResourceStatus_NACKED
	refusing.Config[0].GenericXdsConfigs[0].ErrorState = &adminv3.UpdateFailureState{Details: "priority 0 missing", VersionInfo: "2"}
	polls := []*statusv3.ClientStatusResponse{
		config(zero), config(zero), config(withEndpoints("a", 1, 1)), refusing, refusing, config(withEndpoints("a", 2, 1)),
	}
	var calls atomic.Int32
	addr, stop := serveStream(t, func(st grpc.ServerStream) error {
		if err := st.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return st.SendMsg(polls[min(int(calls.Add(1)), len(polls))-1])
	})
	defer stop()
	stdout, stderr, code := runMain(t, "watch", "--csds", addr, "--refresh-delay", "100ms", "a", "bad", "--max-updates", "3")
	got := untimed(stdout)
	for i := range got {
		got[i], _, _ = strings.Cut(got[i], "; error: ")
	}
	want := []string{
		"bad  1  1 endpoint; 100 % no healthy upstream", "a  -  stalled: the client does not hold it", "a  1  1 endpoint; 100 % no healthy upstream",
		"bad  -  removed: the client does not hold it any more", `a  -  error: InvalidArgument: the client refuses version "2": priority 0 missing`, "a  1  +10.0.0.1:80; 0 % of the traffic moves; 100 % no healthy upstream",
	}
	if diff := cmp.Diff(want, got); diff != "" || code != 0 {
		t.Errorf("exit code %d, %s(-want +got):\n%s", code, stderr, diff)
	}
}

// TestClientHints names ports of another kind with --admin and --csds: the hints are about these flags.
func TestClientHints(t *testing.T) {
	t.Parallel()
	addr, stop := serveStream(t, play(nil))
	t.Cleanup(stop)
	unimplemented := grpc.NewServer()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = unimplemented.Serve(lis) }()
	t.Cleanup(unimplemented.Stop)
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"--csds", lis.Addr().String()}, "hint: name the port on which the gRPC process offers it; --admin reads an Envoy\n"},
		{[]string{"--admin", addr}, "hint: name the port of the admin interface; --csds reads a gRPC client\n"},
	}
	for _, tt := range tests {
		for _, command := range []string{"fetch", "watch"} {
			if _, stderr, code := runMain(t, append([]string{command}, tt.args...)...); code != exitFailure || !strings.HasSuffix(stderr, tt.want) {
				t.Errorf("%s %q: exit code %d, want %d and %q:\n%s", command, tt.args, code, exitFailure, tt.want, stderr)
			}
		}
	}
}
