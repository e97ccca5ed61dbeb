package cli

import (
	"strings"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds"
)

// connection tells of the stream's fate; a reconnect is told once.
func (w *watching) connection(ev *xds.Event) {
	switch ev.Kind {
	case xds.Closed:
		if w.down {
			return
		}
		w.down = true
		w.write(&render.WatchLine{Event: "disconnected", Time: ev.Time, Text: w.closeText(ev)})
	case xds.Opened:
		if w.format == "ndjson" {
			w.write(&render.WatchLine{Event: "connecting", Time: ev.Time, Text: ev.Method})
		}
	default:
		for _, name := range ev.Names {
			w.write(&render.WatchLine{Event: string(ev.Kind), Time: ev.Time, Name: name, Text: w.waitText(ev.Kind)})
		}
	}
}

func (w *watching) waitText(kind xds.Kind) string {
	switch {
	case kind == xds.Expired:
		return "its TTL ran out; Envoy keeps the endpoints"
	case w.live:
		return "the client does not hold it"
	}
	return "no assignment came in time: Envoy goes on with the last one, or without endpoints"
}

func (w *watching) removedText() string {
	if w.live {
		return "the client does not hold it any more"
	}
	return "the server says that it does not exist; Envoy keeps its endpoints"
}

func (w *watching) closeText(ev *xds.Event) string {
	if ev.Err == nil {
		return "the server closed the stream; reconnecting"
	}
	text := strings.Join(strings.Fields(ev.Err.Error()), " ")
	if ev.Retry < 0 && !w.replayed {
		return text // the watch ends
	}
	return text + "; reconnecting"
}
