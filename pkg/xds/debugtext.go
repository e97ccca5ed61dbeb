package xds

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// debugText prints a message as C++ protobuf's DebugString does, which is what Envoy puts into its errors: fields by
// number, two blanks a level, known Anys expanded, strings with octal escapes. The random prefix of newer releases
// ("goo.gle/debugonly") is always the same here.
func debugText(m proto.Message) string {
	var b strings.Builder
	b.WriteString(debugMarker)
	writeMessage(&b, m.ProtoReflect(), 0)
	return b.String()
}

// debugMarker begins every such text.
const debugMarker = "goo.gle/debugonly  \n"

func writeMessage(b *strings.Builder, m protoreflect.Message, depth int) {
	if any, ok := m.Interface().(*anypb.Any); ok {
		if inner, err := any.UnmarshalNew(); err == nil {
			block(b, "["+any.GetTypeUrl()+"]", inner.ProtoReflect(), depth)
			return
		}
	}
	var fields []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		fields = append(fields, fd)
		return true
	})
	slices.SortFunc(fields, func(x, y protoreflect.FieldDescriptor) int { return cmp.Compare(x.Number(), y.Number()) })
	for _, fd := range fields {
		v := m.Get(fd)
		switch {
		case fd.IsMap():
			writeMap(b, fd, v.Map(), depth)
		case fd.IsList():
			for i := range v.List().Len() {
				writeField(b, fd, v.List().Get(i), depth)
			}
		default:
			writeField(b, fd, v, depth)
		}
	}
}

func writeField(b *strings.Builder, fd protoreflect.FieldDescriptor, v protoreflect.Value, depth int) {
	if fd.Message() != nil {
		block(b, string(fd.Name()), v.Message(), depth)
		return
	}
	fmt.Fprintf(b, "%s%s: %s\n", strings.Repeat("  ", depth), fd.Name(), scalarText(fd, v))
}

func block(b *strings.Builder, name string, m protoreflect.Message, depth int) {
	indent := strings.Repeat("  ", depth)
	b.WriteString(indent + name + " {\n")
	writeMessage(b, m, depth+1)
	b.WriteString(indent + "}\n")
}

func writeMap(b *strings.Builder, fd protoreflect.FieldDescriptor, m protoreflect.Map, depth int) {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(x, y protoreflect.MapKey) int { return cmp.Compare(x.String(), y.String()) })
	indent := strings.Repeat("  ", depth)
	for _, k := range keys {
		b.WriteString(indent + string(fd.Name()) + " {\n")
		writeField(b, fd.MapKey(), k.Value(), depth+1)
		writeField(b, fd.MapValue(), m.Get(k), depth+1)
		b.WriteString(indent + "}\n")
	}
}

func scalarText(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return quoteC(v.String())
	case protoreflect.BytesKind:
		return quoteC(string(v.Bytes()))
	case protoreflect.EnumKind:
		if e := fd.Enum().Values().ByNumber(v.Enum()); e != nil {
			return string(e.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	case protoreflect.FloatKind:
		return strconv.FormatFloat(v.Float(), 'g', -1, 32)
	case protoreflect.DoubleKind:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	default:
		return fmt.Sprint(v.Interface())
	}
}

// quoteC is absl::CEscape in double quotes. Text in UTF-8 stays as it is only in ASCII; the rest is octal.
func quoteC(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '"' || c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= utf8.RuneSelf-1:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// constraintText is how Envoy's error of a broken constraint begins, after the text of the whole resource.
const constraintText = "Proto constraint validation failed ("

// durationText is how Envoy's error of a duration begins that it finds when it decodes a resource.
const durationText = "Invalid duration: "

// dumpMark stands in predicted error texts for the text of a message.
const dumpMark = "<dump>"

// ClusterRefusalText is RefusalText for a cluster of a CDS response. whole tells that Envoy refuses the response for it,
// and takes none of its clusters; otherwise it is the cluster's part of the error.
func ClusterRefusalText(c *Cluster, text string) (full string, whole bool) {
	if strings.HasPrefix(text, constraintText) {
		return debugText(c.Message) + ": " + text, true
	}
	return strings.ReplaceAll(text, dumpMark, debugMarker), strings.HasPrefix(text, durationText)
}

// absentText begins the error about an address that is not there: Envoy prints the empty one.
const absentText = "Address must be set: "

// RefusalText completes what is predicted of a client's error for the wire: Envoy's constraint errors begin with the
// whole assignment, and other texts have a mark where the message at the finding's path is printed.
func RefusalText(r *eds.Resource, text string, at diag.Path) string {
	if strings.HasPrefix(text, constraintText) {
		return debugText(r.Original) + ": " + text
	}
	if !strings.Contains(text, dumpMark) {
		return text
	}
	dump := debugMarker
	m := messageAt(r.Original.ProtoReflect(), at)
	if m != nil && !strings.HasPrefix(text, absentText) { // the finding is at what lacks it
		dump = debugText(m.Interface())
	}
	return strings.ReplaceAll(text, dumpMark, dump)
}

// DumpGRPC completes what is predicted of grpc-go's error: the message around the field that the finding is at takes the
// place of the mark, in Go's text format on one line.
func DumpGRPC(r *eds.Resource, text string, at diag.Path) string {
	if !strings.Contains(text, dumpMark) || len(at) == 0 {
		return text
	}
	dump := ""
	if m := messageAt(r.Assignment.ProtoReflect(), at[:len(at)-1]); m != nil {
		dump = strings.Join(strings.Fields(prototext.MarshalOptions{}.Format(m.Interface())), " ")
	}
	return strings.ReplaceAll(text, dumpMark, dump)
}

// messageAt follows a path to the message that it leads to; nil when that is not there.
func messageAt(m protoreflect.Message, at diag.Path) protoreflect.Message {
	for len(at) > 0 {
		fd := m.Descriptor().Fields().ByName(protoreflect.Name(at[0].Name))
		if fd == nil || fd.Message() == nil || !m.Has(fd) {
			return nil
		}
		switch {
		case fd.IsMap() && len(at) > 1 && fd.MapValue().Message() != nil:
			v := m.Get(fd).Map().Get(protoreflect.ValueOfString(at[1].Name).MapKey())
			if !v.IsValid() {
				return nil
			}
			m, at = v.Message(), at[2:]
		case fd.IsList() && len(at) > 1:
			list := m.Get(fd).List()
			if at[1].Index >= list.Len() {
				return nil
			}
			m, at = list.Get(at[1].Index).Message(), at[2:]
		case fd.IsList() || fd.IsMap():
			return nil
		default:
			m, at = m.Get(fd).Message(), at[1:]
		}
	}
	return m
}

// maxDetail is where Envoy cuts an error_detail, in bytes (grpc_mux_impl.cc, Utility::truncateGrpcStatusMessage).
const maxDetail = 4096

// truncateDetail cuts a NACK's message as Envoy does.
func truncateDetail(s string) string {
	if len(s) <= maxDetail {
		return s
	}
	return s[:maxDetail] + "...(truncated)"
}
