package diag

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"validate", "version", "rules", "envoy"}
	for word, want := range map[string]string{
		"validat": "validate", "vaildate": "validate", "rule": "rules", "evnoy": "envoy", "xyz": "", "": "", "v": "",
	} {
		if got, ok := Nearest(word, words); got != want || ok != (want != "") {
			t.Errorf("%q: nearest %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"weight", "wieght", 1},
		{"kitten", "sitting", 3}, {"ca", "abc", 3},
	}
	for _, tt := range tests {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: distance %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
