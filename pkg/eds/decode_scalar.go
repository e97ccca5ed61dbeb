package eds

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// floatStringsSince is the first minor version of Envoy whose reader takes numbers in strings in floating point.
const floatStringsSince = 37

// scalar writes a value of a field that is no message.
func (d *decoder) scalar(v value, fd protoreflect.FieldDescriptor) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		if s, ok := d.stringValue(v); ok {
			d.out = protowire.AppendTag(d.out, fd.Number(), protowire.BytesType)
			d.out = protowire.AppendString(d.out, s)
		}
	case protoreflect.BytesKind:
		if b, ok := d.bytesValue(v); ok {
			d.out = protowire.AppendTag(d.out, fd.Number(), protowire.BytesType)
			d.out = protowire.AppendBytes(d.out, b)
		}
	case protoreflect.BoolKind:
		if b, ok := d.boolValue(v); ok {
			d.varint(fd, protowire.EncodeBool(b))
		}
	case protoreflect.EnumKind:
		if i, ok := d.enumValue(v, fd.Enum()); ok {
			d.varint(fd, uint64(int64(i))) //nolint:gosec // as the wire has negative enums
		}
	case protoreflect.Uint32Kind:
		if i, ok := d.uintValue(v, math.MaxUint32); ok {
			d.varint(fd, i)
		}
	case protoreflect.Uint64Kind:
		if i, ok := d.uintValue(v, math.MaxUint64); ok {
			d.varint(fd, i)
		}
	case protoreflect.Int32Kind:
		if i, ok := d.intValue(v, math.MinInt32, math.MaxInt32); ok {
			d.varint(fd, uint64(i)) //nolint:gosec // as the wire has negative numbers
		}
	case protoreflect.Int64Kind:
		if i, ok := d.intValue(v, math.MinInt64, math.MaxInt64); ok {
			d.varint(fd, uint64(i)) //nolint:gosec // as the wire has negative numbers
		}
	case protoreflect.FloatKind:
		if f, ok := d.floatValue(v, true); ok {
			d.out = protowire.AppendTag(d.out, fd.Number(), protowire.Fixed32Type)
			d.out = protowire.AppendFixed32(d.out, math.Float32bits(float32(f)))
		}
	case protoreflect.DoubleKind:
		if f, ok := d.floatValue(v, false); ok {
			d.out = protowire.AppendTag(d.out, fd.Number(), protowire.Fixed64Type)
			d.out = protowire.AppendFixed64(d.out, math.Float64bits(f))
		}
	default: // kinds that no message of the API that edsctl models has
		d.skipValue(v.node)
	}
}

// varint writes a field of wire type 0.
func (d *decoder) varint(fd protoreflect.FieldDescriptor, x uint64) {
	d.out = protowire.AppendTag(d.out, fd.Number(), protowire.VarintType)
	d.out = protowire.AppendVarint(d.out, x)
}

// fieldName is the name of the field being read, as written, for messages.
func (d *decoder) fieldName() string {
	if len(d.frames) == 0 {
		return "the value"
	}
	return fmt.Sprintf("%q", d.frames[len(d.frames)-1].written())
}

func (d *decoder) stringValue(v value) (string, bool) {
	if v.kind == jsonString {
		if v.plain && v.text != v.raw { // a hexadecimal or octal number that is passed on in decimal
			d.add(d.problem(v.node, "json-lenient", "Envoy reads %s as a number and uses the string %q", v.raw, v.text))
		}
		if v.broken {
			d.broke(v.node)
			return "", false
		}
		return d.validText(v)
	}
	if v.plain && (v.kind == jsonBool || v.kind == jsonNumber) {
		what := "a number"
		if v.kind == jsonBool {
			what = "a boolean"
		}
		p := d.problem(v.node, "yaml-scalar-type", "%s must be a string, and %s without quotes is %s for Envoy", d.fieldName(), v.raw, what)
		p.Hint = fmt.Sprintf("put it in quotes: %q", v.raw)
		p.Envoy.Message = d.jsonText(fmt.Sprintf(`unexpected character: '%s'; expected '"'`, v.first()))
		d.hardProblem(p)
		return "", false
	}
	d.unexpected(v, `"`)
	return "", false
}

func (d *decoder) bytesValue(v value) ([]byte, bool) {
	s, ok := d.stringValue(v)
	if !ok {
		return nil, false
	}
	s = strings.TrimRight(s, "=")
	b, err := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(s))
	if err != nil {
		d.typeError(v.node, d.fieldName()+" must be base64", "corrupt base64")
		return nil, false
	}
	return b, true
}

func (d *decoder) boolValue(v value) (val, ok bool) {
	if v.broken && (v.kind == jsonBool || v.kind == jsonString || v.kind == jsonNothing) {
		d.broke(v.node)
		return false, false
	}
	switch v.kind {
	case jsonBool:
		if v.plain && !strings.EqualFold(v.raw, v.text) {
			p := d.problem(v.node, "yaml-boolean", "%s is the boolean %s for Envoy, and a string for readers of YAML 1.2", v.raw, v.text)
			p.Hint = "write " + v.text
			d.add(p)
		}
		return v.text == "true", true
	case jsonString:
		if v.text, ok = d.validText(v); !ok {
			return false, false
		}
		ok = false
		switch strings.ToLower(v.text) {
		case "true", "t", "yes", "y", "1":
			val, ok = true, true
		case "false", "f", "no", "n", "0":
			ok = true
		}
		if ok {
			p := d.problem(v.node, "json-lenient", "%s must be a boolean: Envoy reads the string %q as %t", d.fieldName(), v.text, val)
			p.Hint = fmt.Sprintf("write %t", val)
			d.add(p)
			return val, true
		}
	}
	d.typeError(v.node, fmt.Sprintf("%s must be true or false", d.fieldName()), "expected 'true' or 'false'")
	return false, false
}

// number is a whole number with its sign.
type number struct {
	abs uint64
	neg bool
}

// fitsInt64: a larger number is read in floating point, and found to be too large there.
func (n number) fitsInt64() bool { return n.abs <= math.MaxInt64 || n.neg && n.abs == 1<<63 }

var errNoNumber = errors.New("no number")

// atoi is absl::SimpleAtoi without its leniency towards blanks: an optional sign and decimal digits.
func atoi(s string) (number, error) {
	neg := strings.HasPrefix(s, "-")
	digits := s
	if neg || strings.HasPrefix(s, "+") {
		digits = s[1:]
	}
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return number{}, errNoNumber
	}
	u, err := strconv.ParseUint(digits, 10, 64)
	return number{abs: u, neg: neg && u != 0}, err
}

// asciiSpace is what absl::ascii_isspace takes for white space.
const asciiSpace = " \t\n\v\f\r"

// atod is absl::SimpleAtod: decimal or hexadecimal floating point, an optional sign, white space around it. Not a number
// may have a sign too, and characters that tell its payload.
func atod(s string) (float64, bool) {
	s = strings.Trim(s, asciiSpace)
	if isNaN(s) {
		return math.NaN(), true
	}
	if strings.Contains(s, "_") || strings.HasPrefix(s, "+-") {
		return 0, false
	}
	unsigned := strings.TrimLeft(s, "+-")
	if len(s)-len(unsigned) > 1 {
		return 0, false
	}
	if strings.HasPrefix(unsigned, "0x") || strings.HasPrefix(unsigned, "0X") {
		if !strings.ContainsAny(unsigned, "pP") {
			s += "p0"
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return f, true
}

// isNaN tells whether absl::from_chars takes a text for not a number: "nan" or "nan(payload)" in any case.
func isNaN(s string) bool {
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if len(s) < 3 || !strings.EqualFold(s[:3], "nan") {
		return false
	}
	payload, hasPayload := strings.CutPrefix(s[3:], "(")
	if !hasPayload {
		return len(s) == 3
	}
	payload, closed := strings.CutSuffix(payload, ")")
	return closed && !strings.ContainsFunc(payload, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// whole reads a number that must be whole, within the range that a double holds exactly (lo to hi); done is false
// when a problem was reported.
func (d *decoder) whole(v value, unsigned bool, lo, hi float64) (number, bool) {
	if v.broken && d.brokenNumber(v) {
		return number{}, false
	}
	if v.kind != jsonNumber && v.kind != jsonString {
		d.typeError(v.node, fmt.Sprintf("%s must be a number", d.fieldName()), "expected number or string")
		return number{}, false
	}
	inString := v.kind == jsonString
	if inString {
		var ok bool
		if v.text, ok = d.validText(v); !ok {
			return number{}, false
		}
	}
	if inString && strings.ContainsAny(v.text, asciiSpace) {
		d.typeError(v.node, fmt.Sprintf("%s must be a number, not %q", d.fieldName(), v.text), "non-number characters in quoted number")
		return number{}, false
	}
	n, err := atoi(v.text)
	if err == nil && (unsigned && !n.neg || !unsigned && n.fitsInt64()) {
		d.unusualNumber(v, n)
		return n, true
	}
	if inString && d.version < floatStringsSince {
		d.typeError(v.node, fmt.Sprintf("%s must be a whole number, not %q", d.fieldName(), v.text), "non-number characters in quoted number")
		return number{}, false
	}
	f, ok := atod(v.text)
	switch {
	case !ok || math.IsInf(f, 0) || math.IsNaN(f):
		d.typeError(v.node, fmt.Sprintf("%s must be a number, not %q", d.fieldName(), v.text), fmt.Sprintf("invalid number: '%s'", v.text))
	case f < lo || f > hi:
		d.typeError(v.node, fmt.Sprintf("%s is out of range: %s", d.fieldName(), v.text), "JSON number out of range for int")
	case f != math.Trunc(f):
		d.typeError(v.node, fmt.Sprintf("%s must be a whole number, not %s", d.fieldName(), v.text), "expected integer, but JSON number had fractional part")
	default:
		n = number{abs: uint64(math.Abs(f)), neg: f < 0}
		if inString && !v.plain {
			d.unusualNumber(v, n)
		}
		return n, true
	}
	return number{}, false
}

// unusualNumber reports numbers that Envoy reads and other readers of the same text refuse or read otherwise.
func (d *decoder) unusualNumber(v value, n number) {
	text := v.text
	if v.plain {
		text = v.raw
	}
	digits := strings.TrimLeft(text, "+-")
	odd := len(digits) > 1 && digits[0] == '0' && digits[1] != '.' && digits[1] != 'e' && digits[1] != 'E'
	if v.plain && (strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X")) {
		odd = false // every YAML reader takes it so
	}
	if odd {
		sign := ""
		if n.neg {
			sign = "-"
		}
		p := d.problem(v.node, "json-lenient", "Envoy reads %s as %s%d; other readers may not", text, sign, n.abs)
		p.Hint = fmt.Sprintf("write %s%d", sign, n.abs)
		d.add(p)
	}
}

func (d *decoder) uintValue(v value, limit uint64) (uint64, bool) {
	n, ok := d.whole(v, true, 0, 1<<54)
	if ok && n.abs > limit {
		d.typeError(v.node, fmt.Sprintf("%s is out of range: %d is more than %d", d.fieldName(), n.abs, limit), "integer out of range")
		return 0, false
	}
	return n.abs, ok
}

func (d *decoder) intValue(v value, lo, hi int64) (int64, bool) {
	n, ok := d.whole(v, false, -(1 << 53), 1<<53)
	if !ok {
		return 0, false
	}
	if n.neg && n.abs > uint64(-(lo+1))+1 || !n.neg && n.abs > uint64(hi) { //nolint:gosec // lo is negative, hi positive
		d.typeError(v.node, fmt.Sprintf("%s is out of range", d.fieldName()), "integer out of range")
		return 0, false
	}
	if n.neg {
		return -int64(n.abs), true //nolint:gosec // checked above
	}
	return int64(n.abs), true //nolint:gosec // checked above
}

func (d *decoder) floatValue(v value, single bool) (float64, bool) {
	if v.broken && d.brokenNumber(v) {
		return 0, false
	}
	if v.kind != jsonNumber && v.kind != jsonString {
		d.typeError(v.node, fmt.Sprintf("%s must be a number", d.fieldName()), "expected number or string")
		return 0, false
	}
	text := v.text
	if v.kind == jsonString {
		var ok bool
		if text, ok = d.validText(v); !ok {
			return 0, false
		}
	}
	f, ok := atod(text)
	if !ok {
		d.typeError(v.node, fmt.Sprintf("%s must be a number, not %q", d.fieldName(), text), "non-number characters in quoted number")
		return 0, false
	}
	if single && !math.IsInf(f, 0) && math.IsInf(float64(float32(f)), 0) {
		d.typeError(v.node, fmt.Sprintf("%s is out of range", d.fieldName()), "float out of range")
		return 0, false
	}
	return f, true
}
