package eds

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// maxDurationSeconds is the range of a Duration in proto JSON, ten thousand years.
const maxDurationSeconds = 315576000000

// anyForm writes the content of a message in whatever form proto JSON gives it.
func (d *decoder) anyForm(v value, wkt wellKnown, md protoreflect.MessageDescriptor) {
	switch wkt {
	case notWellKnown:
		d.object(v, md)
		return
	case wktAny:
		d.anyMessage(v)
		return
	case wktStruct:
		d.structMessage(v, md)
		return
	case wktValue:
		d.valueMessage(v, md)
		return
	}
	if v.kind == jsonObject { // the plain form, which strict readers refuse for these types
		p := d.problem(v.node, "json-lenient", "%s is written as a message: Envoy reads it, other proto JSON readers do not", d.fieldName())
		if wkt == wktWrapper {
			p.Hint = d.wrapperHint(v)
		}
		d.add(p)
		d.object(v, md)
		return
	}
	if v.kind == jsonNull && wkt != wktFieldMask {
		return // the "value" in an Any; elsewhere null does not come here
	}
	switch wkt {
	case wktWrapper:
		d.wireDepth++
		d.scalar(v, md.Fields().ByNumber(1))
		d.wireDepth--
	case wktDuration:
		d.duration(v, md)
	case wktTimestamp:
		d.timestamp(v, md)
	case wktList:
		d.listMessage(v, md)
	case wktFieldMask:
		d.fieldMask(v, md)
	}
}

func (d *decoder) wrapperHint(v value) string {
	for k := v.node.Target().First(); k.IsValid(); k = k.Next().Next() {
		if text, ok := keyText(k); ok && text == "value" {
			if inner := look(k.Next()); inner.kind == jsonNumber || inner.kind == jsonBool || inner.kind == jsonString {
				return fmt.Sprintf("write %s: %s", d.frames[len(d.frames)-1].written(), inner.text)
			}
		}
	}
	return ""
}

// duration reads seconds with up to nine decimals and the letter s.
func (d *decoder) duration(v value, md protoreflect.MessageDescriptor) {
	if v.kind != jsonString {
		p := d.problem(v.node, "value-type", "%s must be a duration in seconds with an s, like \"30s\"", d.fieldName())
		if v.kind == jsonNumber {
			p.Hint = fmt.Sprintf("write %ss", v.text)
		}
		p.Envoy.Message = d.jsonText(fmt.Sprintf(`unexpected character: '%s'; expected '"'`, v.first()))
		d.hardProblem(p)
		return
	}
	text, ok := d.stringValue(v)
	if !ok {
		return
	}
	v.text = text
	secs, nanos, cause := parseDuration(v.text)
	if cause != "" {
		d.typeError(v.node, fmt.Sprintf("%s must be a duration in seconds with an s, like \"30s\" or \"0.5s\", not %q", d.fieldName(), v.text), cause)
		return
	}
	d.secondsAndNanos(md, secs, nanos)
}

// secondsAndNanos writes the fields of a Duration or a Timestamp, zeros too: they replace what an earlier copy said.
func (d *decoder) secondsAndNanos(md protoreflect.MessageDescriptor, secs int64, nanos int32) {
	d.varint(md.Fields().ByNumber(1), uint64(secs))         //nolint:gosec // as the wire has negative numbers
	d.varint(md.Fields().ByNumber(2), uint64(int64(nanos))) //nolint:gosec // as the wire has negative numbers
}

// parseDuration follows protobuf's ParseDuration; cause is the end of its error, empty when the text is good.
func parseDuration(s string) (secs int64, nanos int32, cause string) {
	end := 0
	for end < len(s) && (s[end] == '-' || s[end] >= '0' && s[end] <= '9') {
		end++
	}
	if end == 0 {
		return 0, 0, "duration must start with an integer"
	}
	n, err := atoi(s[:end])
	if err != nil || n.abs > math.MaxInt64 {
		return 0, 0, "duration had bad seconds"
	}
	if n.abs > maxDurationSeconds {
		return 0, 0, "duration out of range"
	}
	secs = int64(n.abs) //nolint:gosec // bounded
	rest := s[end:]
	if strings.HasPrefix(rest, ".") {
		digits := 0
		for digits+1 < len(rest) && rest[digits+1] >= '0' && rest[digits+1] <= '9' {
			nanos = nanos*10 + int32(rest[digits+1]-'0')
			if digits++; digits > 9 {
				break
			}
		}
		if digits == 0 || digits > 9 {
			return 0, 0, "duration had bad nanoseconds"
		}
		for i := digits; i < 9; i++ {
			nanos *= 10
		}
		rest = rest[digits+1:]
	}
	if rest != "s" {
		return 0, 0, "duration must end with a single 's'"
	}
	if strings.HasPrefix(s, "-") {
		secs, nanos = -secs, -nanos
	}
	return secs, nanos, ""
}

// step reads through one of the steps that protobuf puts into its paths for a Struct, a list or an Any.
func (d *decoder) step(name, typ string, read func()) {
	d.within(frame{name: name, typ: "message " + typ, index: -1}, read)
}

func (d *decoder) structMessage(v value, md protoreflect.MessageDescriptor) {
	fields := d.schema.message(md).fields["fields"]
	d.wireDepth++
	d.step("<struct>", "google.protobuf.Struct.FieldsEntry", func() {
		if v.kind != jsonNull {
			d.mapField(v, fields)
		}
	})
	d.wireDepth--
}

func (d *decoder) listMessage(v value, md protoreflect.MessageDescriptor) {
	if v.kind != jsonArray {
		d.unexpected(v, "[")
		return
	}
	values := d.schema.message(md).fields["values"]
	d.wireDepth++
	d.step("<list>", "google.protobuf.Value", func() { d.elements(v, values) })
	d.wireDepth--
}

func (d *decoder) valueMessage(v value, md protoreflect.MessageDescriptor) {
	fields := md.Fields()
	d.enterMessage(v)
	if text, ok := plainNumber(v); ok {
		if d.numberAsText = true; d.numbers {
			v.kind, v.text = jsonNumber, text
		}
	}
	switch v.kind {
	case jsonNothing:
		d.broke(v.node)
	case jsonNull:
		d.varint(fields.ByNumber(1), 0)
	case jsonNumber, jsonBool:
		if v.broken {
			d.brokenOfValue(v)
			break
		}
		if v.kind == jsonBool {
			d.varint(fields.ByNumber(4), protowire.EncodeBool(v.text == "true"))
			break
		}
		f, _ := atod(v.text)
		d.out = protowire.AppendTag(d.out, 2, protowire.Fixed64Type)
		d.out = protowire.AppendFixed64(d.out, math.Float64bits(f))
	case jsonString:
		d.stringOfValue(v)
	case jsonObject:
		d.nested(5, func() {
			d.step("struct_value", "google.protobuf.Struct", func() { d.structMessage(v, fields.ByNumber(5).Message()) })
		})
	case jsonArray:
		d.nested(6, func() {
			d.step("list_value", "google.protobuf.ListValue", func() { d.listMessage(v, fields.ByNumber(6).Message()) })
		})
	}
	d.wireDepth--
}

// typeURL finds the @type of an object that stands for an Any. ok is false when there is none.
func typeURL(n document.Node) (url string, at document.Node, ok bool) {
	n = n.Target()
	if n.Kind() != document.Mapping {
		return "", document.Node{}, false
	}
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		if text, isText := keyText(k); isText && text == "@type" && k.Tag() != ignoreTag {
			v := look(k.Next())
			url, at, ok = v.text, k.Next(), v.kind == jsonString // the last one counts
		}
	}
	return url, at, ok
}

// anyMessage writes an Any: its value where the type is one that edsctl models, the type alone otherwise.
func (d *decoder) anyMessage(v value) {
	if v.kind != jsonObject {
		d.unexpected(v, "{")
		return
	}
	if d.cause != "" && endsBroken(v.node) {
		d.broke(v.node) // it is passed over before it is read
		return
	}
	url, at, ok := typeURL(v.node)
	if !ok {
		if at.IsValid() {
			bad := look(at)
			bad.node = at
			d.unexpected(bad, `"`)
			return
		}
		if v.node.Target().First().IsValid() {
			p := d.problem(v.node, "any-type-missing", "%s needs an \"@type\"", d.fieldName())
			p.Envoy.Message = d.jsonText("in legacy mode, missing @type in Any is only allowed for an empty object")
			d.hardProblem(p)
		}
		return
	}
	if !d.checkTypeURL(url, at) {
		return
	}
	d.out = protowire.AppendTag(d.out, 1, protowire.BytesType)
	d.out = protowire.AppendString(d.out, url)
	mt, err := protoregistry.GlobalTypes.FindMessageByURL(url)
	if err != nil || strings.HasPrefix(string(mt.Descriptor().FullName()), "envoy.api.v2.") {
		d.skipValue(v.node) // a type that edsctl does not model, or of which it said that Envoy has none
		d.step("<any>", "", func() { d.typesTwice(v.node) })
		if messageName(url) == HTTPOptionsName {
			o := httpOutline()
			d.step("<any>", o.message, func() { d.outlined(v.node, o) })
		}
		return
	}
	md := mt.Descriptor()
	d.nested(2, func() { d.step("<any>", string(md.FullName()), func() { d.anyValue(v, md) }) })
}

// anyValue writes what stands in an Any beside its @type: the fields of the message, or "value" for well-known types.
func (d *decoder) anyValue(v value, md protoreflect.MessageDescriptor) {
	if !d.enter(v) {
		d.leave()
		return
	}
	defer d.leave()
	outer := d.wireDepth
	d.wireDepth = 0 // its bytes are not read with the message around it
	defer func() { d.wireDepth = outer }()
	wkt := classify(md.FullName())
	if wkt == notWellKnown {
		d.fields(v, d.schema.message(md), anyFields)
		return
	}
	base := len(d.entries)
	d.readEntries(v.node.Target(), nil)
	end := len(d.entries)
	for i := base; i < end; i++ {
		e := d.entries[i]
		switch {
		case e.dead || e.text() == "@type":
		case e.text() == "value":
			inner := look(e.value)
			inner.node = e.value
			d.anyForm(inner, wkt, md)
		default:
			d.typeError(e.key, fmt.Sprintf("%q does not belong into an Any of type %s: write its content under \"value\"", e.text(), md.FullName()),
				"fields in a well-known-typed Any must be @type or value")
		}
	}
	d.entries = d.entries[:base]
}

// checkTypeURL reports a type URL that Envoy refuses wherever it stands.
func (d *decoder) checkTypeURL(url string, at document.Node) bool {
	slash := strings.LastIndexByte(url, '/')
	if slash <= 0 {
		p := d.problem(at, "any-type-missing", "@type %q needs a host and a slash before the type, as in \"type.googleapis.com/%s\"", url, url)
		p.Envoy.Message = d.parseText("@type must contain at least one / and a nonempty host; got: " + url)
		d.hardProblem(p)
		return false
	}
	name := url[slash+1:]
	if reason := unknownTypeReason(name, d.version); reason != "" {
		p := d.problem(at, "any-type-unknown", "%s: Envoy cannot read the whole file", reason)
		p.Envoy = diag.Override{Stage: "00c-json", Message: d.parseText(fmt.Sprintf("could not find @type '%s'", url))}
		switch {
		case strings.HasPrefix(name, policyPackage): // gRPC may have it
			p.Rule, p.Message = "lb-policy-unknown", reason+", so it cannot read the file"
			d.add(p)
			return true
		case isOldAssignment(name):
			p.Rule = "v2-type"
		default:
			if near := nearestType(name); near != "" {
				p.Hint = fmt.Sprintf("did you mean `%s%s`?", urlPrefix, near)
			}
		}
		d.hardProblem(p)
	}
	return true
}

func isDeprecatedEnum(ev protoreflect.EnumValueDescriptor) bool {
	o, ok := ev.Options().(*descriptorpb.EnumValueOptions)
	return ok && o.GetDeprecated()
}
