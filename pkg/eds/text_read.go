package eds

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
)

// textReader turns text protobuf into messages and, where a message is not linked, into its bytes as far as an outline
// knows it. Errors are of *textError, at what Envoy refuses the whole text for.
type textReader struct {
	version int // minor version of Envoy
}

// message reads the fields of n into a message that is linked.
func (t *textReader) message(n *textNode, m proto.Message) error {
	return t.without(n, m, nil)
}

// without reads n into m, but leaves out a field of it.
func (t *textReader) without(n *textNode, m proto.Message, left *textNode) error {
	src, err := t.rewrite(n, left)
	if err != nil {
		return err
	}
	err = prototext.Unmarshal(src.out, m)
	if err == nil {
		return nil
	}
	message := plainError(err)
	at := n.start
	if found := textPosition().FindStringSubmatch(message); found != nil {
		line, _ := strconv.Atoi(found[1])
		column, _ := strconv.Atoi(found[2])
		at = src.origin(line, column)
		message = strings.TrimSpace(textPlace().ReplaceAllString(message, ""))
	}
	return &textError{at, message}
}

var (
	textPosition = pattern(`\(line (\d+):(\d+)\)`)
	textPlace    = pattern(`(syntax error )?\(line \d+:\d+\):?\s*`)
)

// rewritten is a text in which parts were replaced.
type rewrittenText struct {
	out   []byte
	parts []textPart
}

// textPart is where a part of the new text comes from.
type textPart struct{ at, from int }

// origin is the offset in the old text of a place in the new one.
func (r *rewrittenText) origin(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += bytes.IndexByte(r.out[at:], '\n') + 1
	}
	for _, c := range string(r.out[at:]) {
		if column--; column < 1 {
			break
		}
		at += len(string(c))
	}
	i := 0
	for i+1 < len(r.parts) && r.parts[i+1].at <= at {
		i++
	}
	return r.parts[i].from + at - r.parts[i].at
}

func (r *rewrittenText) copy(src []byte, from, to int) {
	r.parts = append(r.parts, textPart{len(r.out), from})
	r.out = append(r.out, src[from:to]...)
}

// rewrite is the text of a message in which each Any of a type that is not linked has its bytes instead of its fields.
func (t *textReader) rewrite(n, left *textNode) (*rewrittenText, error) {
	from, to := n.inside()
	out := &rewrittenText{}
	var err error
	n.each(func(f *textNode) bool {
		if err != nil || f != left && !f.isUnlinked() {
			return true
		}
		out.copy(n.src.text, from, f.at)
		out.parts = append(out.parts, textPart{len(out.out), f.at})
		if from = f.end; f != left {
			var value []byte
			value, err = t.anyValue(f)
			out.out = append(append(out.out, `type_url:`...), quoteText(f.name)...)
			out.out = append(append(out.out, ` value:`...), quoteText(string(value))...)
		}
		return false
	})
	out.copy(n.src.text, from, to)
	return out, err
}

// each calls f for the fields below a message, and for those in them where it says so.
func (n *textNode) each(f func(*textNode) bool) {
	for _, child := range n.fields {
		if f(child) {
			child.each(f)
		}
	}
}

// isUnlinked tells whether a field is the content of an Any of a type that is not linked.
func (n *textNode) isUnlinked() bool {
	if !n.bracketed || !n.isMessage || n.inList || !strings.Contains(n.name, "/") {
		return false
	}
	_, err := protoregistry.GlobalTypes.FindMessageByURL(n.name)
	return err != nil
}

// anyValue are the bytes of a message that is not linked: none where edsctl does not know its fields.
func (t *textReader) anyValue(n *textNode) ([]byte, error) {
	if version, ok := ClusterVersionOfURL(n.name); ok {
		return t.cluster(n, version)
	}
	if messageName(n.name) == HTTPOptionsName {
		return t.outlined(n, httpOutline())
	}
	return nil, nil
}

// cluster are the bytes of a Cluster. Its assignment is of an API version.
func (t *textReader) cluster(n *textNode, version APIVersion) ([]byte, error) {
	c := &clusterv3.Cluster{}
	inner := n.field("load_assignment")
	if version == V3 || inner != nil && inner.inList {
		inner = nil
	}
	if err := t.without(n, c, inner); err != nil {
		return nil, err
	}
	out, err := proto.Marshal(c)
	if err != nil || inner == nil {
		return out, err
	}
	assignment, err := t.bytes(inner, NewAssignment(version))
	return append(protowire.AppendTag(out, loadAssignmentNumber, protowire.BytesType), assignment...), err
}

// bytes are those of a message that is linked, with their length.
func (t *textReader) bytes(n *textNode, m proto.Message) ([]byte, error) {
	if err := t.message(n, m); err != nil {
		return nil, err
	}
	b, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m)
	return protowire.AppendBytes(nil, b), err
}

// outlined are the bytes of a message of which an outline is known. What neither that nor a linked message describes is
// there and empty.
func (t *textReader) outlined(n *textNode, o *outline) ([]byte, error) {
	var out []byte
	seen := map[string]bool{}
	for _, f := range n.fields {
		field, known := o.written(f, t.version)
		switch {
		case !known && !f.bracketed && slices.Contains(o.reserved, f.name):
			continue
		case !known:
			return nil, textErrorf(f.at, "unknown field: %s", f.name)
		case f.isEmpty && !f.colon && field.is&(isText|isBool) != 0:
			return nil, textErrorf(f.at, "missing field separator :")
		case field.is&(isList|isEntries) != 0:
		case f.inList || f.isEmpty:
			return nil, textErrorf(f.start, "unexpected token: [")
		case seen[field.name]:
			return nil, textErrorf(f.at, "non-repeated field %q is repeated", f.name)
		case field.is&isOneof != 0 && seen[""]:
			return nil, textErrorf(f.at, "error parsing %q, its oneof is already set", f.name)
		}
		if f.isEmpty {
			continue
		}
		seen[field.name] = true
		seen[""] = seen[""] || field.is&isOneof != 0
		value, err := t.outlinedValue(f, field, o)
		if err != nil {
			return nil, err
		}
		kind := protowire.BytesType
		if field.is&isBool != 0 {
			kind = protowire.VarintType
		}
		out = append(protowire.AppendTag(out, field.number, kind), value...)
	}
	return out, nil
}

// written is the field of a message that a text names.
func (o *outline) written(f *textNode, version int) (outlineField, bool) {
	i := slices.IndexFunc(o.fields, func(field outlineField) bool { return field.name == f.name && !f.bracketed })
	if i < 0 {
		return outlineField{}, false
	}
	return o.fields[i], version >= o.since(o.fields[i])
}

func (t *textReader) outlinedValue(f *textNode, field outlineField, o *outline) ([]byte, error) {
	scalar := field.is&(isText|isBool) != 0
	switch {
	case scalar == f.isMessage:
		return nil, textErrorf(f.start, "unexpected token: %s", shortText(f.source()))
	case scalar && !f.colon:
		return nil, textErrorf(f.at, "missing field separator :")
	case field.is&isText != 0:
		text, err := textString(f)
		return protowire.AppendString(nil, text), err
	case field.is&isBool != 0:
		var b wrapperspb.BoolValue
		err := textScalar(f, &b)
		return protowire.AppendVarint(nil, protowire.EncodeBool(b.GetValue())), err
	}
	if inner := o.inner[field.name]; inner != nil {
		b, err := t.outlined(f, inner)
		return protowire.AppendBytes(nil, b), err
	}
	if name := o.linked[field.name]; name == clusterMessage {
		b, err := t.cluster(f, V3)
		return protowire.AppendBytes(nil, b), err
	} else if mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name)); err == nil {
		return t.bytes(f, mt.New().Interface())
	}
	return protowire.AppendBytes(nil, nil), nil
}

// textString is the string that a value is.
func textString(f *textNode) (string, error) {
	var s wrapperspb.StringValue
	err := textScalar(f, &s)
	return s.GetValue(), err
}

// textScalar reads a value as that of a wrapper.
func textScalar(f *textNode, wrapper proto.Message) error {
	if err := prototext.Unmarshal(append([]byte("value:"), f.source()...), wrapper); err != nil {
		return &textError{f.start, textPlace().ReplaceAllString(plainError(err), "")}
	}
	return nil
}

// quoteText writes bytes as a string of text protobuf.
func quoteText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// shortText is the beginning of a text, for messages.
func shortText(src []byte) string {
	const most = 20
	line, _, _ := bytes.Cut(src, []byte("\n"))
	if len(line) > most {
		return string(line[:most])
	}
	return string(line)
}

// missingType is the first type of an Any in a text that Envoy certainly does not have, nil when it may have all of them.
func missingType(root *textNode, version int) (n *textNode, reason string) {
	root.each(func(f *textNode) bool {
		if strings.LastIndexByte(f.name, '/') > 0 && n == nil && f.bracketed {
			if reason = unknownTypeReason(messageName(f.name), version); reason != "" {
				n = f
			}
		}
		return n == nil
	})
	return n, reason
}

// textProblem is what Envoy says of a text that it cannot read; root is the message it is read as.
func (r *reader) textProblem(rule, message string, span diag.Span, root string) diag.Problem {
	p := diag.Problem{Rule: rule, Message: message, Span: span}
	p.Envoy = diag.Override{Stage: "00b-syntax", Message: fmt.Sprintf("Unable to parse file %q as a text protobuf (type %s)", r.name, root)}
	if root != bootstrapMessage {
		p.Envoy.Message = "in " + r.name + ", " + p.Envoy.Message
	}
	return p
}
