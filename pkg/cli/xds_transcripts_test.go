package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/xds"
)

// recordedEvent is one event of a transcript (testdata/vectors/envoy-xds/README.md).
type recordedEvent struct {
	AtMS    int             `json:"at_ms"`
	Event   string          `json:"event"`
	Stream  int             `json:"stream"`
	Method  string          `json:"method"`
	Message json.RawMessage `json:"message"`
	Code    int             `json:"code"`
	Text    string          `json:"text"`
}

// recordedServer replays a transcript as the server: the same responses, closes and pauses, and compares every request
// with Envoy's.
type recordedServer struct {
	t        *testing.T
	streams  map[int][]recordedEvent
	left     map[string][]int // streams not opened yet, by method
	unknown  bool             // assignments have field 99, which the recording's YAML cannot show
	done     chan struct{}
	finished int
	opening  chan int // the owner of left and finished: one token
}

// TestTranscriptsOnTheWire replays transcripts over gRPC to the client with the validator behind it, so that NACKs carry
// what the validator predicts of Envoy.
func TestTranscriptsOnTheWire(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/vectors/envoy-xds/transcripts/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	skip := regexp.MustCompile(`^(rest-|refused-|leds|cds-sotw-grpc|delta-eds-removed-first|sotw-eds-two-clusters|sotw-eds-default-timeout|admin)`)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if skip.MatchString(name) {
			continue // several streams at a time, waits of 15 s, or no gRPC: pkg/xds compares those without a wire
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replayOnTheWire(t, name, file)
		})
	}
}

func replayOnTheWire(t *testing.T, name, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tr struct {
		Bootstrap string          `json:"bootstrap"`
		Events    []recordedEvent `json:"events"`
	}
	if err := yaml.Unmarshal(data, &tr); err != nil {
		t.Fatal(err)
	}
	s := &recordedServer{
		t: t, streams: map[int][]recordedEvent{}, left: map[string][]int{}, done: make(chan struct{}), opening: make(chan int, 1),
		unknown: strings.HasPrefix(name, "unknown-fields"),
	}
	s.opening <- 1
	method := ""
	for _, e := range tr.Events {
		if e.Event == "open" {
			s.left[e.Method] = append(s.left[e.Method], e.Stream)
			method = e.Method
		}
		if e.Stream > 0 {
			s.streams[e.Stream] = append(s.streams[e.Stream], e)
		}
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.UnknownServiceHandler(s.handle))
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()

	o := xds.Options{
		Dial: xds.Dial{Target: lis.Addr().String(), Plaintext: true}, Ack: xds.AckValid, Reconnect: true, Service: xds.ServiceEDS,
		Node: &corev3.Node{Id: "n1"}, NodeOnce: strings.Contains(tr.Bootstrap, "set_node_on_first_message_only: true"), StaticClusters: []string{"xds", "xdsrest"},
	}
	if strings.Contains(method, "Delta") {
		o.Transport = xds.Delta
	}
	if strings.Contains(method, "Aggregated") {
		o.Service = xds.ServiceADS
	}
	flags := xdsCheck{validate: "on"}
	for _, f := range flags.profile.flags() {
		*f.value = f.byDefault
	}
	check := flags.newChecker(&Env{Getenv: func(string) string { return "" }}, &o)
	check.options.UnknownFields = "default"
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	go func() {
		<-s.done
		cancel()
	}()
	err = xds.Watch(ctx, o, s.names(), check.event)
	select {
	case <-s.done:
	default:
		t.Errorf("the transcript was not played to its end: %v", err)
	}
}

// TestRefusalsOfGRPC compares the texts with which grpc-go refused responses with those predicted for a NACK.
func TestRefusalsOfGRPC(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/vectors/envoy-xds/grpc/nack-texts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tr struct {
		Events []recordedEvent `json:"events"`
	}
	if err := yaml.Unmarshal(data, &tr); err != nil {
		t.Fatal(err)
	}
	s := &recordedServer{t: t}
	want, bodies, texts := map[string]string{}, map[string]*discoveryv3.DiscoveryResponse{}, 0
	for _, e := range tr.Events {
		switch e.Event {
		case "response":
			var head struct {
				TypeURL string `json:"type_url"`
			}
			_ = json.Unmarshal(e.Message, &head)
			if head.TypeURL == xds.AssignmentURL(xds.V3) {
				m := s.message(e.Message, false).(*discoveryv3.DiscoveryResponse)
				bodies[m.GetNonce()] = m
			}
		case "request":
			var m struct {
				Nonce  string                   `json:"response_nonce"`
				Detail struct{ Message string } `json:"error_detail"`
			}
			_ = json.Unmarshal(e.Message, &m)
			want[m.Nonce] = m.Detail.Message
		}
	}
	flags := xdsCheck{validate: "on"}
	for _, f := range flags.profile.flags() {
		*f.value = f.byDefault
	}
	for nonce, m := range bodies {
		got := ""
		lis, stop := serveOnce(t, m)
		o := xds.Options{Dial: xds.Dial{Target: lis, Plaintext: true}, Ack: xds.AckValid, Client: diag.GRPC, Service: xds.ServiceEDS, Node: &corev3.Node{Id: "n1"}}
		check := flags.newChecker(&Env{Getenv: func(string) string { return "" }}, &o)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_ = xds.Watch(ctx, o, []string{"a"}, func(ev *xds.Event) error {
			if ev.Kind == xds.Sent && ev.Ack != xds.NoAck {
				if ev.Err != nil {
					got = ev.Err.Error()
				}
				return xds.Stop(nil)
			}
			return check.event(ev)
		})
		cancel()
		stop()
		if diff := cmp.Diff(comparableText(strings.ReplaceAll(want[nonce], "\u00a0", " ")), comparableText(got)); diff != "" {
			t.Errorf("%s (-grpc-go +edsctl):\n%s", nonce, diff)
		}
		texts++
	}
	if texts == 0 {
		t.Error("no texts were compared")
	}
}

// serveOnce answers the first request of each stream with one response.
func serveOnce(t *testing.T, m *discoveryv3.DiscoveryResponse) (addr string, stop func()) {
	t.Helper()
	return serveStream(t, func(stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&discoveryv3.DiscoveryRequest{}); err != nil {
			return err
		}
		if err := stream.SendMsg(m); err != nil {
			return err
		}
		return stream.RecvMsg(&discoveryv3.DiscoveryRequest{}) // its answer
	})
}

// serveStream runs a function on each stream, whatever its method.
func serveStream(t *testing.T, run func(grpc.ServerStream) error) (addr string, stop func()) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return run(stream) }))
	go func() { _ = srv.Serve(lis) }()
	return lis.Addr().String(), srv.Stop
}

// names are what the first request asks for; none when it is about clusters.
func (s *recordedServer) names() []string {
	for _, e := range s.streams[1] {
		if e.Event == "request" {
			var m struct {
				TypeURL   string   `json:"type_url"`
				Names     []string `json:"resource_names"`
				Subscribe []string `json:"resource_names_subscribe"`
			}
			_ = json.Unmarshal(e.Message, &m)
			if strings.HasSuffix(m.TypeURL, ".Cluster") {
				return nil
			}
			return slices.Concat(m.Names, m.Subscribe)
		}
	}
	return nil
}

func (s *recordedServer) handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	<-s.opening
	ids := s.left[method]
	if len(ids) == 0 {
		s.opening <- 1
		return status.Error(codes.Unavailable, "the transcript is over")
	}
	id := ids[0]
	s.left[method] = ids[1:]
	s.opening <- 1
	delta := strings.Contains(method, "Delta")
	last := 0
	for _, e := range s.streams[id] {
		pause := time.Duration(e.AtMS-last) * time.Millisecond
		last = e.AtMS
		switch e.Event {
		case "request":
			if err := s.compare(stream, e, delta); err != nil {
				return err
			}
		case "response":
			wait(stream.Context(), pause)
			if err := stream.SendMsg(s.message(e.Message, delta)); err != nil {
				return err
			}
		case "close":
			s.finish()
			if e.Code == 0 {
				return nil
			}
			return status.Error(codes.Code(e.Code), e.Text)
		}
	}
	s.finish()
	<-stream.Context().Done()
	return nil
}

// wait keeps the recorded distance between what a client did and the response: TTLs and fetch timeouts run meanwhile.
func wait(ctx context.Context, d time.Duration) {
	if d < 250*time.Millisecond {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (s *recordedServer) finish() {
	<-s.opening
	s.finished++
	if s.finished == len(s.streams) {
		close(s.done)
	}
	s.opening <- 1
}

func newRequest(delta bool) proto.Message {
	if delta {
		return &discoveryv3.DeltaDiscoveryRequest{}
	}
	return &discoveryv3.DiscoveryRequest{}
}

func (s *recordedServer) compare(stream grpc.ServerStream, e recordedEvent, delta bool) error {
	got, want := newRequest(delta), newRequest(delta)
	if err := stream.RecvMsg(got); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.Message, &fields); err != nil {
		s.t.Error(err)
		return err
	}
	delete(fields, "node")
	delete(fields, "_bytes")
	data, _ := json.Marshal(fields)
	if err := protojson.Unmarshal(data, want); err != nil {
		s.t.Error(err)
		return err
	}
	for _, m := range []proto.Message{got, want} {
		switch m := m.(type) {
		case *discoveryv3.DiscoveryRequest:
			m.Node = nil
			slices.Sort(m.ResourceNames)
			if m.ErrorDetail != nil {
				m.ErrorDetail.Message = comparableText(m.ErrorDetail.Message)
			}
		case *discoveryv3.DeltaDiscoveryRequest:
			m.Node = nil
			if m.ErrorDetail != nil {
				m.ErrorDetail.Message = comparableText(m.ErrorDetail.Message)
			}
		}
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		s.t.Errorf("request at %d ms (-Envoy +edsctl):\n%s", e.AtMS, diff)
	}
	return nil
}

var (
	debugPrefix = regexp.MustCompile(`goo\.gle/debug\w+\s*`)
	blanks      = regexp.MustCompile(`\s+`)
)

// comparableText takes out of an error text what varies from run to run.
func comparableText(text string) string {
	text, cut := strings.CutSuffix(text, "...(truncated)")
	text = strings.TrimSpace(blanks.ReplaceAllString(debugPrefix.ReplaceAllString(text, "DEBUG "), " "))
	if cut {
		return text[:2000] // where it is cut depends on the length of the random prefix
	}
	return text
}

func (s *recordedServer) message(data []byte, delta bool) proto.Message {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields)
	opts := protojson.UnmarshalOptions{DiscardUnknown: true}
	if delta {
		m := &discoveryv3.DeltaDiscoveryResponse{}
		if err := opts.Unmarshal(data, m); err != nil {
			s.t.Error(err)
		}
		return m
	}
	var resources []json.RawMessage
	_ = json.Unmarshal(fields["resources"], &resources)
	delete(fields, "resources")
	rest, _ := json.Marshal(fields)
	m := &discoveryv3.DiscoveryResponse{}
	if err := opts.Unmarshal(rest, m); err != nil {
		s.t.Error(err)
	}
	for _, r := range resources {
		var raw struct {
			TypeURL string `json:"type_url"`
			Value   string `json:"value_base64"`
		}
		_ = json.Unmarshal(r, &raw)
		any := &anypb.Any{TypeUrl: raw.TypeURL}
		if raw.TypeURL != "" {
			any.Value, _ = base64.StdEncoding.DecodeString(raw.Value)
		} else if err := opts.Unmarshal(r, any); err != nil {
			s.t.Error(err)
		}
		if s.unknown && strings.HasSuffix(any.TypeUrl, ".ClusterLoadAssignment") {
			any.Value = protowire.AppendVarint(protowire.AppendTag(any.Value, 99, protowire.VarintType), 1)
		}
		m.Resources = append(m.Resources, any)
	}
	return m
}
