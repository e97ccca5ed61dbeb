package lint

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/diag"
)

// embedded is how a chain of constraint errors goes from a message to one inside it.
const embedded = "embedded message failed validation | caused by "

// violation is one constraint that a message breaks.
type violation struct {
	path    diag.Path                      // of the field; of the message when a oneof is required
	message protoreflect.MessageDescriptor // that declares the constraint
	field   string                         // proto name of the field or oneof
	top     string                         // the first field of the path
	chain   string                         // Envoy's text, from the outermost message on
	reason  string                         // of the constraint, as in Go's text
	oneof   bool                           // a required oneof is not set
	value   string                         // of the field, as text; empty when it is no scalar
}

// words tells a user what is wrong.
func (v *violation) words() string {
	switch {
	case v.oneof:
		var members []string
		fields := v.message.Oneofs().ByName(protoreflect.Name(v.field)).Fields()
		for i := range fields.Len() {
			members = append(members, string(fields.Get(i).Name()))
		}
		return fmt.Sprintf("one of %s must be set", strings.Join(members, ", "))
	case strings.HasPrefix(v.reason, "value length must be at least 1 "):
		return fmt.Sprintf("%s must not be empty", v.field)
	case v.value == "":
		return fmt.Sprintf("%s: %s", v.field, v.reason)
	}
	return fmt.Sprintf("%s is %s, but its %s", v.field, v.value, v.reason)
}

// The interfaces of the errors that protoc-gen-validate makes.
type (
	fieldError interface {
		Field() string
		Reason() string
		Cause() error
		ErrorName() string
	}
	multiError interface{ AllErrors() []error }
)

// violations of a message, in the order of the check: fields as declared, depth first, oneofs last, map keys sorted.
func violations(m proto.Message) []violation {
	v, ok := m.(interface{ ValidateAll() error })
	if !ok {
		return nil
	}
	err := v.ValidateAll()
	if err == nil {
		return nil
	}
	var out []violation
	collect(err, m.ProtoReflect(), nil, "", &out)
	return out
}

// collect walks an error of ValidateAll together with the message that it is about. at is nil where the message
// is not there.
func collect(err error, at protoreflect.Message, path diag.Path, chain string, out *[]violation) {
	if many, ok := err.(multiError); ok {
		for _, e := range many.AllErrors() {
			collect(e, at, path, chain, out)
		}
		return
	}
	e, ok := err.(fieldError)
	if !ok || at == nil {
		return
	}
	name, key, inside := splitField(e.Field())
	prefix := chain + shortName(e.ErrorName()) + "." + e.Field() + ": "
	fd := fieldByCamel(at.Descriptor(), name)
	if fd == nil {
		oneof := oneofByCamel(at.Descriptor(), name)
		*out = append(*out, violation{
			path: path, message: at.Descriptor(), field: oneof, top: top(path, oneof), oneof: true, reason: e.Reason(),
			chain: chain + fmt.Sprintf("field: %q, reason: is required", oneof),
		})
		return
	}
	next := path.Field(string(fd.Name()))
	value := at.Get(fd)
	switch {
	case !inside:
	case fd.IsMap():
		next = next.Key(key)
		value = value.Map().Get(mapKey(fd, key))
	case fd.IsList():
		i, _ := strconv.Atoi(key)
		next = next.Index(i)
		value = value.List().Get(i)
	}
	if e.Cause() != nil {
		sub := at
		if m, ok := value.Interface().(protoreflect.Message); ok {
			sub = m
		}
		collect(e.Cause(), sub, next, prefix+embedded, out)
		return
	}
	*out = append(*out, violation{
		path: next, message: at.Descriptor(), field: string(fd.Name()), top: top(next, ""), reason: e.Reason(),
		chain: prefix + cppReason(e.Reason()), value: scalarText(fd, value, inside),
	})
}

// mapKey converts the text of a key to the type of the map's keys: strings, in all messages that are checked.
func mapKey(fd protoreflect.FieldDescriptor, key string) protoreflect.MapKey {
	if fd.MapKey().Kind() == protoreflect.StringKind {
		return protoreflect.ValueOfString(key).MapKey()
	}
	n, _ := strconv.ParseUint(key, 10, 32)
	return protoreflect.ValueOfUint32(uint32(n)).MapKey()
}

func top(path diag.Path, otherwise string) string {
	if len(path) > 0 {
		return path[0].Name
	}
	return otherwise
}

// splitField cuts "Endpoints[3]" into the Go name and what is in the brackets.
func splitField(field string) (name, key string, inside bool) {
	name, rest, inside := strings.Cut(field, "[")
	return name, strings.TrimSuffix(rest, "]"), inside
}

// shortName cuts the outer messages off the name of an error: Envoy's C++ names only the innermost message.
func shortName(errorName string) string {
	return errorName[strings.LastIndexByte(errorName, '_')+1:]
}

// fieldByCamel finds the field that the generator calls "LoadBalancingWeight".
func fieldByCamel(d protoreflect.MessageDescriptor, camel string) protoreflect.FieldDescriptor {
	fields := d.Fields()
	for i := range fields.Len() {
		if sameName(string(fields.Get(i).Name()), camel) {
			return fields.Get(i)
		}
	}
	return nil
}

func oneofByCamel(d protoreflect.MessageDescriptor, camel string) string {
	oneofs := d.Oneofs()
	for i := range oneofs.Len() {
		if name := string(oneofs.Get(i).Name()); sameName(name, camel) {
			return name
		}
	}
	return camel
}

func sameName(snake, camel string) bool {
	return strings.EqualFold(strings.ReplaceAll(snake, "_", ""), strings.ReplaceAll(camel, "_", ""))
}

// cppReason is the reason in Envoy's words: C++ counts characters where Go counts runes.
func cppReason(reason string) string {
	if head, ok := strings.CutSuffix(reason, " runes"); ok {
		return head + " characters"
	}
	return reason
}

// scalarText is the value of a field for the message, where it is a scalar or a wrapper of one.
func scalarText(fd protoreflect.FieldDescriptor, v protoreflect.Value, inside bool) string {
	if inside || fd.IsList() || fd.IsMap() {
		return ""
	}
	if fd.Message() == nil {
		if fd.Kind() == protoreflect.StringKind {
			return strconv.Quote(v.String())
		}
		return v.String()
	}
	wrapped := fd.Message().Fields().ByName("value")
	if wrapped == nil || fd.Message().Fields().Len() != 1 {
		return ""
	}
	return v.Message().Get(wrapped).String()
}
