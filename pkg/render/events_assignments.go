package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"

	"github.com/edsctl/edsctl/pkg/eds"
)

// Assignment is one assignment that a server sent.
type Assignment struct {
	Name     string
	Cluster  string // of a running Envoy; empty: not known
	Version  string
	TypeURL  string
	Resource *eds.Resource
	Hosts    map[string]string // of a running Envoy: what it knows of an address beside its health
}

// AssignmentFormats names the formats of Assignments, the default first.
func AssignmentFormats() []string { return []string{"yaml", "json", "textpb", "pb", "table"} }

// Assignments writes assignments so that every command can read them: YAML documents, a JSON list, one message in
// binary or text (a DeltaDiscoveryResponse when there are several), or a table for people. Those of an older API
// version are written as an Any, which tells theirs.
func Assignments(w io.Writer, format string, list []Assignment, o Options) error {
	switch format {
	case "yaml":
		return assignmentsYAML(w, list)
	case "json":
		return assignmentsJSON(w, list)
	case "textpb", "pb":
		return assignmentsProto(w, format, list)
	case "table":
		return assignmentsTable(w, list, o)
	}
	return fmt.Errorf("unknown output format %q: must be one of %s", format, strings.Join(AssignmentFormats(), ", "))
}

// asJSON is an assignment as JSON with the names of the proto fields.
func (a *Assignment) asJSON() ([]byte, error) {
	var m proto.Message = a.Resource.Original
	if a.Resource.APIVersion != eds.V3 {
		value, err := proto.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("write %q: %w", a.Name, err)
		}
		m = &anypb.Any{TypeUrl: a.TypeURL, Value: value}
	}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write %q as JSON: %w", a.Name, err)
	}
	return data, nil
}

func assignmentsYAML(w io.Writer, list []Assignment) error {
	for i := range list {
		data, err := list[i].asJSON()
		if err != nil {
			return err
		}
		if data, err = yaml.JSONToYAML(data); err != nil {
			return fmt.Errorf("write %q as YAML: %w", list[i].Name, err)
		}
		if i > 0 {
			data = append([]byte("---\n"), data...)
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

func assignmentsJSON(w io.Writer, list []Assignment) error {
	var out bytes.Buffer
	out.WriteByte('[')
	for i := range list {
		data, err := list[i].asJSON()
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(data)
	}
	out.WriteByte(']')
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, out.Bytes(), "", "  "); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	pretty.WriteByte('\n')
	_, err := pretty.WriteTo(w)
	return err
}

// assignmentsProto writes one message: the assignment when there is just one, else a delta response, whose resources
// are judged each by its own.
func assignmentsProto(w io.Writer, format string, list []Assignment) error {
	var m proto.Message
	if len(list) == 1 && list[0].Resource.APIVersion == eds.V3 {
		m = list[0].Resource.Original
	} else {
		response := &discoveryv3.DeltaDiscoveryResponse{}
		for i := range list {
			value, err := proto.Marshal(list[i].Resource.Original)
			if err != nil {
				return fmt.Errorf("write %q: %w", list[i].Name, err)
			}
			response.TypeUrl = list[i].TypeURL
			response.Resources = append(response.Resources, &discoveryv3.Resource{
				Name: list[i].Name, Version: list[i].Version, Resource: &anypb.Any{TypeUrl: list[i].TypeURL, Value: value},
			})
		}
		m = response
	}
	var data []byte
	var err error
	if format == "pb" {
		data, err = proto.MarshalOptions{Deterministic: true}.Marshal(m)
	} else {
		data, err = prototext.MarshalOptions{Multiline: true}.Marshal(m)
		data = stableText(data)
	}
	if err != nil {
		return fmt.Errorf("write protobuf: %w", err)
	}
	_, err = w.Write(data)
	return err
}

// stableText takes out the random second blank that prototext puts after colons, so that the same input gives the same
// bytes. Strings are quoted: a colon in one is never the first of its line.
func stableText(data []byte) []byte {
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		body := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(body)]
		if name, value, ok := strings.Cut(body, ":"); ok && !strings.ContainsAny(name, "\"'[ ") {
			lines[i] = indent + name + ": " + strings.TrimLeft(value, " ")
		}
	}
	return []byte(strings.Join(lines, "\n"))
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

// shortVersion cuts versions that are hashes.
func shortVersion(v string) string {
	if len(v) > 16 {
		return v[:12] + "..."
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
