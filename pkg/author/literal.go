package author

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/eds"
)

// literal is a value in proto JSON form, to be written as YAML or JSON.
type literal struct {
	kind literalKind
	text string   // of a scalar
	keys []string // of a mapping, in snake_case; those of user data as they are
	data bool     // a mapping of user data: its keys have one spelling only
	vals []*literal
}

type literalKind uint8

const (
	bareLiteral   literalKind = iota // a number or a boolean
	enumLiteral                      // a word: bare in YAML, a string in JSON
	stringLiteral                    // a string
	mapLiteral
	listLiteral
)

func bare(text string) *literal { return &literal{text: text} }
func str(text string) *literal  { return &literal{kind: stringLiteral, text: text} }

func (l *literal) isScalar() bool { return l.kind < mapLiteral }

func (l *literal) put(key string, v *literal) {
	l.keys = append(l.keys, key)
	l.vals = append(l.vals, v)
}

// literalOf writes a message in proto JSON form, fields in the order of the .proto file.
func literalOf(m protoreflect.Message) (*literal, error) {
	switch v := m.Interface().(type) {
	case *durationpb.Duration:
		return str(durationText(v)), nil
	case *structpb.Struct:
		return structLiteral(v), nil
	case *structpb.Value:
		return valueLiteral(v), nil
	case *structpb.ListValue:
		return valueLiteral(structpb.NewListValue(v)), nil
	case *anypb.Any:
		return anyLiteral(v)
	}
	if isWrapper(m.Descriptor()) {
		fd := m.Descriptor().Fields().ByNumber(1)
		return scalarLiteral(fd, m.Get(fd)), nil
	}
	out := &literal{kind: mapLiteral}
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		if !m.Has(fd) {
			continue
		}
		v, err := fieldLiteral(fd, m.Get(fd))
		if err != nil {
			return nil, err
		}
		out.put(string(fd.Name()), v)
	}
	return out, nil
}

// fieldLiteral writes the value of a field.
func fieldLiteral(fd protoreflect.FieldDescriptor, v protoreflect.Value) (*literal, error) {
	switch {
	case fd.IsMap():
		return mapFieldLiteral(fd, v.Map())
	case fd.IsList():
		out := &literal{kind: listLiteral}
		for i := range v.List().Len() {
			item, err := oneLiteral(fd, v.List().Get(i))
			if err != nil {
				return nil, err
			}
			out.vals = append(out.vals, item)
		}
		return out, nil
	}
	return oneLiteral(fd, v)
}

func oneLiteral(fd protoreflect.FieldDescriptor, v protoreflect.Value) (*literal, error) {
	if fd.Message() != nil {
		return literalOf(v.Message())
	}
	return scalarLiteral(fd, v), nil
}

// sortedMapKeys is the order in which the entries of a map are written.
func sortedMapKeys(m protoreflect.Map) []protoreflect.MapKey {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

func mapFieldLiteral(fd protoreflect.FieldDescriptor, m protoreflect.Map) (*literal, error) {
	out := &literal{kind: mapLiteral, data: true}
	for _, k := range sortedMapKeys(m) {
		v, err := oneLiteral(fd.MapValue(), m.Get(k))
		if err != nil {
			return nil, err
		}
		out.put(k.String(), v)
	}
	return out, nil
}

func scalarLiteral(fd protoreflect.FieldDescriptor, v protoreflect.Value) *literal {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return str(v.String())
	case protoreflect.BytesKind:
		return str(base64.StdEncoding.EncodeToString(v.Bytes()))
	case protoreflect.EnumKind:
		if ev := fd.Enum().Values().ByNumber(v.Enum()); ev != nil {
			return &literal{kind: enumLiteral, text: string(ev.Name())}
		}
		return bare(strconv.Itoa(int(v.Enum())))
	case protoreflect.FloatKind:
		return bare(strconv.FormatFloat(v.Float(), 'g', -1, 32))
	case protoreflect.DoubleKind:
		return bare(numberText(v.Float()))
	}
	return bare(v.String())
}

func isWrapper(md protoreflect.MessageDescriptor) bool {
	return md.FullName().Parent() == "google.protobuf" && strings.HasSuffix(string(md.Name()), "Value") && md.Name() != "Value" && md.Name() != "ListValue"
}

// durationText is a Duration in proto JSON: seconds with as many digits as needed.
func durationText(d *durationpb.Duration) string {
	secs, nanos := d.GetSeconds(), d.GetNanos()
	sign := ""
	if secs < 0 || nanos < 0 {
		sign, secs, nanos = "-", -secs, -nanos
	}
	if nanos == 0 {
		return fmt.Sprintf("%s%ds", sign, secs)
	}
	return fmt.Sprintf("%s%d.%ss", sign, secs, strings.TrimRight(fmt.Sprintf("%09d", nanos), "0"))
}

func numberText(f float64) string {
	if f == float64(int64(f)) && f < 1e15 && f > -1e15 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func structLiteral(s *structpb.Struct) *literal {
	out := &literal{kind: mapLiteral, data: true}
	keys := make([]string, 0, len(s.GetFields()))
	for k := range s.GetFields() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		out.put(k, valueLiteral(s.GetFields()[k]))
	}
	return out
}

func valueLiteral(v *structpb.Value) *literal {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return str(k.StringValue)
	case *structpb.Value_BoolValue:
		return bare(strconv.FormatBool(k.BoolValue))
	case *structpb.Value_NumberValue:
		return bare(numberText(k.NumberValue))
	case *structpb.Value_StructValue:
		return structLiteral(k.StructValue)
	case *structpb.Value_ListValue:
		out := &literal{kind: listLiteral}
		for _, item := range k.ListValue.GetValues() {
			out.vals = append(out.vals, valueLiteral(item))
		}
		return out
	}
	return bare("null")
}

// anyLiteral writes an Any whose type is known.
func anyLiteral(a *anypb.Any) (*literal, error) {
	inner, err := contentOf(a)
	if err != nil {
		return nil, fmt.Errorf("a message of type %q cannot be written as text: its type is not known", a.GetTypeUrl())
	}
	out := &literal{kind: mapLiteral}
	out.put("@type", str(a.GetTypeUrl()))
	v, err := literalOf(inner.ProtoReflect())
	if err != nil {
		return nil, err
	}
	if v.kind != mapLiteral || v.data {
		out.put("value", v)
		return out, nil
	}
	for i, k := range v.keys {
		out.put(k, v.vals[i])
	}
	return out, nil
}

// contentOf unpacks an Any. Of the spellings of an assignment's type only one of each version is the name of a message.
func contentOf(a *anypb.Any) (proto.Message, error) {
	v, ok := eds.VersionOfURL(a.GetTypeUrl())
	if !ok {
		return a.UnmarshalNew()
	}
	m := eds.NewAssignment(v)
	return m, proto.Unmarshal(a.GetValue(), m)
}

// messageOf is literalOf for a message in its usual form.
func messageOf(m proto.Message) (*literal, error) { return literalOf(m.ProtoReflect()) }
