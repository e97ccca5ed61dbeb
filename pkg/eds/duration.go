package eds

import "google.golang.org/protobuf/types/known/durationpb"

// maxEnvoySeconds is the most that Envoy takes: it keeps nanoseconds in 64 bits, less a reserve of one second.
const maxEnvoySeconds = 9223372035

// DurationError is Envoy's text about a duration that it refuses (protobuf/utility.cc, validateDurationNoThrow), empty for
// a good or absent one.
func DurationError(d *durationpb.Duration) string {
	switch {
	case d == nil:
		return ""
	case d.Seconds < 0 || d.Nanos < 0:
		return "Invalid duration: Expected positive duration: <dump>"
	case d.Nanos > 999999999 || d.Seconds > 315576000000:
		return "Invalid duration: Duration out-of-range according to Protobuf: <dump>"
	case d.Seconds > maxEnvoySeconds:
		return "Invalid duration: Duration out-of-range: <dump>"
	}
	return ""
}
