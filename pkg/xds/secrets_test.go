package xds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

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

// TestHideVersions: what names an environment, in a header as in a version, is no secret; and what a client says again of
// the versions that it has is hidden like them.
func TestHideVersions(t *testing.T) {
	t.Parallel()
	s := newSecrets(&Dial{Headers: []Header{{Name: "x-env", Value: "production"}, {Name: "x-key", Value: "SEKRET2"}}})
	if got := s.hideVersion("production/17"); got != "production/17" {
		t.Errorf("version %q", got)
	}
	if got := s.hide("no such key: SEKRET2, production"); got != "no such key: ***, ***" {
		t.Errorf("text %q", got)
	}
	both := newSecrets(&Dial{Headers: []Header{{Name: "x-env", Value: "SEKRET2"}, {Name: "x-key", Value: "SEKRET2"}}})
	if got := both.hideVersion("SEKRET2/17"); got != "***/17" {
		t.Errorf("a secret in another header too: version %q", got)
	}
	m := &discoveryv3.DeltaDiscoveryRequest{InitialResourceVersions: map[string]string{"a": "v-SEKRET2", "b": "production/1"}}
	want := map[string]string{"a": "v-***", "b": "production/1"}
	if got := s.hideMessage(m).(*discoveryv3.DeltaDiscoveryRequest).GetInitialResourceVersions(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if m.GetInitialResourceVersions()["a"] != "v-SEKRET2" {
		t.Error("the message that is sent was changed")
	}
}

// TestHideErrors: an error stays what it is.
func TestHideErrors(t *testing.T) {
	t.Parallel()
	s := newSecrets(&Dial{Headers: []Header{{Name: "x-key", Value: "deadline"}}})
	if err := s.hideError(context.DeadlineExceeded); err != context.DeadlineExceeded {
		t.Errorf("%v", err)
	}
	if err := s.hideError(fmt.Errorf("the deadline: %w", io.EOF)); err.Error() != "the ***: EOF" || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}
