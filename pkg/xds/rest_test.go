package xds

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/edsctl/edsctl/pkg/eds"
)

// TestRESTTranscripts replays recorded polls of Envoy: the requests must be equal field by field, but for the node.
func TestRESTTranscripts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rest-eds", "rest-cds"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := readTranscript(t, transcripts+"/"+name+".yaml")
			states := map[string]*pollState{}
			p := newPoller(Options{Transport: REST, Ack: AckValid}.withDefaults(), nil, nil)
			urlOf := map[int]string{}
			for _, e := range tr.Events {
				switch e.Event {
				case "request":
					want := &discoveryv3.DiscoveryRequest{}
					var fields map[string]json.RawMessage
					if err := json.Unmarshal(e.Message, &fields); err != nil {
						t.Fatal(err)
					}
					delete(fields, "node")
					delete(fields, "_bytes")
					data, _ := json.Marshal(fields)
					if err := protojson.Unmarshal(data, want); err != nil {
						t.Fatal(err)
					}
					url := want.GetTypeUrl()
					urlOf[e.Stream] = url
					if states[url] == nil {
						states[url] = &pollState{typeURL: url}
					}
					got := states[url].request(nil, want.GetResourceNames())
					if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
						t.Errorf("poll at %d ms (-Envoy +edsctl):\n%s", e.AtMS, diff)
					}
				case "response":
					if e.Code != 0 && e.Code != 200 {
						continue
					}
					body := []byte(e.Message)
					if len(body) == 0 || string(body) == "null" {
						body = []byte(e.Text)
					}
					resp, err := parseREST("", body, nil)
					if err != nil {
						continue
					}
					state := states[urlOf[e.Stream]]
					if state.typeURL == ClusterURL(V3) {
						state = &p.cds
					}
					_ = p.receive(resp.response(), state, []string{"a"}, func(ev *Event) error {
						if strings.Contains(string(body), `"load_balancing_weight":0`) {
							return errors.New("the validator's part")
						}
						return nil
					})
					states[urlOf[e.Stream]].version = state.version
				}
			}
		})
	}
}

// TestRESTBody compares the body of a poll with a recorded one.
func TestRESTBody(t *testing.T) {
	t.Parallel()
	recorded := readFile(t, transcripts+"/rest-eds.body.json")
	node := &discoveryv3.DiscoveryRequest{}
	if err := protojson.Unmarshal(recorded, node); err != nil {
		t.Fatal(err)
	}
	state := pollState{typeURL: AssignmentURL(V3)}
	got, err := requestJSON(state.request(node.GetNode(), []string{"a"}))
	if err != nil {
		t.Fatal(err)
	}
	var want, have any
	if err := errors.Join(json.Unmarshal(recorded, &want), json.Unmarshal(got, &have)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("body (-Envoy +edsctl):\n%s", diff)
	}
	if len(got) != len(strings.TrimSpace(string(recorded))) {
		t.Errorf("the body has %d bytes, Envoy's %d: it is not compact", len(got), len(recorded))
	}
}

func TestParseRESTAsEnvoy(t *testing.T) {
	t.Parallel()
	const lower = `{"version_info":"5","resources":[{"@type":"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment","clusterName":"a",` +
		`"endpoints":[{"lbEndpoints":[{"endpoint":{"address":{"socketAddress":{"address":"127.0.0.1","portValue":80}}},"healthStatus":"draining"}]}]}]}`
	resp, err := parseREST("", []byte(lower), newLoader(Options{}, eds.FromREST, false, eds.JSON, eds.ShapeResponse))
	if err != nil {
		t.Fatal(err)
	}
	r := resp.response()
	r.typeURL = AssignmentURL(V3)
	r.decode(newLoader(Options{}, eds.FromREST, false, "", ""))
	if got := r.items[0].Assignment.Assignment.GetEndpoints()[0].GetLbEndpoints()[0].GetHealthStatus(); got != corev3.HealthStatus_DRAINING || resp.GetVersionInfo() != "5" {
		t.Errorf("read health %v and version %q", got, resp.GetVersionInfo())
	}
}
