package author

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
)

// Formats lists the formats that are written, the default first.
func Formats() []eds.Format {
	return []eds.Format{eds.YAML, eds.JSON, eds.JSONLines, eds.TextProto, eds.Binary}
}

// written is a message to write: an assignment, or something around assignments. Its text and binary forms agree.
type written interface {
	json() (*literal, error)
	wire() ([]byte, error)
	text(w *textWriter) error
}

// message is a protobuf message of any API version.
type message struct{ proto.Message }

func (m message) json() (*literal, error) { return messageOf(m.Message) }

func (m message) wire() ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m.Message)
}

func (m message) text(w *textWriter) error { return w.message(m.ProtoReflect()) }

// around is a message that holds others: the fields of base, and a field with the inner ones. All API versions give
// these fields the same names and numbers, so the types of base are those of v3.
type around struct {
	base     proto.Message // nil: no other fields
	name     string
	number   protowire.Number
	repeated bool
	inner    []written
}

func (a around) json() (*literal, error) {
	out := &literal{kind: mapLiteral}
	if a.base != nil {
		var err error
		if out, err = messageOf(a.base); err != nil {
			return nil, err
		}
	}
	list := &literal{kind: listLiteral}
	for _, in := range a.inner {
		v, err := in.json()
		if err != nil {
			return nil, err
		}
		list.vals = append(list.vals, v)
	}
	switch {
	case a.repeated && (len(list.vals) > 0 || len(out.vals) == 0):
		out.put(a.name, list)
	case !a.repeated && len(list.vals) > 0:
		out.put(a.name, list.vals[0])
	}
	return out, nil
}

func (a around) wire() ([]byte, error) {
	var out []byte
	if a.base != nil {
		var err error
		if out, err = (message{a.base}).wire(); err != nil {
			return nil, err
		}
	}
	for _, in := range a.inner {
		b, err := in.wire()
		if err != nil {
			return nil, err
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, a.number, protowire.BytesType), b)
	}
	return out, nil
}

func (a around) text(w *textWriter) error {
	if a.base != nil {
		if err := w.message(a.base.ProtoReflect()); err != nil {
			return err
		}
	}
	for _, in := range a.inner {
		if err := w.block(a.name, func() error { return in.text(w) }); err != nil {
			return err
		}
	}
	return nil
}

// typed is a message in an Any.
type typed struct {
	url   string
	inner written
}

func (t typed) json() (*literal, error) {
	v, err := t.inner.json()
	if err != nil {
		return nil, err
	}
	out := &literal{kind: mapLiteral}
	out.put("@type", str(t.url))
	for i, k := range v.keys {
		out.put(k, v.vals[i])
	}
	return out, nil
}

func (t typed) wire() ([]byte, error) {
	b, err := t.inner.wire()
	if err != nil {
		return nil, err
	}
	out := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), t.url)
	if len(b) > 0 {
		out = protowire.AppendBytes(protowire.AppendTag(out, 2, protowire.BytesType), b)
	}
	return out, nil
}

func (t typed) text(w *textWriter) error {
	return w.block("["+t.url+"]", func() error { return t.inner.text(w) })
}

// encodeYAML writes a value as one YAML document in block style, small mappings in flow style.
func encodeYAML(l *literal) []byte {
	s := &style{eol: "\n", step: 2, small: true, flow: flowStyle{step: 2, colon: ": ", between: ", "}}
	if l.isScalar() || len(l.vals) == 0 {
		return []byte(s.inFlow(l, document.Node{}, s.flow, 0) + "\n")
	}
	return []byte(strings.Join(s.inBlock(l, document.Node{}, 0), "\n") + "\n")
}

// YAMLFromJSON writes a JSON document as YAML in block style, the keys in their order. Errors: data is not JSON.
func YAMLFromJSON(data []byte) ([]byte, error) {
	doc, err := document.ParseJSON(data, document.Limits{MaxBytes: len(data)})
	if err != nil {
		return nil, err
	}
	budget := maxTreeNodes
	l, err := treeLiteral(doc.Root, &budget)
	if err != nil {
		return nil, err
	}
	s := &style{eol: "\n", step: 2}
	return []byte(strings.Join(s.inBlock(l, document.Node{}, 0), "\n") + "\n"), nil
}

// encodeJSON writes a value as JSON, in one line or indented.
func encodeJSON(l *literal, pretty bool) ([]byte, error) {
	s := &style{json: true, flow: flowStyle{colon: ":", between: ","}}
	line := s.inFlow(l, document.Node{}, s.flow, 0)
	if !pretty {
		return []byte(line + "\n"), nil
	}
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(line), "", "  "); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// encode writes messages in one output: documents of YAML, a JSON value (a list when there are several), JSON lines, or
// the one message in text or binary protobuf, which cannot hold several.
func encode(format eds.Format, list []written) ([]byte, error) {
	switch format {
	case eds.TextProto, eds.Binary:
		if len(list) != 1 {
			return nil, &SeveralError{Format: format, Count: len(list)}
		}
		return encodeProto(format, list[0])
	}
	values := make([]*literal, len(list))
	for i, m := range list {
		var err error
		if values[i], err = m.json(); err != nil {
			return nil, err
		}
	}
	return encodeValues(format, values)
}

// encodeValues writes values as YAML, JSON or JSON lines.
func encodeValues(format eds.Format, values []*literal) ([]byte, error) {
	var out []byte
	switch format {
	case eds.YAML:
		for i, v := range values {
			if i > 0 {
				out = append(out, "---\n"...)
			}
			out = append(out, encodeYAML(v)...)
		}
		return out, nil
	case eds.JSONLines:
		for _, v := range values {
			line, err := encodeJSON(v, false)
			if err != nil {
				return nil, err
			}
			out = append(out, line...)
		}
		return out, nil
	}
	if len(values) == 1 {
		return encodeJSON(values[0], true)
	}
	return encodeJSON(&literal{kind: listLiteral, vals: values}, true)
}

func encodeProto(format eds.Format, m written) ([]byte, error) {
	if format == eds.Binary {
		return m.wire()
	}
	w := &textWriter{}
	if err := m.text(w); err != nil {
		return nil, err
	}
	return w.out, nil
}

// SeveralError tells that a format holds one message only.
type SeveralError struct {
	Format eds.Format
	Count  int
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("%s holds one message, not %d", e.Format, e.Count)
}

// EncodeMessages writes messages as they are: several in YAML documents, a JSON list or JSON lines; in text and binary
// protobuf just one.
func EncodeMessages(format eds.Format, list ...proto.Message) ([]byte, error) {
	out := make([]written, len(list))
	for i, m := range list {
		out[i] = message{m}
	}
	return encode(format, out)
}

// EncodeList writes messages as one YAML or JSON list, also when there is just one.
func EncodeList(format eds.Format, list ...proto.Message) ([]byte, error) {
	all := &literal{kind: listLiteral}
	for _, m := range list {
		v, err := messageOf(m)
		if err != nil {
			return nil, err
		}
		all.vals = append(all.vals, v)
	}
	return encodeValues(format, []*literal{all})
}
