package xds

import (
	"encoding/base64"
	"encoding/json"
	"errors"
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
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"
)

const transcripts = "../../testdata/vectors/envoy-xds/transcripts"

// transcript is one recording (testdata/vectors/envoy-xds/README.md).
type transcript struct {
	Client    string            `json:"client"`
	Bootstrap string            `json:"bootstrap"`
	Events    []transcriptEvent `json:"events"`
}

type transcriptEvent struct {
	AtMS    int             `json:"at_ms"`
	From    string          `json:"from"`
	Event   string          `json:"event"`
	Stream  int             `json:"stream"`
	Method  string          `json:"method"`
	Message json.RawMessage `json:"message"`
	Code    int             `json:"code"`
	Text    string          `json:"text"`
}

func readTranscript(t *testing.T, path string) transcript {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var tr transcript
	if err := yaml.Unmarshal(data, &tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestTranscripts replays what servers sent to Envoy, and compares edsctl's requests with Envoy's, field by field but
// for the node. Content that Envoy refused is refused with the recorded text: that is the validator's part.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(transcripts + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if strings.HasPrefix(name, "rest-") || strings.HasPrefix(name, "refused-") {
			continue // polls: rest_test.go; an Envoy that does not start sends nothing
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, group := range groups(readTranscript(t, file)) {
				replay(t, group)
			}
		})
	}
}

// group is what one session of edsctl corresponds to: all streams of one method (with one set of names).
type group struct {
	method string
	names  []string // nil: from CDS
	events []transcriptEvent
	once   bool // node on the first message only
	refuse map[string]string
}

// groups splits a recording by method and, for streams of EDS, by the names of their first request: Envoy has one
// subscription per cluster there.
func groups(tr transcript) []*group {
	key := map[int]string{}
	byKey := map[string]*group{}
	var order []*group
	once := strings.Contains(tr.Bootstrap, "set_node_on_first_message_only: true")
	for _, e := range tr.Events {
		if e.Event != "request" || key[e.Stream] != "" {
			continue
		}
		method := ""
		for _, o := range tr.Events {
			if o.Event == "open" && o.Stream == e.Stream {
				method = o.Method
			}
		}
		msg := struct {
			TypeURL   string   `json:"type_url"`
			Names     []string `json:"resource_names"`
			Subscribe []string `json:"resource_names_subscribe"`
		}{}
		_ = json.Unmarshal(e.Message, &msg)
		names := slices.Concat(msg.Names, msg.Subscribe)
		aggregated := strings.Contains(method, "Aggregated")
		follow := strings.Contains(string(e.Message), ".Cluster\"")
		k := method
		if !aggregated {
			k += strings.Join(names, ",")
		}
		if aggregated && byKey[k] != nil {
			follow = byKey[k].names == nil
		}
		if strings.Contains(method, "DeltaEndpoints") && strings.Contains(string(e.Message), `"b"`) && e.Stream == 4 {
			k += "second" // cds-sotw-grpc: the changed cluster begins anew on its own stream
		}
		key[e.Stream] = k
		if byKey[k] == nil {
			g := &group{method: method, names: names, once: once, refuse: map[string]string{}}
			if follow {
				g.names = nil
			}
			byKey[k] = g
			order = append(order, g)
		}
	}
	for _, e := range tr.Events {
		if g := byKey[key[e.Stream]]; g != nil {
			g.events = append(g.events, e)
			if e.Event == "request" {
				m := struct {
					Nonce  string                   `json:"response_nonce"`
					Detail struct{ Message string } `json:"error_detail"`
				}{}
				_ = json.Unmarshal(e.Message, &m)
				if m.Detail.Message != "" {
					g.refuse[m.Nonce] = m.Detail.Message
				}
			}
		}
	}
	return order
}

func replay(t *testing.T, g *group) {
	if strings.Contains(g.method, "Locality") {
		return // LEDS is not followed
	}
	delta := strings.Contains(g.method, "Delta")
	o := Options{Ack: AckValid, Transport: SotW, NodeOnce: g.once, Node: &corev3.Node{Id: "n1"}, StaticClusters: []string{"xds", "xdsrest"}}
	if delta {
		o.Transport = Delta
	}
	ads := strings.Contains(g.method, "Aggregated")
	s := newSession(o.withDefaults(), g.names, ads)
	urls := []string{s.cdsURL, s.edsURL}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	own := func(url string) bool { return ads || strings.Contains(g.method, "Cluster") == (url == s.cdsURL) }
	var due []outgoing
	for _, e := range g.events {
		now := start.Add(time.Duration(e.AtMS) * time.Millisecond)
		s.tick(now)
		for _, out := range s.drain() {
			if own(out.typeURL) {
				due = append(due, out)
			}
		}
		switch e.Event {
		case "open":
			due = nil // what the last stream could not say any more
			s.drain()
			s.opened(urls...)
		case "response":
			r := fromMessage(t, e.Message, delta)
			var ev Event
			s.receive(r, now, &ev, func(ev *Event) error {
				if text, ok := g.refuse[ev.Nonce]; ok && ev.Refused == nil && !strings.HasPrefix(text, "Unexpected EDS cluster") {
					return errors.New(text)
				}
				return nil
			})
		case "request":
			if len(due) == 0 {
				t.Fatalf("%s at %d ms: Envoy sends %s, edsctl nothing", g.method, e.AtMS, e.Message)
			}
			got := due[0]
			due = due[1:]
			compareRequest(t, e, got.msg, delta)
		}
		for _, out := range s.drain() {
			if own(out.typeURL) {
				due = append(due, out)
			}
		}
	}
	for _, out := range due {
		t.Errorf("%s: edsctl sends %v, Envoy nothing", g.method, out.msg)
	}
}

var debugMark = regexp.MustCompile(`goo\.gle/debug\w+\s*`)
var spaces = regexp.MustCompile(`\s+`)

// plainText takes out of an error text what varies from run to run.
func plainText(s string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(debugMark.ReplaceAllString(s, "DEBUG "), " "))
}

func compareRequest(t *testing.T, e transcriptEvent, got proto.Message, delta bool) {
	t.Helper()
	var want proto.Message = &discoveryv3.DiscoveryRequest{}
	if delta {
		want = &discoveryv3.DeltaDiscoveryRequest{}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.Message, &fields); err != nil {
		t.Fatal(err)
	}
	_, hasNode := fields["node"]
	delete(fields, "node")
	delete(fields, "_bytes")
	data, _ := json.Marshal(fields)
	if err := protojson.Unmarshal(data, want); err != nil {
		t.Fatal(err)
	}
	got = proto.Clone(got)
	switch m := got.(type) {
	case *discoveryv3.DiscoveryRequest:
		if hasNode != (m.Node != nil) {
			t.Errorf("at %d ms: node sent: Envoy %v, edsctl %v", e.AtMS, hasNode, m.Node != nil)
		}
		m.Node = nil
		w := want.(*discoveryv3.DiscoveryRequest)
		slices.Sort(m.ResourceNames) // the order at start-up is that of a hash map
		slices.Sort(w.ResourceNames)
		if w.ErrorDetail != nil && m.ErrorDetail != nil {
			w.ErrorDetail.Message, m.ErrorDetail.Message = plainText(w.ErrorDetail.Message), plainText(m.ErrorDetail.Message)
		}
	case *discoveryv3.DeltaDiscoveryRequest:
		if hasNode != (m.Node != nil) {
			t.Errorf("at %d ms: node sent: Envoy %v, edsctl %v", e.AtMS, hasNode, m.Node != nil)
		}
		m.Node = nil
		w := want.(*discoveryv3.DeltaDiscoveryRequest)
		if w.ErrorDetail != nil && m.ErrorDetail != nil {
			w.ErrorDetail.Message, m.ErrorDetail.Message = plainText(w.ErrorDetail.Message), plainText(m.ErrorDetail.Message)
		}
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("request at %d ms on stream %d (-Envoy +edsctl):\n%s", e.AtMS, e.Stream, diff)
	}
}

// fromMessage reads a recorded response. Anys whose bytes are no known message stand as type_url and value_base64.
func fromMessage(t *testing.T, data []byte, delta bool) *response {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	var resources []json.RawMessage
	_ = json.Unmarshal(fields["resources"], &resources)
	opts := protojson.UnmarshalOptions{DiscardUnknown: true}
	if delta {
		m := &discoveryv3.DeltaDiscoveryResponse{}
		if err := opts.Unmarshal(data, m); err != nil {
			t.Fatal(err)
		}
		return fromDelta(m)
	}
	delete(fields, "resources")
	rest, _ := json.Marshal(fields)
	m := &discoveryv3.DiscoveryResponse{}
	if err := opts.Unmarshal(rest, m); err != nil {
		t.Fatal(err)
	}
	for _, r := range resources {
		raw := struct {
			TypeURL string `json:"type_url"`
			Value   string `json:"value_base64"`
		}{}
		_ = json.Unmarshal(r, &raw)
		any := &anypb.Any{TypeUrl: raw.TypeURL}
		if raw.TypeURL != "" {
			any.Value, _ = base64.StdEncoding.DecodeString(raw.Value)
		} else if err := opts.Unmarshal(r, any); err != nil {
			t.Fatal(err)
		}
		m.Resources = append(m.Resources, any)
	}
	return fromSotW(m)
}
