package xds

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// readAll returns the events of a recording and the number of its runs.
func readAll(t *testing.T, text string) (events []*Event, runs int) {
	t.Helper()
	err := ReadRecording(strings.NewReader(text), func(RecordHeader) error { runs++; return nil }, func(ev *Event) error {
		events = append(events, ev)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return events, runs
}

// TestRecording records two real fetches into one file, state of the world and delta, and reads them back.
func TestRecording(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.rec")
	addr := serveCache(t, snapshotCache(t, false))
	var seen []*Event
	for _, transport := range []Transport{SotW, Delta} {
		o := testOptions(addr)
		o.Transport, o.Service = transport, ServiceADS
		o.Dial.Headers = []Header{{"x-token", "s3cret"}}
		r, err := NewRecorder(t.Context(), file, RecordHeader{Time: time.Unix(1, 0).UTC(), Server: addr, Transport: transport, Service: o.Service, Resource: V3, NodeID: "n1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Fetch(t.Context(), o, nil, func(ev *Event) error {
			seen = append(seen, ev)
			return r.Record(ev)
		}); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "s3cret") {
		t.Error("a header is in the recording")
	}
	got, runs := readAll(t, string(data))
	if runs != 2 || len(got) != len(seen) {
		t.Fatalf("%d runs with %d events, want 2 with %d", runs, len(got), len(seen))
	}
	for i, want := range seen {
		g := got[i]
		if g.Kind != want.Kind || g.Version != want.Version || g.Nonce != want.Nonce || g.Ack != want.Ack || !g.Time.Equal(want.Time) {
			t.Errorf("event %d is %s %q %q %q, want %s %q %q %q", i, g.Kind, g.Version, g.Nonce, g.Ack, want.Kind, want.Version, want.Nonce, want.Ack)
		}
		for _, m := range [][2]proto.Message{{want.Message, g.Message}, {want.Request, g.Request}} {
			if diff := cmp.Diff(m[0], m[1], protocmp.Transform()); diff != "" {
				t.Errorf("message of event %d (-recorded +read):\n%s", i, diff)
			}
		}
		for j := range want.Resources {
			if w := &want.Resources[j]; w.Asked != g.Resources[j].Asked || (w.Assignment == nil) != (g.Resources[j].Assignment == nil) {
				t.Errorf("resource %d of event %d was read otherwise", j, i)
			}
		}
	}
	// A run that was interrupted while it wrote.
	if cut, _ := readAll(t, string(data[:len(data)-10])); len(cut) != len(seen)-1 {
		t.Errorf("%d events of a file that was cut off, want %d", len(cut), len(seen)-1)
	}
	// A run that is appended to such a file, by a recorder or with cat.
	cut := string(data[:len(data)-10])
	if all, runs := readAll(t, cut+string(data)); runs != 4 || len(all) != 2*len(seen)-1 {
		t.Errorf("%d runs with %d events of files that were joined, want 4 with %d", runs, len(all), 2*len(seen)-1)
	}
	path := filepath.Join(t.TempDir(), "cut.rec")
	if err := os.WriteFile(path, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := NewRecorder(t.Context(), path, RecordHeader{Server: "again"})
	if err == nil {
		err = errors.Join(again.Record(&Event{Kind: Note, Text: "x"}), again.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if all, runs := readAll(t, string(data)); runs != 3 || len(all) != len(seen) {
		t.Errorf("%d runs with %d events of a file that was cut off and appended to, want 3 with %d", runs, len(all), len(seen))
	}
}

func TestReadRecordingErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{}\n":   "line 1: this is no recording of edsctl",
		"a: b\n": "line 1: this is no recording of edsctl", "\x00\x01": "line 1: this is no recording of edsctl",
		`{"edsctl_recording":"1"}` + "\nx\n" + `{"event":"note"}` + "\n":                "line 2 of the recording is no JSON object",
		`{"edsctl_recording":"9"}` + "\n":                                               `format version "9", only "1" is known`,
		`{"edsctl_recording":"1"}` + "\n" + `{"event":"response","message":"?"}` + "\n": "line 2 of the recording: message",
	} {
		err := ReadRecording(strings.NewReader(text), func(RecordHeader) error { return nil }, func(*Event) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestPresets applies every preset, also over a node that the user gave.
func TestPresets(t *testing.T) {
	t.Parallel()
	for _, p := range Presets() {
		n := &corev3.Node{}
		p.Apply(n)
		if strings.HasPrefix(p.Name, "istio-") && (len(strings.Split(n.GetId(), "~")) != 4 || n.GetMetadata().GetFields()["ISTIO_VERSION"] == nil) {
			t.Errorf("%s: istiod cannot use the node %v", p.Name, n)
		}
		own := &corev3.Node{Id: "mine", Cluster: "c", UserAgentName: "x"}
		p.Apply(own)
		if own.GetId() != "mine" || own.GetCluster() != "c" || own.GetUserAgentName() != "x" {
			t.Errorf("%s overwrites the user's node: %v", p.Name, own)
		}
		if found, err := FindPreset(p.Name); err != nil || found.About == "" {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if _, err := FindPreset("nobody"); err == nil {
		t.Error("an unknown preset is found")
	}
}

// TestNodeOfOldVersions keeps what a version knows, and names the agent in build_version.
func TestNodeOfOldVersions(t *testing.T) {
	t.Parallel()
	n := &corev3.Node{Id: "n", ClientFeatures: []string{"f"}, UserAgentName: "edsctl", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "1"}}
	for v, features := range map[Version]int{V2: 1, V3Alpha: 0, V3AlphaLate: 0, V3: 1} {
		got := nodeFor(n, v)
		if len(got.GetClientFeatures()) != features || got.GetId() != "n" {
			t.Errorf("%s: %v", v, got)
		}
		if has := strings.Contains(string(got.ProtoReflect().GetUnknown()), "edsctl/1"); has != (v != V3) {
			t.Errorf("%s: build_version is there: %v", v, has)
		}
	}
}
