package xds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestOrder runs twenty times what would come in any order if it came out of a map.
func TestOrder(t *testing.T) {
	t.Parallel()
	for range 20 {
		o := Options{Service: ServiceEDS, Now: func() time.Time { return time.Unix(15, 0) }}.withDefaults()
		var got []string
		r := newRunner(o, nil, false, nil)
		for _, m := range r.methods() {
			got = append(got, m.name[strings.LastIndex(m.name, "/")+1:])
			r.links[m.types[0]] = &link{method: m.name}
		}
		for _, l := range r.uniqueLinks() {
			got = append(got, l.method[strings.LastIndex(l.method, "/")+1:])
		}
		want := []string{"StreamClusters", "StreamEndpoints", "StreamClusters", "StreamEndpoints"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("streams (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"expired a", "stalled b"}, ticked(t, o)); diff != "" {
			t.Fatalf("events of one moment (-want +got):\n%s", diff)
		}
	}
}

// ticked are the events of the moment in which a resource runs out, and another has been waited for long enough.
func ticked(t *testing.T, o Options) (events []string) {
	t.Helper()
	r := newRunner(o, []string{"a", "b"}, false, func(ev *Event) error {
		events = append(events, fmt.Sprint(ev.Kind, " ", strings.Join(ev.Names, " ")))
		return nil
	})
	r.session.patience = time.Unix(15, 0)
	wrapped := anyOf(t, &discoveryv3.Resource{Name: "a", Ttl: durationpb.New(15 * time.Second), Resource: anyOf(t, cla("a", "127.0.0.1"))})
	r.session.receive(sotw(t, "1", wrapped), time.Unix(0, 0), &Event{}, func(*Event) error { return nil })
	if err := r.tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	return events
}

// TestSharedService removes the newer of two clusters with one service name: the assignment belongs to the other then.
func TestSharedService(t *testing.T) {
	t.Parallel()
	o := Options{Now: func() time.Time { return time.Unix(0, 0) }}
	s := newSession(o.withDefaults(), nil, true)
	s.opened(s.cdsURL, s.edsURL)
	receive := func(url, version string, list ...*anypb.Any) *Event {
		var ev Event
		r := fromSotW(&discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: version, TypeUrl: url, Resources: list})
		s.receive(r, time.Unix(1, 0), &ev, func(*Event) error { return nil })
		return &ev
	}
	clusterOf := func(version string) string {
		return receive(s.edsURL, version, anyOf(t, cla("svc", "127.0.0.1"))).Resources[0].Assignment.Cluster.Message.GetName()
	}
	older, newer := anyOf(t, edsCluster("older", "svc")), anyOf(t, edsCluster("newer", "svc"))
	receive(s.cdsURL, "1", older, newer)
	if got := clusterOf("1"); got != "newer" {
		t.Errorf("with two clusters the assignment belongs to %q", got)
	}
	receive(s.cdsURL, "2", older)
	if got := clusterOf("2"); got != "older" {
		t.Errorf("without the newer cluster the assignment belongs to %q", got)
	}
}

// TestPolledAnew removes a cluster and brings it back: Envoy's new cluster asks without a version.
func TestPolledAnew(t *testing.T) {
	t.Parallel()
	rounds := [][]*anypb.Any{{anyOf(t, edsCluster("a", ""))}, nil, {anyOf(t, edsCluster("a", ""))}, {anyOf(t, edsCluster("a", ""))}}
	round := 0
	var versions []string
	p := newPoller(Options{Transport: REST}.withDefaults(), nil, func(*Event) error { return nil })
	p.edsPath, p.cdsPath = "eds", "cds"
	p.ask = func(_ context.Context, path string, req *discoveryv3.DiscoveryRequest) (*response, error) {
		if path == "cds" {
			return fromSotW(&discoveryv3.DiscoveryResponse{VersionInfo: fmt.Sprint(round), TypeUrl: ClusterURL(V3), Resources: rounds[round]}), nil
		}
		versions = append(versions, fmt.Sprintf("%d: %q", round, req.GetVersionInfo()))
		return sotw(t, "v", anyOf(t, cla("a", "127.0.0.1"))), nil
	}
	for ; round < len(rounds); round++ {
		if err := p.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{`0: ""`, `2: ""`, `3: "v"`}, versions); diff != "" {
		t.Errorf("versions asked with (-want +got):\n%s", diff)
	}
}

// TestManyClusters explains the silence about many clusters: what was said of one name took the time of all.
func TestManyClusters(t *testing.T) {
	t.Parallel()
	const many = 20000
	tr := NewTracker(nil)
	ev := &Event{Kind: Received, TypeURL: ClusterURL(V3), Message: &discoveryv3.DiscoveryResponse{}}
	for i := range many {
		ev.Clusters = append(ev.Clusters, Cluster{Name: fmt.Sprint("c", i), Service: fmt.Sprint("s", i)})
	}
	tr.Add(ev)
	silences := tr.Explain(Options{}, "")
	if len(silences) != many || silences[0].Name != "s0" || !strings.HasSuffix(silences[0].Asked, `, the service_name of cluster "c0"`) {
		t.Errorf("%d silences, the first %+v", len(silences), silences[0])
	}
}

// TestManyChanged changes many clusters at once: the names were put together anew for each that was warm.
func TestManyChanged(t *testing.T) {
	t.Parallel()
	const many = 10000
	o := Options{Now: func() time.Time { return time.Unix(0, 0) }}
	s := newSession(o.withDefaults(), nil, true)
	s.opened(s.cdsURL, s.edsURL)
	var assignments []*anypb.Any
	for i := range many {
		assignments = append(assignments, anyOf(t, cla(fmt.Sprint("c", i), "127.0.0.1")))
	}
	receive := func(url, version string, list []*anypb.Any) (sent []string) {
		r := fromSotW(&discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: version, TypeUrl: url, Resources: list})
		s.receive(r, time.Unix(1, 0), &Event{}, func(*Event) error { return nil })
		for _, out := range s.drain() {
			req := out.msg.(*discoveryv3.DiscoveryRequest)
			names := req.GetResourceNames()
			sent = append(sent, fmt.Sprintf("%s %s %d", req.GetTypeUrl(), req.GetVersionInfo(), len(names)))
		}
		return sent
	}
	var got []string
	for _, timeout := range []int{1, 2} {
		var clusters []*anypb.Any
		for i := range many {
			c := edsCluster(fmt.Sprint("c", i), "")
			c.ConnectTimeout = &durationpb.Duration{Seconds: int64(timeout)}
			clusters = append(clusters, anyOf(t, c))
		}
		receive(s.cdsURL, fmt.Sprint(timeout), clusters)
		got = append(got, receive(s.edsURL, fmt.Sprint(timeout), assignments)...)
	}
	cds, eds := ClusterURL(V3), AssignmentURL(V3)
	want := []string{eds + " 1 10000", cds + " 2 0", eds + " 2 10000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestPolledClusters asks only for the assignments of clusters that Envoy takes: of none, when it refuses the response.
func TestPolledClusters(t *testing.T) {
	t.Parallel()
	marks := func(ev *Event) error {
		if ev.IsCDS() && ev.Kind == Received {
			ev.Clusters[0].Err = errors.New("bad")
		}
		return nil
	}
	refuses := func(ev *Event) error {
		if ev.IsCDS() && ev.Kind == Received {
			return &DecodeError{Text: "bad"}
		}
		return nil
	}
	for _, c := range []struct {
		name  string
		ack   AckMode
		check func(*Event) error
		other *anypb.Any // beside the two clusters
		want  string
	}{
		{"one is refused", AckAlways, marks, nil, "[b]"},
		{"one is refused, and that is said", AckValid, marks, nil, "[b]"},
		{"the response is refused", AckValid, refuses, nil, "[]"},
		{"the response is refused and taken all the same", AckAlways, refuses, nil, "[b a]"},
		{"the response has another type", AckAlways, func(*Event) error { return nil }, anyOf(t, cla("c", "127.0.0.1")), "[]"},
	} {
		list := []*anypb.Any{anyOf(t, edsCluster("a", "")), anyOf(t, edsCluster("b", ""))}
		if c.other != nil {
			list = append(list, c.other)
		}
		p := newPoller(Options{Transport: REST, Ack: c.ack}.withDefaults(), nil, c.check)
		r := fromSotW(&discoveryv3.DiscoveryResponse{VersionInfo: "1", TypeUrl: ClusterURL(V3), Resources: list})
		if err := p.receive(r, &p.cds, nil, c.check); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.clusters.names()); got != c.want {
			t.Errorf("%s: the names %s are asked for, want %s", c.name, got, c.want)
		}
	}
}

// TestFetchRefusedClusters ends a fetch when what is left of the clusters is answered, and tells why nothing is asked for.
func TestFetchRefusedClusters(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := &discoveryv3.DiscoveryResponse{VersionInfo: "1", TypeUrl: ClusterURL(V3), Resources: []*anypb.Any{anyOf(t, edsCluster("a", "")), anyOf(t, edsCluster("b", ""))}}
		if strings.HasSuffix(r.URL.Path, "endpoints") {
			m.TypeUrl, m.Resources = AssignmentURL(V3), []*anypb.Any{anyOf(t, cla("b", "127.0.0.1"))}
		}
		text, err := protojson.Marshal(m)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(text)
	}))
	defer server.Close()
	fetch := func(ctx context.Context, check func(*Event) error) (*Tracker, Options, error) {
		o := Options{Transport: REST, Ack: AckValid, Dial: Dial{Target: strings.TrimPrefix(server.URL, "http://"), Plaintext: true}}
		tr, err := Fetch(ctx, o, nil, func(ev *Event) error {
			if ev.IsCDS() && ev.Kind == Received {
				return check(ev)
			}
			return nil
		})
		return tr, o, err
	}
	tr, _, err := fetch(t.Context(), func(ev *Event) error {
		ev.Clusters[0].Err = errors.New("bad")
		return nil
	})
	if diff := cmp.Diff([]string{"b"}, tr.Names()); err != nil || diff != "" {
		t.Errorf("one cluster refused: %v (-want +got):\n%s", err, diff)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	tr, o, err := fetch(ctx, func(*Event) error { return &DecodeError{Text: "name: \"a\"\n: bad"} })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("all clusters refused: %v", err)
	}
	want := "the client refuses the clusters, so it asks for no assignment: bad"
	if got := tr.Explain(o, ""); len(got) != 2 || got[0].Cause != want {
		t.Errorf("the silence is explained by %+v, want %q", got, want)
	}
}
