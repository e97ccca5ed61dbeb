package render

import (
	"strings"
	"testing"
	"time"

	"github.com/edsctl/edsctl/pkg/xds/serve"
)

// TestServeSubscribed compares what is said of names that come and go.
func TestServeSubscribed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		names, removed []string
		want           string
	}{
		{nil, nil, "n subscribed ClusterLoadAssignment: all"},
		{[]string{"a", "b"}, nil, "n subscribed ClusterLoadAssignment: a, b"},
		{nil, []string{"a", "b"}, "n subscribed ClusterLoadAssignment: no longer a, b"},
		{[]string{"c"}, []string{"a"}, "n subscribed ClusterLoadAssignment: c; no longer a"},
	}
	for _, tt := range tests {
		ev := serve.Event{
			Kind: serve.Subscribed, Client: serve.Client{NodeID: "n"}, TypeURL: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
			Time: time.Unix(0, 0).UTC(), Names: tt.names, Removed: tt.removed,
		}
		var b strings.Builder
		if err := ServeEvent(&b, "text", &ev, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(b.String()); got != "00:00:00.000 "+tt.want {
			t.Errorf("%q and %q: %s", tt.names, tt.removed, got)
		}
	}
}

// TestServeChange compares the lines about what is kept back and what is over.
func TestServeChange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		state ServeState
		want  string
	}{
		{ServeState{Kept: []KeptBack{{Name: "x.yaml", Reason: "why", Part: true}}}, "kept back a part of x.yaml (not served): why\n"},
		{ServeState{Kept: []KeptBack{{Name: "x", Reason: "why", Serving: true}}}, "kept back x (the last good version is served): why\n"},
		{ServeState{KeptOver: []string{"a", "x.yaml"}}, "no longer kept back a, x.yaml\n"},
		{ServeState{ProblemOver: "d: gone"}, "problem over: d: gone\n"},
		{ServeState{}, ""},
	}
	for _, tt := range tests {
		var b strings.Builder
		if err := ServeChange(&b, "text", &tt.state, Options{}); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want || tt.state.Changed() != (tt.want != "") {
			t.Errorf("%+v: %q, changed %t", tt.state, b.String(), tt.state.Changed())
		}
	}
}
