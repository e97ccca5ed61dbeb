package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/edsctl/edsctl/pkg/xds/serve"
)

// ServeFormats names the formats of ServeEvent and ServeChange, the default first.
func ServeFormats() []string { return []string{"text", "ndjson"} }

// ServeState is what a management server serves, and what changed.
type ServeState struct {
	Address string // set once, at the start
	TLS     bool
	Served  []string
	Added   []string
	Updated []string
	Removed []string
	Kept    []KeptBack
	// KeptOver names what was told in Kept before and is not kept back any more; ProblemOver is the Problem that is none now.
	KeptOver    []string
	Problem     string
	ProblemOver string
}

// KeptBack is an assignment that is not pushed, with the reason.
type KeptBack struct {
	Name    string
	Reason  string
	Serving bool // its last good version is still served
	Part    bool // of a file of which the rest is served
}

// Changed tells whether there is anything to push or to say.
func (s *ServeState) Changed() bool {
	return len(s.Added)+len(s.Updated)+len(s.Removed)+len(s.Kept)+len(s.KeptOver) > 0 || s.Problem != "" || s.ProblemOver != ""
}

// ServeChange writes a change of what is served.
func ServeChange(w io.Writer, format string, s *ServeState, o Options) error {
	if format == "ndjson" {
		return writeLine(w, struct {
			FormatVersion string     `json:"format_version"`
			Event         string     `json:"event"`
			Address       string     `json:"address,omitempty"`
			TLS           bool       `json:"tls,omitempty"`
			Served        int        `json:"served"`
			Added         []string   `json:"added,omitempty"`
			Updated       []string   `json:"updated,omitempty"`
			Removed       []string   `json:"removed,omitempty"`
			Kept          []keptJSON `json:"kept_back,omitempty"`
			KeptOver      []string   `json:"kept_back_over,omitempty"`
			Problem       string     `json:"problem,omitempty"`
			ProblemOver   string     `json:"problem_over,omitempty"`
		}{"1", "serving", s.Address, s.TLS, len(s.Served), s.Added, s.Updated, s.Removed, keptAsJSON(s.Kept), s.KeptOver, s.Problem, s.ProblemOver})
	}
	p := palette(o.Color)
	var b strings.Builder
	if s.Address != "" {
		how := "plaintext"
		if s.TLS {
			how = "TLS"
		}
		fmt.Fprintf(&b, "serving %s on %s (%s)\n", plural(len(s.Served), "assignment"), s.Address, how)
	}
	for _, part := range []struct {
		what  string
		names []string
	}{{"added", s.Added}, {"updated", s.Updated}, {"removed", s.Removed}} {
		if len(part.names) > 0 && s.Address == "" {
			fmt.Fprintf(&b, "%s %s\n", part.what, printable(strings.Join(part.names, ", ")))
		}
	}
	if len(s.KeptOver) > 0 {
		fmt.Fprintf(&b, "%s %s\n", p.paint("no longer kept back", bold, green), printable(strings.Join(s.KeptOver, ", ")))
	}
	for _, k := range s.Kept {
		name, what := k.Name, "not served"
		if k.Part {
			name = "a part of " + name
		}
		if k.Serving {
			what = "the last good version is served"
		}
		fmt.Fprintf(&b, "%s %s (%s): %s\n", p.paint("kept back", bold, yellow), printable(name), what, printable(k.Reason))
	}
	if s.ProblemOver != "" {
		fmt.Fprintf(&b, "%s %s\n", p.paint("problem over:", bold, green), printable(s.ProblemOver))
	}
	if s.Problem != "" {
		fmt.Fprintf(&b, "%s %s\n", p.paint("problem:", bold, red), printable(s.Problem))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type keptJSON struct {
	Name    string `json:"name"`
	Reason  string `json:"reason"`
	Serving bool   `json:"serving"`
	Part    bool   `json:"part,omitempty"`
}

func keptAsJSON(list []KeptBack) []keptJSON {
	var out []keptJSON
	for _, k := range list {
		out = append(out, keptJSON(k))
	}
	return out
}

// ServeEvent writes what happened between the server and a client.
func ServeEvent(w io.Writer, format string, ev *serve.Event, o Options) error {
	if format == "ndjson" {
		names := ev.Names
		return writeLine(w, struct {
			FormatVersion string    `json:"format_version"`
			Event         string    `json:"event"`
			Time          time.Time `json:"time"`
			Stream        int64     `json:"stream,omitempty"`
			Delta         bool      `json:"delta,omitempty"`
			NodeID        string    `json:"node_id,omitempty"`
			NodeCluster   string    `json:"node_cluster,omitempty"`
			Agent         string    `json:"user_agent,omitempty"`
			Peer          string    `json:"peer,omitempty"`
			TypeURL       string    `json:"type_url,omitempty"`
			Version       string    `json:"version_info,omitempty"`
			Names         []string  `json:"resource_names,omitempty"`
			Removed       []string  `json:"removed,omitempty"`
			Message       string    `json:"message,omitempty"`
		}{"1", string(ev.Kind), ev.Time.UTC(), ev.Stream, ev.Delta, ev.Client.NodeID, ev.Client.Cluster, ev.Client.Agent, ev.Client.Address,
			ev.TypeURL, ev.Version, names, ev.Removed, ev.Message})
	}
	_, err := fmt.Fprintf(w, "%s %s\n", ev.Time.Format("15:04:05.000"), serveText(ev, palette(o.Color)))
	return err
}

// serveText is what a line says of an event: without control characters but those that paint.
func serveText(ev *serve.Event, p palette) string {
	who := ev.Client.NodeID
	if who == "" {
		who = ev.Client.Address
	}
	who = oneLine(who)
	kind := oneLine(shortType(ev.TypeURL))
	switch ev.Kind {
	case serve.Connected:
		return fmt.Sprintf("%s %s (%s) from %s", p.paint("connected", bold), who, oneLine(ev.Client.Agent), ev.Client.Address)
	case serve.Disconnected:
		return fmt.Sprintf("%s %s", p.paint("disconnected", bold), who)
	case serve.Subscribed, serve.Fetched:
		var parts []string
		if len(ev.Names) > 0 {
			parts = append(parts, strings.Join(ev.Names, ", "))
		}
		if len(ev.Removed) > 0 {
			parts = append(parts, "no longer "+strings.Join(ev.Removed, ", "))
		}
		if len(parts) == 0 {
			parts = []string{"all"}
		}
		return fmt.Sprintf("%s %s %s: %s", who, ev.Kind, kind, oneLine(strings.Join(parts, "; ")))
	case serve.Pushed:
		text := fmt.Sprintf("%s pushed %s version %q: %s", who, kind, shortVersion(ev.Version), plural(len(ev.Names), "resource"))
		if len(ev.Removed) > 0 {
			text += fmt.Sprintf(", %d removed", len(ev.Removed))
		}
		return text
	case serve.Nacked:
		return fmt.Sprintf("%s %s %s version %q: %s", who, p.paint("NACK", bold, red), kind, shortVersion(ev.Version), oneLine(lastLine(ev.Message)))
	default:
		return fmt.Sprintf("%s %s %s version %q", who, p.paint("ACK", green), kind, shortVersion(ev.Version))
	}
}

// lastLine is where Envoy's reasons stand: the resource comes first.
func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return strings.TrimPrefix(s[strings.LastIndex(s, "\n")+1:], ": ")
}

// writeLine writes a value as one line of JSON.
func writeLine(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
