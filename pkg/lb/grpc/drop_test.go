package grpc

import "testing"

// TestDenominatorUnset: the zero value of a denominator is HUNDRED.
func TestDenominatorUnset(t *testing.T) {
	t.Parallel()
	if got := PerMillion(5, 0); got != 50_000 {
		t.Errorf("5 of an unset denominator are %d of a million, want 50000", got)
	}
}
