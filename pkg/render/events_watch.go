package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/diff"
	"github.com/edsctl/edsctl/pkg/validate"
)

// WatchFormats names the formats of Watch, the default first.
func WatchFormats() []string { return []string{"table", "ndjson"} }

// WatchLine is one line of a watch. Event is update, removed, error, expired, stalled, clusters, connecting, connected or
// disconnected.
type WatchLine struct {
	Event   string
	Time    time.Time
	Name    string
	Version string
	First   bool             // update: the first version of the name
	Refused string           // update: the client that refuses it and goes on with what it has; empty: none
	Change  *Change          // update
	Report  *validate.Report // update: what validation says; nil when it is off
	NotEDS  []string         // clusters: "name: why"
	Text    string
}

// Change is what a new version of an assignment changes.
type Change struct {
	Endpoints int // now
	Changes   []diff.Change
	// Moved is the fraction of all requests that goes elsewhere; Dropped and Unavailable are fractions now.
	Moved, Dropped, Unavailable float64
	// Rules are findings that need both versions.
	Rules []DiffFinding
}

// IsEmpty tells whether nothing changed.
func (c *Change) IsEmpty() bool { return len(c.Changes) == 0 }

// words are the changes in short: what came, what went, and what is another.
func (c *Change) words() []string {
	var added, removed, changed []string
	for _, d := range c.Changes {
		what := strings.ReplaceAll(string(d.Kind), "_", " ")
		if d.Field != "" {
			what = d.Field
		}
		if d.Address != "" {
			what = d.Address + " " + what
		}
		switch {
		case d.Kind == diff.Added:
			added = append(added, "+"+d.Address)
		case d.Kind == diff.Removed:
			removed = append(removed, "-"+d.Address)
		case d.Old == "" && d.New == "":
			changed = append(changed, "~"+what)
		default:
			changed = append(changed, fmt.Sprintf("~%s %s -> %s", what, cmp.Or(d.Old, "(unset)"), cmp.Or(d.New, "(unset)")))
		}
	}
	var out []string
	for _, items := range [][]string{added, removed, changed} {
		if len(items) > 0 {
			out = append(out, abbreviated(items))
		}
	}
	return out
}

// Watch writes one line.
func Watch(w io.Writer, format string, l *WatchLine, o Options) error {
	if format == "ndjson" {
		return writeLine(w, l.asJSON())
	}
	p := palette(o.Color)
	name := l.Name
	if name == "" {
		name = "-"
	}
	version := shortVersion(l.Version)
	if version == "" {
		version = "-"
	}
	_, err := fmt.Fprintf(w, "%s  %s  %s  %s\n", p.paint(l.Time.Format("15:04:05.000"), dim), p.paint(oneLine(name), bold), oneLine(version), l.text(p))
	return err
}

// text is what a line says after the version: without control characters but those that paint.
func (l *WatchLine) text(p palette) string {
	if l.Change == nil {
		text := oneLine(l.Text)
		if l.Event != "clusters" {
			text = p.paint(l.Event, bold) + ": " + text
		}
		for _, n := range l.NotEDS {
			text += "; not EDS: " + oneLine(n)
		}
		return text
	}
	c := l.Change
	var parts []string
	whole := l.First || c.IsEmpty() // there is nothing to compare with
	if whole {
		parts = append(parts, plural(c.Endpoints, "endpoint"))
	}
	for _, words := range c.words() {
		parts = append(parts, oneLine(words))
	}
	switch {
	case l.Refused != "":
		parts = append(parts, p.paint(l.Refused+" refuses it and keeps the last version", bold, red))
	case !whole:
		parts = append(parts, fmt.Sprintf("%s of the traffic moves", percentText(c.Moved)))
	}
	if c.Dropped > 0 {
		parts = append(parts, percentText(c.Dropped)+" dropped")
	}
	if c.Unavailable > 0 {
		parts = append(parts, p.paint(percentText(c.Unavailable)+" no healthy upstream", bold, red))
	}
	for _, f := range l.findings() {
		if f.Severity == diag.Error {
			parts = append(parts, p.severity(f.Severity)+": "+oneLine(f.Message)+" ["+f.Rule+"]")
		}
	}
	for _, f := range c.Rules {
		parts = append(parts, p.severity(f.Severity)+": "+oneLine(f.Message)+" ["+f.Rule+"]")
	}
	return strings.Join(parts, "; ")
}

func (l *WatchLine) findings() []diag.Finding {
	if l.Report == nil {
		return nil
	}
	return l.Report.Findings
}

// abbreviated lists a few items and counts the rest.
func abbreviated(items []string) string {
	const most = 4
	if len(items) <= most {
		return strings.Join(items, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:most], " "), len(items)-most)
}

func percentText(share float64) string { return fmt.Sprintf("%.3g %%", share*100) }

type watchJSON struct {
	FormatVersion string            `json:"format_version"`
	Event         string            `json:"event"`
	Time          time.Time         `json:"time"`
	Name          string            `json:"name,omitempty"`
	Version       string            `json:"version_info,omitempty"`
	First         bool              `json:"first,omitempty"`
	Refused       string            `json:"refused_by,omitempty"`
	Message       string            `json:"message,omitempty"`
	NotEDS        []string          `json:"not_eds,omitempty"`
	Change        *changeJSON       `json:"change,omitempty"`
	Verdicts      map[string]string `json:"verdicts,omitempty"`
	Findings      []watchFinding    `json:"findings,omitempty"`
}

type changeJSON struct {
	Endpoints   int           `json:"endpoints"`
	Changes     []diff.Change `json:"changes"`
	Moved       float64       `json:"moved"`
	Dropped     float64       `json:"dropped"`
	Unavailable float64       `json:"unavailable"`
}

type watchFinding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`
}

func (l *WatchLine) asJSON() watchJSON {
	out := watchJSON{
		FormatVersion: "1", Event: l.Event, Time: l.Time.UTC(), Name: l.Name, Version: l.Version, First: l.First, Refused: l.Refused, Message: l.Text, NotEDS: l.NotEDS,
	}
	if c := l.Change; c != nil {
		out.Change = &changeJSON{c.Endpoints, append([]diff.Change{}, c.Changes...), c.Moved, c.Dropped, c.Unavailable}
		for _, f := range l.findings() {
			out.Findings = append(out.Findings, watchFinding{f.Rule, f.Severity.String(), f.Path.String(), f.Message})
		}
		for _, f := range c.Rules {
			out.Findings = append(out.Findings, watchFinding{f.Rule, f.Severity.String(), f.Path, f.Message})
		}
	}
	if l.Report != nil && len(l.Report.Resources) > 0 {
		out.Verdicts = map[string]string{}
		for _, client := range diag.Clients {
			out.Verdicts[client.String()] = string(l.Report.Resources[0].Verdicts[client].Kind)
		}
	}
	return out
}
