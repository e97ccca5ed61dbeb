package xds

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/eds"
)

// secrets are the values by which a client shows who it is: those of headers, and tokens. A server, or a proxy before it,
// may repeat them in what it says, and they are hidden there. nil hides nothing.
type secrets struct {
	mu     sync.Mutex
	values []secret // the longest first, since one may be a part of another
}

// secret is a value; certain unless it comes from a header whose name does not say that it holds one.
type secret struct {
	text    string
	certain bool
}

// hidden stands for a secret.
const hidden = "***"

// A shorter value is no secret, and to hide it would make texts unreadable; one below anywhere is hidden where it is a word.
const (
	shortestSecret = 4
	anywhere       = 6
)

// secretHeader are the names of headers by which somebody shows who he is.
var secretHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)auth|cookie|credential|key|pass|pwd|secret|session|signature|token|-bin$`)
})

// newSecrets knows what a Dial holds; a token becomes known when it is read.
func newSecrets(d *Dial) *secrets {
	s := &secrets{}
	for _, h := range d.Headers {
		s.addHeader(h)
	}
	s.add(d.Secrets...)
	return s
}

// addHeader takes the value of a header, and what stands in it: the part behind a scheme, user and password of Basic, the
// values of cookies.
func (s *secrets) addHeader(h Header) {
	certain := secretHeader().MatchString(h.Name)
	s.take(certain, h.Value)
	if strings.HasSuffix(h.Name, "-bin") { // travels in this form
		s.take(certain, base64.StdEncoding.EncodeToString([]byte(h.Value)), base64.RawStdEncoding.EncodeToString([]byte(h.Value)))
	}
	if h.Name == "cookie" {
		for pair := range strings.SplitSeq(h.Value, ";") {
			_, value, _ := strings.Cut(pair, "=")
			s.take(certain, value)
		}
		return
	}
	scheme, rest, _ := strings.Cut(h.Value, " ")
	s.take(certain, rest)
	if user, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil && strings.EqualFold(scheme, "basic") {
		_, password, _ := strings.Cut(string(user), ":")
		s.take(certain, string(user), password)
	}
}

// add takes values that are certainly secrets.
func (s *secrets) add(values ...string) { s.take(true, values...) }

// take takes values, also in the forms in which texts quote them.
func (s *secrets) take(certain bool, values ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		v = strings.TrimSpace(v)
		if len(v) < shortestSecret {
			continue
		}
		quoted := strconv.Quote(v)
		for _, form := range []string{v, quoted[1 : len(quoted)-1], url.QueryEscape(v), url.PathEscape(v)} {
			if i := slices.IndexFunc(s.values, func(known secret) bool { return known.text == form }); i >= 0 {
				s.values[i].certain = s.values[i].certain || certain
			} else {
				s.values = append(s.values, secret{form, certain})
			}
		}
	}
	slices.SortFunc(s.values, func(a, b secret) int {
		return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.text, b.text))
	})
}

// none tells that there is nothing to hide.
func (s *secrets) none() bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values) == 0
}

// hide replaces every secret in a text.
func (s *secrets) hide(text string) string { return s.hideIn(text, false) }

// hideVersion replaces what is certainly a secret: a version may well have the name of an environment in it that stands
// in a header too.
func (s *secrets) hideVersion(text string) string { return s.hideIn(text, true) }

func (s *secrets) hideIn(text string, certain bool) string {
	if s == nil {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.values {
		v := known.text
		switch {
		case !strings.Contains(text, v), certain && !known.certain:
		case len(v) >= anywhere:
			text = strings.ReplaceAll(text, v, hidden)
		default:
			text = regexp.MustCompile(`(^|[^\pL\pN_])`+regexp.QuoteMeta(v)+`\b`).ReplaceAllString(text, "${1}"+hidden)
		}
	}
	return text
}

// hideError hides in the text of a failed stream.
func (s *secrets) hideError(err error) error {
	var failed *StreamError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // no server's words
		return err
	case errors.As(err, &failed):
		failed.Text = s.hide(failed.Text)
		return err
	case s.hide(err.Error()) != err.Error():
		return &hiddenError{s.hide(err.Error()), err}
	}
	return err
}

// hiddenError is an error with a text in which secrets are hidden.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// hiding hides in all that fn gets to see.
func (s *secrets) hiding(fn func(*Event) error) func(*Event) error {
	return func(ev *Event) error {
		s.hideEvent(ev)
		return fn(ev)
	}
}

// hideEvent hides in what a server says beside names and resources, which stay as they came.
func (s *secrets) hideEvent(ev *Event) {
	if s.none() {
		return
	}
	ev.Err, ev.Refused = s.hideError(ev.Err), s.hideError(ev.Refused)
	ev.Text = s.hide(ev.Text)
	for _, text := range []*string{&ev.Version, &ev.Nonce, &ev.ControlPlane} {
		*text = s.hideVersion(*text)
	}
	ev.Errors = slices.Clone(ev.Errors) // the session has them too
	for i := range ev.Errors {
		ev.Errors[i].Message = s.hide(ev.Errors[i].Message)
	}
	ev.Message, ev.Request = s.hideMessage(ev.Message), s.hideMessage(ev.Request)
	cloned := false
	for i := range ev.Resources {
		version := s.hideVersion(ev.Resources[i].Version)
		if version == ev.Resources[i].Version {
			continue
		}
		if !cloned {
			ev.Resources, cloned = slices.Clone(ev.Resources), true
		}
		ev.Resources[i].Version = version
	}
}

// hideMessage returns a copy where there is something to hide.
func (s *secrets) hideMessage(m proto.Message) proto.Message {
	details := func(st *status.Status) bool {
		for _, d := range st.GetDetails() {
			if text := string(d.GetValue()); s.hide(text) != text {
				return true
			}
		}
		return false
	}
	told := textsOf(m)
	tells := slices.ContainsFunc(told.versions, func(text *string) bool { return s.hideVersion(*text) != *text }) ||
		slices.ContainsFunc(told.states, func(st *status.Status) bool { return s.hide(st.GetMessage()) != st.GetMessage() || details(st) })
	for _, version := range told.known {
		tells = tells || s.hideVersion(version) != version
	}
	if !tells {
		return m
	}
	m = proto.Clone(m)
	told = textsOf(m)
	for _, text := range told.versions {
		*text = s.hideVersion(*text)
	}
	for name, version := range told.known {
		told.known[name] = s.hideVersion(version)
	}
	for _, st := range told.states {
		st.Message = s.hide(st.GetMessage())
		if details(st) {
			st.Details = nil
		}
	}
	return m
}

// told is what a message says beside names and resources.
type told struct {
	versions []*string         // versions, nonces, and who the server is
	known    map[string]string // initial_resource_versions
	states   []*status.Status  // errors
}

func textsOf(m proto.Message) (t told) {
	var errs []*discoveryv3.ResourceError
	switch m := m.(type) {
	case *discoveryv3.DiscoveryRequest:
		t.versions, t.states = []*string{&m.VersionInfo, &m.ResponseNonce}, []*status.Status{m.GetErrorDetail()}
	case *discoveryv3.DeltaDiscoveryRequest:
		t.versions, t.states, t.known = []*string{&m.ResponseNonce}, []*status.Status{m.GetErrorDetail()}, m.GetInitialResourceVersions()
	case *discoveryv3.DiscoveryResponse:
		t.versions, errs = []*string{&m.VersionInfo, &m.Nonce}, m.GetResourceErrors()
		if m.GetControlPlane() != nil {
			t.versions = append(t.versions, &m.ControlPlane.Identifier)
		}
	case *discoveryv3.DeltaDiscoveryResponse:
		t.versions, errs = []*string{&m.SystemVersionInfo, &m.Nonce}, m.GetResourceErrors()
		if m.GetControlPlane() != nil {
			t.versions = append(t.versions, &m.ControlPlane.Identifier)
		}
		for _, r := range m.GetResources() {
			t.versions = append(t.versions, &r.Version)
		}
	}
	for _, e := range errs {
		t.states = append(t.states, e.GetErrorDetail())
	}
	t.states = slices.DeleteFunc(t.states, func(st *status.Status) bool { return st == nil })
	return t
}

// parseBody is parseREST, with an error that quotes no secret: what it quotes may be cut off in the midst of one.
func (s *secrets) parseBody(url string, data []byte, loader *eds.Loader) (*body, error) {
	out, err := parseREST(url, data, loader)
	if err == nil {
		return out, nil
	}
	if safe := []byte(s.hide(string(data))); !bytes.Equal(safe, data) {
		if _, again := parseREST(url, safe, loader); again != nil {
			err = again
		}
	}
	return nil, s.hideError(err)
}
