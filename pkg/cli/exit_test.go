package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExitCode(t *testing.T) {
	failure := errors.New("a.yaml: permission denied")
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, 0},
		{"findings", errFindings(), 1},
		{"usage", usagef("validate: no path given"), 2},
		{"hinted usage", fmt.Errorf("x: %w", withHint(usagef("y"), "z")), 2},
		{"failure", failure, 3},
		{"unanswered", errUnanswered(nil), 4},
		{"interrupted", fmt.Errorf("read: %w", context.Canceled), 130},
		{"3 before 1", errors.Join(errFindings(), nil, failure), 3},
		{"4 before 1", errors.Join(errFindings(), errUnanswered(failure)), 4},
		{"3 before 4", errors.Join(errUnanswered(nil), errors.Join(errFindings(), failure)), 3},
		{"joined nothing", errors.Join(nil, nil), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitCodeOf(tt.err); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
		})
	}
}

func TestPrintError(t *testing.T) {
	var b strings.Builder
	printError(&b, errors.Join(
		errFindings(), errUnanswered(nil), context.Canceled,
		withHint(errors.New("a: b"), "c", "d"), usageError(withHint(errors.New("e: f"), "g")), errUnanswered(errors.New("h: i")),
	))
	want := "edsctl: a: b\nhint: c\nhint: d\nedsctl: e: f\nhint: g\nedsctl: h: i\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
