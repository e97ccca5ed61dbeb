package xds

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// dialogue drives a session by lines of text and tells its requests in the same form.
//
//	open                       a new stream
//	wait 15                    seconds
//	cds 1 a b:s c! d? e- -f    a response with version 1 and nonce n1: the EDS clusters a and b (service_name s), c of type
//	                           STATIC, d another than before, e that Envoy refuses; f is removed
//	cds 1 refused              a response that is refused as a whole
//	eds 2 a -b                 assignments; b is removed
//	eds 2 refused              as above
type dialogue struct {
	t   *testing.T
	s   *session
	now time.Time
}

func newDialogue(t *testing.T, transport Transport) *dialogue {
	d := &dialogue{t: t, now: time.Unix(0, 0)}
	o := Options{Transport: transport, Ack: AckValid, Now: func() time.Time { return d.now }}
	d.s = newSession(o.withDefaults(), nil, true)
	return d
}

// say returns the requests that a line leads to.
func (d *dialogue) say(line string) string {
	words := strings.Fields(line)
	switch words[0] {
	case "open":
		d.s.opened(d.s.cdsURL, d.s.edsURL)
	case "wait":
		seconds, err := time.ParseDuration(words[1] + "s")
		if err != nil {
			d.t.Fatal(err)
		}
		d.now = d.now.Add(seconds)
		d.s.tick(d.now)
	default:
		refused := slices.Contains(words, "refused")
		var ev Event
		d.s.receive(d.response(words), d.now, &ev, func(*Event) error {
			if refused {
				return errors.New("refused")
			}
			return nil
		})
	}
	var out []string
	for _, o := range d.s.drain() {
		out = append(out, d.request(o))
	}
	return strings.Join(out, ", ")
}

func (d *dialogue) response(words []string) *response {
	url := map[string]string{"cds": d.s.cdsURL, "eds": d.s.edsURL}[words[0]]
	sotw := &discoveryv3.DiscoveryResponse{TypeUrl: url, VersionInfo: words[1], Nonce: "n" + words[1]}
	delta := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: url, SystemVersionInfo: words[1], Nonce: "n" + words[1]}
	for _, word := range words[2:] {
		if name, ok := strings.CutPrefix(word, "-"); ok {
			delta.RemovedResources = append(delta.RemovedResources, name)
			continue
		}
		name := strings.TrimRight(word, "!?-")
		any := anyOf(d.t, cla(name, "127.0.0.1"))
		if words[0] == "cds" {
			name, any = d.cluster(word)
		}
		sotw.Resources = append(sotw.Resources, any)
		delta.Resources = append(delta.Resources, &discoveryv3.Resource{Name: name, Version: words[1], Resource: any})
	}
	if d.s.delta {
		return fromDelta(delta)
	}
	return fromSotW(sotw)
}

func (d *dialogue) cluster(word string) (string, *anypb.Any) {
	name, service, _ := strings.Cut(strings.TrimRight(word, "!?-"), ":")
	c := edsCluster(name, service)
	switch word[len(word)-1] {
	case '!':
		c.EdsClusterConfig, c.ClusterDiscoveryType = nil, &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	case '?':
		c.ConnectTimeout = durationpb.New(2 * time.Second)
	case '-':
		c.EdsClusterConfig = nil
	}
	return name, anyOf(d.t, c)
}

func (d *dialogue) request(o outgoing) string {
	text := "eds"
	if o.typeURL == d.s.cdsURL {
		text = "cds"
	}
	add := func(format, value string) {
		if value != "" {
			text += fmt.Sprintf(format, value)
		}
	}
	switch m := o.msg.(type) {
	case *discoveryv3.DiscoveryRequest:
		names := slices.Sorted(slices.Values(m.GetResourceNames()))
		add(" [%s]", strings.Join(names, " "))
		add(" %s", m.GetVersionInfo())
		add(" %s", m.GetResponseNonce())
	case *discoveryv3.DeltaDiscoveryRequest:
		add(" +%s", strings.Join(m.GetResourceNamesSubscribe(), "+"))
		add(" -%s", strings.Join(m.GetResourceNamesUnsubscribe(), "-"))
		for _, name := range slices.Sorted(maps.Keys(m.GetInitialResourceVersions())) {
			add(" {%s}", name+"="+m.GetInitialResourceVersions()[name])
		}
		add(" %s", m.GetResponseNonce())
	}
	if o.detail != nil {
		text += " NACK"
	}
	return text
}

// TestEarlierRefusal refuses a response for what Envoy decodes first.
func TestEarlierRefusal(t *testing.T) {
	t.Parallel()
	listener := &anypb.Any{TypeUrl: typePrefix + "envoy.config.listener.v3.Listener"}
	wrapped := func(name, inner string) *anypb.Any {
		return anyOf(t, &discoveryv3.Resource{Name: name, Resource: anyOf(t, cla(inner, "127.0.0.1"))})
	}
	tests := []struct {
		name      string
		resources []*anypb.Any
		nack      error
		want      string
	}{
		{"a constraint before another type", []*anypb.Any{anyOf(t, cla("a", "127.0.0.1")), listener}, &DecodeError{0, "constraint"}, "constraint"},
		{"a constraint after another type", []*anypb.Any{listener, anyOf(t, cla("a", "127.0.0.1"))}, &DecodeError{1, "constraint"}, "envoy.config.listener.v3.Listener does not match the message-wide type URL"},
		{"another type before an address", []*anypb.Any{anyOf(t, cla("a", "x")), listener}, errors.New("malformed IP address: x"), "does not match the message-wide type URL"},
		{"another type in a wrapper", []*anypb.Any{anyOf(t, &discoveryv3.Resource{Name: "a", Resource: listener})}, nil, "Unable to unpack as envoy.config.endpoint.v3.ClusterLoadAssignment: "},
		{"a name before an address", []*anypb.Any{wrapped("a", "s")}, errors.New("malformed IP address: x"), "Unexpected EDS cluster (expecting a): s"},
		{"a constraint before a name", []*anypb.Any{wrapped("a", "s")}, &DecodeError{0, "constraint"}, "constraint"},
		{"the second of two with one name", []*anypb.Any{anyOf(t, cla("a", "127.0.0.1")), wrapped("a", "s")}, nil, ""},
		{"the first of two with one name", []*anypb.Any{wrapped("a", "s"), anyOf(t, cla("a", "127.0.0.1"))}, nil, "Unexpected EDS cluster (expecting a): s"},
	}
	for _, tt := range tests {
		s := fixedSession(Options{Ack: AckValid})
		var ev Event
		s.receive(sotw(t, "1", tt.resources...), time.Unix(1, 0), &ev, func(*Event) error { return tt.nack })
		got := s.drain()[0].detail.GetMessage()
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: refused with %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestWarming plays servers to which Envoy 1.40.0 answered with the same requests.
func TestWarming(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		transport Transport
		lines     []string // line, requests, line, requests...
	}{
		{"a cluster of the start keeps the old name until the new one is answered", SotW, []string{
			"open", "cds",
			"cds 1 a:b b c", "eds [b c], cds 1 n1",
			"eds 2 a c", "eds [b c] 2 n2",
			"cds 3 a c", "eds [a c] 2 n2, cds 3 n3",
			"cds 4 a b c:s", "eds [a b c s] 2 n2, cds 4 n4",
		}},
		{"the same in delta", Delta, []string{
			"open", "cds",
			"cds 1 b:b", "eds +b, cds n1",
			"cds 2 b c:s", "eds +s, cds n2",
			"eds 3 s", "eds n3",
			"cds 4 c", "eds +c, cds n4",
		}},
		{"a cluster that becomes STATIC before its assignment comes keeps the start from its end", SotW, []string{
			"open", "cds",
			"cds 1 a:s c", "eds [c s], cds 1 n1",
			"cds 2 a! b:b c", "eds [b c], cds 2 n2",
			"eds 3 b c", "eds [b c] 3 n3",
			"cds 4 a b:b c:b", "eds [a b c] 3 n3, cds 4 n4",
		}},
		{"a refused response with clusters ends the start", SotW, []string{
			"open", "cds",
			"cds 1 b refused", "cds n1 NACK",
			"cds 2 b c", "eds [b c]",
			"eds 3 a", "eds [b c] 3 n3",
			"cds 4 b!", "eds 3 n3, cds 4 n4",
		}},
		{"no response with clusters for 15 s ends it too", SotW, []string{
			"open", "cds",
			"wait 15.8", "",
			"cds 1 a", "eds [a]",
			"eds 2 a", "cds 1 n1, eds [a] 2 n2",
			"cds 3 a?", "eds [a] 2 n2",
		}},
		{"a refused response with assignments ends the warming of all clusters", SotW, []string{
			"open", "cds",
			"cds 1 b", "eds [b], cds 1 n1",
			"eds 3 refused", "eds [b] n3 NACK",
			"cds 4 a b?", "eds [a b] n3",
			"eds 5 refused", "cds 4 n4, eds [a b] n5 NACK",
		}},
		{"a refusal that is held back outlives its stream", SotW, []string{
			"open", "cds",
			"cds 1 c", "eds [c], cds 1 n1",
			"eds 2 refused", "eds [c] n2 NACK",
			"cds 4 c a e-", "eds [a c] n2",
			"open", "eds [a c]",
			"eds 7 refused", "cds 1 NACK, eds [a c] n7 NACK",
		}},
		{"and a good response that comes after it", SotW, []string{
			"open", "cds",
			"cds 1 refused", "cds n1 NACK",
			"cds 4 c e-", "eds [c]",
			"cds 5 b c", "eds [b c]",
			"open", "eds [b c]",
			"eds 7 refused", "cds 5 NACK, eds [b c] n7 NACK",
		}},
		{"an empty response before there is a cluster with EDS is remembered", SotW, []string{
			"open", "cds",
			"eds 1", "",
			"cds 2 c!", "cds 2 n2",
			"eds 4", "",
			"cds 5 a?", "eds [a] 4 n4",
		}},
		{"the first message of a stream may be an acknowledgement", Delta, []string{
			"open", "cds",
			"cds 1 c", "eds +c, cds n1",
			"eds 2 s -c", "eds n2",
			"cds 3 a b -c", "eds +a+b -c",
			"eds 4 s", "eds n4",
			"eds 5 b", "eds n5",
			"open", "eds +a+b {b=5}",
			"cds 7 c -a", "eds +c -a",
			"eds 8 a c", "cds {b=3} {c=7} n7, eds n8",
		}},
		{"a name that goes and comes is subscribed anew", Delta, []string{
			"open", "cds",
			"cds 1 a", "eds +a, cds n1",
			"eds 5 c -a", "eds n5",
			"cds 6 a:b c", "eds +b+c",
			"cds 7 a c:b", "eds +b -c",
		}},
		{"answers are let go when the last warming cluster goes, before the response's own", Delta, []string{
			"open", "cds",
			"cds 1 a? b?", "eds +a+b, cds n1",
			"eds 2 a -b", "eds n2",
			"cds 3 b:s c -a", "eds +c+s -a",
			"cds 4 a:s b! c!", "eds -b-c",
			"cds 5 a:b b! -c", "eds +b -s",
			"cds 6 -a -b -c", "cds n3, cds n4, cds n5, eds -b, cds n6",
		}},
		{"each cluster that is warm lets its old name go by itself (in any order)", Delta, []string{
			"open", "cds",
			"cds 1 a b c", "eds +a+b+c, cds n1",
			"eds 2 c s -a -b", "eds n2",
			"cds 5 a:s b:s c!", "eds +s -c",
			"eds 6 s refused", "eds -a, eds -b, cds n5, eds n6 NACK",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDialogue(t, tt.transport)
			for i := 0; i < len(tt.lines); i += 2 {
				if diff := cmp.Diff(tt.lines[i+1], d.say(tt.lines[i])); diff != "" {
					t.Fatalf("%s (-want +got):\n%s", tt.lines[i], diff)
				}
			}
		})
	}
}
