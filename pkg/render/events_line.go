package render

import (
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/xds"
)

// EventLine writes one event of a stream in a line for people; whole adds the message as JSON.
func EventLine(w io.Writer, ev *xds.Event, whole bool) {
	fmt.Fprintf(w, "%s [%d] %s\n", ev.Time.Format("15:04:05.000"), ev.Stream, oneLine(eventText(ev)))
	if !whole {
		return
	}
	for _, m := range []proto.Message{ev.Request, ev.Message} {
		if m == nil {
			continue
		}
		data, err := protojson.MarshalOptions{UseProtoNames: true, Resolver: anyTypes{protoregistry.GlobalTypes}}.Marshal(m)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(w, "  %s\n", printable(string(data)))
	}
}

// anyTypes knows the assignments in all spellings of their type. Of what else is not known only the type is shown.
type anyTypes struct{ *protoregistry.Types }

func (t anyTypes) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	if v, ok := eds.VersionOfURL(url); ok {
		return eds.NewAssignment(v).ProtoReflect().Type(), nil
	}
	if known, err := t.Types.FindMessageByURL(url); err == nil {
		return known, nil
	}
	return (&emptypb.Empty{}).ProtoReflect().Type(), nil
}

func eventText(ev *xds.Event) string {
	kind := shortType(ev.TypeURL)
	switch ev.Kind {
	case xds.Opened:
		return "open " + ev.Method
	case xds.Sent:
		return sentText(ev, kind)
	case xds.Received:
		text := fmt.Sprintf("received %s version %q nonce %q: %s", kind, ev.Version, ev.Nonce, plural(len(ev.Resources), "resource"))
		if len(ev.Removed) > 0 {
			text += fmt.Sprintf(", %d removed", len(ev.Removed))
		}
		return text
	case xds.Expired:
		return "the TTL ran out of " + strings.Join(ev.Names, ", ")
	case xds.Stalled:
		return "no assignment came in time for " + strings.Join(ev.Names, ", ")
	case xds.Closed:
		text := "closed"
		if ev.Err != nil {
			text += ": " + ev.Err.Error()
		}
		if ev.Retry >= 0 {
			text += fmt.Sprintf("; again in %s", ev.Retry.Round(1e6))
		}
		return text
	default:
		return ev.Text
	}
}

func sentText(ev *xds.Event, kind string) string {
	switch ev.Ack {
	case xds.ACK:
		return fmt.Sprintf("sent ACK %s version %q nonce %q", kind, ev.Version, ev.Nonce)
	case xds.NACK:
		return fmt.Sprintf("sent NACK %s version %q nonce %q: %s", kind, ev.Version, ev.Nonce, Reason(ev.Err.Error()))
	}
	names := "all"
	if len(ev.Names) > 0 {
		names = strings.Join(ev.Names, ", ")
	}
	text := fmt.Sprintf("sent request %s version %q: %s", kind, ev.Version, names)
	if len(ev.Dropped) > 0 {
		text += ", no longer " + strings.Join(ev.Dropped, ", ")
	}
	return text
}

// shortType is the last element of a type URL.
func shortType(url string) string { return url[strings.LastIndex(url, ".")+1:] }

// Reason is the line of a client's refusal that tells why, without the messages that C++ prints into it: Envoy's text about
// a constraint begins with a message and ends with the reason, others begin with the reason.
func Reason(text string) string {
	const marker = "goo.gle/debug"
	if strings.HasPrefix(text, marker) {
		return lastLine(text)
	}
	text, _, _ = strings.Cut(text, marker)
	text = strings.TrimRight(text, ": ")
	first, _, more := strings.Cut(text, "\n")
	if more {
		first += " ..."
	}
	return first
}
