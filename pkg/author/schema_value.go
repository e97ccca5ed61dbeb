package author

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func stringOrNull() []string { return []string{"string", "null"} }
func objectOrNull() []string { return []string{"object", "null"} }

// present tells that a field, given in snake_case, is there in either spelling. Null is the same as absent.
func present(name string) schema {
	one := func(spelling string) schema {
		return schema{"type": "object", "required": []string{spelling}, "properties": schema{spelling: schema{"not": schema{"type": "null"}}}}
	}
	if c := camelCase(name); c != name {
		return schema{"anyOf": []schema{one(name), one(c)}}
	}
	return one(name)
}

// list is a list, or the one element of it, which Envoy takes as well. Lists in lists are read as one list.
func list(item schema) schema {
	return schema{
		"if":   schema{"type": "array"},
		"then": schema{"items": schema{"if": schema{"type": "array"}, "else": orNull(item)}},
		"else": orNull(item),
	}
}

func orNull(s schema) schema {
	if t, ok := s["type"].([]string); ok && slices.Contains(t, "null") || s["$ref"] != nil || len(s) == 0 {
		return s
	}
	return schema{"if": schema{"type": "null"}, "else": s}
}

// object is the definition of a message.
func (b *schemaBuilder) object(md protoreflect.MessageDescriptor) schema {
	properties := schema{}
	if isRootMessage(md) {
		properties["@type"] = schema{"type": "string"}
	}
	all := append(b.oneofs(md), b.extra(md)...)
	fds := md.Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		rules := rulesOf(fd)
		properties[string(fd.Name())] = b.documented(fd, b.field(fd, rules))
		if fd.JSONName() != string(fd.Name()) {
			properties[fd.JSONName()] = properties[string(fd.Name())]
			if b.inDefs[md.FullName()] {
				properties[fd.JSONName()] = schema{"$ref": "#/$defs/" + string(md.FullName()) + "/properties/" + string(fd.Name())}
			}
		}
		if isRequired(fd, rules) {
			all = append(all, present(string(fd.Name())))
		}
	}
	out := schema{"type": objectOrNull(), "properties": properties}
	if len(all) > 0 {
		out["if"], out["then"] = schema{"type": "object"}, schema{"allOf": all}
	}
	if b.strict {
		out["additionalProperties"] = false
	}
	return out
}

// isRootMessage tells whether a message may be the content of an Any, where its type stands among its fields.
func isRootMessage(md protoreflect.MessageDescriptor) bool {
	return slices.Contains([]protoreflect.Name{"ClusterLoadAssignment", "Cluster", "Resource", "DiscoveryResponse", "DeltaDiscoveryResponse"}, md.Name())
}

// oneofs are the rules about fields of which one at most may be set, and one must be where the API says so.
func (b *schemaBuilder) oneofs(md protoreflect.MessageDescriptor) []schema {
	var all []schema
	for i := range md.Oneofs().Len() {
		o := md.Oneofs().Get(i)
		if o.IsSynthetic() {
			continue
		}
		var members, pairs []schema
		for j := range o.Fields().Len() {
			members = append(members, b.has(string(o.Fields().Get(j).Name())))
			for k := range j {
				pairs = append(pairs, schema{"allOf": []schema{members[k], members[j]}})
			}
		}
		if len(pairs) > 0 {
			all = append(all, schema{"not": schema{"anyOf": pairs}})
		}
		if options, ok := o.Options().(*descriptorpb.OneofOptions); ok && proto.GetExtension(options, validate.E_Required).(bool) {
			all = append(all, schema{"anyOf": members})
		}
	}
	return all
}

// rulesOf are the constraints of a field; never nil.
func rulesOf(fd protoreflect.FieldDescriptor) *validate.FieldRules {
	if options, ok := fd.Options().(*descriptorpb.FieldOptions); ok {
		if rules, ok := proto.GetExtension(options, validate.E_Rules).(*validate.FieldRules); ok && rules != nil {
			return rules
		}
	}
	return &validate.FieldRules{}
}

// documented adds what the .proto file says of a field.
func (b *schemaBuilder) documented(fd protoreflect.FieldDescriptor, s schema) schema {
	doc := b.docs[string(fd.FullName())]
	options, _ := fd.Options().(*descriptorpb.FieldOptions)
	if doc == "" && !options.GetDeprecated() {
		return s
	}
	out := schema{}
	for k, v := range s {
		out[k] = v
	}
	if doc != "" {
		out["description"] = doc
	}
	if options.GetDeprecated() {
		out["deprecated"] = true
	}
	return out
}

// field is the schema of a field's value.
func (b *schemaBuilder) field(fd protoreflect.FieldDescriptor, rules *validate.FieldRules) schema {
	switch {
	case fd.IsMap():
		m := rules.GetMap()
		if m == nil {
			m = &validate.MapRules{}
		}
		s := schema{"type": objectOrNull(), "additionalProperties": b.value(fd.MapValue(), orNone(m.GetValues()))}
		if keys := stringRules(orNone(m.GetKeys()).GetString_()); len(keys) > 0 && fd.MapKey().Kind() == protoreflect.StringKind {
			s["propertyNames"] = keys
		}
		limits(s, "minProperties", m.MinPairs)
		limits(s, "maxProperties", m.MaxPairs)
		return s
	case fd.IsList():
		r := rules.GetRepeated()
		if r == nil {
			r = &validate.RepeatedRules{}
		}
		s := list(b.value(fd, orNone(r.GetItems())))
		limits(s["then"].(schema), "minItems", r.MinItems)
		limits(s["then"].(schema), "maxItems", r.MaxItems)
		return s
	}
	return b.value(fd, rules)
}

func orNone(r *validate.FieldRules) *validate.FieldRules {
	if r == nil {
		return &validate.FieldRules{}
	}
	return r
}

func limits(s schema, key string, limit *uint64) {
	if limit != nil {
		s[key] = *limit
	}
}

// value is the schema of one value of a field.
func (b *schemaBuilder) value(fd protoreflect.FieldDescriptor, rules *validate.FieldRules) schema {
	if fd.Message() == nil {
		return b.scalar(fd, rules)
	}
	switch md := fd.Message(); md.FullName() {
	case "google.protobuf.Any":
		return anySchema()
	case "google.protobuf.Struct", "google.protobuf.Empty":
		return schema{"type": objectOrNull()}
	case "google.protobuf.Value":
		return schema{}
	case "google.protobuf.ListValue":
		return schema{"type": []string{"array", "null"}}
	case "google.protobuf.Duration":
		return durationSchema(rules.GetDuration())
	case "google.protobuf.Timestamp", "google.protobuf.FieldMask":
		return schema{"type": []string{"string", "object", "null"}}
	default:
		if isWrapper(md) {
			return wrapped(b.scalar(md.Fields().ByNumber(1), rules))
		}
		return b.message(md)
	}
}

// wrapped is a scalar, or the message around it, which Envoy takes as well.
func wrapped(s schema) schema {
	inner := schema{}
	for k, v := range s {
		inner[k] = v
	}
	s["type"] = append(slices.Clone(s["type"].([]string)), "object")
	s["properties"] = schema{"value": inner}
	s["additionalProperties"] = false
	return s
}

func anySchema() schema {
	return schema{
		"type":       objectOrNull(),
		"properties": schema{"@type": schema{"type": "string", "pattern": "^.+/"}},
		"if":         schema{"type": "object", "minProperties": 1}, "then": schema{"required": []string{"@type"}},
	}
}

// scalar is the schema of a value that is no message, with everything that Envoy reads as one.
func (b *schemaBuilder) scalar(fd protoreflect.FieldDescriptor, rules *validate.FieldRules) schema {
	switch fd.Kind() {
	case protoreflect.StringKind:
		s := stringRules(rules.GetString_())
		s["type"] = stringOrNull()
		return s
	case protoreflect.BytesKind:
		return schema{"type": stringOrNull()}
	case protoreflect.BoolKind:
		return schema{"type": []string{"boolean", "string", "null"}, "pattern": "^(" + strings.Join(anyCase("true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"), "|") + ")$"}
	case protoreflect.EnumKind:
		return b.enum(fd.Enum(), rules.GetEnum())
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return integer(0, math.MaxUint32, boundsOf(rules))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return integer(0, math.MaxUint64, boundsOf(rules))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return integer(math.MinInt32, math.MaxInt32, boundsOf(rules))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return integer(math.MinInt64, math.MaxInt64, boundsOf(rules))
	}
	s := schema{"type": []string{"number", "string", "null"}, "pattern": `^([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|-?Infinity)$`}
	bounds := boundsOf(rules)
	bounds.into(s)
	return s
}

// anyCase are patterns that match words in any case.
func anyCase(words ...string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		var p strings.Builder
		for _, c := range w {
			lower, upper := strings.ToLower(string(c)), strings.ToUpper(string(c))
			if lower == upper {
				p.WriteRune(c)
			} else {
				p.WriteString("[" + upper + lower + "]")
			}
		}
		out[i] = p.String()
	}
	return out
}

// enum takes names in any case, numbers and numbers in strings. Envoy treats unknown names as it treats unknown fields.
func (b *schemaBuilder) enum(ed protoreflect.EnumDescriptor, rules *validate.EnumRules) schema {
	var names, numbers []string
	var values []int32
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		number := int32(v.Number())
		if slices.Contains(rules.GetNotIn(), number) || len(rules.GetIn()) > 0 && !slices.Contains(rules.GetIn(), number) {
			continue
		}
		names = append(names, string(v.Name()))
		values = append(values, number)
		numbers = append(numbers, strconv.Itoa(int(number)))
	}
	text := schema{"type": "string"}
	number := schema{"type": []string{"integer", "null"}, "minimum": math.MinInt32, "maximum": math.MaxInt32}
	digits := "[+-]?[0-9]+"
	if rules.GetDefinedOnly() {
		number = schema{"enum": append(anySlice(values), nil)}
		digits = `\+?0*(` + strings.Join(numbers, "|") + ")"
	}
	switch {
	case b.strict:
		text["pattern"] = "^(" + strings.Join(append(anyCase(names...), `\s*`+digits+`\s*`), "|") + ")$"
	case rules.GetDefinedOnly(): // an unknown name counts as 0, an undefined number does not
		text = schema{"type": "string", "anyOf": []schema{{"pattern": `^\s*` + digits + `\s*$`}, {"not": schema{"pattern": `^\s*[+-]?[0-9]+\s*$`}}}}
	}
	return schema{"anyOf": []schema{{"enum": names}, text, number}}
}

func anySlice[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

// durationSchema is seconds with up to nine decimals, or the message.
func durationSchema(r *validate.DurationRules) schema {
	s := schema{
		"type": []string{"string", "object", "null"}, "pattern": `^-?[0-9]+(\.[0-9]{1,9})?s$`,
		"properties": schema{"seconds": integer(math.MinInt64, math.MaxInt64, bounds{}), "nanos": integer(math.MinInt32, math.MaxInt32, bounds{})}, "additionalProperties": false,
	}
	zero := r.GetGt() != nil
	if zero || r.GetGte() != nil && r.GetGte().GetSeconds() >= 0 && r.GetGte().GetNanos() >= 0 {
		s["pattern"] = `^[0-9]+(\.[0-9]{1,9})?s$`
	}
	if zero {
		s["not"] = schema{"type": "string", "pattern": `^0+(\.0+)?s$`}
	}
	return s
}

// isRequired tells whether a field must be present: the API says so, or its zero value breaks a constraint.
func isRequired(fd protoreflect.FieldDescriptor, rules *validate.FieldRules) bool {
	if rules.GetMessage().GetRequired() || rules.GetAny().GetRequired() || rules.GetDuration().GetRequired() || rules.GetTimestamp().GetRequired() {
		return true
	}
	if fd.HasPresence() {
		return false
	}
	if r := rules.GetRepeated(); r.GetMinItems() > 0 && !r.GetIgnoreEmpty() {
		return true
	}
	if m := rules.GetMap(); m.GetMinPairs() > 0 && !m.GetIgnoreEmpty() {
		return true
	}
	if fd.IsList() || fd.IsMap() {
		return false
	}
	if s := rules.GetString_(); (s.GetMinLen() > 0 || s.GetMinBytes() > 0) && !s.GetIgnoreEmpty() {
		return true
	}
	if e := rules.GetEnum(); slices.Contains(e.GetNotIn(), 0) || len(e.GetIn()) > 0 && !slices.Contains(e.GetIn(), 0) {
		return true
	}
	bounds := boundsOf(rules)
	return bounds.excludesZero()
}
