package author

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// textWriter writes text protobuf, the same bytes for the same message: Go's own writer varies blanks on purpose.
type textWriter struct {
	out    []byte
	indent int
}

func (w *textWriter) line(text string) {
	w.out = append(w.out, strings.Repeat("  ", w.indent)...)
	w.out = append(w.out, text...)
	w.out = append(w.out, '\n')
}

// block writes a field that is a message.
func (w *textWriter) block(name string, inner func() error) error {
	w.line(name + " {")
	w.indent++
	if err := inner(); err != nil {
		return err
	}
	w.indent--
	w.line("}")
	return nil
}

// message writes the fields of a message in the order of the .proto file. An Any is expanded when its type is known.
func (w *textWriter) message(m protoreflect.Message) error {
	if a, ok := m.Interface().(*anypb.Any); ok {
		if inner, err := a.UnmarshalNew(); err == nil {
			return w.block("["+a.GetTypeUrl()+"]", func() error { return w.message(inner.ProtoReflect()) })
		}
	}
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		if !m.Has(fd) {
			continue
		}
		if err := w.field(fd, m.Get(fd)); err != nil {
			return err
		}
	}
	return nil
}

func (w *textWriter) field(fd protoreflect.FieldDescriptor, v protoreflect.Value) error {
	switch {
	case fd.IsMap():
		return w.entries(fd, v.Map())
	case fd.IsList():
		for i := range v.List().Len() {
			if err := w.value(fd, v.List().Get(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return w.value(fd, v)
}

func (w *textWriter) entries(fd protoreflect.FieldDescriptor, m protoreflect.Map) error {
	for _, k := range sortedMapKeys(m) {
		err := w.block(string(fd.Name()), func() error {
			if err := w.value(fd.MapKey(), k.Value()); err != nil {
				return err
			}
			return w.value(fd.MapValue(), m.Get(k))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *textWriter) value(fd protoreflect.FieldDescriptor, v protoreflect.Value) error {
	name := string(fd.Name())
	switch fd.Kind() {
	case protoreflect.MessageKind:
		return w.block(name, func() error { return w.message(v.Message()) })
	case protoreflect.StringKind:
		w.line(name + ": " + textQuoted(v.String()))
	case protoreflect.BytesKind:
		w.line(name + ": " + textQuoted(string(v.Bytes())))
	case protoreflect.EnumKind:
		w.line(name + ": " + scalarLiteral(fd, v).text)
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		w.line(name + ": " + textFloat(v.Float()))
	case protoreflect.GroupKind:
		return fmt.Errorf("field %q is a group, which the API does not have", name)
	default:
		w.line(name + ": " + v.String())
	}
	return nil
}

func textFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// textQuoted writes a string as text protobuf has it: what is not printable UTF-8 in octal.
func textQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			for i := range n {
				fmt.Fprintf(&b, `\%03o`, s[i])
			}
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	b.WriteByte('"')
	return b.String()
}
