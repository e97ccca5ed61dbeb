// Package diag is the vocabulary of reporting: positions, paths, severities, effects, findings and verdicts.
// It has no I/O and imports none of the project's packages.
package diag

import (
	"fmt"
	"strings"
)

// Position is a place in a text file. Line and Column are 1-based, Column counts code points; zero is unknown.
type Position struct{ Line, Column int }

// IsKnown tells whether the position points anywhere.
func (p Position) IsKnown() bool { return p.Line > 0 }

func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Span is a half-open range of a text file: End is the position after the last character. The zero Span is unknown.
type Span struct{ Start, End Position }

// IsKnown tells whether the span points anywhere.
func (s Span) IsKnown() bool { return s.Start.IsKnown() }

// Severity of a finding.
type Severity uint8

// The severities, weakest first. Off is the setting of a rule that must not be reported.
const (
	Off Severity = iota
	Info
	Warning
	Error
)

var severityNames = [...]string{"off", "info", "warning", "error"}

func (s Severity) String() string { return severityNames[s] }

// ParseSeverity is the inverse of Severity.String.
func ParseSeverity(s string) (Severity, error) {
	for i, name := range severityNames {
		if s == name {
			return Severity(i), nil
		}
	}
	return Off, fmt.Errorf("unknown severity %q: must be one of %s", s, strings.Join(severityNames[:], ", "))
}

// Effect is what a client does with what a finding is about.
type Effect uint8

// The effects, weakest first (product.md, envoy-eds-rules.md 0.5).
const (
	None    Effect = iota
	Warn           // the client logs and goes on
	Rewrite        // the client uses another value than written
	Ignore         // the field has no effect
	Drop           // an endpoint, a locality or a whole resource is lost
	Reject         // NACK, the cluster is refused, or the client does not start
	Crash          // the process dies
)

var effectNames = [...]string{"none", "warn", "rewrite", "ignore", "drop", "reject", "crash"}

func (e Effect) String() string { return effectNames[e] }

// ParseEffect is the inverse of Effect.String.
func ParseEffect(s string) (Effect, error) {
	for i, name := range effectNames {
		if s == name {
			return Effect(i), nil
		}
	}
	return None, fmt.Errorf("unknown effect %q: must be one of %s", s, strings.Join(effectNames[:], ", "))
}

// Client is a data plane that receives an assignment.
type Client uint8

// The clients: Envoy 1.40 and grpc-go 1.85.
const (
	Envoy Client = iota
	GRPC
	numClients
)

// Clients lists all clients in the order of output.
var Clients = [numClients]Client{Envoy, GRPC}

func (c Client) String() string { return [...]string{"envoy", "grpc"}[c] }

// VerdictKind is what a client does with a resource as a whole.
type VerdictKind string

// The verdicts (product.md, validate).
const (
	Accept        VerdictKind = "accept"
	Rejected      VerdictKind = "reject"
	Crashes       VerdictKind = "crash"
	Ignored       VerdictKind = "ignore" // no ACK, no NACK, no hosts
	NotApplicable VerdictKind = "not_applicable"
	Unknown       VerdictKind = "unknown" // edsctl cannot tell; the message says why
)

// Verdict of one client on one resource. Rule and Message are those of the deciding finding and empty on accept.
type Verdict struct {
	Kind    VerdictKind
	Rule    string
	Message string
}

// Outcome is what one client does with what a problem or a finding is about.
type Outcome struct {
	Effect  Effect
	Message string // the text that a user will find in the client's log; may be empty
	Stage   string // where in the client's own order it decides ("07-pgv"); "-" or "": never
}

// Override changes the outcome that the registry gives to a problem for one client. Zero fields keep the registry's.
type Override struct {
	Effect  *Effect
	Message string
	Stage   string // one of the alternatives of a stage "a|b"
}

// Problem is what a producer (decoder, PGV row, check) reports; the registry adds effects, severity and stage.
type Problem struct {
	Rule    string
	Path    Path // canonical path inside the resource; nil when about the file
	Span    Span // known to the decoder; looked up from Path otherwise
	Message string
	Hint    string // set only when the fix is certain
	Envoy   Override
	GRPC    Override
}

// Finding is a problem with everything a user is told about it.
type Finding struct {
	Rule          string
	Severity      Severity
	File          string
	Span          Span
	ResourceIndex int // index into the run's resources; -1: about the file
	Resource      string
	Path          Path
	Message       string
	Hint          string
	Clients       [numClients]Outcome
	Fingerprint   string // see Fingerprint
}
