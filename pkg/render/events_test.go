package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diff"
	"github.com/edsctl/edsctl/pkg/xds"
	"github.com/edsctl/edsctl/pkg/xds/serve"
)

func TestShortVersion(t *testing.T) {
	tests := []struct{ version, want string }{
		{"", ""},
		{"1", "1"},
		{"cebd8f1f23c9d422", "cebd8f1f23c9d422"},
		{"2fd4e1c67a2d28fced849ee1bb76e7391b93eb12", "2fd4e1c67a2d..."},
		{"2026-11-30T13:47:23Z/6", "2026-11-30T13:47:23Z/6"}, // istiod's
		{"ééééééééééééééééééééééééééééééééééééééééé", "éééééééééééé..."},
	}
	for _, tt := range tests {
		if got := shortVersion(tt.version); got != tt.want {
			t.Errorf("shortVersion(%q) = %q, want %q", tt.version, got, tt.want)
		}
	}
}

// TestLinesOfEvents writes what others say in one line, whatever is in it, and its own colours as they are.
func TestLinesOfEvents(t *testing.T) {
	hostile := "no\n\x1b[31msuch\tthing"
	change := &Change{Endpoints: 1, Moved: 0.5, Changes: []diff.Change{{Kind: diff.Hostname, Address: "192.0.2.1:80", Old: hostile, New: "b"}}}
	watch := func(l WatchLine, color bool) string {
		var b strings.Builder
		if err := Watch(&b, "table", &l, Options{Color: color}); err != nil {
			t.Error(err)
		}
		return b.String()
	}
	served := func(ev serve.Event, color bool) string {
		var b strings.Builder
		if err := ServeEvent(&b, "text", &ev, Options{Color: color}); err != nil {
			t.Error(err)
		}
		return b.String()
	}
	told := func(ev xds.Event) string {
		var b strings.Builder
		EventLine(&b, &ev, false)
		return b.String()
	}
	tests := []struct{ name, got, want string }{
		{"error", watch(WatchLine{Event: "error", Name: "a\x1bb", Version: "1\n2", Text: hostile}, false), "00:00:00.000  a\ufffdb  1 2  error: no \ufffd[31msuch thing\n"},
		{"clusters", watch(WatchLine{Event: "clusters", Text: "1 cluster", NotEDS: []string{hostile}}, false), "00:00:00.000  -  -  1 cluster; not EDS: no \ufffd[31msuch thing\n"},
		{"update", watch(WatchLine{Event: "update", Name: "a", Change: change}, false), "00:00:00.000  a  -  ~192.0.2.1:80 hostname no \ufffd[31msuch thing -> b; 50 % of the traffic moves\n"},
		{"colours", watch(WatchLine{Event: "error", Name: "a", Text: hostile}, true), "\x1b[2m00:00:00.000\x1b[0m  \x1b[1ma\x1b[0m  -  \x1b[1merror\x1b[0m: no \ufffd[31msuch thing\n"},
		{"first taken", watch(WatchLine{Event: "update", Name: "a", Change: &Change{Endpoints: 2}}, false), "00:00:00.000  a  -  2 endpoints\n"},
		{"serve", served(serve.Event{Kind: serve.Nacked, Client: serve.Client{NodeID: "n\n1"}, TypeURL: "x.Y", Version: "1", Message: hostile}, false), "00:00:00.000 n 1 NACK Y version \"1\": \ufffd[31msuch thing\n"},
		{"serve in colours", served(serve.Event{Kind: serve.Disconnected, Client: serve.Client{NodeID: "n1"}}, true), "00:00:00.000 \x1b[1mdisconnected\x1b[0m n1\n"},
		{"verbose", told(xds.Event{Kind: xds.Closed, Stream: 1, Err: errors.New(hostile), Retry: -1}), "00:00:00.000 [1] closed: no \ufffd[31msuch thing\n"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
