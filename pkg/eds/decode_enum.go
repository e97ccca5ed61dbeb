package eds

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// enumValue reads an enum by name in any case, or by number.
func (d *decoder) enumValue(v value, ed protoreflect.EnumDescriptor) (protoreflect.EnumNumber, bool) {
	if v.broken && d.brokenNumber(v) {
		return 0, false
	}
	switch v.kind {
	case jsonString:
		var ok bool
		if v.text, ok = d.validText(v); !ok {
			return 0, false
		}
		n, known := d.enumByName(v, ed)
		if !known {
			d.unknownEnum(v, ed)
		}
		if known {
			d.deprecatedEnum(v.node, ed, n)
		}
		return n, true // an unknown name becomes 0
	case jsonNumber:
		i, ok := d.intValue(v, math.MinInt32, math.MaxInt32)
		return protoreflect.EnumNumber(i), ok //nolint:gosec // bounded above
	}
	d.typeError(v.node, fmt.Sprintf("%s must be one of %s", d.fieldName(), enumNames(ed)), "expected number or string")
	return 0, false
}

func (d *decoder) enumByName(v value, ed protoreflect.EnumDescriptor) (protoreflect.EnumNumber, bool) {
	if ev := ed.Values().ByName(protoreflect.Name(v.text)); ev != nil {
		return ev.Number(), true
	}
	for i := range ed.Values().Len() {
		ev := ed.Values().Get(i)
		if strings.EqualFold(string(ev.Name()), v.text) {
			p := d.problem(v.node, "enum-case", "%q is %s in proto JSON: Envoy takes any case, strict readers do not", v.text, ev.Name())
			p.Hint = fmt.Sprintf("write %s", ev.Name())
			d.add(p)
			return ev.Number(), true
		}
	}
	if n, err := atoi(strings.TrimSpace(v.text)); err == nil && n.abs <= math.MaxInt32 {
		i := protoreflect.EnumNumber(n.abs) //nolint:gosec // bounded
		if n.neg {
			i = -i
		}
		return i, true
	}
	return 0, false
}

func (d *decoder) unknownEnum(v value, ed protoreflect.EnumDescriptor) {
	p := d.problem(v.node, "enum-name-unknown", "%s has no value %q: it must be one of %s", d.fieldName(), v.text, enumNames(ed))
	names := make([]string, ed.Values().Len())
	for i := range names {
		names[i] = string(ed.Values().Get(i).Name())
	}
	if near := nearest(v.text, names); near != "" {
		p.Hint = fmt.Sprintf("did you mean `%s`?", near)
	}
	p.Envoy = diag.Override{Stage: "00d-unknown", Message: d.where.unknownText(fmt.Sprintf("unknown enum value: '%s'", v.text))}
	d.add(p)
}

// deprecatedEnum reports a value of an enum that Envoy warns about.
func (d *decoder) deprecatedEnum(n document.Node, ed protoreflect.EnumDescriptor, number protoreflect.EnumNumber) {
	ev := ed.Values().ByNumber(number)
	if ev == nil || !isDeprecatedEnum(ev) {
		return
	}
	fd := d.frames[len(d.frames)-1].info.fd
	p := d.problem(n, "deprecated-field", "the value %s of %s is deprecated", ev.Name(), d.fieldName())
	file := ed.ParentFile().Path()
	p.Envoy = diag.Override{Stage: "05-unknown", Message: fmt.Sprintf("Deprecated field: type %s Using deprecated value %s for enum '%s' from file %s. This enum value will be removed from Envoy soon.",
		fd.ContainingMessage().FullName(), ev.Name(), fd.FullName(), file[strings.LastIndexByte(file, '/')+1:])}
	d.add(p)
}

func enumNames(ed protoreflect.EnumDescriptor) string {
	names := make([]string, 0, ed.Values().Len())
	for i := range ed.Values().Len() {
		names = append(names, string(ed.Values().Get(i).Name()))
	}
	return strings.Join(names, ", ")
}
