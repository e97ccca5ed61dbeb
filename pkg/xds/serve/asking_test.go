package serve

import (
	"fmt"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestAsking sends the requests of a client of state of the world and compares what is told of them.
func TestAsking(t *testing.T) {
	t.Parallel()
	type step struct {
		names   string
		nonce   string // "last": of the response that came last, "": none
		version string // "last": as nonce
		refuses string
		answer  bool // one is waited for
		tells   []string
	}
	tests := []struct {
		name  string
		url   string
		steps []step
	}{
		{name: "a name comes and goes", steps: []step{
			{names: "a b", answer: true, tells: []string{"subscribed a b", "pushed"}},
			{names: "a b", nonce: "last", version: "last", tells: []string{"ack a b"}},
			{names: "a b c", nonce: "last", version: "last", answer: true, tells: []string{"subscribed c", "pushed"}},
			{names: "a b c", nonce: "last", version: "last", tells: []string{"ack a b c"}},
			{names: "a c", nonce: "last", version: "last", tells: []string{"subscribed - b"}},
			{names: "c b", nonce: "last", version: "last", answer: true, tells: []string{"subscribed b - a", "pushed"}},
		}},
		{name: "an answer with other names", steps: []step{
			{names: "a", answer: true, tells: []string{"subscribed a", "pushed"}},
			{names: "b", nonce: "last", version: "last", answer: true, tells: []string{"ack b", "subscribed b - a", "pushed"}},
			{names: "b c", nonce: "last", refuses: "no", answer: true, tells: []string{"nack b c no", "subscribed c", "pushed"}},
		}},
		{name: "other names after a refusal", steps: []step{
			{names: "a", answer: true, tells: []string{"subscribed a", "pushed"}},
			{names: "a", nonce: "last", refuses: "no", tells: []string{"nack a no"}},
			{names: "a b", nonce: "last", answer: true, tells: []string{"subscribed b", "pushed"}},
			{names: "a b", nonce: "last", version: "last", tells: []string{"ack a b"}},
		}},
		{name: "other names before the answer", steps: []step{
			{names: "a", answer: true, tells: []string{"subscribed a", "pushed"}},
			{names: "a nothing", nonce: "last", version: "old", tells: []string{"subscribed nothing"}},
			{names: "a nothing", nonce: "last", version: "last", tells: []string{"ack a nothing"}},
		}},
		{name: "the same again", steps: []step{
			{names: "a", answer: true, tells: []string{"subscribed a", "pushed"}},
			{names: "a", nonce: "last", version: "last", tells: []string{"ack a"}},
			{names: "a", nonce: "last", version: "last"},
			{names: "a nothing", nonce: "last", version: "last", tells: []string{"subscribed nothing"}},
		}},
		{name: "a nonce of another stream", steps: []step{
			{names: "a", nonce: "17", version: "old", answer: true, tells: []string{"subscribed a", "pushed"}},
		}},
		{name: "all", url: clusterURL, steps: []step{
			{answer: true, tells: []string{"subscribed", "pushed"}},
			{nonce: "last", version: "last", tells: []string{"ack"}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Options{}, assignment("a", "127.0.0.1"), assignment("b", "127.0.0.2"), assignment("c", "127.0.0.3"))
			conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if tt.url == "" {
				tt.url = assignmentURL
			}
			last := &discoveryv3.DiscoveryResponse{}
			var want []string
			for _, st := range tt.steps {
				req := &discoveryv3.DiscoveryRequest{TypeUrl: tt.url, ResourceNames: strings.Fields(st.names), ResponseNonce: st.nonce, VersionInfo: st.version}
				if st.nonce == "last" {
					req.ResponseNonce = last.GetNonce()
				}
				if st.version == "last" {
					req.VersionInfo = last.GetVersionInfo()
				}
				if st.refuses != "" {
					req.ErrorDetail = &status.Status{Message: st.refuses}
				}
				if err := stream.Send(req); err != nil {
					t.Fatal(err)
				}
				if st.answer {
					if last, err = stream.Recv(); err != nil {
						t.Fatal(err)
					}
				}
				want = append(want, st.tells...)
			}
			// The server reads requests in order: when the stream has ended all are told.
			_ = stream.CloseSend()
			for err == nil {
				_, err = stream.Recv()
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			var got []string
			for _, ev := range s.events {
				parts := []string{string(ev.Kind)}
				if ev.Kind != Pushed {
					parts = append(parts, ev.Names...)
				}
				if len(ev.Removed) > 0 {
					parts = append(append(parts, "-"), ev.Removed...)
				}
				if ev.Message != "" {
					parts = append(parts, ev.Message)
				}
				got = append(got, strings.Join(parts, " "))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeltaEvents compares what is told of one delta request.
func TestDeltaEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		req  *discoveryv3.DeltaDiscoveryRequest
		want string
	}{
		{&discoveryv3.DeltaDiscoveryRequest{}, "subscribed [] []"},
		{&discoveryv3.DeltaDiscoveryRequest{ResourceNamesSubscribe: []string{"a"}, ResourceNamesUnsubscribe: []string{"b"}}, "subscribed [a] [b]"},
		{&discoveryv3.DeltaDiscoveryRequest{ResponseNonce: "1"}, "ack [] []"},
		{&discoveryv3.DeltaDiscoveryRequest{ResponseNonce: "1", ResourceNamesSubscribe: []string{"a"}}, "ack [] []; subscribed [a] []"},
		{&discoveryv3.DeltaDiscoveryRequest{ResponseNonce: "1", ErrorDetail: &status.Status{}, ResourceNamesUnsubscribe: []string{"b"}}, "nack [] []; subscribed [] [b]"},
	}
	for _, tt := range tests {
		var got []string
		for _, ev := range deltaEvents(tt.req) {
			got = append(got, fmt.Sprint(ev.Kind, " ", ev.Names, " ", ev.Removed))
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%v: %s, want %s", tt.req, s, tt.want)
		}
	}
}
