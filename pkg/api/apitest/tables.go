// Package apitest writes descriptors as lines of text, so that tests can compare them with tables. It links no version
// of the API: two packages with the same names of messages cannot be in one program.
package apitest

import (
	"fmt"
	"os"
	"strings"

	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// ReadTable is the lines of a table, without comments, empty lines and the blanks that align columns.
func ReadTable(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return lines, nil
}

// Describe lists the fields and enums of messages, then those of the messages in them, each message once. The messages
// of google.* are left out.
func Describe(roots ...proto.Message) []string {
	var out []string
	seen := map[protoreflect.FullName]bool{}
	for _, r := range roots {
		out = append(out, describe(r.ProtoReflect().Descriptor(), seen)...)
	}
	return out
}

func describe(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) []string {
	if seen[md.FullName()] || strings.HasPrefix(string(md.FullName()), "google.") {
		return nil
	}
	seen[md.FullName()] = true
	out := []string{"message " + string(md.FullName())}
	for i := range md.ReservedRanges().Len() {
		r := md.ReservedRanges().Get(i)
		out = append(out, fmt.Sprintf("reserved %d-%d", r[0], r[1]-1))
	}
	var inner []string
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		out = append(out, strings.Join(strings.Fields(fmt.Sprint(fd.Number(), " ", fd.Name(), " ", typeOf(fd), OneofOf(fd), " ", RuleOf(fd), deprecatedOf(fd))), " "))
		if m := valueMessage(fd); m != nil {
			inner = append(inner, describe(m, seen)...)
		}
		if fd.Enum() != nil && !seen[fd.Enum().FullName()] {
			seen[fd.Enum().FullName()] = true
			inner = append(inner, EnumOf(fd.Enum()))
		}
	}
	return append(out, inner...)
}

func valueMessage(fd protoreflect.FieldDescriptor) protoreflect.MessageDescriptor {
	if fd.IsMap() {
		return fd.MapValue().Message()
	}
	return fd.Message()
}

func typeOf(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.IsMap():
		return "map<" + typeOf(fd.MapKey()) + "," + typeOf(fd.MapValue()) + ">"
	case fd.IsList():
		return "repeated " + elementOf(fd)
	default:
		return elementOf(fd)
	}
}

func elementOf(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.Message() != nil:
		return string(fd.Message().FullName())
	case fd.Enum() != nil:
		return string(fd.Enum().FullName())
	default:
		return fd.Kind().String()
	}
}

// OneofOf is " oneof NAME" of a field in a oneof, with " required" when a rule says so; empty elsewhere.
func OneofOf(fd protoreflect.FieldDescriptor) string {
	o := fd.ContainingOneof()
	if o == nil {
		return ""
	}
	if proto.GetExtension(o.Options(), validate.E_Required).(bool) {
		return " oneof " + string(o.Name()) + " required"
	}
	return " oneof " + string(o.Name())
}

// RuleOf is the field's protoc-gen-validate rule as text in brackets, empty when there is none.
func RuleOf(fd protoreflect.FieldDescriptor) string {
	rules := proto.GetExtension(fd.Options(), validate.E_Rules).(*validate.FieldRules)
	if rules == nil {
		return ""
	}
	// prototext's blanks are random.
	return "[" + strings.Join(strings.Fields(prototext.Format(rules)), "") + "]"
}

func deprecatedOf(fd protoreflect.FieldDescriptor) string {
	if o, ok := fd.Options().(*descriptorpb.FieldOptions); ok && o.GetDeprecated() {
		return " deprecated"
	}
	return ""
}

// EnumOf is "enum NAME" and the values.
func EnumOf(ed protoreflect.EnumDescriptor) string {
	out := "enum " + string(ed.FullName())
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		out += fmt.Sprintf(" %s=%d", v.Name(), v.Number())
	}
	return out
}
