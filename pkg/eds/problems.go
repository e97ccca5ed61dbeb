package eds

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// unpackText begins the error of an assignment whose binary form cannot be read (MessageUtil::unpackTo).
const unpackText = "Unable to unpack as envoy.config.endpoint.v3.ClusterLoadAssignment: <dump>"

// problem makes a problem about the node n at the decoder's current path.
func (d *decoder) problem(n document.Node, rule, format string, args ...any) diag.Problem {
	return diag.Problem{Rule: rule, Path: d.path(), Span: n.Span(), Message: fmt.Sprintf(format, args...)}
}

func (d *decoder) add(p diag.Problem) { d.problems = append(d.problems, p) }

// hardProblem adds a problem that makes the text unreadable for Envoy.
func (d *decoder) hardProblem(p diag.Problem) {
	d.hard = true
	d.add(p)
}

// typeError reports a value that Envoy's reader refuses; cause is the end of Envoy's text.
func (d *decoder) typeError(n document.Node, message, cause string) {
	p := d.problem(n, "value-type", "%s", message)
	p.Envoy.Message = d.jsonText(cause)
	d.hardProblem(p)
}

// unexpected reports a value of the wrong JSON kind, want being the character that should have come.
func (d *decoder) unexpected(v value, want string) {
	kinds := map[string]string{"{": "a mapping", `"`: "a string"}
	got := map[jsonKind]string{jsonNull: "null", jsonBool: "a boolean", jsonNumber: "a number", jsonString: "a string", jsonObject: "a mapping", jsonArray: "a list"}
	what := "the value"
	if len(d.frames) > 0 {
		what = fmt.Sprintf("%q", d.frames[len(d.frames)-1].written())
	}
	d.typeError(v.node, fmt.Sprintf("%s must be %s, not %s", what, kinds[want], got[v.kind]),
		fmt.Sprintf("unexpected character: '%s'; expected '%s'", v.first(), want))
}

// jsonText is Envoy's whole error for the value being read: with the path as written and its type.
func (d *decoder) jsonText(cause string) string {
	return d.parseText(d.invalidText(cause))
}

// invalidText is protobuf's part of it. The position that stands at <pos> counts in Envoy's own copy of the document.
func (d *decoder) invalidText(cause string) string {
	var b strings.Builder
	b.WriteString("invalid JSON in " + d.where.root)
	at := d.where.at
	typ := ""
	for i, f := range d.frames {
		if i > 0 || at != "" {
			at += "."
		}
		at += f.written()
		if i := f.index + f.lists; i >= 0 {
			at += fmt.Sprintf("[%d]", i)
		}
		if typ = f.typ; f.info != nil {
			typ = typeName(f.info.fd)
		}
	}
	if at != "" {
		b.WriteString(" @ " + at)
		if typ == "" {
			typ = "message " + d.where.message
		}
		b.WriteString(": " + typ)
	}
	b.WriteString(", near <pos>: " + cause)
	return b.String()
}

// parseText frames an error of the JSON reader as Envoy logs it.
func (d *decoder) parseText(reason string) string { return d.where.parseText(reason) }

func (w wire) parseText(reason string) string {
	return w.inFile("Unable to parse JSON as proto (INVALID_ARGUMENT: " + reason + ")")
}

// inFile begins a text with the name of the file where Envoy mentions it.
func (w wire) inFile(text string) string {
	if w.file != "" {
		return "in " + w.file + ", " + text
	}
	return text
}

// unknownText is the part of Envoy's text about unknown fields that is the same in the warning ("Unknown field: …") and
// in the refusal ("Protobuf message (…) has unknown fields").
func (w wire) unknownText(reason string) string {
	return "type " + w.root + " reason INVALID_ARGUMENT: " + reason
}

// typeName is the type of a field as protobuf's JSON reader prints it.
func typeName(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.Enum() != nil:
		return "enum " + string(fd.Enum().FullName())
	case fd.Message() != nil:
		return "message " + string(fd.Message().FullName())
	}
	return fd.Kind().String()
}

const mergeKeyText = "Envoy does not merge YAML keys: `<<` is an unknown field and what it should bring is lost"

// unknownField reports a key that is no field of md.
func (d *decoder) unknownField(e entry, md protoreflect.MessageDescriptor) {
	rule, message, hint := "unknown-field", fmt.Sprintf("%s has no field %q", md.Name(), e.text()), ""
	replaced := replacedNames[md.FullName()][e.text()]
	switch {
	case e.text() == "<<" && e.key.Document().Format == document.YAML:
		rule, message = "merge-key", mergeKeyText
	case e.text() == "disable_overprovisioning" || e.text() == "disableOverprovisioning":
		rule, message, hint = "disable-overprovisioning-removed", fmt.Sprintf("%q was removed in v3 and never had an effect in Envoy", e.text()), "delete it"
		if md.Name() != "Policy" {
			rule = "unknown-field"
		}
	case e.text() == "value" && d.typed && len(d.frames) == 0:
		hint = "the fields of the message stand beside \"@type\""
	case replaced != "":
		message, hint = fmt.Sprintf("%s has no field %q any more", md.Name(), e.text()), replaced
	default:
		if in, ok := holder(md, e.text()); ok {
			hint = fmt.Sprintf("`%s` belongs into `%s`", e.text(), in)
		} else if name, ok := suggestField(md, e.text()); ok {
			hint = fmt.Sprintf("did you mean `%s`?", name)
		}
	}
	name, _ := rewritten(e.text())
	p := d.problem(e.key, rule, "%s", message)
	p.Path = append(p.Path, diag.Step{Name: e.text()})
	p.Hint = hint
	p.Envoy = diag.Override{Stage: "00d-unknown", Message: d.where.unknownText(d.invalidIn(md, fmt.Sprintf("no such field: '%s'", name)))}
	d.add(p)
	d.unknownUTF8(e.key, e.text())
	d.skipValue(e.value)
}

// invalidIn is invalidText for the message md itself, when no field is being read.
func (d *decoder) invalidIn(md protoreflect.MessageDescriptor, cause string) string {
	if len(d.frames) == 0 && d.where.at != "" {
		return fmt.Sprintf("invalid JSON in %s @ %s: message %s, near <pos>: %s", d.where.root, d.where.at, md.FullName(), cause)
	}
	return d.invalidText(cause)
}

// skipValue passes over a value that is not decoded; Envoy's limit of nesting applies to it as well.
func (d *decoder) skipValue(n document.Node) {
	v := look(n)
	if v.broken && v.kind != jsonObject && v.kind != jsonArray {
		d.broke(n)
		return
	}
	if v.kind == jsonString {
		d.unknownUTF8(n, v.text)
	}
	if v.kind != jsonObject && v.kind != jsonArray {
		return
	}
	if d.enter(v) {
		for c := v.node.First(); c.IsValid() && !d.tooDeep; c = c.Next() {
			d.skipValue(c)
		}
	}
	d.leave()
}

// deprecatedField reports a field that Envoy warns about.
func (d *decoder) deprecatedField(e entry) {
	p := deprecatedProblem(e.info.fd, d.path())
	p.Span = e.key.Span()
	d.add(p)
}

// deprecatedProblem is what Envoy says of a deprecated field that is set.
func deprecatedProblem(fd protoreflect.FieldDescriptor, path diag.Path) diag.Problem {
	md := fd.ContainingMessage()
	p := diag.Problem{Rule: "deprecated-field", Path: path, Message: fmt.Sprintf("field %q of %s is deprecated", fd.Name(), md.Name())}
	if fd.FullName() == "envoy.config.endpoint.v3.LocalityLbEndpoints.load_balancer_endpoints" {
		p.Rule, p.Message = "load-balancer-endpoints-ignored", fmt.Sprintf("%q is deprecated and not read: its endpoints are lost", fd.Name())
	}
	file := fd.ParentFile().Path()
	p.Envoy = diag.Override{Stage: "05-unknown", Message: fmt.Sprintf("Deprecated field: type %s Using deprecated option '%s' from file %s. This configuration will be removed from Envoy soon. Please see https://www.envoyproxy.io/docs/envoy/latest/version_history/version_history for details. If continued use of this field is absolutely necessary, see https://www.envoyproxy.io/docs/envoy/latest/configuration/operations/runtime#using-runtime-overrides-for-deprecated-features for how to apply a temporary and highly discouraged override.",
		md.FullName(), fd.FullName(), file[strings.LastIndexByte(file, '/')+1:])}
	return p
}
