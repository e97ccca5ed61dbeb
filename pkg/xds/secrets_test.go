package xds

import "testing"

func TestHide(t *testing.T) {
	t.Parallel()
	s := newSecrets(&Dial{
		Headers: []Header{
			{"x-one", "a"}, {"x-env", "prod"}, {"x-key", "SEKRET2"}, {"x-key", "SEKRET2-longer"}, {"authorization", "Basic dXNlcjpwYXNzd29yZA=="},
			{"cookie", "theme=dark; session=5e55104"}, {"x-trace-bin", "\x01binary"}, {"x-odd", `say "hello"`},
		},
		Secrets: []string{"of-the-proxy"},
	})
	s.add("tok123\n")
	tests := []struct{ text, want string }{
		{"a short value stays", "a short value stays"},
		{"prod, of products=prod", "***, of products=***"},
		{"x=SEKRET2!", "x=***!"},
		{"xSEKRET2-longery", "x***y"},
		{"Bearer tok123", "Bearer ***"},
		{"Basic dXNlcjpwYXNzd29yZA== is user:password", "*** is ***"},
		{"the password is", "the *** is"},
		{"dXNlcjpwYXNzd29yZA==", "***"},
		{"session 5e55104", "session ***"},
		{"AWJpbmFyeQ", "***"},
		{`{"value":"say \"hello\""} say+%22hello%22`, `{"value":"***"} ***`},
		{"of-the-proxy", "***"},
	}
	for _, tt := range tests {
		if got := s.hide(tt.text); got != tt.want {
			t.Errorf("hide(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}
