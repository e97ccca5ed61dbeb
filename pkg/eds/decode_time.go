package eds

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb" // so that an Any with one can be read
)

// timestamp reads a time of RFC 3339.
func (d *decoder) timestamp(v value, md protoreflect.MessageDescriptor) {
	s, ok := d.stringValue(v)
	if !ok {
		return
	}
	secs, nanos, cause := parseTimestamp(s)
	if cause != "" {
		d.typeError(v.node, fmt.Sprintf("%s must be a time like \"2020-01-02T03:04:05Z\", not %q", d.fieldName(), s), cause)
		return
	}
	d.secondsAndNanos(md, secs, nanos)
}

// parseTimestamp follows protobuf's ParseTimestamp, which takes fewer digits than are usual, and days that no month has;
// cause is the end of its error, empty when the text is good.
func parseTimestamp(s string) (secs int64, nanos int32, cause string) {
	const shortest = len("2020-01-02T03:04:05Z")
	if len(s) < shortest {
		return 0, 0, "timestamp string too short"
	}
	parts := []struct {
		digits      int
		end, cause  string
		least, part int
	}{
		{4, "-", "bad year", 1, 0}, {2, "-", "bad month", 1, 0}, {2, "T", "bad day", 1, 0},
		{2, ":", "bad hours", 0, 0}, {2, ":", "bad minutes", 0, 0}, {2, "", "bad seconds", 0, 0},
	}
	for i := range parts {
		p := &parts[i]
		var ok bool
		if p.part, s, ok = timeDigits(s, p.digits, p.end); !ok || p.part < p.least {
			return 0, 0, p.cause + " in timestamp"
		}
	}
	t := time.Date(parts[0].part, time.Month(parts[1].part), parts[2].part, parts[3].part, parts[4].part, parts[5].part, 0, time.UTC)
	nanos, s, ok := timeNanos(s)
	if !ok {
		return 0, 0, "timestamp had bad nanoseconds"
	}
	offset, cause := timeOffset(s)
	return t.Unix() - offset, nanos, cause
}

// timeOffset reads the zone at the end of a time: Z, or hours and minutes.
func timeOffset(s string) (secs int64, cause string) {
	switch {
	case s == "":
		return 0, "timestamp missing timezone offset"
	case s == "Z":
		return 0, ""
	case s[0] != '+' && s[0] != '-':
		return 0, "bad timezone offset"
	case len(s) != len("+00:00"):
		return 0, "timestamp offset of wrong size."
	}
	hours, rest, okHours := timeDigits(s[1:], 2, ":")
	minutes, _, okMinutes := timeDigits(rest, 2, "")
	if !okHours || !okMinutes {
		return 0, "timestamp offset has bad hours and minutes"
	}
	secs = int64(hours)*3600 + int64(minutes)*60
	if s[0] == '-' {
		secs = -secs
	}
	return secs, ""
}

// timeDigits takes digits and what must follow them; one digit more than usual is let through where nothing comes after it.
func timeDigits(s string, most int, end string) (n int, rest string, ok bool) {
	for i := 0; s != ""; i++ {
		if i > most {
			return 0, s, false
		}
		if s[0] < '0' || s[0] > '9' {
			break
		}
		n = n*10 + int(s[0]-'0')
		s = s[1:]
	}
	rest, ok = strings.CutPrefix(s, end)
	return n, rest, ok
}

// timeNanos takes the digits after a point, up to nine.
func timeNanos(s string) (nanos int32, rest string, ok bool) {
	fraction, ok := strings.CutPrefix(s, ".")
	if !ok {
		return 0, s, true
	}
	rest = strings.TrimLeft(fraction, "0123456789")
	digits := fraction[:len(fraction)-len(rest)]
	if digits == "" || len(digits) > 9 {
		return 0, s, false
	}
	n, err := strconv.ParseInt((digits + "00000000")[:9], 10, 32)
	return int32(n), rest, err == nil //nolint:gosec // nine digits
}

// fieldMask reads names of fields in lowerCamelCase with commas between them.
func (d *decoder) fieldMask(v value, md protoreflect.MessageDescriptor) {
	s, ok := d.stringValue(v)
	if !ok || s == "" {
		return
	}
	for path := range strings.SplitSeq(s, ",") {
		var snake strings.Builder
		for _, c := range []byte(path) {
			if c >= 'A' && c <= 'Z' {
				snake.WriteByte('_')
				c += 'a' - 'A'
			}
			snake.WriteByte(c)
		}
		d.out = protowire.AppendTag(d.out, md.Fields().ByNumber(1).Number(), protowire.BytesType)
		d.out = protowire.AppendString(d.out, snake.String())
	}
}
