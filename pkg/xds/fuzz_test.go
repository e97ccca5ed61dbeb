package xds

import (
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// FuzzResponses feeds a session with whatever a server may send, in both variants: it must not panic, must answer every
// response of a subscribed type once it is not paused, and must never ask for more names than it was given.
func FuzzResponses(f *testing.F) {
	eds, _ := anypb.New(cla("a", "127.0.0.1"))
	cds, _ := anypb.New(edsCluster("a", ""))
	for _, m := range []proto.Message{
		&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "n", TypeUrl: AssignmentURL(V3), Resources: []*anypb.Any{eds, eds}},
		&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "n", TypeUrl: ClusterURL(V3), Resources: []*anypb.Any{cds, cds}},
		&discoveryv3.DeltaDiscoveryResponse{Nonce: "n", TypeUrl: AssignmentURL(V3), Resources: []*discoveryv3.Resource{{Name: "a", Resource: eds}}, RemovedResources: []string{"b"}},
		&discoveryv3.DeltaDiscoveryResponse{Nonce: "n", TypeUrl: ClusterURL(V3), Resources: []*discoveryv3.Resource{{Name: "a", Resource: cds}}},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		_, isDelta := m.(*discoveryv3.DeltaDiscoveryResponse)
		f.Add(data, isDelta, true)
		f.Add(data, isDelta, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, delta, follow bool) {
		o := Options{Ack: AckValid, Transport: SotW, Node: &corev3.Node{Id: "n"}}
		var resp func() *response
		if delta {
			o.Transport = Delta
			m := &discoveryv3.DeltaDiscoveryResponse{}
			if proto.Unmarshal(data, m) != nil {
				return
			}
			resp = func() *response { return fromDelta(m) }
		} else {
			m := &discoveryv3.DiscoveryResponse{}
			if proto.Unmarshal(data, m) != nil {
				return
			}
			resp = func() *response { return fromSotW(m) }
		}
		names := []string{"a", "b"}
		if follow {
			names = nil
		}
		s := newSession(o.withDefaults(), names, true)
		now := time.Unix(0, 0)
		s.opened(s.cdsURL, s.edsURL)
		s.drain()
		for range 3 {
			var ev Event
			_, ok := s.receive(resp(), now, &ev, func(*Event) error { return nil })
			answered := false
			for _, out := range s.drain() {
				answered = answered || out.ack != NoAck
			}
			if ok && !answered && !(follow && (s.warm.holdsBack() || len(s.warm.watches) == 0)) {
				t.Fatalf("no answer to %q", ev.TypeURL)
			}
			now = now.Add(20 * time.Second)
			s.tick(now)
			s.drain()
		}
	})
}

// FuzzBootstrap reads bootstraps of any kind without a panic.
func FuzzBootstrap(f *testing.F) {
	f.Add([]byte("node: {id: a}\nstatic_resources: {clusters: [{name: x, type: EDS}]}\n"))
	f.Add([]byte(`{"xds_servers":[{"server_uri":"a:1","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"}}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = ReadBootstrap(data)
	})
}

// FuzzRecording reads recordings that are damaged.
func FuzzRecording(f *testing.F) {
	f.Add(`{"edsctl_recording":"1","transport":"sotw"}` + "\n" + `{"event":"response","message":"CgEx"}` + "\n")
	f.Fuzz(func(_ *testing.T, text string) {
		_ = ReadRecording(strings.NewReader(text), func(RecordHeader) error { return nil }, func(*Event) error { return nil })
	})
}

// FuzzCSDS parses client status responses of any bytes.
func FuzzCSDS(f *testing.F) {
	f.Add([]byte{0x0a, 0x02, 0x1a, 0x00})
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = parseCSDS(data) })
}
