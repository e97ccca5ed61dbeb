package eds

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/diag"
)

// TestTextPositions has lines that are longer than the distance between two marks, with characters of several bytes.
func TestTextPositions(t *testing.T) {
	t.Parallel()
	text := "a: 1\n" + strings.Repeat("ä€𝄞b", 2000) + "\n\n" + strings.Repeat("€", 5000)
	s := &textSource{text: []byte(text)}
	want := diag.Position{Line: 1, Column: 1}
	for at, r := range text {
		if got := s.position(at); got != want {
			t.Fatalf("offset %d is at %v, want %v", at, got, want)
		}
		if want.Column++; r == '\n' {
			want = diag.Position{Line: want.Line + 1, Column: 1}
		}
	}
	if got, end := s.position(len(text)), (diag.Position{Line: 4, Column: 5001}); got != end || len(s.marks) < 10 || !utf8.ValidString(text) {
		t.Errorf("the end is at %v, want %v; %d marks", got, end, len(s.marks))
	}
}
