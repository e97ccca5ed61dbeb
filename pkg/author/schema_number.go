package author

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// bounds are the limits of a number.
type bounds struct {
	min, max         *float64
	openMin, openMax bool // the limit itself is outside
	ignoreEmpty      bool
}

// boundsOf reads the limits of a number's rules, whatever the kind of number. A range that is turned inside out (gt
// above lt) means what is outside of it, which no field of the API uses.
func boundsOf(rules *validate.FieldRules) bounds {
	var b bounds
	m := rules.ProtoReflect()
	o := m.Descriptor().Oneofs().ByName("type")
	fd := m.WhichOneof(o)
	if fd == nil || fd.Message() == nil || !strings.HasSuffix(string(fd.Message().Name()), "Rules") {
		return b
	}
	m.Get(fd).Message().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		f, ok := numberOf(fd, v)
		switch {
		case fd.Name() == "ignore_empty":
			b.ignoreEmpty = v.Bool()
		case !ok:
		case fd.Name() == "gt":
			b.min, b.openMin = &f, true
		case fd.Name() == "gte":
			b.min = &f
		case fd.Name() == "lt":
			b.max, b.openMax = &f, true
		case fd.Name() == "lte":
			b.max = &f
		case fd.Name() == "const":
			b.min, b.max = &f, &f
		}
		return true
	})
	return b
}

func numberOf(fd protoreflect.FieldDescriptor, v protoreflect.Value) (float64, bool) {
	if fd.IsList() {
		return 0, false
	}
	switch fd.Kind() {
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return float64(v.Uint()), true
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Sint32Kind, protoreflect.Sint64Kind, protoreflect.Sfixed32Kind, protoreflect.Sfixed64Kind:
		return float64(v.Int()), true
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return v.Float(), true
	}
	return 0, false
}

func (b *bounds) excludesZero() bool {
	if b.ignoreEmpty {
		return false
	}
	return b.min != nil && (*b.min > 0 || *b.min == 0 && b.openMin) || b.max != nil && (*b.max < 0 || *b.max == 0 && b.openMax)
}

// into adds the limits to a schema; they bind numbers, not strings.
func (b *bounds) into(s schema) {
	if b.ignoreEmpty {
		return
	}
	if b.min != nil {
		s[map[bool]string{true: "exclusiveMinimum", false: "minimum"}[b.openMin]] = *b.min
	}
	if b.max != nil {
		s[map[bool]string{true: "exclusiveMaximum", false: "maximum"}[b.openMax]] = *b.max
	}
}

// integer is a whole number, or one in a string, between the limits of its kind and those of its constraints.
func integer(lo, hi float64, b bounds) schema {
	s := schema{"type": []string{"integer", "string", "null"}, "minimum": lo, "maximum": hi}
	if b.min != nil && !b.ignoreEmpty {
		lo = *b.min
		if b.openMin {
			lo++
		}
		s["minimum"] = lo
	}
	if b.max != nil {
		hi = *b.max
		if b.openMax {
			hi--
		}
		s["maximum"] = hi
	}
	s["pattern"] = integerPattern(lo, hi)
	return s
}

// integerPattern matches the whole numbers in strings that Envoy reads. Those in plain decimal are held to the limits
// when these begin at 0 or 1; numbers with an exponent or in hexadecimal are not.
func integerPattern(lo, hi float64) string {
	other := `[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+|[+-]?0[xX][0-9A-Fa-f]+`
	if lo < 0 || lo > 1 || hi > math.MaxUint32 {
		return `^([+-]?[0-9]+(\.0*)?|` + other + `)$`
	}
	digits := upTo(strconv.FormatFloat(hi, 'f', 0, 64))
	decimal := `\+?0*(` + digits + `)(\.0*)?`
	if lo == 0 {
		decimal += `|[+-]?0+(\.0*)?`
	}
	return `^(` + decimal + `|` + other + `)$`
}

// upTo is a pattern for the decimal numbers from 1 to max without leading zeros: for 128 it is
// "[1-9]|[1-9][0-9]|1[0-1][0-9]|12[0-7]|128".
func upTo(max string) string {
	var parts []string
	for n := 1; n < len(max); n++ {
		parts = append(parts, "[1-9]"+repeated(n-1))
	}
	for i := range max {
		low := byte('0')
		if i == 0 {
			low = '1'
		}
		if max[i] > low {
			parts = append(parts, fmt.Sprintf("%s[%c-%c]%s", max[:i], low, max[i]-1, repeated(len(max)-i-1)))
		}
	}
	return strings.Join(append(parts, max), "|")
}

func repeated(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "[0-9]"
	}
	return fmt.Sprintf("[0-9]{%d}", n)
}
