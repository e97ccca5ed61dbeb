package render

import "testing"

func TestShortVersion(t *testing.T) {
	tests := []struct{ version, want string }{
		{"", ""},
		{"1", "1"},
		{"cebd8f1f23c9d422", "cebd8f1f23c9d422"},
		{"2fd4e1c67a2d28fced849ee1bb76e7391b93eb12", "2fd4e1c67a2d..."},
		{"2026-11-30T13:47:23Z/6", "2026-11-30T13:47:23Z/6"}, // istiod's
		{"ééééééééééééééééééééééééééééééééééééééééé", "éééééééééééé..."},
	}
	for _, tt := range tests {
		if got := shortVersion(tt.version); got != tt.want {
			t.Errorf("shortVersion(%q) = %q, want %q", tt.version, got, tt.want)
		}
	}
}
