package xds

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// TestSilence provokes the known kinds of silence with real servers, and reads the explanation.
func TestSilence(t *testing.T) {
	t.Parallel()
	onlyClusters := func(t *testing.T) cache.Cache {
		c := cache.NewSnapshotCache(false, cache.IDHash{}, nil)
		snap, err := cache.NewSnapshot("1", map[resource.Type][]types.Resource{resource.ClusterType: {edsCluster("a", "")}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetSnapshot(context.Background(), "n1", snap); err != nil {
			t.Fatal(err)
		}
		return c
	}
	linear := func(*testing.T) cache.Cache {
		return cache.NewLinearCache(resource.EndpointType, cache.WithInitialResources(map[string]types.Resource{"b": cla("b", "127.0.0.1")}))
	}
	tests := []struct {
		name    string
		cache   func(*testing.T) cache.Cache
		service Service
		names   []string
		node    string
		preset  string
		cause   string
		try     string
	}{
		{
			name: "a subset of a cache in ADS mode", cache: func(t *testing.T) cache.Cache { return snapshotCache(t, true) }, service: ServiceADS,
			names: []string{"a"}, cause: "answers only when every assignment that it has is asked for", try: "without names",
		},
		{
			name: "an unknown node", cache: func(t *testing.T) cache.Cache { return snapshotCache(t, false) }, service: ServiceEDS, names: []string{"a"},
			node: "nobody", cause: `waits in silence for a node that it does not know`, try: "--node-id",
		},
		{
			name: "an unknown node, clusters", cache: func(t *testing.T) cache.Cache { return snapshotCache(t, false) }, service: ServiceADS,
			node: "nobody", cause: `the server has nothing for node id "nobody"`, try: "--node-id",
		},
		{
			name: "an unknown name", cache: func(t *testing.T) cache.Cache { return snapshotCache(t, false) }, service: ServiceEDS, names: []string{"nope"},
			cause: `the server does not have "nope" for this node`, try: "without names",
		},
		{
			name: "a name among others", cache: linear, service: ServiceEDS, names: []string{"b", "nope"},
			cause: `the server has other assignments for this node, but not "nope"`, try: "without names",
		},
		{
			name: "clusters without assignments", cache: onlyClusters, service: ServiceADS, cause: "the clusters came but no assignment", try: "--transport delta",
		},
		{
			name: "a node id that istiod cannot parse", cache: func(t *testing.T) cache.Cache { return snapshotCache(t, false) }, service: ServiceADS, names: []string{"a"},
			node: "nobody", preset: "istio-sidecar", cause: `istiod cannot parse node id "nobody"`, try: "--as istio-sidecar",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(serveCache(t, tt.cache(t)))
			o.Service = tt.service
			if tt.node != "" {
				o.Node = &corev3.Node{Id: tt.node}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			tr, _ := Fetch(ctx, o, tt.names, func(*Event) error { return nil })
			got := tr.Explain(o, tt.preset)
			if len(got) != 1 {
				t.Fatalf("%d explanations, want 1: %+v", len(got), got)
			}
			if !strings.Contains(got[0].Cause, tt.cause) || !strings.Contains(fmt.Sprint(got[0].Try), tt.try) {
				t.Errorf("explained as %+v, want cause %q and try %q", got[0], tt.cause, tt.try)
			}
		})
	}
}

// TestServiceChange asks a server that has ADS only, as istiod, with the service left to edsctl.
func TestServiceChange(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	c := snapshotCache(t, false)
	srv := newControlPlane(ctx, c)
	addr := serveGRPC(t, func(g *grpc.Server) { discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, srv) })
	o := testOptions(addr)
	var notes []string
	tr, err := Fetch(t.Context(), o, []string{"a"}, func(ev *Event) error {
		if ev.Kind == Note {
			notes = append(notes, ev.Text)
		}
		return nil
	})
	if err != nil || summary(tr)["a"] != "127.0.0.1" {
		t.Errorf("fetched %v, %v", summary(tr), err)
	}
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "the server has no EDS (unknown service") || !strings.HasSuffix(notes[0], "trying ADS") {
		t.Errorf("notes %q", notes)
	}
	o.Service = ServiceEDS
	_, err = Fetch(t.Context(), o, []string{"a"}, func(*Event) error { return nil })
	if failed, ok := err.(*StreamError); !ok || failed.Code != codes.Unimplemented {
		t.Errorf("asked for EDS alone: %v, want Unimplemented", err)
	}
}

// TestWrongType asks servers that answer with another type than was asked for: the explanation speaks of that, not of silence.
func TestWrongType(t *testing.T) {
	t.Parallel()
	tests := []struct{ typeURL, came, cause, try string }{
		{"type.googleapis.com/foo.Bar", `1 response of type "foo.Bar", which was not asked for`, `the server answers with another type than "envoy.config.endpoint.v3.ClusterLoadAssignment"`, "[]"},
		{AssignmentURL(V2), `1 response of type "envoy.api.v2.ClusterLoadAssignment"`, "the server answers with another type", "[--resource-version v2]"},
		{"", `1 response of type ""`, "the response has no type_url", "[]"},
	}
	for _, tt := range tests {
		t.Run(tt.typeURL, func(t *testing.T) {
			t.Parallel()
			o := testOptions(serveScript(t, answer(&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: tt.typeURL})))
			o.Service = ServiceEDS
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			tr, _ := Fetch(ctx, o, []string{"a"}, func(*Event) error { return nil })
			got := tr.Explain(o, "")
			if len(got) != 1 || !strings.Contains(got[0].Came, tt.came) || !strings.Contains(got[0].Cause, tt.cause) || fmt.Sprint(got[0].Try) != tt.try {
				t.Errorf("explained as %+v, want %+v", got, tt)
			}
		})
	}
}
