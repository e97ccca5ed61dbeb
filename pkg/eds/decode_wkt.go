package eds

import (
	"fmt"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// maxDurationSeconds is the range of a Duration in proto JSON, ten thousand years.
const maxDurationSeconds = 315576000000

// wellKnownMessage reads a message in the form that proto JSON gives it.
func (d *decoder) wellKnownMessage(v value, wkt wellKnown, m protoreflect.Message) {
	switch wkt {
	case wktAny:
		d.anyMessage(v, m)
		return
	case wktStruct:
		d.structMessage(v, m)
		return
	case wktValue:
		d.valueMessage(v, m)
		return
	}
	if v.kind == jsonNull {
		return
	}
	if v.kind == jsonObject { // the plain form, which strict readers refuse for these types
		if wkt != notWellKnown && wkt != wktOther {
			p := d.problem(v.node, "json-lenient", "%s is written as a message: Envoy reads it, other proto JSON readers do not", d.field())
			if wkt == wktWrapper {
				p.Hint = d.wrapperHint(v)
			}
			d.add(p)
		}
		d.object(value{node: v.node.Target(), kind: jsonObject}, m)
		return
	}
	switch wkt {
	case wktWrapper:
		d.wireDepth++
		fd := m.Descriptor().Fields().ByNumber(1)
		if x, ok := d.scalar(v, fd); ok {
			m.Set(fd, x)
		}
		d.wireDepth--
	case wktDuration:
		d.duration(v, m)
	case wktTimestamp:
		d.timestamp(v, m)
	case wktList:
		d.listMessage(v, m)
	default:
		d.unexpected(v, "{")
	}
}

func (d *decoder) wrapperHint(v value) string {
	for k := v.node.Target().First(); k.IsValid(); k = k.Next().Next() {
		if text, ok := keyText(k); ok && text == "value" {
			if inner := look(k.Next()); inner.kind == jsonNumber || inner.kind == jsonBool || inner.kind == jsonString {
				return fmt.Sprintf("write %s: %s", d.frames[len(d.frames)-1].written, inner.text)
			}
		}
	}
	return ""
}

// duration reads seconds with up to nine decimals and the letter s.
func (d *decoder) duration(v value, m protoreflect.Message) {
	if v.kind != jsonString {
		p := d.problem(v.node, "value-type", "%s must be a duration in seconds with an s, like \"30s\"", d.field())
		if v.kind == jsonNumber {
			p.Hint = fmt.Sprintf("write %ss", v.text)
		}
		p.Envoy.Message = d.jsonText(fmt.Sprintf(`unexpected character: '%s'; expected '"'`, v.first()))
		d.hardProblem(p)
		return
	}
	secs, nanos, cause := parseDuration(v.text)
	if cause != "" {
		d.typeError(v.node, fmt.Sprintf("%s must be a duration in seconds with an s, like \"30s\" or \"0.5s\", not %q", d.field(), v.text), cause)
		return
	}
	m.Set(m.Descriptor().Fields().ByNumber(1), protoreflect.ValueOfInt64(secs))
	m.Set(m.Descriptor().Fields().ByNumber(2), protoreflect.ValueOfInt32(nanos))
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

func (d *decoder) timestamp(v value, m protoreflect.Message) {
	s, ok := d.stringValue(v)
	if !ok {
		return
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		d.typeError(v.node, fmt.Sprintf("%s must be a time like \"2020-01-02T03:04:05Z\", not %q", d.field(), s), "bad timestamp")
		return
	}
	m.Set(m.Descriptor().Fields().ByNumber(1), protoreflect.ValueOfInt64(t.Unix()))
	m.Set(m.Descriptor().Fields().ByNumber(2), protoreflect.ValueOfInt32(int32(t.Nanosecond()))) //nolint:gosec // below 1e9
}

// step reads through one of the steps that protobuf puts into its paths for a Struct, a list or an Any.
func (d *decoder) step(name, typ string, read func()) {
	d.frames = append(d.frames, frame{written: name, typ: "message " + typ, index: -1})
	read()
	d.frames = d.frames[:len(d.frames)-1]
}

func (d *decoder) structMessage(v value, m protoreflect.Message) {
	fd := m.Descriptor().Fields().ByNumber(1)
	d.wireDepth++
	d.step("<struct>", "google.protobuf.Struct.FieldsEntry", func() {
		if v.kind == jsonNull {
			return
		}
		d.frames[len(d.frames)-1].index = -1
		d.mapField(v, fd, m)
	})
	d.wireDepth--
}

func (d *decoder) listMessage(v value, m protoreflect.Message) {
	fd := m.Descriptor().Fields().ByNumber(1)
	if v.kind != jsonArray {
		d.unexpected(v, "[")
		return
	}
	d.wireDepth++
	d.step("<list>", "google.protobuf.Value", func() {
		d.elements(v, &fieldInfo{fd: fd, wkt: wktValue}, m.Mutable(fd).List())
	})
	d.wireDepth--
}

func (d *decoder) valueMessage(v value, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	d.enterMessage(v)
	defer func() { d.wireDepth-- }()
	switch v.kind {
	case jsonNull:
		m.Set(fields.ByNumber(1), protoreflect.ValueOfEnum(0))
	case jsonNumber:
		f, _ := atod(v.text)
		m.Set(fields.ByNumber(2), protoreflect.ValueOfFloat64(f))
	case jsonString:
		m.Set(fields.ByNumber(3), protoreflect.ValueOfString(v.text))
	case jsonBool:
		m.Set(fields.ByNumber(4), protoreflect.ValueOfBool(v.text == "true"))
	case jsonObject:
		d.structMessage(v, m.Mutable(fields.ByNumber(5)).Message())
	case jsonArray:
		d.listMessage(v, m.Mutable(fields.ByNumber(6)).Message())
	}
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

// anyMessage reads an Any: its value where the type is one that edsctl models, the type alone otherwise.
func (d *decoder) anyMessage(v value, m protoreflect.Message) {
	if v.kind == jsonNull {
		return
	}
	if v.kind != jsonObject {
		d.unexpected(v, "{")
		return
	}
	url, at, ok := typeURL(v.node)
	if !ok {
		if at.IsValid() {
			d.unexpected(value{node: at, kind: look(at).kind, text: look(at).text}, `"`)
			return
		}
		if v.node.Target().First().IsValid() {
			p := d.problem(v.node, "any-type-missing", "%s needs an \"@type\"", d.field())
			p.Envoy.Message = d.jsonText("in legacy mode, missing @type in Any is only allowed for an empty object")
			d.hardProblem(p)
		}
		return
	}
	if !d.checkTypeURL(url, at) {
		return
	}
	m.Set(m.Descriptor().Fields().ByNumber(1), protoreflect.ValueOfString(url))
	mt, err := protoregistry.GlobalTypes.FindMessageByURL(url)
	if err != nil || strings.HasPrefix(string(mt.Descriptor().FullName()), "envoy.api.v2.") {
		return // a type that edsctl does not model, or of which it said that Envoy has none
	}
	inner := mt.New()
	d.step("<any>", string(mt.Descriptor().FullName()), func() { d.anyValue(v, inner) })
	if b, err := (proto.MarshalOptions{Deterministic: true}).Marshal(inner.Interface()); err == nil {
		m.Set(m.Descriptor().Fields().ByNumber(2), protoreflect.ValueOfBytes(b))
	}
}

// anyValue reads what stands in an Any beside its @type: the fields of the message, or "value" for well-known types.
func (d *decoder) anyValue(v value, m protoreflect.Message) {
	wkt := classify(m.Descriptor().FullName())
	if !d.enter(v) {
		d.leave()
		return
	}
	defer d.leave()
	fields := d.schema.fields(m.Descriptor())
	base := len(d.entries)
	d.entries = d.readEntries(v.node.Target(), func(key string) *fieldInfo { return fields[key] })
	end := len(d.entries)
	outer := d.wireDepth
	d.wireDepth = 0 // its bytes are not read with the message around it
	for i := base; i < end; i++ {
		e := d.entries[i]
		switch {
		case e.dead || e.text == "@type":
		case wkt == notWellKnown:
			d.entry(e, m)
		case e.text == "value":
			inner := look(e.value)
			inner.node = e.value
			d.wellKnownMessage(inner, wkt, m)
		default:
			d.typeError(e.key, fmt.Sprintf("%q does not belong into an Any of type %s: write its content under \"value\"", e.text, m.Descriptor().FullName()),
				"fields in a well-known-typed Any must be @type or value")
		}
	}
	d.wireDepth = outer
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
	if reason := unknownTypeReason(url[slash+1:]); reason != "" {
		p := d.problem(at, "any-type-unknown", "%s: Envoy cannot read the whole file", reason)
		if isOldAssignment(url[slash+1:]) {
			p.Rule = "v2-type"
		}
		p.Envoy = diag.Override{Stage: "00c-json", Message: d.parseText(fmt.Sprintf("could not find @type '%s'", url))}
		d.hardProblem(p)
	}
	return true
}

func isDeprecatedEnum(ev protoreflect.EnumValueDescriptor) bool {
	o, ok := ev.Options().(*descriptorpb.EnumValueOptions)
	return ok && o.GetDeprecated()
}
