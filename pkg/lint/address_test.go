package lint

import "testing"

// TestMeantIP has texts that Envoy refuses as malformed IP addresses.
func TestMeantIP(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1:80":          `write "192.0.2.1"; the port belongs into port_value`,
		"[2001:db8::1]:80":      `write "2001:db8::1"; the port belongs into port_value`,
		"http://192.0.2.1:80/":  `write "192.0.2.1"; the port belongs into port_value`,
		"http://192.0.2.1":      `write "192.0.2.1"`,
		"[2001:db8::1]":         `write "2001:db8::1"`,
		" 192.0.2.1":            `write "192.0.2.1"`,
		"192.0.2.1\n":           `write "192.0.2.1"`,
		"192.0.2.1/32":          `write "192.0.2.1"`,
		"192.0.02.1":            "",
		"web.example:80":        "",
		"192.0.2.1,192.0.2.2":   "",
		"https://web.example/a": "",
	} {
		if got := meantIP(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
