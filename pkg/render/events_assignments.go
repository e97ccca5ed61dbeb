package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/eds"
)

// Assignment is one assignment that a server sent.
type Assignment struct {
	Name     string
	Cluster  string // of a running Envoy; empty: not known
	Version  string
	TypeURL  string
	Resource *eds.Resource
	Wire     []byte            // the message as it came; nil: it did not come in this form
	Hosts    map[string]string // of a running Envoy: what it knows of an address beside its health
}

// AssignmentFormats names the formats of Assignments, the default first.
func AssignmentFormats() []string { return []string{"yaml", "json", "textpb", "pb", "table"} }

// Assignments writes assignments so that every command can read them: YAML documents, a JSON list, one message in
// binary or text (a DeltaDiscoveryResponse when there are several), or a table for people. Those of an older API
// version are written as an Any, which tells theirs.
func Assignments(w io.Writer, format string, list []Assignment, o Options) error {
	switch format {
	case "yaml", "json":
		return assignmentsText(w, eds.Format(format), list)
	case "textpb", "pb":
		return assignmentsProto(w, eds.Format(format), list)
	case "table":
		return assignmentsTable(w, list, o)
	}
	return fmt.Errorf("unknown output format %q: must be one of %s", format, strings.Join(AssignmentFormats(), ", "))
}

// asMessage is what is written of an assignment: itself, or an Any that tells its API version.
func (a *Assignment) asMessage() (proto.Message, error) {
	m := a.Resource.Original
	if a.Resource.APIVersion == eds.V3 {
		return m, nil
	}
	value, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write %q: %w", a.Name, err)
	}
	return &anypb.Any{TypeUrl: a.TypeURL, Value: value}, nil
}

// assignmentsText writes YAML documents or a JSON list.
func assignmentsText(w io.Writer, format eds.Format, list []Assignment) error {
	messages := make([]proto.Message, len(list))
	for i := range list {
		var err error
		if messages[i], err = list[i].asMessage(); err != nil {
			return err
		}
	}
	write := author.EncodeMessages
	if format == eds.JSON {
		write = author.EncodeList
	}
	data, err := write(format, messages...)
	if err != nil {
		return fmt.Errorf("write %s: %w", format, err)
	}
	_, err = w.Write(data)
	return err
}

// assignmentsProto writes one message: the assignment when there is just one, else a delta response, whose resources
// are judged each by its own.
func assignmentsProto(w io.Writer, format eds.Format, list []Assignment) error {
	var m proto.Message
	if len(list) == 1 && list[0].Resource.APIVersion == eds.V3 {
		if format == eds.Binary && list[0].Wire != nil {
			_, err := w.Write(list[0].Wire)
			return err
		}
		m = list[0].Resource.Original
	} else {
		response := &discoveryv3.DeltaDiscoveryResponse{}
		for i := range list {
			value := list[i].Wire
			if value == nil {
				var err error
				if value, err = proto.Marshal(list[i].Resource.Original); err != nil {
					return fmt.Errorf("write %q: %w", list[i].Name, err)
				}
			}
			response.TypeUrl = list[i].TypeURL
			response.Resources = append(response.Resources, &discoveryv3.Resource{
				Name: list[i].Name, Version: list[i].Version, Resource: &anypb.Any{TypeUrl: list[i].TypeURL, Value: value},
			})
		}
		m = response
	}
	data, err := author.EncodeMessages(format, m)
	if err != nil {
		return fmt.Errorf("write %s: %w", format, err)
	}
	_, err = w.Write(data)
	return err
}

func assignmentsTable(w io.Writer, list []Assignment, o Options) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	live := len(list) > 0 && list[0].Hosts != nil
	if live {
		fmt.Fprintln(tw, "NAME\tCLUSTER\tPRIORITY\tLOCALITY\tADDRESS\tHEALTH\tWEIGHT\tSTATE")
	} else {
		fmt.Fprintln(tw, "NAME\tVERSION\tPRIORITY\tLOCALITY\tADDRESS\tHEALTH\tWEIGHT")
	}
	for i := range list {
		a := &list[i]
		origin := shortVersion(a.Version)
		if live {
			origin = a.Cluster
		}
		rows := 0
		for _, group := range a.Resource.Assignment.GetEndpoints() {
			for _, ep := range group.GetLbEndpoints() {
				rows++
				weight := "-"
				if ep.GetLoadBalancingWeight() != nil {
					weight = strconv.Itoa(int(ep.GetLoadBalancingWeight().GetValue()))
				}
				address := addressText(ep.GetEndpoint().GetAddress())
				cells := []string{a.Name, origin, strconv.Itoa(int(group.GetPriority())), localityText(group.GetLocality()), address, ep.GetHealthStatus().String(), weight}
				if live {
					cells = append(cells, cmp.Or(a.Hosts[strings.TrimPrefix(address, "unix:")], "-"))
				}
				fmt.Fprintln(tw, printable(strings.Join(cells, "\t")))
			}
		}
		if rows == 0 {
			fmt.Fprintln(tw, printable(strings.Join([]string{a.Name, origin, "-", "-", "no endpoints", "-", "-"}, "\t")))
		}
	}
	return tw.Flush()
}

// shortVersion cuts versions that are hashes, of which the beginning is enough, and any that are very long: istiod's begin
// with the time, and differ at the end.
func shortVersion(v string) string {
	const most = 40
	isHash := strings.Trim(v, "0123456789abcdefABCDEF") == ""
	if r := []rune(v); len(r) > most || isHash && len(r) > 16 {
		return string(r[:12]) + "..."
	}
	return v
}

func localityText(l *corev3.Locality) string {
	if l == nil {
		return "-"
	}
	return l.GetRegion() + "/" + l.GetZone() + "/" + l.GetSubZone()
}

func addressText(a *corev3.Address) string {
	switch v := a.GetAddress().(type) {
	case *corev3.Address_SocketAddress:
		host := v.SocketAddress.GetAddress()
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if name := v.SocketAddress.GetNamedPort(); name != "" {
			return host + ":" + name
		}
		return host + ":" + strconv.Itoa(int(v.SocketAddress.GetPortValue()))
	case *corev3.Address_Pipe:
		return "unix:" + v.Pipe.GetPath()
	case *corev3.Address_EnvoyInternalAddress:
		return "internal:" + v.EnvoyInternalAddress.GetServerListenerName()
	}
	return "-"
}

// Printable replaces the control characters of a text from elsewhere.
func Printable(text string) string { return printable(text) }

// OneLine is Printable without newlines and tabs.
func OneLine(text string) string { return oneLine(text) }
